//! Windows: address ranges over which versions are mapped, and re-mapped where the next version differs.
//!
//! A window remembers what is mapped where. When a view is dropped its window is parked; the next view takes it and
//! changes only what differs: whole chunks move in from the shelf with their page tables, single runs are mapped, and
//! chunks that are too fragmented for the number of mappings a process can have are copied.

use crate::budget::Share;
use crate::copies::Copies;
use crate::error::ViewError;
use crate::plan::{self, Change, Chunk, Shown};
use crate::session::Session;
use crate::shelf::Shelf;
use crate::version::Version;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcasm_core::layout::Layout;
use tcasm_core::pagemap::{ChunkMap, Run, Runs, ZERO};
use tcasm_core::pageset::{CHUNK_PAGES, runs_of};
use tcasm_core::sys::mem::{MapError, Mapping};

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

/// An address range, and what it shows.
#[derive(Debug)]
pub(crate) struct Window {
    range: Mapping,
    place: Place,
    layout: Layout,
    /// Those behind the last are as a new window has them.
    chunks: Vec<Chunk>,
    /// The version that is shown; 0: none.
    version: u64,
    share: Share,
    copies: Option<Copies>,
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
        match window.show(version, window.share.most()) {
            Err(ViewError::Map(MapError::TooManyMappings { .. })) => {
                // Others have taken more than half of the process's mappings. What parked windows hold can be had back; a
                // fresh window is whole again after a failure in the middle; and what is fragmented is copied.
                drop(window);
                lock(&session.windows).clear();
                window = Window::reserve(session, place, &layout)?;
                window.show(version, 0)?;
            }
            result => result?,
        }
        Ok(window)
    }

    /// A parked window, or a new one.
    fn take(session: &Session, place: Place, layout: &Layout) -> Result<Window, ViewError> {
        let mut parked = lock(&session.windows);
        // The last parked one shows the newest version, the least to change.
        let found = parked.iter().rposition(|w| w.place == place);
        match found {
            Some(i) => Ok(parked.remove(i)),
            None => Window::reserve(session, place, layout),
        }
    }

    /// A window in which all pages are zero.
    #[allow(unsafe_code)]
    fn reserve(session: &Session, place: Place, layout: &Layout) -> Result<Window, ViewError> {
        let bytes = layout.region_bytes();
        let range = match place {
            // As the homes on the shelf: between them page tables move whole.
            Place::Anywhere => Mapping::reserve_aligned(bytes)?,
            Place::Base => {
                let base = session.info.base as usize;
                Mapping::reserve_at(base, bytes).map_err(ViewError::Base)?
            }
        };
        // SAFETY: a fresh reservation, of which nothing is borrowed.
        unsafe { range.put_zero(0, bytes, false)? };
        range.dont_fork_or_dump()?;
        Ok(Window {
            range,
            place,
            layout: *layout,
            chunks: Vec::new(),
            version: 0,
            share: Share::default(),
            copies: None,
        })
    }

    /// Give the window back, for the next view. (In a forked child it just goes: another thread of
    /// the parent may have held the lock at the fork, and then nobody here ever releases it.)
    pub(crate) fn park(self, session: &Session) {
        if session.forked() {
            return;
        }
        let mut parked = lock(&session.windows);
        parked.push(self);
        if parked.len() > PARKED {
            parked.remove(0);
        }
    }

    /// First address.
    pub(crate) fn address(&self) -> usize {
        self.range.addr()
    }

    /// The bytes: only for the view that owns the window, which keeps the version pinned.
    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: this process made the window, as the caller has seen, and `show` has mapped the
        // whole range readable; its pages are of a pinned version, which nobody writes, or the
        // window's own; the range stays mapped as long as `self`, and is changed only by `show`,
        // which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.range.ptr(), self.range.len()) }
    }

    /// Show another version with at most `most` runs. After an error the window must be dropped: it is mapped in part.
    fn show(&mut self, version: &Version, most: usize) -> Result<(), ViewError> {
        if version.number() == self.version {
            return Ok(());
        }
        let session = version.session();
        let shown = (self.version, self.share.runs());
        let changes = plan::changes(&self.chunks, shown, version, most)?;
        let chunks = changes.last().map_or(0, |c| c.chunk + 1);
        if chunks > self.chunks.len() {
            self.chunks.resize_with(chunks, || Chunk::ZERO);
        }
        self.exchange(&changes, session)?;
        self.map(&changes, session)?;
        self.copy(&changes, session)?;
        self.keep_from_children(&changes)?;
        let (before, after) = plan::runs(&self.chunks, &changes);
        self.share.set(self.share.runs() - before + after);
        for change in changes {
            let chunk = change.chunk;
            self.chunks[chunk].becomes(change);
        }
        self.version = version.number();
        Ok(())
    }

    /// Chunks that are in one plane, before or after: their page tables go home, or come from there.
    #[allow(unsafe_code)]
    fn exchange(&mut self, changes: &[Change], session: &Session) -> Result<(), ViewError> {
        let (mut leave, mut come) = (Runs::default(), Runs::default());
        for change in changes {
            let is = whole(&self.chunks[change.chunk].shown);
            let mapped = (!change.copy).then_some(&change.want);
            match (is, mapped) {
                (Some(is), Some(ChunkMap::Whole(code))) if is == *code => continue,
                (Some(_), Some(ChunkMap::Mixed(_))) => continue,
                _ => {}
            }
            let pages = self.pages(change.chunk);
            leave.push(pages.clone(), is.unwrap_or(ZERO));
            if let Some(ChunkMap::Whole(code)) = mapped {
                come.push(pages, *code);
            }
        }
        let mut shelf = lock(&session.shelf);
        for run in &leave.runs {
            if let Some(plane) = run.plane() {
                let home = (plane, &session.planes()[plane]);
                let (at, len) = self.span(&run.pages);
                // SAFETY: `&mut self`: nothing is borrowed from the window.
                unsafe { shelf.bring_home(home, &self.range, at, len) };
            }
        }
        come.runs
            .iter()
            .try_for_each(|run| self.bring(run, &mut shelf, session))
    }

    #[allow(unsafe_code)]
    fn bring(&mut self, run: &Run, shelf: &mut Shelf, session: &Session) -> Result<(), ViewError> {
        let (at, len) = self.span(&run.pages);
        let lent = run.plane().is_some_and(|plane| {
            // SAFETY: `&mut self`: nothing is borrowed from the window.
            unsafe { shelf.lend(plane, &self.range, at, len) }
        });
        match lent {
            true => Ok(()),
            false => self.put(run, session),
        }
    }

    /// Map what differs in chunks that are in several planes.
    fn map(&mut self, changes: &[Change], session: &Session) -> Result<(), ViewError> {
        let mut runs = Runs::default();
        for change in changes.iter().filter(|c| !c.copy) {
            if let ChunkMap::Mixed(_) = change.want {
                let pages = self.pages(change.chunk);
                match &self.chunks[change.chunk].shown {
                    Shown::Mapped(old) => push_differing(old, &change.want, pages, &mut runs),
                    _ => runs.push_chunk(&change.want, pages.start, pages),
                }
            }
        }
        runs.runs.iter().try_for_each(|run| self.put(run, session))
    }

    #[allow(unsafe_code)]
    fn put(&mut self, run: &Run, session: &Session) -> Result<(), ViewError> {
        let (at, len) = self.span(&run.pages);
        match run.plane() {
            Some(plane) => {
                let plane = session.planes()[plane].as_fd();
                // SAFETY: `&mut self`: nothing is borrowed from the window.
                unsafe { self.range.put_shared(at, len, plane, at)? };
            }
            // SAFETY: as above.
            None => unsafe { self.range.put_zero(at, len, false)? },
        }
        Ok(())
    }

    /// Make or renew copies, and give back those that are not shown any more.
    fn copy(&mut self, changes: &[Change], session: &Session) -> Result<(), ViewError> {
        for change in changes {
            let was = self.chunks[change.chunk].shown == Shown::Copied;
            let (at, len) = self.span(&self.pages(change.chunk));
            match (was, change.copy, &mut self.copies) {
                (_, true, _) => self.renew(change, was, session)?,
                (true, false, Some(copies)) => copies.release(at, len),
                _ => {}
            }
        }
        Ok(())
    }

    /// A copy is renewed where it is known to have changed, else whole: where a page lies does not tell, since its slot may
    /// have been filled anew after the version that was shown.
    #[allow(unsafe_code)]
    fn renew(&mut self, change: &Change, was: bool, session: &Session) -> Result<(), ViewError> {
        let (pages, page_size) = (self.pages(change.chunk), self.layout.page_size);
        let (at, len) = self.span(&pages);
        let copies = match &mut self.copies {
            Some(copies) => copies,
            none => none.insert(Copies::create(&session.info.name, self.range.len())?),
        };
        let mut runs = Runs::default();
        match change.changed.filter(|_| was) {
            Some(bits) => {
                for run in runs_of(&bits) {
                    let part = pages.start + run.start..(pages.start + run.end).min(pages.end);
                    runs.push_chunk(&change.want, pages.start, part);
                }
            }
            None => runs.push_chunk(&change.want, pages.start, pages),
        }
        if !was {
            copies.populate(at, len);
            // SAFETY: `&mut self`: nothing is borrowed from the window.
            unsafe { self.range.put_shared(at, len, copies.fd(), at)? };
        }
        let mut runs = runs.runs.iter();
        runs.try_for_each(|run| copies.fill(run, page_size, session.planes()))
    }

    /// What was mapped anew would be inherited by forked children, for whom nobody holds the
    /// version.
    fn keep_from_children(&self, changes: &[Change]) -> Result<(), ViewError> {
        for run in changes.chunk_by(|a, b| a.chunk + 1 == b.chunk) {
            let (first, last) = (run[0].chunk, run[run.len() - 1].chunk);
            let pages = self.pages(first).start..self.pages(last).end;
            let (at, len) = self.span(&pages);
            self.range.dont_fork_or_dump_part(at, len)?;
        }
        Ok(())
    }

    /// The pages of a chunk.
    fn pages(&self, chunk: usize) -> Range<usize> {
        let start = chunk * CHUNK_PAGES;
        start..start + self.layout.pages_in(chunk)
    }

    /// Where pages begin in bytes, and how many bytes they are.
    fn span(&self, pages: &Range<usize>) -> (usize, usize) {
        let size = self.layout.page_size;
        (pages.start * size, pages.len() * size)
    }
}

/// The code of all pages of a chunk that is mapped from one plane.
fn whole(shown: &Shown) -> Option<u8> {
    match shown {
        Shown::Mapped(ChunkMap::Whole(code)) => Some(*code),
        _ => None,
    }
}

/// Add those of `pages`, the pages of one chunk, whose code is not the old one.
fn push_differing(old: &ChunkMap, want: &ChunkMap, pages: Range<usize>, runs: &mut Runs) {
    let start = pages.start;
    for page in pages.clone().step_by(8) {
        let eight = page - start..page - start + 8;
        if let (ChunkMap::Mixed(old), ChunkMap::Mixed(want)) = (old, want)
            && old[eight.clone()] == want[eight]
        {
            continue; // as most are
        }
        for page in page..(page + 8).min(pages.end) {
            let code = want.code(page - start);
            if old.code(page - start) != code {
                runs.push(page..page + 1, code);
            }
        }
    }
}

/// A panic while one of these was held leaves it usable: parked windows are only pushed and removed, and whatever the
/// shelf holds is right.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
