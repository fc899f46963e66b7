//! Hand-over: the pages of a buffer that is rewritten as a whole become the version's without a
//! copy.
//!
//! Live memory of such a buffer is not private. It consists of frames of a plane that no version
//! refers to. `publish` makes these frames the new version's. From then on the buffer is *frozen*:
//! it may be read, but not written (I1). When its next rewriting begins, its addresses get frames
//! of another plane, the *spare* plane. What these frames hold is of no use to anybody.
//!
//! A rewriting must never lack frames (I7). So `publish` freezes a buffer only when it has a spare
//! plane with memory for the buffer, and skips otherwise. There always is such a plane. Of N
//! planes, versions use at most N - 1 for these pages, because a region with handed-over buffers
//! has at most N - 1 live versions. The last plane is the spare, or live memory while the buffer is
//! rewritten.
//!
//! Frames of live memory and of spare planes are busy, so nothing else takes them. The frames of a
//! frozen buffer also belong to the newest version, so they stay whatever is reclaimed.

use super::handed::{FEWEST_VERSIONS, HandOverError, Handed, LiveBuffer, Spare};
use super::state::Store;
use super::terms::{Capture, NotPublished, Skip};
use crate::pageset::PageSet;
use crate::planes::Frames;
use crate::sys::live;
use std::io;
use std::ops::Range;

/// The byte that fills a buffer when its rewriting begins, if hand-over is checked. It makes a
/// float a NaN and an integer -1.
const POISON: u8 = 0xff;

impl Store {
    /// Sets whether the program is checked for keeping to the rules of hand-over. Builds with debug
    /// assertions check by default. With checks, a store to a frozen buffer raises a signal, and
    /// what a rewriting leaves out shows as bytes of 0xFF.
    pub fn check_hand_over(&mut self, checked: bool) {
        self.handovers.checked = checked;
    }

    /// Lets planes have huge pages from now on, also those that are live memory of handed-over
    /// buffers. Somebody must call [`Store::begin_huge`].
    pub fn allow_huge_pages(&mut self) {
        self.planes.allow_huge_pages();
    }

    /// Maps frames of a plane as live memory of a handed-over buffer, over `pages` of the
    /// reservation at `base`. Returns the number of the buffer. The pages begin with a chunk, and
    /// nothing else uses the rest of their last chunk.
    ///
    /// Also takes memory for the versions that will be live at once, as far as there is any, so
    /// that the first steps need not wait for it. On a machine with several nodes of memory it
    /// takes none: each page lies where a thread of the program first stores to it, and the frames
    /// of the other planes follow.
    ///
    /// # Safety
    /// `base` must be the region's live memory, and stay so as long as the store is used. The pages
    /// up to the end of their last chunk must be the caller's alone, and nothing may be borrowed
    /// from them.
    pub unsafe fn hand_over(
        &mut self,
        base: *mut u8,
        pages: Range<usize>,
    ) -> Result<usize, HandOverError> {
        let versions = self.bounds.versions;
        if versions < FEWEST_VERSIONS {
            return Err(HandOverError::Versions { versions });
        }
        let mut set = PageSet::new(self.planes.pages());
        set.insert_range(pages.clone());
        self.leave_out(&set);
        let first_touch = self.planes.has_first_touch();
        let plane = self.live_plane(&pages, first_touch)?;
        // SAFETY: the caller promises that these pages of live memory are its alone. The frames are
        // free. They have memory, or get it when they are stored to, as private memory does.
        let mapped = unsafe { self.planes.map_live(base, &pages, None, plane) };
        if let Err(error) = mapped {
            // They may count as held although they have no memory.
            self.planes.unhold(&self.planes.frames(plane, &pages));
            return Err(HandOverError::Map(error));
        }
        self.set_plane_busy(&pages, plane);
        if !first_touch {
            self.planes.ask_for_live_huge_pages(plane, &pages);
            self.preallocate(&pages, plane);
        }
        self.handovers.base = base as usize;
        self.handovers.buffers.push(LiveBuffer {
            pages,
            plane,
            first_touch,
            spare: None,
        });
        Ok(self.handovers.buffers.len() - 1)
    }

