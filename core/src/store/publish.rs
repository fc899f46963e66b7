//! Stores a version in four steps: reserve frames, copy pages, write the map, make it visible.
//!
//! Each step takes the value that the step before it returned. So a version cannot be made visible
//! before its bytes and its map are stored (I2), and no step can be left out.

use super::handed::Spare;
use super::state::Store;
use super::terms::{Capture, Captured, NotPublished, Skip, Visibility};
use crate::capture::Copiers;
use crate::format::index::IndexError;
use crate::format::stamp::Stamp;
use crate::pageset::PageSet;
use crate::planes::Frames;
use crate::testing::fault;
use crate::testing::sabotage::{Guard, off};

/// Room for a version: a free slot of the ring, and a free frame for each page to capture.
#[derive(Debug)]
pub(super) struct Reserved {
    pub(super) slot: usize,
    pub(super) frames: Frames,
    /// The pages that are copied from the newest version, to assemble their chunks. They have
    /// frames too.
    pub(super) rest: PageSet,
}

/// A version whose pages are copied, but for those whose capture is deferred, and those that are
/// copied from the newest version.
#[derive(Debug)]
struct Copied {
    reserved: Reserved,
    /// Pages that were compared while they were copied, and did not change.
    same: PageSet,
}

/// A version that is complete, but not visible: its map and its field table are in the index too.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) slot: usize,
    /// The frames of the pages that are in the version.
    pub(super) frames: Frames,
    /// The pages that the version changes.
    pub(super) changed: PageSet,
    /// The pages that are copied from the newest version.
    pub(super) rest: PageSet,
    /// Pages that were compared while they were copied, and did not change.
    same: PageSet,
}

impl Store {
    /// Captures pages and publishes them as version `stamp.version`. `pinned` returns true if a
    /// lease names the version.
    ///
    /// The copiers save the chunks in `capture.deferred` after the call. The version then becomes
    /// visible when the last of these chunks is saved.
    ///
    /// # Safety
    /// The captured pages of `capture.live` must be readable, unless they are adopted, and stay
    /// mapped until the version is visible or given up. Nobody may write them during the call.
    /// Deferred chunks must be watched by `capture.gate` and by nothing else.
    pub unsafe fn publish(
        &mut self,
        stamp: &Stamp,
        capture: &Capture<'_>,
        copiers: &Copiers,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Captured, NotPublished> {
        if let Some(version) = self.capturing() {
            return Err(Skip::Capturing { version }.into());
        }
        self.begin_step(stamp.step);
        // SAFETY: the caller keeps the promises of this function, which are the same.
        let published = unsafe { self.publish_step(stamp, capture, copiers, pinned) };
        self.end_step();
        published
    }

    /// Does the same, once it is known whether the step is appointed.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    unsafe fn publish_step(
        &mut self,
        stamp: &Stamp,
        capture: &Capture<'_>,
        copiers: &Copiers,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Captured, NotPublished> {
        self.leave_out(capture.pages);
        if !capture.vacated.is_empty() {
            self.leave_out(&capture.vacated_pages());
        }
        // The newest version must stay until the new one is visible. It takes the place of one
        // version of the history, so one version less is kept here.
        self.reclaim_beyond(self.bounds.history, pinned)?;
        fault::pass("reclaimed");
        let slot = self.free_slot(pinned)?;
        let spares = self.secure_spares(capture.handed, pinned)?;
        // SAFETY: the caller keeps the promises of `publish`, which are the same.
        let published = unsafe { self.publish_in(slot, stamp, capture, copiers, pinned) };
        self.use_spares(spares, published.is_ok());
        let captured = published?;
        if let Visibility::Immediate = captured.visibility {
            self.reclaim_beyond(self.bounds.history + 1, pinned)?;
        }
        Ok(captured)
    }

    /// Captures and publishes a version in `slot` of the ring, which must be free.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    unsafe fn publish_in(
        &mut self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        copiers: &Copiers,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Captured, NotPublished> {
        let reserved = self.reserve(slot, capture, pinned)?;
        if off(Guard::VisibleLast) {
            self.index()?.make_visible(slot, stamp.version)?;
        }
        // SAFETY: the caller keeps the promises of `publish`, which are the same.
        let copied = unsafe { self.copy(reserved, capture, copiers)? };
        let written = self.write(copied, stamp, capture)?;
        if capture.deferred.is_empty() && written.rest.is_empty() {
            return Ok(self.make_visible(written, stamp, capture)?);
        }
        let same = written.same.clone();
        // SAFETY: the caller keeps the promises of `publish`, which are the same.
        let sweep = unsafe { self.begin_sweep(written, stamp, capture, copiers)? };
        let visibility = Visibility::Deferred(sweep);
        Ok(Captured { visibility, same })
    }

    /// Step 1: finds frames for the pages to capture, and room for their memory under the bound.
    /// Nothing refers to these frames yet.
    ///
    /// If that is worth it, also finds frames for the rest of some chunks.
    pub(super) fn reserve(
        &mut self,
        slot: usize,
        capture: &Capture<'_>,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Reserved, NotPublished> {
        if let Some(reserved) = self.reserve_whole(slot, capture)? {
            return Ok(reserved);
        }
        let frames = self.make_room(|store| store.planes.place(capture.pages), pinned)?;
        Ok(Reserved {
            slot,
            frames,
            rest: PageSet::new(capture.pages.capacity()),
        })
    }

    /// Step 2: copies the pages that are captured inside publish.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    unsafe fn copy(
        &mut self,
        mut reserved: Reserved,
        capture: &Capture<'_>,
        copiers: &Copiers,
    ) -> Result<Copied, NotPublished> {
        let mut now = reserved.frames.clone();
        now.subtract(capture.deferred);
        now.subtract(&reserved.rest);
        // SAFETY: the caller keeps the promises of `publish`, which are the same.
        let copied = unsafe { self.copy_now(capture, now, copiers) };
        let same = copied.map_err(|error| Skip::NoMemory { error })?;
        (capture.still_there)(capture.pages).map_err(|error| Skip::NoMemory { error })?;
        fault::pass("copied");
        reserved.found_unchanged(capture, &same);
        Ok(Copied { reserved, same })
    }

