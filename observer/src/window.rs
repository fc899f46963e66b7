//! Windows: address ranges over which versions are mapped.
//!
//! A window remembers what is mapped where. To show another version it changes only chunks that
//! differ: whole chunks move in from the page-table cache with their page tables, single runs are
//! mapped, and chunks that are in many runs are copied into memory of the window.
//!
//! What is neither mapped nor copied are zero pages of the window's own. They are read-only, and
//! each copy is a writable mapping between them. A *flat* window is for a process that lacks
//! mappings: all its own memory is one writable mapping, of which copies are parts.
//!
//! A window shows the chunks of its part, which never changes. The addresses of other chunks stay
//! reserved and inaccessible.

use crate::budget::{Share, Usage};
use crate::chunk::{Change, Chunk, Shown, push_differing};
use crate::error::ViewError;
use crate::forced::Bounds;
use crate::part::{Part, SubArray, chunks_of};
use crate::pin::Pin;
use crate::plan::{self, Before};
use crate::session::Session;
use crate::table_cache::TableCache;
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};
use tcasm_core::field::Element;
use tcasm_core::format::layout::Layout;
use tcasm_core::format::pagemap::{ChunkMap, Run, Runs, ZERO};
use tcasm_core::pageset::CHUNK_PAGES;
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
    pub(crate) range: Mapping,
    place: Place,
    part: Part,
    /// True if all own memory of the window is one mapping.
    pub(crate) flat: bool,
    /// Of a flat window: the number of mappings that a version needed in another one, if this is
    /// why the window is flat.
    pub(crate) unless_flat: Option<usize>,
    layout: Layout,
    /// The content of each chunk. Chunks beyond the last entry are as in a new window.
    pub(crate) chunks: Vec<Chunk>,
    /// The number of the version that is shown, or 0 if there is none.
    version: u64,
    pub(crate) share: Share,
}

impl Window {
    /// Reserves a new window in which all pages of `part` are zero, and which may be flat.
    pub(crate) fn reserve(
        session: &Session,
        (place, part, flat): (Place, &Part, bool),
        layout: &Layout,
        usage: &Arc<Usage>,
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
        let mut window = Window {
            range,
            place,
            part: part.clone(),
            flat,
            unless_flat: None,
            layout: *layout,
            chunks: Vec::new(),
            version: 0,
            share: Share::new(usage.clone()),
        };
        let runs = part.runs(layout.chunks);
        for run in &runs {
            let pages = window.pages(run.start).start..window.pages(run.end - 1).end;
            let (at, len) = window.span(&pages);
            window.put_zero(at, len)?;
        }
        window.range.dont_fork_or_dump()?;
        // The addresses before, between and after the runs are mappings, too.
        let around = if part.is_whole() { 0 } else { runs.len() + 1 };
        window.share.set_mappings(runs.len() + around);
        Ok(window)
    }

    /// Returns the first address of the window.
    pub(crate) fn address(&self) -> usize {
        self.range.addr()
    }

