//! Hand-over: buffers that are rewritten whole, whose pages become the version's without a copy.
//!
//! Live memory of such a buffer is not private: it is pages of a plane, in slots that no version refers to. Publish makes
//! them the new version's. From then on the buffer is *frozen*: it is read, not written (I1), until its next rewriting
//! begins, for which its addresses get other slots, of the *spare* plane. What these hold is of no use to anybody.
//!
//! That rewriting never lacks pages (I7), publish freezes a buffer only when a spare plane is secured for it, memory
//! included, and skips otherwise. Of N planes, versions use at most N - 1 for these pages, because a region with such
//! buffers has at most N - 1 live versions, and one is the spare (or, while the buffer is rewritten, live memory).
//! Slots of live memory and of spares are busy, so that nothing else takes them. Those of a frozen buffer are also the
//! newest version's: whatever is reclaimed, they stay.

use super::{Capture, Skip, Store};
use crate::index::IndexError;
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::planes::Slots;
use crate::sys::live;
use std::io;
use std::ops::Range;
use thiserror::Error;

/// Fewest versions of a region with handed-over buffers: the newest, the next, and the pages to compute the one after it.
pub const FEWEST_VERSIONS: usize = 3;
/// What the bytes of a buffer are set to when its rewriting begins, if hand-over is checked: a NaN in floats, -1 in integers.
const POISON: u8 = 0xff;

/// Handed-over buffers of a region.
#[derive(Debug)]
pub(super) struct HandOvers {
    /// Address of the region's live memory.
    base: usize,
    buffers: Vec<Lent>,
    checked: bool,
}

/// A buffer whose live memory is slots of a plane.
#[derive(Debug)]
struct Lent {
    pages: Range<usize>,
    plane: usize,
    /// The plane for the next rewriting: there is one exactly while the buffer is frozen.
    spare: Option<usize>,
}

/// A plane that is to be live memory of a buffer next.
#[derive(Debug)]
pub(super) struct Spare {
    buffer: usize,
    pages: Range<usize>,
    plane: usize,
}

/// A buffer that a version on its way was handed, and the plane that its pages are in.
#[derive(Debug)]
pub(super) struct Handed {
    buffer: usize,
    plane: usize,
}

/// Why a buffer cannot be handed over.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum HandOverError {
    #[error(
        "a region with handed-over buffers needs at least {FEWEST_VERSIONS} versions, this one has {versions}; create it with more versions()"
    )]
    Versions { versions: usize },
    #[error(
        "a handed-over buffer needs {needed} bytes at once, and {held} of at most {bound} are held already; create the region with more memory()"
    )]
    Bytes { needed: u64, held: u64, bound: u64 },
    #[error("no plane is free for a handed-over buffer")]
    NoPlane,
    #[error("the machine gave no memory for a handed-over buffer: {0}")]
    NoMemory(io::Error),
    #[error("cannot map a handed-over buffer: {0}")]
    Map(io::Error),
}

impl Default for HandOvers {
    fn default() -> Self {
        HandOvers {
            base: 0,
            buffers: Vec::new(),
            checked: cfg!(debug_assertions),
        }
    }
}

impl HandOvers {
    /// How many versions of `bound` can be live: one less where a plane is needed for rewriting.
    pub(super) fn most_versions(&self, bound: usize) -> usize {
        bound - usize::from(!self.buffers.is_empty())
    }

    /// Whether `chunk` has pages of a buffer.
    pub(super) fn has(&self, chunk: usize) -> bool {
        let pages = chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
        let meets = |b: &Lent| b.pages.start < pages.end && pages.start < b.pages.end;
        self.buffers.iter().any(meets)
    }

    /// The planes, as a set of bits, in which `page` is live memory or spare.
    pub(super) fn planes_of(&self, page: usize) -> u64 {
        let mine = self.buffers.iter().find(|b| b.pages.contains(&page));
        mine.map_or(0, |b| 1 << b.plane | b.spare.map_or(0, |s| 1 << s))
    }
}

impl Store {
    /// Check from now on that users keep to what hand-over asks of them (the default in builds with debug assertions): a
    /// store to a frozen buffer is a signal, and what a rewriting leaves out shows as bytes of 0xFF.
    pub fn check_hand_over(&mut self, checked: bool) {
        self.handovers.checked = checked;
    }

