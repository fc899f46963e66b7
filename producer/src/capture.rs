//! The steps of `publish` that find and capture dirty pages.

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

/// The fewest maybe dirty pages that are compared by several threads while they are copied. Below
/// this the threads are not worth waking.
const COMPARED_ON_COPY: usize = 1024;

/// The pages that a version is to capture.
pub(crate) struct Dirty {
    /// All pages to capture.
    pub(crate) all: PageSet,
    /// Of these, the pages of chunks whose capture is deferred.
    pub(crate) deferred: PageSet,
    /// The other pages, which are captured inside publish.
    now: PageSet,
    /// Of the pages in `now`, those that are compared while they are captured.
    maybe: PageSet,
    /// Pages that were compared and equal the newest version.
    same: PageSet,
}

impl Dirty {
    /// Removes pages that were compared by now and equal the newest version.
    fn leave_out(&mut self, same: &PageSet) {
        self.all.subtract(same);
        self.now.subtract(same);
        self.same.union(same);
    }
}

impl Producer {
    /// Adds the pages that were written since the last harvest to the pending pages, and those that
    /// may have been written to the maybe dirty ones. Returns false if tracking failed: then
    /// everything may have changed, and parts of the region may not even be mapped.
    pub(crate) fn harvest(&mut self) -> bool {
        let start = Instant::now();
        self.region.pinned.forget();
        let policy = &mut self.policy;
        policy.go_back(&mut self.region, &mut self.maybe_dirty);
        policy.expel_parts(&self.bound, &mut self.region, &mut self.maybe_dirty);
        let left = policy.take_left();
        if !left.is_empty() {
            lock(&self.store).no_longer_whole(&left);
        }
        let looked = self.find_dropped();
        let policy = &mut self.policy;
        // The tracker reports directly into the set, so what it reports before it fails is not
        // lost.
        let mut written = PageSet::new(self.region.span.pages);
        let expected = policy.prediction.expected();
        let harvested = self.region.tracker.harvest(expected, &mut written);
        let harvested = looked.and(harvested);
        self.faulted = written.clone();
        self.faulted.subtract(&policy.unarmed);
        if let Some(cold) = &mut self.cold {
            cold.disturb(&self.faulted);
        }
        if self.region.tracker.kind() != TrackerKind::Compare {
            self.pending.union(&self.faulted);
            written.intersect(&policy.unarmed);
        }
        self.maybe_dirty.union(&written);
        self.maybe_dirty.union(&self.region.untracked);
        policy.unarmed = expected.clone();
        if self.region.tracker.kind() == TrackerKind::Cow {
            // The `cow` tracker protects these pages again only when they settle.
            policy.unarmed.union(&written);
        }
        if let Err(error) = &harvested {
            tracing::warn!(%error, "tracking failed; every page is compared with the last version");
            if !off(Guard::ErrorMeansAll) {
                self.maybe_dirty.union(&self.region.tracked);
            }
            // Which pages can be read is checked page by page below. Copier threads must not meet
            // pages that cannot be read.
            let all = 0..self.region.span.pages;
            self.policy
                .expel(&all, &mut self.region, &mut self.maybe_dirty);
            self.count(|s| s.add(Counter::TrackerErrors, 1));
        }
        self.pending.union(&self.always);
        let ns = start.elapsed().as_nanos() as u64;
        self.count(|s| s.add(Counter::HarvestNs, ns));
        harvested.is_ok()
    }

    /// Returns the pages of bound buffers that changed, and the chunks whose capture is deferred.
    /// Pages of other buffers stay pending until a field is bound to them. `sound` is the result of
    /// the harvest.
    #[allow(unsafe_code)]
    pub(crate) fn changed_pages(&mut self, sound: bool) -> Result<Dirty, PublishError> {
        let deferred = self.policy.deferred_in(&self.bound);
        let mut pages = self.pending.clone();
        pages.union(&self.maybe_dirty);
        pages.intersect(&self.bound);
        pages.subtract(&deferred);
        if !sound {
            self.region.keep_readable(&mut pages);
        }
        let mut written = self.pending.clone();
        if !off(Guard::SharedInPlace) {
            // A shared page that has not been written must not be captured, so shared pages are
            // compared: see `shared`.
            written.subtract(self.region.shared.pages());
        }
        let mut suspects = pages.clone();
        suspects.subtract(&written);
        let maybe = self.compared_on_copy(&suspects);
        suspects.subtract(&maybe);
        let mut same = suspects.clone();
        if !suspects.is_empty() {
            pages.subtract(&suspects);
            // SAFETY: `ptr` is the region's live memory. Tracked pages are mapped, or were found
            // readable just now. `&mut self` excludes writers.
            unsafe { lock(&self.store).drop_unchanged(self.region.ptr(), &mut suspects)? };
            pages.union(&suspects);
            same.subtract(&suspects);
        }
        let mut all = deferred.clone();
        all.union(&pages);
        Ok(Dirty {
            all,
            deferred,
            now: pages,
            maybe,
            same,
        })
    }

