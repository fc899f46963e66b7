//! The dirty pages of a region: every set of pages that says what the next version must capture.
//!
//! A page goes one way. [`DirtyPages::harvested`] takes what the tracker reported,
//! [`DirtyPages::select`] chooses what a version captures, and [`DirtyPages::commit`] removes what
//! the version has. If no version is published, nothing needs to be done: the pages are still here.
//! If a deferred capture fails later, [`DirtyPages::restore`] brings its pages back. So no failure
//! loses a change (I4).

use super::selection::Selection;
use std::ops::Range;
use tcasm_core::pageset::PageSet;
use tcasm_core::testing::sabotage::{Guard, off};
use tcasm_core::track::Harvest;

/// The pages that may have to be captured, and the reasons.
#[derive(Debug)]
pub(crate) struct DirtyPages {
    /// Pages of the buffers that are bound to a field. Only these are captured.
    bound: PageSet,
    /// Pages that were written since they were last captured.
    pending: PageSet,
    /// Pages that may have been written since they were last captured. They are compared first.
    maybe: PageSet,
    /// Pages that the last harvest reported because a store to them faulted.
    faulted: PageSet,
    /// Pages that are not protected. The tracker reports them whether they were written or not.
    unprotected: PageSet,
    /// Pages that devices write without the tracker noticing. They are captured every time.
    always: PageSet,
    /// Pages that devices write or wrote. They are captured inside publish only.
    devices: PageSet,
    /// Pages of adopted arrays. They are captured inside publish only, and always protected, so
    /// that they need no comparison.
    adopted: PageSet,
}

/// The result of a harvest.
pub(crate) struct Harvested<'a> {
    /// The pages that the tracker reported. After an error these may be too few.
    pub(crate) found: Harvest,
    /// Pages that cannot be tracked.
    pub(crate) untracked: &'a PageSet,
    /// All tracked pages if tracking failed, so that each of them may have been written (I6).
    pub(crate) lost: Option<&'a PageSet>,
}

/// The writes of the program that a captured version shows.
pub(crate) struct Observed {
    /// The pages that were captured inside publish or compared, with those that did not change.
    /// Adopted ones are left out here and below.
    pub(crate) seen: PageSet,
    /// Of these, the pages that changed.
    pub(crate) changed: PageSet,
    /// Of the pages that changed, those whose first store faulted.
    pub(crate) faulted: PageSet,
    /// The pages whose capture may be deferred.
    pub(crate) eligible: PageSet,
}

impl DirtyPages {
    /// Returns the empty sets of a region of `pages` pages.
    pub(crate) fn new(pages: usize) -> Self {
        let set = || PageSet::new(pages);
        DirtyPages {
            bound: set(),
            pending: set(),
            maybe: set(),
            faulted: set(),
            unprotected: set(),
            always: set(),
            devices: set(),
            adopted: set(),
        }
    }

    /// Returns the pages of the buffers that are bound to a field.
    pub(crate) fn bound(&self) -> &PageSet {
        &self.bound
    }

    /// Returns the pages that the last harvest reported because a store to them faulted.
    pub(crate) fn faulted(&self) -> &PageSet {
        &self.faulted
    }

    /// Returns true if some of `pages` must stay where they are: devices write them, or wrote them,
    /// or they are adopted.
    pub(crate) fn must_stay(&self, pages: Range<usize>) -> bool {
        self.devices.intersects(pages.clone()) || self.adopted.intersects(pages)
    }

    /// Records that the buffer with `pages` is bound to a field from now on.
    pub(crate) fn bind(&mut self, pages: Range<usize>) {
        self.bound.insert_range(pages);
    }

    /// Records that the buffer with `pages` is bound to no field any more. Its pages stay dirty
    /// until they are bound again.
    pub(crate) fn unbind(&mut self, pages: Range<usize>) {
        self.bound.remove_range(pages);
    }

    /// Records that `pages` were written without the tracker noticing.
    pub(crate) fn mark(&mut self, pages: &PageSet) {
        self.pending.union(pages);
    }

    /// Records that `pages` may have been written without the tracker noticing.
    pub(crate) fn mark_maybe(&mut self, pages: &PageSet) {
        self.maybe.union(pages);
    }

    /// Records that devices write `pages`, or wrote them, so that they are captured inside publish
    /// only.
    pub(crate) fn add_devices(&mut self, pages: Range<usize>) {
        self.devices.insert_range(pages);
    }

    /// Records that `pages` belong to an adopted array, of which `unknown` must be compared.
    pub(crate) fn adopt(&mut self, pages: Range<usize>, unknown: &PageSet) {
        self.adopted.insert_range(pages);
        self.maybe.union(unknown);
    }

    /// Forgets `pages`, which belong to no buffer any more.
    pub(crate) fn leave(&mut self, pages: &Range<usize>) {
        for set in [
            &mut self.bound,
            &mut self.pending,
            &mut self.maybe,
            &mut self.faulted,
            &mut self.unprotected,
            &mut self.always,
            &mut self.devices,
            &mut self.adopted,
        ] {
            set.remove_range(pages.clone());
        }
    }