    /// Map live memory for a handed-over buffer over `pages` of the reservation at `base`: the number of the buffer. They
    /// begin with a chunk, and nobody else uses the rest of their last one.
    ///
    /// Memory for the versions that will be alive at once is taken now as far as there is any, so that the first steps need
    /// not wait for it.
    ///
    /// # Safety
    /// `base` must be the region's live memory, kept as long as the store is used; the pages up to the end of their last chunk
    /// must be the caller's alone, and nothing borrowed from them.
    pub unsafe fn hand_over(
        &mut self,
        base: *mut u8,
        pages: Range<usize>,
    ) -> Result<usize, HandOverError> {
        let versions = self.bounds.versions;
        if versions < FEWEST_VERSIONS {
            return Err(HandOverError::Versions { versions });
        }
        let mut lent = PageSet::new(self.planes.pages());
        lent.insert_range(pages.clone());
        self.leave_out(&lent);
        let plane = self.live_plane(&pages)?;
        // SAFETY: the caller's promise; the slots are free, and have memory.
        unsafe { self.planes.lend(base, &pages, None, plane) }.map_err(HandOverError::Map)?;
        self.set_lent(&pages, plane);
        self.warm(&pages, plane);
        self.handovers.base = base as usize;
        self.handovers.buffers.push(Lent {
            pages,
            plane,
            spare: None,
        });
        Ok(self.handovers.buffers.len() - 1)
    }

    /// A plane with memory for the pages, for the first time.
    fn live_plane(&mut self, pages: &Range<usize>) -> Result<usize, HandOverError> {
        let plane = self.planes.free_plane(pages);
        let plane = plane.ok_or(HandOverError::NoPlane)?;
        if !self.fits(pages) {
            // A failure to give back leaves the memory held.
            let _ = self.planes.trim(usize::MAX, &Slots::default());
        }
        if !self.fits(pages) {
            return Err(HandOverError::Bytes {
                needed: self.planes.bytes_of(pages).len() as u64,
                held: self.held_bytes(),
                bound: self.bounds.bytes,
            });
        }
        let secured = self.planes.secure(plane, pages);
        secured.map_err(HandOverError::NoMemory)?;
        Ok(plane)
    }

    /// Take memory in the other planes that the pages will be in by and by: with the newest version, those of the history (at
    /// least one stays until the new version is there), and the spare. They come back as often as nobody pins versions.
    fn warm(&mut self, pages: &Range<usize>, live: usize) {
        let others = (0..self.bounds.versions).filter(|p| *p != live);
        for plane in others.take(self.bounds.history.max(1) + 1) {
            let bytes = self.planes.bytes_of(pages).len() as u64;
            if !self.may_take(bytes) || self.planes.secure(plane, pages).is_err() {
                return;
            }
        }
    }

    fn fits(&self, pages: &Range<usize>) -> bool {
        self.held_bytes() + self.planes.bytes_of(pages).len() as u64 <= self.bounds.bytes
    }

    /// Whether a buffer is frozen: a version has its pages, and it is not being rewritten.
    pub fn is_frozen(&self, buffer: usize) -> bool {
        let lent = self.handovers.buffers.get(buffer);
        lent.is_some_and(|b| b.spare.is_some())
    }

    /// Where a buffer is: its pages, and the plane that its live memory is pages of.
    pub(super) fn lent(&self, buffer: usize) -> (Range<usize>, usize) {
        let lent = self.handovers.buffers.get(buffer);
        lent.map_or((0..0, 0), |b| (b.pages.clone(), b.plane))
    }

    /// Begin to rewrite a buffer: if it is frozen, its addresses get other pages. What is in them is undefined. After an error
    /// it is frozen as before.
    ///
    /// # Safety
    /// Live memory must be where it was for [`Store::hand_over`], and nothing be borrowed from the buffer.
    pub unsafe fn rewrite(&mut self, buffer: usize) -> io::Result<()> {
        let (base, checked) = (self.handovers.base as *mut u8, self.handovers.checked);
        let Some(lent) = self.handovers.buffers.get(buffer) else {
            return Ok(());
        };
        if let Some(spare) = lent.spare {
            self.protect(&lent.pages, true);
            // SAFETY: the caller's promise; the spare is secured, and no version refers to it.
            let lent_out = unsafe { self.planes.lend(base, &lent.pages, Some(lent.plane), spare) };
            if let Err(error) = lent_out {
                self.protect(&lent.pages, false);
                return Err(error);
            }
            let lent = &mut self.handovers.buffers[buffer];
            (lent.plane, lent.spare) = (spare, None);
        }
        if checked {
            let bytes = self.planes.bytes_of(&self.handovers.buffers[buffer].pages);
            // SAFETY: live memory of the buffer, which is not frozen, and which nobody has borrowed.
            unsafe { base.add(bytes.start).write_bytes(POISON, bytes.len()) };
        }
        Ok(())
    }