    /// Returns the maybe dirty pages that several threads compare while they capture them. They
    /// must be many, and have most likely changed, because their frames count under the bound on
    /// memory whether they changed or not.
    fn compared_on_copy(&self, suspects: &PageSet) -> PageSet {
        let mut likely = self.policy.prediction.expected().clone();
        // A shared page that is pending was most likely written. Only a program that marks pages as
        // dirty can make it pending without a write.
        let mut woken = self.region.shared.pages().clone();
        woken.intersect(&self.pending);
        likely.union(&woken);
        let mut maybe = suspects.clone();
        maybe.intersect(&likely);
        if self.tight || maybe.len() < COMPARED_ON_COPY {
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
            deferred: &dirty.deferred,
            maybe: &dirty.maybe,
            handed,
            gate: self.policy.gate.as_ref(),
            table,
            now: unix_ns(),
            visible: self.notifier.clone(),
        };
        let (service, copiers) = (&self.service, &self.copiers);
        // SAFETY: `base` is the region's live memory, which is unmapped only after the copiers have
        // ended. The pages are mapped, or were found readable. `&mut self` excludes writers during
        // the call. Deferred chunks are watched by the gate and by nothing else.
        let captured =
            unsafe { lock(&self.store).publish(stamp, &capture, copiers, &|n| service.pinned(n))? };
        self.tight = matches!(captured, Err(Skip::Bytes { .. }));
        let captured = match captured {
            Ok(captured) => captured,
            Err(skip) => {
                if self.tight {
                    // Deferred chunks are captured whole, which takes more room than the pages that
                    // changed.
                    let all = 0..self.region.span.pages;
                    self.policy
                        .expel(&all, &mut self.region, &mut self.maybe_dirty);
                }
                return Ok(Err(skip));
            }
        };
        dirty.leave_out(&captured.same);
        self.next_version += 1;
        self.forget(&dirty.all);
        self.pending.subtract(&dirty.same);
        self.region.shared.captured(&dirty.all);
        self.learn(dirty);
        Ok(Ok(captured.progress))
    }

    /// Removes pages from the pending set: they are in a version that is visible or will be.
    pub(crate) fn forget(&mut self, pages: &PageSet) {
        self.pending.subtract(pages);
        // Maybe dirty pages that were compared and found equal need no second comparison either.
        self.maybe_dirty.subtract(&self.bound);
    }

    /// Updates the prediction and the capture policy from what the call captured, and protects the
    /// captured pages again.
    fn learn(&mut self, dirty: &Dirty) {
        let mut settled = dirty.now.clone();
        settled.union(&dirty.same);
        settled.subtract(self.policy.prediction.expected());
        if let Err(error) = self.region.tracker.settle(&settled) {
            tracing::warn!(
                %error,
                "pages could not be protected again; they are captured again next time"
            );
        }
        self.policy.unarmed.subtract(&settled);
        let mut seen = self.bound.clone();
        seen.subtract(&dirty.deferred);
        self.faulted.intersect(&dirty.now);
        let mut eligible = self.bound.clone();
        eligible.subtract(&self.devices);
        self.policy.learn(
            &seen,
            &dirty.now,
            &self.faulted,
            &eligible,
            &mut self.region,
        );
    }

    /// Takes the result of the deferred capture of the last version, if that has ended. If the
    /// capture was given up, its pages become pending again.
    pub(crate) fn settle_last(&mut self) {
        let Some(settled) = lock(&self.store).settle() else {
            return;
        };
        self.copiers.clear();
        let (early, waited) = (settled.early.0, settled.early.1.as_nanos() as u64);
        self.policy.learn_deferred(waited, &settled.changed);
        self.count(|s| {
            s.add(Counter::EarlyStores, early)?;
            s.add(Counter::EarlyNs, waited)
        });
        if let Outcome::GivenUp(why) = &settled.outcome {
            tracing::warn!(
                version = settled.version, %why,
                "a capture was given up; its changes go into the next version"
            );
            self.pending.union(&settled.pages);
            self.count(|s| s.add(Counter::GivenUp, 1));
        }
        if self.policy.gate.as_ref().is_some_and(|g| g.given_up()) {
            tracing::warn!("deferred capture is off; everything is captured inside publish");
            self.policy
                .close_gate(&mut self.region, &mut self.maybe_dirty);
        }
    }

    /// Waits until no capture runs, and takes the result of the last one. Called before the region
    /// is closed or rolled back, and before chunks that devices write return to the tracker.
    pub(crate) fn end_capture(&mut self) {
        let sweep = lock(&self.store).sweep().cloned();
        if let Some(sweep) = sweep {
            sweep.work();
            sweep.wait(std::time::Duration::MAX);
        }
        self.settle_last();
    }
}