    /// Returns a plane for the first live memory of a buffer. No frame of `pages` in it is busy,
    /// and all have memory, or get it at the first touch.
    fn live_plane(
        &mut self,
        pages: &Range<usize>,
        first_touch: bool,
    ) -> Result<usize, HandOverError> {
        let plane = self.planes.free_plane(pages);
        let plane = plane.ok_or(HandOverError::NoPlane)?;
        if !self.fits(pages) {
            // If memory cannot be returned, it stays held, and the check below sees that.
            let _ = self.planes.trim(usize::MAX, &Frames::default());
        }
        if !self.fits(pages) {
            return Err(HandOverError::Bytes {
                needed: self.planes.bytes_of(pages).len() as u64,
                held: self.held_bytes(),
                bound: self.bounds.bytes,
            });
        }
        let secured = match first_touch {
            true => self.planes.leave_to_first_touch(plane, pages),
            false => self.planes.secure(plane, pages),
        };
        secured.map_err(HandOverError::NoMemory)?;
        Ok(plane)
    }

    /// Takes memory for the buffer in the other planes that its pages will use, so that the first
    /// steps need not wait for it. These are one plane for each version of the history and one for
    /// the spare. There is at least one for the history, because the last version stays until the
    /// next is visible. As long as nobody pins versions, the same planes are used again and again.
    fn preallocate(&mut self, pages: &Range<usize>, live: usize) {
        let others = (0..self.bounds.versions).filter(|p| *p != live);
        for plane in others.take(self.bounds.history.max(1) + 1) {
            let bytes = self.planes.bytes_of(pages).len() as u64;
            if self.planes.missing(plane, pages).is_none() {
                continue; // memory of some of the frames is being returned
            }
            if !self.may_take(bytes) || self.planes.secure(plane, pages).is_err() {
                return;
            }
        }
    }

    fn fits(&self, pages: &Range<usize>) -> bool {
        self.held_bytes() + self.planes.bytes_of(pages).len() as u64 <= self.bounds.bytes
    }

    /// Returns true if a buffer is frozen: a version has its pages, and it is not being rewritten.
    pub fn is_frozen(&self, buffer: usize) -> bool {
        let entry = self.handovers.buffers.get(buffer);
        entry.is_some_and(|b| b.spare.is_some())
    }

    /// Returns the pages of a buffer, and the plane that its live memory consists of.
    pub(super) fn location(&self, buffer: usize) -> (Range<usize>, usize) {
        let entry = self.handovers.buffers.get(buffer);
        entry.map_or((0..0, 0), |b| (b.pages.clone(), b.plane))
    }

    /// Begins to rewrite a buffer. If it is frozen, its addresses get other frames, whose contents
    /// are undefined. After an error the buffer is frozen as before.
    ///
    /// # Safety
    /// Live memory must be where it was for [`Store::hand_over`], and nothing may be borrowed from
    /// the buffer.
    pub unsafe fn rewrite(&mut self, buffer: usize) -> io::Result<()> {
        let (base, checked) = (self.handovers.base as *mut u8, self.handovers.checked);
        let Some(entry) = self.handovers.buffers.get(buffer) else {
            return Ok(());
        };
        if let Some(spare) = entry.spare {
            self.protect(&entry.pages, true);
            // SAFETY: the caller promises that nothing is borrowed from the buffer. The spare's
            // frames have memory, and no version refers to them.
            let mapped = unsafe {
                self.planes
                    .map_live(base, &entry.pages, Some(entry.plane), spare)
            };
            if let Err(error) = mapped {
                self.protect(&entry.pages, false);
                return Err(error);
            }
            let entry = &mut self.handovers.buffers[buffer];
            (entry.plane, entry.spare) = (spare, None);
            self.planes.ask_for_live_huge_pages(spare, &entry.pages);
        }
        if checked {
            let bytes = self.planes.bytes_of(&self.handovers.buffers[buffer].pages);
            // SAFETY: this is live memory of the buffer. It is not frozen any more, and the caller
            // promises that nothing is borrowed from it.
            unsafe { base.add(bytes.start).write_bytes(POISON, bytes.len()) };
        }
        Ok(())
    }

    /// Makes live memory of a buffer writable or read-only, where hand-over is checked. A store to
    /// a frozen buffer is an error of the program, which should show at once and where it happens.
    /// If the kernel refuses, only this help is lost.
    fn protect(&self, pages: &Range<usize>, writable: bool) {
        if self.handovers.checked {
            let (base, bytes) = (self.handovers.base, self.planes.whole_chunks(pages));
            // SAFETY: this is live memory of a buffer. It is made read-only only while the program
            // must not write it.
            let _ = unsafe { live::protect(&(base + bytes.start..base + bytes.end), writable) };
        }
    }