    /// Where hand-over is checked, let live memory be written, or only read: a store to a frozen buffer is an error of the
    /// program, which it should see at once and at its place. If the kernel refuses, only that help is lost.
    fn protect(&self, pages: &Range<usize>, writable: bool) {
        if self.handovers.checked {
            let (base, bytes) = (self.handovers.base, self.planes.whole_chunks(pages));
            // SAFETY: live memory of a buffer; what is made read-only is not to be written.
            let _ = unsafe { live::protect(&(base + bytes.start..base + bytes.end), writable) };
        }
    }

    /// A spare plane for each of `buffers`, with memory, and busy.
    pub(super) fn secure_spares(
        &mut self,
        buffers: &[usize],
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<Vec<Spare>, Skip>, IndexError> {
        let choose = |store: &Store| {
            let mut slots = Slots::default();
            for spare in store.spares(buffers) {
                slots.union(&store.planes.slots(spare.plane, &spare.pages));
            }
            slots
        };
        if let Err(skip) = self.make_room(choose, pinned)? {
            return Ok(Err(skip));
        }
        let spares = self.spares(buffers);
        if spares.len() < buffers.len() {
            // There always is one: see above.
            let bound = self.most_versions();
            return Ok(Err(Skip::Versions { bound }));
        }
        for spare in &spares {
            if let Err(error) = self.planes.secure(spare.plane, &spare.pages) {
                let error = error.to_string();
                return Ok(Err(Skip::NoMemory { error }));
            }
        }
        for spare in &spares {
            self.set_lent(&spare.pages, spare.plane);
        }
        Ok(Ok(spares))
    }

    fn spares(&self, buffers: &[usize]) -> Vec<Spare> {
        let spare = |buffer: &usize| {
            let pages = self.handovers.buffers.get(*buffer)?.pages.clone();
            Some(Spare {
                buffer: *buffer,
                plane: self.planes.free_plane(&pages)?,
                pages,
            })
        };
        buffers.iter().filter_map(spare).collect()
    }

    fn set_lent(&mut self, pages: &Range<usize>, plane: usize) {
        let slots = self.planes.slots(plane, pages);
        self.planes.set_busy(&slots);
    }

    /// The version that has the pages is there, or on its way: the buffers are frozen.
    pub(super) fn freeze(&mut self, spares: Vec<Spare>) {
        let mut handed = Vec::new();
        for spare in spares {
            self.protect(&spare.pages, false);
            let lent = &mut self.handovers.buffers[spare.buffer];
            lent.spare = Some(spare.plane);
            handed.push(Handed {
                buffer: spare.buffer,
                plane: lent.plane,
            });
        }
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.handed = handed;
        }
    }

    /// The version that was on its way is given up. Buffers that are as they were handed to it go on being rewritten, and go
    /// into the next version; of those that were begun anew meanwhile, what they were is superseded. None of it is in `pages`
    /// any more, which are to be copied.
    pub(super) fn take_back(&mut self, handed: &[Handed], pages: &mut PageSet) {
        for handed in handed {
            let lent = &mut self.handovers.buffers[handed.buffer];
            let idle = match lent.spare.take_if(|_| lent.plane == handed.plane) {
                Some(spare) => spare,
                None => handed.plane,
            };
            let range = lent.pages.clone();
            self.planes.set_free(&self.planes.slots(idle, &range));
            self.protect(&range, true);
            pages.remove_range(range);
        }
    }

    /// There is no version: the buffers go on being rewritten.
    pub(super) fn release(&mut self, spares: Vec<Spare>) {
        for spare in spares {
            self.planes
                .set_free(&self.planes.slots(spare.plane, &spare.pages));
        }
    }

    /// What a capture changes: the pages that it copies, but for those that are the `same`, and those of the buffers that it is
    /// handed.
    pub(super) fn changed_pages(&self, capture: &Capture<'_>, same: &PageSet) -> PageSet {
        let mut pages = capture.pages.clone();
        pages.subtract(same);
        for lent in capture.handed.iter().map(|b| &self.handovers.buffers[*b]) {
            pages.insert_range(lent.pages.clone());
        }
        pages
    }

    /// The `slots` of a new version, and those that it is handed.
    pub(super) fn with_handed(&self, capture: &Capture<'_>, slots: &Slots) -> Slots {
        let mut all = slots.clone();
        for lent in capture.handed.iter().map(|b| &self.handovers.buffers[*b]) {
            all.union(&self.planes.slots(lent.plane, &lent.pages));
        }
        all
    }

    /// Most live versions at once: one less while the keeper has slots beside those of versions, which it writes or gives back
    /// (one at a time), so that each page has a free one for the next.
    pub(super) fn most_versions(&self) -> usize {
        let kept = self.compaction.copying() || self.planes.is_leaving();
        let planes = self.bounds.versions - usize::from(kept);
        self.handovers.most_versions(planes)
    }
}
