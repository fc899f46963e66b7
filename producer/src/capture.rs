//! The steps of `publish` that find and capture what was written.

use crate::error::PublishError;
use crate::keeper::lock;
use crate::producer::Producer;
use std::time::Instant;
use tcasm_core::capture::Outcome;
use tcasm_core::pageset::PageSet;
use tcasm_core::sabotage::{Guard, off};
use tcasm_core::stamp::Stamp;
use tcasm_core::stats::Counter;
use tcasm_core::store::{Capture, Progress, Skip};
use tcasm_core::sys::time::unix_ns;
use tcasm_core::track::TrackerKind;

/// So many pages are worth comparing by several threads: as many as are worth copying so.
const COMPARED_LATER: usize = 1024;

/// What a version is to capture.
pub(crate) struct Dirty {
    /// All of it.
    pub(crate) all: PageSet,
    /// Of that, the pages of chunks that are captured later.
    pub(crate) later: PageSet,
    /// The rest.
    now: PageSet,
    /// Of the rest, the pages that are compared while they are captured.
    maybe: PageSet,
    /// Pages that were compared, and are what the newest version holds.
    same: PageSet,
}

impl Dirty {
    /// These pages were compared by now, and are the same.
    fn leave_out(&mut self, same: &PageSet) {
        self.all.subtract(same);
        self.now.subtract(same);
        self.same.union(same);
    }
}

impl Producer {
    /// Add what was written since the last harvest to the pending pages, and what may have been to the suspect ones. False:
    /// tracking failed, so that everything may have changed, and parts of the region may not even be there.
    pub(crate) fn harvest(&mut self) -> bool {
        let start = Instant::now();
        self.region.pinned.forget();
        let adaptive = &mut self.adaptive;
        adaptive.go_back(&mut self.region, &mut self.suspect);
        adaptive.expel_parts(&self.bound, &mut self.region, &mut self.suspect);
        let left = adaptive.take_left();
        if !left.is_empty() {
            lock(&self.store).no_longer_whole(&left);
        }
        let looked = self.find_dropped();
        let adaptive = &mut self.adaptive;
        // Straight into the sets: what a tracker reports before it fails is not lost either.
        let mut written = PageSet::new(self.region.span.pages);
        let expected = adaptive.prediction.expected();
        let harvested = self.region.tracker.harvest(expected, &mut written);
        let harvested = looked.and(harvested);
        self.faulted = written.clone();
        self.faulted.subtract(&adaptive.unarmed);
        if let Some(calm) = &mut self.calm {
            calm.disturb(&self.faulted);
        }
        if self.region.tracker.kind() != TrackerKind::Compare {
            self.pending.union(&self.faulted);
            written.intersect(&adaptive.unarmed);
        }
        self.suspect.union(&written);
        self.suspect.union(&self.region.untracked);
        adaptive.unarmed = expected.clone();
        if self.region.tracker.kind() == TrackerKind::Cow {
            // Armed again only when they settle.
            adaptive.unarmed.union(&written);
        }
        if let Err(error) = &harvested {
            tracing::warn!(%error, "tracking failed; every page is compared with the last version");
            if !off(Guard::ErrorMeansAll) {
                self.suspect.union(&self.region.tracked);
            }
            // What can be read is found out page by page below; other threads would fall over the rest.
            let all = 0..self.region.span.pages;
            self.adaptive
                .expel(&all, &mut self.region, &mut self.suspect);
            self.count(|s| s.add(Counter::TrackerErrors, 1));
        }
        self.pending.union(&self.always);
        let ns = start.elapsed().as_nanos() as u64;
        self.count(|s| s.add(Counter::HarvestNs, ns));
        harvested.is_ok()
    }

    /// The pages of bound buffers that changed, and the chunks that are captured later. Pages of other buffers stay pending
    /// until a field is bound to them.
    #[allow(unsafe_code)]
    pub(crate) fn changed_pages(&mut self, sound: bool) -> Result<Dirty, PublishError> {
        let later = self.adaptive.later_in(&self.bound);
        let mut pages = self.pending.clone();
        pages.union(&self.suspect);
        pages.intersect(&self.bound);
        pages.subtract(&later);
        if !sound {
            self.region.keep_readable(&mut pages);
        }
        let mut written = self.pending.clone();
        if !off(Guard::RestsInPlace) {
            // Those that have not been written after all must not be captured: see `resting`.
            written.subtract(self.region.resting.pages());
        }
        let mut suspects = pages.clone();
        suspects.subtract(&written);
        let maybe = self.compared_later(&suspects);
        suspects.subtract(&maybe);
        let mut same = suspects.clone();
        if !suspects.is_empty() {
            pages.subtract(&suspects);
            // SAFETY: the region's live memory; tracked pages are mapped, or were found readable just now; `&mut self`
            // excludes writers.
            unsafe { lock(&self.store).drop_unchanged(self.region.ptr(), &mut suspects)? };
            pages.union(&suspects);
            same.subtract(&suspects);
        }
        let mut all = later.clone();
        all.union(&pages);
        Ok(Dirty {
            all,
            later,
            now: pages,
            maybe,
            same,
        })
    }

