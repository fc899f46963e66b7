//! Windows: address ranges over which versions are mapped.
//!
//! A window remembers what is mapped where. To show another version it changes only chunks that
//! differ: whole chunks move in from the page-table cache with their page tables, single runs are
//! mapped, and chunks that are too fragmented for the number of mappings that a process can have
//! are copied.

use crate::budget::Share;
use crate::copies::Copies;
use crate::error::ViewError;
use crate::pin::Pin;
use crate::plan::{self, Change, Chunk, Shown};
use crate::session::Session;
use crate::table_cache::TableCache;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::PoisonError;
use tcasm_core::format::layout::Layout;
use tcasm_core::format::pagemap::{ChunkMap, Run, Runs, ZERO};
use tcasm_core::pageset::{CHUNK_PAGES, runs_of};
use tcasm_core::sys::mem::Mapping;

/// The address at which a view is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the producer's address.
    Base,
    /// At any free address.
    Anywhere,
}

/// An address range, and what it shows.
#[derive(Debug)]
pub(crate) struct Window {
    range: Mapping,
    place: Place,
    layout: Layout,
    /// The content of each chunk. Chunks beyond the last entry are as in a new window.
    chunks: Vec<Chunk>,
    /// The number of the version that is shown, or 0 if there is none.
    version: u64,
    share: Share,
    copies: Option<Copies>,
}

impl Window {
    /// Reserves a new window in which all pages are zero.
    #[allow(unsafe_code)]
    pub(crate) fn reserve(
        session: &Session,
        place: Place,
        layout: &Layout,
    ) -> Result<Window, ViewError> {
        let bytes = layout.region_bytes();
        let range = match place {
            // Aligned like the cache mappings, so that page tables move between them as a whole.
            Place::Anywhere => Mapping::reserve_aligned(bytes)?,
            Place::Base => {
                let base = session.info.base as usize;
                Mapping::reserve_at(base, bytes).map_err(ViewError::Base)?
            }
        };
        // SAFETY: the reservation is new, so nothing is borrowed from it.
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

    /// Returns the first address of the window.
    pub(crate) fn address(&self) -> usize {
        self.range.addr()
    }

    /// Returns the bytes of the window. Only the view that owns the window may call this, because
    /// it keeps the version pinned.
    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY:
        // - This process made the window, as the caller has checked, and `show` has mapped the
        //   whole range readable.
        // - The pages belong to a pinned version, which nobody writes, or are the window's own.
        // - The range stays mapped as long as `self`. Only `show` changes it, which takes
        //   `&mut self`.
        unsafe { std::slice::from_raw_parts(self.range.ptr(), self.range.len()) }
    }

    /// Returns where the window lies.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns the most runs that the window may map now.
    pub(crate) fn most(&self) -> usize {
        self.share.most()
    }

    /// Shows the version of `pin` with at most `most` runs. After an error the window is mapped in
    /// part and must be dropped.
    pub(crate) fn show(&mut self, pin: &Pin, most: usize) -> Result<(), ViewError> {
        if pin.stamp.version == self.version {
            return Ok(());
        }
        let session = &pin.session;
        let shown = (self.version, self.share.runs());
        let changes = plan::changes(&self.chunks, shown, pin, most)?;
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
        self.version = pin.stamp.version;
        Ok(())
    }

