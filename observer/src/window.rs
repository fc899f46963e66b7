//! Windows: address ranges over which versions are mapped, and re-mapped where the next version differs.
//!
//! A window remembers what is mapped where. When a view is dropped its window is parked; the next view takes it and
//! changes only the runs that differ. Mappings are limited per process, so chunks that are too fragmented are copied
//! into private memory instead.

use crate::error::ViewError;
use crate::session::Session;
use crate::version::Version;
use std::ops::Range;
use std::os::fd::AsFd;
use tcasm_core::layout::Layout;
use tcasm_core::pagemap::{ChunkMap, Run, Runs};
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::sys::mem::{MapError, Mapping, page_size};
use tcasm_core::sys::object::read_at;

/// Most discontiguous runs of one window; the kernel's limit is for the whole process (65,530 unless changed).
const RUNS: usize = 16 << 10;
/// The same when mappings turn out to be scarce.
const FEW_RUNS: usize = 1 << 10;
/// Parked windows that are kept.
const PARKED: usize = 4;

/// Where a view is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the producer's address.
    Base,
    /// Wherever there is room.
    Anywhere,
}

/// What a chunk of a window shows.
#[derive(Debug, PartialEq)]
enum Shown {
    /// Nothing yet: the reservation.
    Nothing,
    /// These pages of planes.
    Mapped(ChunkMap),
    /// A private copy, of the pages as the window's version has them.
    Copied,
}

/// An address range, and what it shows.
#[derive(Debug)]
pub(crate) struct Window {
    range: Mapping,
    place: Place,
    shown: Vec<Shown>,
    /// The version that is shown; 0: none.
    version: u64,
}

impl Window {
    /// A window that shows `version`.
    pub(crate) fn for_version(version: &Version, place: Place) -> Result<Window, ViewError> {
        let session = version.session();
        if session.forked() {
            return Err(ViewError::Forked);
        }
        let layout = *session.index()?.layout();
        let mut window = Window::take(session, place, &layout)?;
        match window.show(version, &layout, RUNS) {
            Err(ViewError::Map(MapError::TooManyMappings { .. })) => {
                // What parked windows hold can be had back; and a fresh window is whole again after a failure in the middle.
                drop(window);
                lock(session).clear();
                window = Window::reserve(session, place, &layout)?;
                window.show(version, &layout, FEW_RUNS)?;
            }
            result => result?,
        }
        Ok(window)
    }

    /// A parked window, or a new one.
    fn take(session: &Session, place: Place, layout: &Layout) -> Result<Window, ViewError> {
        let mut parked = lock(session);
        // The last parked one shows the newest version, the least to change.
        let found = parked.iter().rposition(|w| w.place == place);
        match found {
            Some(i) => Ok(parked.remove(i)),
            None => Window::reserve(session, place, layout),
        }
    }

    fn reserve(session: &Session, place: Place, layout: &Layout) -> Result<Window, ViewError> {
        let bytes = layout.region_bytes();
        let range = match place {
            Place::Anywhere => Mapping::reserve(bytes)?,
            Place::Base => {
                let base = session.info.base as usize;
                Mapping::reserve_at(base, bytes).map_err(ViewError::Base)?
            }
        };
        let shown = (0..layout.chunks).map(|_| Shown::Nothing).collect();
        Ok(Window {
            range,
            place,
            shown,
            version: 0,
        })
    }

    /// Give the window back, for the next view.
    pub(crate) fn park(self, session: &Session) {
        let mut parked = lock(session);
        parked.push(self);
        if parked.len() > PARKED {
            parked.remove(0);
        }
    }