    /// Of the suspects, those that are compared while they are captured, by several threads: if they are many, and have most
    /// likely changed. (Their slots count under the bound on memory, changed or not.)
    fn compared_later(&self, suspects: &PageSet) -> PageSet {
        let mut likely = self.adaptive.prediction.expected().clone();
        // Of pages at rest those were written that were found to be, unless a program only says so.
        let mut woken = self.region.resting.pages().clone();
        woken.intersect(&self.pending);
        likely.union(&woken);
        let mut maybe = suspects.clone();
        maybe.intersect(&likely);
        if self.tight || maybe.len() < COMPARED_LATER {
            maybe.clear();
        }
        maybe
    }

    #[allow(unsafe_code)]
    pub(crate) fn capture(
        &mut self,
        stamp: &Stamp,
        dirty: &mut Dirty,
        handed: &[usize],
    ) -> Result<Result<Progress, Skip>, PublishError> {
        if self.table.is_none() {
            self.encode_table()?;
        }
        let (table, base) = (self.table.as_deref().unwrap_or_default(), self.region.ptr());
        let capture = Capture {
            base,
            pages: &dirty.all,
            later: &dirty.later,
            maybe: &dirty.maybe,
            handed,
            gate: self.adaptive.gate.as_ref(),
            table,
            now: unix_ns(),
            visible: self.notifier.clone(),
        };
        let (service, copiers) = (&self.service, &self.copiers);
        // SAFETY: the region's live memory, which is unmapped only after the copiers have ended; `&mut self` excludes
        // writers; later chunks were handed to the gate alone.
        let captured =
            unsafe { lock(&self.store).publish(stamp, &capture, copiers, &|n| service.pinned(n))? };
        self.tight = matches!(captured, Err(Skip::Bytes { .. }));
        let captured = match captured {
            Ok(captured) => captured,
            Err(skip) => {
                if self.tight {
                    // Whole chunks take more room than what has changed of them.
                    let all = 0..self.region.span.pages;
                    self.adaptive
                        .expel(&all, &mut self.region, &mut self.suspect);
                }
                return Ok(Err(skip));
            }
        };
        dirty.leave_out(&captured.same);
        self.next_version += 1;
        self.forget(&dirty.all);
        self.pending.subtract(&dirty.same);
        self.region.resting.captured(&dirty.all);
        self.learn(dirty);
        Ok(Ok(captured.progress))
    }

    /// The pages are in a version that is visible, or will be.
    pub(crate) fn forget(&mut self, pages: &PageSet) {
        self.pending.subtract(pages);
        // Suspects that were compared and found equal need no second look either.
        self.suspect.subtract(&self.bound);
    }

    /// Learn from what was captured inside the call; re-arm it.
    fn learn(&mut self, dirty: &Dirty) {
        let mut settled = dirty.now.clone();
        settled.union(&dirty.same);
        settled.subtract(self.adaptive.prediction.expected());
        if let Err(error) = self.region.tracker.settle(&settled) {
            tracing::warn!(%error, "pages could not be re-armed; they are captured again next time");
        }
        self.adaptive.unarmed.subtract(&settled);
        let mut seen = self.bound.clone();
        seen.subtract(&dirty.later);
        self.faulted.intersect(&dirty.now);
        let mut eligible = self.bound.clone();
        eligible.subtract(&self.devices);
        self.adaptive.learn(
            &seen,
            &dirty.now,
            &self.faulted,
            &eligible,
            &mut self.region,
        );
    }

    /// Take note of the end of the capture that went on, if it has ended.
    pub(crate) fn settle_last(&mut self) {
        let Some(settled) = lock(&self.store).settle() else {
            return;
        };
        self.copiers.clear();
        let (early, waited) = (settled.early.0, settled.early.1.as_nanos() as u64);
        self.adaptive.learn_later(waited, &settled.changed);
        self.count(|s| {
            s.add(Counter::EarlyStores, early)?;
            s.add(Counter::EarlyNs, waited)
        });
        if let Outcome::GivenUp(why) = &settled.outcome {
            tracing::warn!(version = settled.version, %why, "a capture was given up; its changes go into the next version");
            self.pending.union(&settled.pages);
            self.count(|s| s.add(Counter::GivenUp, 1));
        }
        if self.adaptive.gate.as_ref().is_some_and(|g| g.given_up()) {
            tracing::warn!("nothing is captured after publish any more");
            self.adaptive
                .close_gate(&mut self.region, &mut self.suspect);
        }
    }

    /// Wait until nothing is captured any more: before the stream ends, or memory goes.
    pub(crate) fn end_capture(&mut self) {
        let sweep = lock(&self.store).sweep().cloned();
        if let Some(sweep) = sweep {
            sweep.work();
            sweep.wait(std::time::Duration::MAX);
        }
        self.settle_last();
    }
}
