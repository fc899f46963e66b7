//! Copies of pages at rest that the program has dropped.
//!
//! A page of a chunk at rest that differs from its slot has a copy of its own. `MADV_DONTNEED`
//! takes the copy away without a fault, and live memory is the slot again, which nobody holds for
//! it: the newest version has the page elsewhere. No tracker reports that, because the kernel keeps
//! such a page protected. So publish looks into the page map, at a few chunks at a time: it
//! compares what it finds with the newest version, as it does everything that may have been
//! written, and copies it in place.
//!
//! An event of userfaultfd (`UFFD_EVENT_REMOVE`) would tell at once, but the program would wait in
//! `madvise` until a thread of ours has read it.

use crate::keeper::lock;
use crate::producer::Producer;
use std::ops::Range;
use std::time::{Duration, Instant};
use tcasm_core::pageset::{CHUNK_PAGES, ChunkBits, PageSet};
use tcasm_core::sys::mem::swap_in_use;
use tcasm_core::track::TrackError;

/// One part in `SHARE` of the run may go into looks.
const SHARE: u32 = 256;
/// The most that one publish may take for them.
const MOST: Duration = Duration::from_millis(1);

/// Which chunk is next, and how long looks may take.
#[derive(Debug)]
pub(crate) struct Rounds {
    next: usize,
    credit: Duration,
    reckoned: Instant,
}

impl Rounds {
    pub(crate) fn new() -> Self {
        Rounds {
            next: 0,
            credit: Duration::ZERO,
            reckoned: Instant::now(),
        }
    }

    /// Earns time for the run since the last look, which ended long before `now`.
    fn earn(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.reckoned);
        self.credit = (self.credit + passed / SHARE).min(MOST);
        self.reckoned = now;
    }

    /// Spends what a look at `chunk` took, which has ended `now`. Returns true if time is left.
    fn spend(&mut self, chunk: usize, now: Instant) -> bool {
        let taken = now.saturating_duration_since(self.reckoned);
        self.credit = self.credit.saturating_sub(taken);
        (self.reckoned, self.next) = (now, chunk + 1);
        !self.credit.is_zero()
    }
}

impl Producer {
    /// Finds copies that the program has dropped: from now on they are suspect, and copies again.
    /// After an error there may be such pages, and perhaps no memory to read them.
    pub(crate) fn find_dropped(&mut self) -> Result<(), TrackError> {
        let found = self.look_for_dropped()?;
        if found.is_empty() {
            return Ok(());
        }
        tracing::warn!(
            pages = found.len(),
            "pages of fields were dropped (MADV_DONTNEED): they have old bytes, which the next version shows"
        );
        self.suspect.union(&found);
        for run in found.runs() {
            self.copy_again(&run)?;
        }
        Ok(())
    }

    /// Looks at as many chunks as there is time for.
    fn look_for_dropped(&mut self) -> Result<PageSet, TrackError> {
        let mut dropped = PageSet::new(self.region.span.pages);
        let resting = &mut self.region.resting;
        resting.rounds.earn(Instant::now());
        // Pages that are in swap are left there.
        let absent = resting.chunks() != 0 && !swap_in_use();
        let mut copies = PageSet::new(self.region.span.pages);
        for _ in 0..resting.chunks() {
            let Some(chunk) = resting.next_from(resting.rounds.next) else {
                break;
            };
            let own = resting.copies(chunk);
            if own != ChunkBits::default() {
                *copies.chunk_mut(chunk) = own;
                let tracker = &mut self.region.tracker;
                tracker.not_copied(&pages_of(chunk), &copies, absent, &mut dropped)?;
            }
            if !resting.rounds.spend(chunk, Instant::now()) {
                break;
            }
        }
        Ok(dropped)
    }

    /// Copies pages where they are, so that nothing else shows in them any more. They are reported
    /// as written then.
    fn copy_again(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.take_memory_for(pages);
        self.adaptive.unarmed.insert_range(pages.clone());
        self.region.tracker.own_in_place(pages)
    }

    /// Copying reads the slots beneath. One without memory gets some by that, which is to be
    /// counted.
    fn take_memory_for(&self, pages: &Range<usize>) {
        let mut slots = PageSet::new(self.region.span.pages);
        slots.insert_range(pages.clone());
        for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
            let Some(plane) = self.region.resting.plane(chunk) else {
                continue;
            };
            let whole = pages_of(chunk);
            let mut own = slots.clone();
            own.remove_range(0..whole.start);
            own.remove_range(whole.end..self.region.span.pages);
            // Without it they are read all the same: the program has done so, or is about to.
            let _ = lock(&self.store).make_bed(plane, &whole, &own);
        }
    }
}

fn pages_of(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_a_small_share_of_the_run_and_never_long_at_once() {
        let mut rounds = Rounds::new();
        let (mut now, mut taken) = (rounds.reckoned, Duration::ZERO);
        let (look, step) = (Duration::from_micros(4), Duration::from_millis(10));
        for _ in 0..1000 {
            now += step;
            rounds.earn(now);
            let begun = now;
            loop {
                now += look;
                if !rounds.spend(0, now) {
                    break;
                }
            }
            assert!(now - begun <= MOST + look);
            taken += now - begun;
        }
        assert!(taken <= 1000 * (step / SHARE + look), "{taken:?}");
        assert!(taken >= 1000 * step / SHARE / 2, "{taken:?}");
    }
}