    /// The bytes: only for the view that owns the window, which keeps the version pinned.
    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `show` has mapped the whole range readable; its pages are of a pinned version, which nobody writes, or
        // private; the range stays mapped as long as `self`, and is changed only by `show`, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.range.ptr(), self.range.len()) }
    }

    /// Show another version: map what differs, copy what has too many runs. After an error the window must be dropped: it
    /// is mapped in part.
    fn show(&mut self, version: &Version, layout: &Layout, most: usize) -> Result<(), ViewError> {
        let (map, session) = (version.map()?, version.session());
        let wanted = (0..layout.chunks)
            .map(|c| map.chunk(c))
            .collect::<Result<Vec<_>, _>>()?;
        let copied = self.to_copy(&wanted, layout, most);
        let changed = self.changed(version)?;
        let mut runs = Runs::default();
        for (chunk, want) in wanted.into_iter().enumerate() {
            if copied[chunk] {
                self.copy(chunk, &want, changed.as_ref(), session, layout)?;
            } else {
                self.differing(chunk, &want, layout, &mut runs);
                self.shown[chunk] = Shown::Mapped(want);
            }
        }
        runs.runs
            .iter()
            .try_for_each(|run| self.put(run, session, layout))?;
        self.version = version.number();
        Ok(())
    }

    /// The pages that differ between what is shown and `version`, if that is known. Where a page lies does not tell: since
    /// the version shown was let go of, its slots may have been filled anew.
    fn changed(&self, version: &Version) -> Result<Option<PageSet>, ViewError> {
        Ok(match version.number().checked_sub(self.version) {
            Some(0) => Some(PageSet::new(self.range.len() / page_size())),
            Some(1) => Some(version.changes()?.pages),
            _ => None,
        })
    }

    /// The chunks to copy so that at most `most` runs are left to map: those that are copied already and still fragmented,
    /// then the most fragmented, down to half of `most`, so that the next versions have room.
    fn to_copy(&self, wanted: &[ChunkMap], layout: &Layout, most: usize) -> Vec<bool> {
        let mut copied = vec![false; wanted.len()];
        let (mut total, mut mapped) = (0, Vec::new());
        for (chunk, map) in wanted.iter().enumerate() {
            let n = run_count(map, layout.pages_in(chunk));
            if n > 1 && matches!(self.shown[chunk], Shown::Copied) {
                copied[chunk] = true;
            } else if n > 1 {
                total += n;
                mapped.push((n, chunk));
            }
        }
        if total > most {
            mapped.sort_unstable();
            while total > most / 2
                && let Some((n, chunk)) = mapped.pop()
            {
                total -= n;
                copied[chunk] = true;
            }
        }
        copied
    }

    /// Add the pages of `chunk` that are to be mapped and are not so yet.
    fn differing(&self, chunk: usize, want: &ChunkMap, layout: &Layout, runs: &mut Runs) {
        let start = chunk * CHUNK_PAGES;
        let pages = start..start + layout.pages_in(chunk);
        match &self.shown[chunk] {
            Shown::Mapped(old) => push_differing(old, want, pages, runs),
            _ => runs.push_chunk(want, start, pages),
        }
    }

    #[allow(unsafe_code)]
    fn put(&self, run: &Run, session: &Session, layout: &Layout) -> Result<(), ViewError> {
        let (at, len) = (
            run.pages.start * layout.page_size,
            run.pages.len() * layout.page_size,
        );
        match run.plane() {
            Some(plane) => {
                let plane = session.planes[plane].as_fd();
                // SAFETY: `&mut self` in the only caller, `show`: nothing is borrowed from the window.
                unsafe { self.range.put_shared(at, len, plane, at)? };
            }
            // SAFETY: as above.
            None => unsafe { self.range.put_zero(at, len, false)? },
        }
        Ok(())
    }

    /// Show a chunk as a private copy, which is one mapping however fragmented the chunk is. A copy is renewed where it is
    /// known to have changed, else whole.
    #[allow(unsafe_code)]
    fn copy(
        &mut self,
        chunk: usize,
        want: &ChunkMap,
        changed: Option<&PageSet>,
        session: &Session,
        layout: &Layout,
    ) -> Result<(), ViewError> {
        let start = chunk * CHUNK_PAGES;
        let pages = start..start + layout.pages_in(chunk);
        let (at, len) = (start * layout.page_size, pages.len() * layout.page_size);
        let mut runs = Runs::default();
        match (&self.shown[chunk], changed) {
            (Shown::Copied, Some(changed)) => {
                for page in pages.filter(|page| changed.contains(*page)) {
                    runs.push(page..page + 1, want.code(page - start));
                }
                // SAFETY: `&mut self`: nothing is borrowed from the window.
                unsafe { self.range.protect(at, len, true)? };
            }
            _ => {
                runs.push_chunk(want, start, pages);
                // SAFETY: as above.
                unsafe { self.range.put_zero(at, len, true)? };
            }
        }
        for run in &runs.runs {
            let (from, bytes) = (
                run.pages.start * layout.page_size,
                run.pages.len() * layout.page_size,
            );
            // SAFETY: inside the part that was just made writable, private, and ours alone until it is shown.
            let part = unsafe { std::slice::from_raw_parts_mut(self.range.ptr().add(from), bytes) };
            match run.plane() {
                Some(plane) => read_at(&session.planes[plane], part, from as u64)?,
                None => part.fill(0),
            }
        }
        // SAFETY: the slices above are gone.
        unsafe { self.range.protect(at, len, false)? };
        self.shown[chunk] = Shown::Copied;
        Ok(())
    }
}

/// Add those of `pages`, the pages of one chunk, whose code is not the old one.
fn push_differing(old: &ChunkMap, want: &ChunkMap, pages: Range<usize>, runs: &mut Runs) {
    if old == want {
        return;
    }
    let start = pages.start;
    for page in pages {
        let code = want.code(page - start);
        if old.code(page - start) != code {
            runs.push(page..page + 1, code);
        }
    }
}

/// Mappings that a chunk of `pages` pages takes by itself.
fn run_count(map: &ChunkMap, pages: usize) -> usize {
    match map {
        ChunkMap::Whole(_) => 1,
        ChunkMap::Mixed(codes) => 1 + codes[..pages].windows(2).filter(|w| w[0] != w[1]).count(),
    }
}

/// The parked windows. A panic while they were held leaves them usable: they are only pushed and removed.
fn lock(session: &Session) -> std::sync::MutexGuard<'_, Vec<Window>> {
    session
        .windows
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