    /// Captures `pages` in every version from now on.
    pub(crate) fn capture_always(&mut self, pages: Range<usize>) {
        self.always.insert_range(pages);
    }

    /// Records that the next harvest reports `pages` whether they were written or not.
    pub(crate) fn set_unprotected(&mut self, pages: Range<usize>) {
        self.unprotected.insert_range(pages);
    }

    /// Records that the tracker reports nothing about `pages` any more: the gate watches them.
    pub(crate) fn leave_to_gate(&mut self, pages: Range<usize>) {
        self.unprotected.remove_range(pages);
    }

    /// Returns the pages that the next harvest leaves unprotected: those in `expected`, and dirty
    /// pages of buffers that are bound to no field. No version captures these before the harvest
    /// that follows their binding, and nothing is learnt from another store to them.
    pub(crate) fn left_unprotected(&self, expected: &PageSet) -> PageSet {
        let mut pages = self.pending.clone();
        pages.subtract(&self.bound);
        pages.union(expected);
        pages
    }

    /// Adds the pages that a harvest found.
    pub(crate) fn harvested(&mut self, harvest: Harvested<'_>) {
        let Harvest {
            mut written,
            maybe,
            unarmed,
        } = harvest.found;
        self.faulted = written.clone();
        self.faulted.subtract(&self.unprotected);
        self.pending.union(&self.faulted);
        self.pending.union(&self.always);
        written.intersect(&self.unprotected);
        for pages in [&written, &maybe, harvest.untracked] {
            self.maybe.union(pages);
        }
        self.unprotected = unarmed;
        if let Some(tracked) = harvest.lost.filter(|_| !off(Guard::ErrorMeansAll)) {
            self.maybe.union(tracked);
            self.unprotected.union(tracked);
        }
    }

    /// Chooses the pages of bound buffers that the next version captures. `deferred` are the bound
    /// pages of chunks whose capture is deferred, and `shared` those that may be shared with a
    /// plane. Of the pages that must be compared, those in `likely` have probably changed; without
    /// it, all are compared before the capture.
    pub(crate) fn select(
        &mut self,
        deferred: PageSet,
        shared: &PageSet,
        likely: Option<&PageSet>,
    ) -> Selection {
        let mut written = self.pending.clone();
        let mut woken = shared.clone();
        woken.intersect(&self.pending);
        if !off(Guard::SharedInPlace) {
            // A shared page that has not been written must not be captured (I11), so shared pages
            // are compared.
            written.subtract(shared);
        }
        let mut doubtful = self.pending.clone();
        doubtful.union(&self.maybe);
        doubtful.subtract(&written);
        for set in [&mut written, &mut doubtful] {
            set.intersect(&self.bound);
            set.subtract(&deferred);
        }
        let selection = Selection::new(deferred, written, doubtful);
        let Some(likely) = likely else {
            return selection;
        };
        // A shared page that is pending was most likely written. Only a program that marks pages as
        // dirty can make it pending without a write.
        woken.union(likely);
        selection.compare_on_copy(&woken)
    }

    /// Removes the pages of a version that is visible, or will be. Returns those of them that can
    /// be protected again, because they are not in `expected`.
    pub(crate) fn commit(&mut self, selection: &Selection, expected: &PageSet) -> PageSet {
        self.forget(selection);
        let mut settled = selection.inline.clone();
        settled.union(&selection.same);
        settled.subtract(expected);
        self.unprotected.subtract(&settled);
        settled
    }

    /// Removes the pages of `selection`.
    pub(crate) fn forget(&mut self, selection: &Selection) {
        self.pending.subtract(&selection.all);
        self.pending.subtract(&selection.same);
        // Maybe dirty pages that were compared and found equal need no second comparison either.
        self.maybe.subtract(&self.bound);
    }

    /// Brings back the pages of a version that did not become visible.
    pub(crate) fn restore(&mut self, pages: &PageSet) {
        self.pending.union(pages);
    }

    /// Returns what a version that captured `selection` shows of the program's writes.
    pub(crate) fn observed(&self, selection: &Selection) -> Observed {
        let mut seen = self.bound.clone();
        seen.subtract(&selection.deferred);
        let mut faulted = self.faulted.clone();
        faulted.intersect(&selection.inline);
        let mut eligible = self.bound.clone();
        eligible.subtract(&self.devices);
        let mut changed = selection.inline.clone();
        for set in [&mut seen, &mut changed, &mut faulted, &mut eligible] {
            set.subtract(&self.adopted);
        }
        Observed {
            seen,
            changed,
            faulted,
            eligible,
        }
    }

    /// Returns the pages that may differ from the newest version. The harvest was just taken.
    pub(crate) fn unpublished(&self) -> PageSet {
        let mut pages = self.pending.clone();
        pages.union(&self.maybe);
        pages
    }

    /// Returns the pages that may differ from the newest version at any time: those that may differ
    /// now, and those that can be written without a fault.
    pub(crate) fn may_differ(&self) -> PageSet {
        let mut pages = self.unpublished();
        pages.union(&self.unprotected);
        pages
    }
}