    /// Returns bytes of the region, or `None` if the window does not show all of their chunks. Only
    /// a view that owns the window may call this, because it keeps the version pinned.
    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self, bytes: Range<usize>) -> Option<&[u8]> {
        let inside = bytes.start <= bytes.end && bytes.end <= self.range.len();
        if !inside || !self.part.has(chunks_of(&self.layout, &bytes)) {
            return None;
        }
        // SAFETY:
        // - This process made the window, as the caller has checked. The bytes are in the window,
        //   and `reserve` and `show` have mapped all chunks of its part readable.
        // - The pages belong to a pinned version, which nobody writes, or are the window's own.
        // - The range stays mapped as long as `self`. Only `show` changes it and writes the
        //   window's own pages, and it takes `&mut self`.
        let part =
            unsafe { std::slice::from_raw_parts(self.range.ptr().add(bytes.start), bytes.len()) };
        Some(part)
    }

    /// Returns the values of a sub-array, or `None` if the window does not show all of their
    /// chunks, or if they are not values of `T`. Only a view that owns the window may call this.
    #[allow(unsafe_code)]
    pub(crate) fn values<T: Element>(&self, sub: &SubArray) -> Option<ArrayViewD<'_, T>> {
        let shown = self.part.has_all(&sub.chunks(&self.layout));
        if !shown || sub.end() > self.range.len() || sub.value != size_of::<T>() {
            return None;
        }
        let first = self
            .range
            .ptr()
            .wrapping_add(sub.start)
            .cast_const()
            .cast::<T>();
        if !first.is_aligned() {
            return None;
        }
        let shape = IxDyn(&sub.lens).into_shape_with_order();
        let shape = shape.strides(IxDyn(&sub.strides));
        // SAFETY:
        // - All values are in the window, which is one reserved range of addresses, and in chunks
        //   that are readable, as in `bytes`. They stay there, and nobody writes them, as there.
        // - They are aligned. Every pattern of bits is a value of an `Element`.
        // - The strides are not negative, and no distance is beyond the window.
        let values = unsafe { ArrayViewD::from_shape_ptr(shape, first) };
        Some(values)
    }

    /// Returns where the window lies.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns the chunks that the window shows.
    pub(crate) fn part(&self) -> &Part {
        &self.part
    }

    /// Returns the bytes of memory that the window's copies take.
    pub(crate) fn copied_bytes(&self) -> u64 {
        self.share.copied()
    }

    /// Returns true if the budget was too small for a copy since the last call.
    pub(crate) fn was_refused(&mut self) -> bool {
        self.share.was_refused()
    }

    /// Returns the bounds on the mappings that the window may have now. No other window needs fewer
    /// than a flat one, so that is refused only if it needs a large part of all that the kernel
    /// allows.
    pub(crate) fn bounds(&self) -> Bounds {
        let wanted = self.share.most();
        let most = match self.flat {
            true => self.share.most_at_all(),
            false => wanted,
        };
        Bounds { wanted, most }
    }

    /// Returns true if the window is flat, and one that is not could have the mappings that it
    /// needed, if other windows gave back `given`.
    pub(crate) fn need_not_be_flat(&self, given: usize) -> bool {
        let most = self.share.most_without(given);
        self.unless_flat.is_some_and(|needed| needed <= most)
    }

    /// Shows the version of `pin`, with as many mappings as `bounds` allows. After an error the
    /// window must be dropped.
    pub(crate) fn show(&mut self, pin: &Pin, bounds: Bounds) -> Result<(), ViewError> {
        if pin.stamp.version == self.version {
            return Ok(());
        }
        let session = &pin.session;
        let before = Before {
            part: &self.part,
            chunks: &self.chunks,
            version: self.version,
            flat: self.flat,
        };
        let plan = plan::make(&before, pin, bounds, &mut self.share)?;
        let changes = plan.changes;
        let chunks = changes.last().map_or(0, |c| c.chunk + 1);
        if chunks > self.chunks.len() {
            self.chunks.resize_with(chunks, || Chunk::ZERO);
        }
        self.exchange(&changes, session)?;
        self.map(&changes, session)?;
        self.copy(&changes, session)?;
        self.keep_from_children(&changes)?;
        self.share.set_mappings(plan.mappings);
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
            let is = self.chunks[change.chunk].shown.whole();
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
                Ok(())
            }
            None => self.put_zero(at, len),
        }
    }

    /// Maps new zero pages of the window's own. In a flat window they join those around them.
    #[allow(unsafe_code)]
    pub(crate) fn put_zero(&mut self, at: usize, len: usize) -> Result<(), ViewError> {
        // SAFETY: `&mut self`, so nothing is borrowed from the window.
        unsafe { self.range.put_zero(at, len, self.flat)? };
        if self.flat {
            // A huge page would take the memory of all pages around one that is copied.
            self.range.no_huge_pages_part(at, len);
            self.range.dont_fork_or_dump_part(at, len)?;
        }
        Ok(())
    }

    /// Excludes the chunks that were mapped from forked children. New mappings would be inherited,
    /// and nothing pins the version for a child.
    fn keep_from_children(&self, changes: &[Change]) -> Result<(), ViewError> {
        let mapped = changes.iter().filter(|change| !change.copy);
        let mapped: Vec<usize> = mapped.map(|change| change.chunk).collect();
        for run in mapped.chunk_by(|a, b| a + 1 == *b) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let pages = self.pages(first).start..self.pages(last).end;
            let (at, len) = self.span(&pages);
            self.range.dont_fork_or_dump_part(at, len)?;
        }
        Ok(())
    }

    /// Returns the pages of a chunk.
    pub(crate) fn pages(&self, chunk: usize) -> Range<usize> {
        let start = chunk * CHUNK_PAGES;
        start..start + self.layout.pages_in(chunk)
    }

    /// Returns the offset of pages in bytes, and their number of bytes.
    pub(crate) fn span(&self, pages: &Range<usize>) -> (usize, usize) {
        let size = self.layout.page_size;
        (pages.start * size, pages.len() * size)
    }
}