    /// Step 3: writes the version into its slot of the index, which no reader looks at yet.
    fn write(
        &mut self,
        copied: Copied,
        stamp: &Stamp,
        capture: &Capture<'_>,
    ) -> Result<Written, IndexError> {
        let Copied { reserved, same } = copied;
        let Reserved { slot, frames, rest } = reserved;
        let changed = self.changed_pages(capture, &same);
        let of_changed = capture.of_pages(&changed);
        let with_handed = self.with_handed(&of_changed, &frames);
        self.write_version(slot, stamp, &of_changed, &with_handed)?;
        self.planes.set_busy(&frames);
        self.recent.note(&changed);
        self.recent.expect(&rest);
        self.compaction.begin_use();
        fault::pass("mapped");
        Ok(Written {
            slot,
            frames,
            changed,
            rest,
            same,
        })
    }

    /// Step 4: lets observers see the version. (If chunks are deferred or assembled,
    /// [`Store::begin_sweep`] has the copiers do this after they saved the last chunk.)
    fn make_visible(
        &mut self,
        written: Written,
        stamp: &Stamp,
        capture: &Capture<'_>,
    ) -> Result<Captured, IndexError> {
        self.index()?.make_visible(written.slot, stamp.version)?;
        self.live.push((stamp.version, written.slot));
        self.ring.visible(written.slot);
        self.compaction.end_use(true);
        (capture.visible)();
        fault::pass("visible");
        Ok(Captured {
            visibility: Visibility::Immediate,
            same: written.same,
        })
    }

    /// Freezes the buffers of `spares` if their pages are in a version now, or else releases the
    /// spare planes.
    fn use_spares(&mut self, spares: Vec<Spare>, published: bool) {
        match published {
            true => self.freeze(spares),
            false => self.release(spares),
        }
    }
}
