//! Assembly. An observer needs a mapping for each run of pages of a chunk, or a copy of each page
//! that changed. If scattered pages change in every version, every observer does this work anew.
//!
//! So if many observers are attached, the copiers do it once for all of them: they copy the
//! unchanged pages of such a chunk from the newest version into the plane that takes its changed
//! pages. The chunk is then one run. `publish` copies the changed pages as usual and returns; the
//! version becomes visible when the rest is copied, as with a deferred capture.
//!
//! Assembly takes no memory that has to be freed first. If the program publishes again while the
//! copiers still assemble, the producer asks for no assembly for a while.

use super::publish::Reserved;
use super::state::Store;
use super::terms::Capture;
use crate::capture::Outcome;
use crate::format::index::IndexError;
use crate::format::pagemap::{ChunkMap, FEW_RUNS, ZERO};
use crate::pageset::{CHUNK_PAGES, ChunkBits, PageSet, runs_of};
use crate::testing::ablation::{Mechanism, without};
use std::ops::Range;

/// The work of observers, in pages, for each page of the chunk that is copied. Observers share the
/// processors with the simulation, so their work counts less than that of the copiers.
const WORTH: usize = 2;

impl Store {
    /// Returns true if the copiers still assemble chunks of the version in flight.
    pub fn is_assembling(&self) -> bool {
        let in_flight = self.in_flight.iter();
        let mut running = in_flight.filter(|f| f.sweep.state() == Outcome::Running);
        running.any(|f| !f.assembled.is_empty())
    }

    /// Returns true if the version in flight moves some of `pages` to another plane.
    pub(super) fn is_moving(&self, pages: &Range<usize>) -> bool {
        let mut in_flight = self.in_flight.iter();
        in_flight.any(|f| f.assembled.intersects(pages.clone()))
    }

    /// Finds frames for the pages to capture and for the rest of the chunks that are worth
    /// assembling. Returns `None` if there are no such chunks, or if memory for them would have to
    /// be freed first.
    pub(super) fn reserve_whole(
        &mut self,
        slot: usize,
        capture: &Capture<'_>,
    ) -> Result<Option<Reserved>, IndexError> {
        if capture.observers == 0 || without(Mechanism::Assembly) {
            return Ok(None);
        }
        let rest = self.rest_of_scattered(capture)?;
        if rest.is_empty() {
            return Ok(None);
        }
        let mut all = capture.pages.clone();
        all.union(&rest);
        let frames = self.planes.place(&all);
        let mut reserved = Reserved { slot, frames, rest };
        reserved.leave_out_split(self.planes.pages());
        let bytes = |pages: usize| (pages * self.page_size()) as u64;
        let fresh = bytes(self.planes.fresh_pages(&reserved.frames));
        // As much as the version takes is left for the next one.
        let bound = self.bounds.bytes - self.reserved_bytes();
        let left = bound.saturating_sub(self.held_bytes() + fresh);
        let fits = left >= bytes(all.len()) && self.may_take(fresh);
        Ok((fits && !reserved.rest.is_empty()).then_some(reserved))
    }

    /// Returns the pages that do not change, of the chunks that are worth assembling.
    fn rest_of_scattered(&self, capture: &Capture<'_>) -> Result<PageSet, IndexError> {
        let mut rest = PageSet::new(capture.pages.capacity());
        let Some(newest) = self.newest()? else {
            return Ok(rest);
        };
        let pages = self.index()?.layout().pages;
        let vacated = capture.vacated_pages();
        for (chunk, changed) in capture.pages.chunks_in_use() {
            let start = chunk * CHUNK_PAGES;
            let all = start..pages.min(start + CHUNK_PAGES);
            if is_worth_it(changed, all.len(), capture.observers)
                && !vacated.intersects(all.clone())
                && self.is_free_to_move(&all)
                && has_all(&newest.chunk(chunk)?, changed, all.len())
            {
                rest.insert_range(all);
                let unchanged = rest.chunk_mut(chunk).iter_mut().zip(changed);
                unchanged.for_each(|(rest, changed)| *rest &= !changed);
            }
        }
        Ok(rest)
    }

    /// Returns true if nothing but versions refers to frames of `pages`.
    fn is_free_to_move(&self, pages: &Range<usize>) -> bool {
        !self.handovers.has(pages.start / CHUNK_PAGES)
            && !self.may_be_shared(pages)
            && !self.compaction.meets(pages)
    }
}

impl Reserved {
    /// Leaves out the rest of chunks of which no plane has all frames: they would stay scattered. A
    /// plane has `pages` pages.
    pub(super) fn leave_out_split(&mut self, pages: usize) {
        let mut split = PageSet::new(pages);
        let chunks = self.rest.chunk_numbers();
        for chunk in chunks.iter() {
            let all = chunk * CHUNK_PAGES..pages.min((chunk + 1) * CHUNK_PAGES);
            let mut planes = self.frames.in_chunk(chunk);
            if !planes.any(|(_, bits)| count(bits) == all.len()) {
                split.insert_range(all);
            }
        }
        split.intersect(&self.rest);
        self.frames.subtract(&split);
        self.rest.subtract(&split);
    }

    /// Records that the pages `same` of the capture turned out to be unchanged. In chunks that are
    /// assembled they belong to the rest. A chunk that is not worth it any more is not assembled.
    pub(super) fn found_unchanged(&mut self, capture: &Capture<'_>, same: &PageSet) {
        let mut changed = capture.pages.clone();
        changed.subtract(same);
        let mut dropped = same.clone();
        let chunks = self.rest.chunk_numbers();
        for chunk in chunks.iter() {
            let end = changed.capacity().min((chunk + 1) * CHUNK_PAGES);
            let pages = chunk * CHUNK_PAGES..end;
            let bits = changed.chunk(chunk);
            if is_worth_it(bits, pages.len(), capture.observers) {
                let rest = self.rest.chunk_mut(chunk).iter_mut().zip(same.chunk(chunk));
                rest.for_each(|(rest, same)| *rest |= same);
                dropped.remove_range(pages);
            } else {
                dropped.insert_range(pages.clone());
                let dropped = dropped.chunk_mut(chunk).iter_mut().zip(bits);
                dropped.for_each(|(dropped, changed)| *dropped &= !changed);
                self.rest.remove_range(pages);
            }
        }
        self.frames.subtract(&dropped);
    }
}

/// Returns true if `observers` observers would work more on the changed pages of a chunk of `pages`
/// pages than the copiers on its other pages.
fn is_worth_it(changed: &ChunkBits, pages: usize, observers: usize) -> bool {
    let count = count(changed);
    let work = count.saturating_mul(observers);
    count < pages && runs_of(changed).count() > FEW_RUNS && work > WORTH * (pages - count)
}

fn count(bits: &ChunkBits) -> usize {
    bits.iter().map(|w| w.count_ones() as usize).sum()
}

/// Returns true if a version has a frame for each page of a chunk of `pages` pages that is not in
/// `changed`. Pages that are zeros take no memory, and should not get any.
fn has_all(map: &ChunkMap, changed: &ChunkBits, pages: usize) -> bool {
    match map {
        ChunkMap::Whole(code) => *code != ZERO,
        ChunkMap::Mixed(codes) => {
            let is_changed = |i: usize| changed[i / 64] >> (i % 64) & 1 == 1;
            (0..pages).all(|i| codes[i] != ZERO || is_changed(i))
        }
    }
}
