//! Finds copies of shared pages that the program has dropped.
//!
//! A page of a shared chunk that differs from its frame has a copy of its own. `MADV_DONTNEED`
//! takes the copy away without a fault, and live memory is the frame again. No version keeps that
//! frame for live memory: the newest version has the page elsewhere. No tracker reports this,
//! because the kernel keeps such a page write-protected. So publish reads the page map of the
//! process, a few chunks at a time. A page that it finds is compared with the newest version, like
//! every maybe dirty page, and is copied in place.
//!
//! An event of userfaultfd (`UFFD_EVENT_REMOVE`) would report the drop at once, but then the
//! program would wait in `madvise` until a thread of the producer has read it.

use crate::keeper::lock;
use crate::producer::Producer;
use std::ops::Range;
use std::time::{Duration, Instant};
use tcasm_core::pageset::{CHUNK_PAGES, ChunkBits, PageSet};
use tcasm_core::sys::mem::swap_in_use;
use tcasm_core::track::TrackError;

/// The checks may take one part in `SHARE` of the run time.
const SHARE: u32 = 256;
/// The longest time that the checks of one publish may take.
const MOST: Duration = Duration::from_millis(1);

/// The chunk that is checked next, and the time that checks may take.
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

    /// Adds the time that was earned since the last check. The last check may have ended long
    /// before `now`.
    fn earn(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.reckoned);
        self.credit = (self.credit + passed / SHARE).min(MOST);
        self.reckoned = now;
    }

    /// Subtracts the time that the check of `chunk` took. The check ended at `now`. Returns true if
    /// time is left.
    fn spend(&mut self, chunk: usize, now: Instant) -> bool {
        let taken = now.saturating_duration_since(self.reckoned);
        self.credit = self.credit.saturating_sub(taken);
        (self.reckoned, self.next) = (now, chunk + 1);
        !self.credit.is_zero()
    }
}

impl Producer {
    /// Finds copies that the program has dropped, marks their pages as maybe dirty, and copies them
    /// again. After an error there may still be such pages, and perhaps no memory to read them.
    pub(crate) fn find_dropped(&mut self) -> Result<(), TrackError> {
        let found = self.look_for_dropped()?;
        if found.is_empty() {
            return Ok(());
        }
        tracing::warn!(
            pages = found.len(),
            "the program dropped pages of fields (MADV_DONTNEED): they have old bytes, and the \
             next version shows these"
        );
        self.dirty.mark_maybe(&found);
        for run in found.runs() {
            self.copy_again(&run)?;
        }
        Ok(())
    }

    /// Checks as many chunks as there is time for. Returns the pages whose copies were dropped.
    fn look_for_dropped(&mut self) -> Result<PageSet, TrackError> {
        let mut dropped = PageSet::new(self.live.span.pages);
        let shared = &mut self.live.shared;
        shared.rounds.earn(Instant::now());
        // An absent page may be in swap, and checking it would bring it in. So absent pages are
        // checked only if no swap is in use.
        let absent = shared.chunks() != 0 && !swap_in_use();
        let mut copies = PageSet::new(self.live.span.pages);
        for _ in 0..shared.chunks() {
            let Some(chunk) = shared.next_from(shared.rounds.next) else {
                break;
            };
            let own = shared.copies(chunk);
            if own != ChunkBits::default() {
                *copies.chunk_mut(chunk) = own;
                let tracker = &mut self.live.tracker;
                tracker.not_copied(&pages_of(chunk), &copies, absent, &mut dropped)?;
            }
            if !shared.rounds.spend(chunk, Instant::now()) {
                break;
            }
        }
        Ok(dropped)
    }

    /// Copies pages in place, so that nothing else can show in them any more. The tracker reports
    /// them as written afterwards.
    fn copy_again(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.take_memory_for(pages);
        self.dirty.set_unprotected(pages.clone());
        self.live.tracker.own_in_place(pages)
    }

    /// Reserves memory for the frames that are copied from. Copying a frame reads it, and a frame
    /// without memory gets some by that, which must be counted.
    fn take_memory_for(&self, pages: &Range<usize>) {
        let mut frames = PageSet::new(self.live.span.pages);
        frames.insert_range(pages.clone());
        for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
            let Some(plane) = self.live.shared.plane(chunk) else {
                continue;
            };
            let whole = pages_of(chunk);
            let mut own = frames.clone();
            own.remove_range(0..whole.start);
            own.remove_range(whole.end..self.live.span.pages);
            // If this fails the frames are read all the same: the program has done so already, or
            // is about to.
            let _ = lock(&self.store).reserve_backing(plane, &whole, &own);
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
    fn checks_take_a_small_share_of_the_run_and_never_long_at_once() {
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