    /// Changes the chunks that are in one plane, before or after: moves their old page tables into
    /// the cache, and their new ones from there.
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
        // A panic while the cache was locked leaves it usable, because any content of it is valid.
        let cache = session.table_cache.lock();
        let mut cache = cache.unwrap_or_else(PoisonError::into_inner);
        for run in &leave.runs {
            if let Some(plane) = run.plane() {
                let cached = (plane, &session.planes()[plane]);
                let (at, len) = self.span(&run.pages);
                // SAFETY: `&mut self`, so nothing is borrowed from the window, which is as long
                // as a plane.
                unsafe { cache.put_back(cached, &self.range, at, len) };
            }
        }
        come.runs
            .iter()
            .try_for_each(|run| self.bring(run, &mut cache, session))
    }

    /// Shows `run`: moves its page tables in from the cache, or maps it anew.
    #[allow(unsafe_code)]
    fn bring(
        &mut self,
        run: &Run,
        cache: &mut TableCache,
        session: &Session,
    ) -> Result<(), ViewError> {
        let (at, len) = self.span(&run.pages);
        let taken = run.plane().is_some_and(|plane| {
            // SAFETY: `&mut self`, so nothing is borrowed from the window, which is as long as a
            // plane.
            unsafe { cache.take(plane, &self.range, at, len) }
        });
        match taken {
            true => Ok(()),
            false => self.put(run, session),
        }
    }

    /// Maps the pages that differ in chunks that are in several planes.
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

    /// Maps `run`.
    #[allow(unsafe_code)]
    fn put(&mut self, run: &Run, session: &Session) -> Result<(), ViewError> {
        let (at, len) = self.span(&run.pages);
        match run.plane() {
            Some(plane) => {
                let plane = session.planes()[plane].as_fd();
                // SAFETY: `&mut self`, so nothing is borrowed from the window.
                unsafe { self.range.put_shared(at, len, plane, at)? };
            }
            // SAFETY: as above.
            None => unsafe { self.range.put_zero(at, len, false)? },
        }
        Ok(())
    }

    /// Makes or renews copies, and returns the memory of those that are not shown any more.
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

    /// Renews the copy of a chunk. If the changed pages are known only these are read, otherwise
    /// all are. The place of a page does not say whether it changed: its frame may have been
    /// written anew after the version that was shown.
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
            // SAFETY: `&mut self`, so nothing is borrowed from the window.
            unsafe { self.range.put_shared(at, len, copies.fd(), at)? };
        }
        let mut runs = runs.runs.iter();
        runs.try_for_each(|run| copies.fill(run, page_size, session.planes()))
    }

    /// Excludes the changed chunks from forked children. New mappings would be inherited, and
    /// nothing pins the version for a child.
    fn keep_from_children(&self, changes: &[Change]) -> Result<(), ViewError> {
        for run in changes.chunk_by(|a, b| a.chunk + 1 == b.chunk) {
            let (first, last) = (run[0].chunk, run[run.len() - 1].chunk);
            let pages = self.pages(first).start..self.pages(last).end;
            let (at, len) = self.span(&pages);
            self.range.dont_fork_or_dump_part(at, len)?;
        }
        Ok(())
    }

    /// Returns the pages of a chunk.
    fn pages(&self, chunk: usize) -> Range<usize> {
        let start = chunk * CHUNK_PAGES;
        start..start + self.layout.pages_in(chunk)
    }

    /// Returns the offset of pages in bytes, and their number of bytes.
    fn span(&self, pages: &Range<usize>) -> (usize, usize) {
        let size = self.layout.page_size;
        (pages.start * size, pages.len() * size)
    }
}

/// Returns the code of a chunk that is mapped from one plane.
fn whole(shown: &Shown) -> Option<u8> {
    match shown {
        Shown::Mapped(ChunkMap::Whole(code)) => Some(*code),
        _ => None,
    }
}

/// Adds to `runs` those of `pages`, the pages of one chunk, whose code differs from the old one.
fn push_differing(old: &ChunkMap, want: &ChunkMap, pages: Range<usize>, runs: &mut Runs) {
    let start = pages.start;
    for page in pages.clone().step_by(8) {
        let eight = page - start..page - start + 8;
        if let (ChunkMap::Mixed(old), ChunkMap::Mixed(want)) = (old, want)
            && old[eight.clone()] == want[eight]
        {
            continue; // most are equal
        }
        for page in page..(page + 8).min(pages.end) {
            let code = want.code(page - start);
            if old.code(page - start) != code {
                runs.push(page..page + 1, code);
            }
        }
    }
}