    /// Finds a spare plane for each of `buffers`, takes memory for its frames, and makes them busy.
    pub(super) fn secure_spares(
        &mut self,
        buffers: &[usize],
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<Spare>, NotPublished> {
        let choose = |store: &Store| {
            let mut frames = Frames::default();
            for spare in store.spares(buffers) {
                frames.union(&store.planes.frames(spare.plane, &spare.pages));
            }
            frames
        };
        self.fill_first(buffers)?;
        self.make_room(choose, pinned)?;
        let spares = self.spares(buffers);
        if spares.len() < buffers.len() {
            // This cannot happen: there always is a plane. See the top of this file.
            let bound = self.most_versions();
            return Err(Skip::Versions { bound }.into());
        }
        for spare in &spares {
            if let Err(error) = self.planes.secure(spare.plane, &spare.pages) {
                let error = error.to_string();
                return Err(Skip::NoMemory { error }.into());
            }
        }
        for spare in &spares {
            self.set_plane_busy(&spare.pages, spare.plane);
        }
        Ok(spares)
    }

    /// Takes memory for pages of `buffers` that the program did not store to before the first
    /// publish. From then on frames count on having memory.
    fn fill_first(&mut self, buffers: &[usize]) -> Result<(), NotPublished> {
        for buffer in buffers {
            let entry = &mut self.handovers.buffers[*buffer];
            if !entry.first_touch {
                continue;
            }
            let filled = self.planes.fill(entry.plane, &entry.pages);
            filled.map_err(|error| Skip::NoMemory {
                error: error.to_string(),
            })?;
            entry.first_touch = false;
            self.planes
                .ask_for_live_huge_pages(entry.plane, &entry.pages);
        }
        Ok(())
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

    fn set_plane_busy(&mut self, pages: &Range<usize>, plane: usize) {
        let frames = self.planes.frames(plane, pages);
        self.planes.set_busy(&frames);
    }

    /// Freezes the buffers of `spares`, because the version that has their pages is visible or
    /// being captured.
    pub(super) fn freeze(&mut self, spares: Vec<Spare>) {
        let mut handed = Vec::new();
        for spare in spares {
            self.protect(&spare.pages, false);
            let entry = &mut self.handovers.buffers[spare.buffer];
            entry.spare = Some(spare.plane);
            handed.push(Handed {
                buffer: spare.buffer,
                plane: entry.plane,
            });
        }
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.handed = handed;
        }
    }

    /// Takes buffers back from a version that was given up. A buffer that is still frozen is
    /// thawed, and goes into the next version. The older content of a buffer whose rewriting has
    /// begun since is superseded. Removes all these buffers from `pages`, which are to be copied.
    pub(super) fn take_back(&mut self, handed: &[Handed], pages: &mut PageSet) {
        for handed in handed {
            let entry = &mut self.handovers.buffers[handed.buffer];
            let idle = match entry.spare.take_if(|_| entry.plane == handed.plane) {
                Some(spare) => spare,
                None => handed.plane,
            };
            let range = entry.pages.clone();
            self.planes.set_free(&self.planes.frames(idle, &range));
            self.protect(&range, true);
            pages.remove_range(range);
        }
    }

    /// Frees the spare planes, because no version was published. The buffers go on being rewritten.
    pub(super) fn release(&mut self, spares: Vec<Spare>) {
        for spare in spares {
            self.planes
                .set_free(&self.planes.frames(spare.plane, &spare.pages));
        }
    }

    /// Returns the pages that a capture changes: those that it copies, without those in `same`, and
    /// those of the buffers that are handed to it.
    pub(super) fn changed_pages(&self, capture: &Capture<'_>, same: &PageSet) -> PageSet {
        let mut pages = capture.pages.clone();
        pages.subtract(same);
        for entry in capture.handed.iter().map(|b| &self.handovers.buffers[*b]) {
            pages.insert_range(entry.pages.clone());
        }
        pages
    }

    /// Returns `frames` together with those of the buffers that are handed to the capture.
    pub(super) fn with_handed(&self, capture: &Capture<'_>, frames: &Frames) -> Frames {
        let mut all = frames.clone();
        for entry in capture.handed.iter().map(|b| &self.handovers.buffers[*b]) {
            all.union(&self.planes.frames(entry.plane, &entry.pages));
        }
        all
    }

    /// Returns the largest number of live versions. It is one less while the keeper writes frames
    /// for a batch or returns memory of frames: these are kept from the versions, and each page
    /// must still have a free frame for the next version. The keeper does this in one plane at a
    /// time.
    pub(super) fn most_versions(&self) -> usize {
        let kept = self.compaction.copying() || self.planes.is_leaving();
        let planes = self.bounds.versions - usize::from(kept);
        self.handovers.most_versions(planes)
    }
}
