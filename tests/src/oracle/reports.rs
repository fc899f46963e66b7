//! The pages that a tracker may report as written, which the model of a region expects in versions.

use super::pages_of_chunk;
use tcasm_core::policy::Prediction;
use tcasm_observer::PageSet;

/// How well the oracle can predict what a tracker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// A page is reported if its bytes differ.
    Bytes,
    /// A page is reported if it was stored to. An expected page is reported if its bytes differ.
    Stores,
    /// As `Stores`, but chunks may become deferred and are learnt anew, which the oracle does not
    /// know. In a deferred chunk a page is reported if its bytes differ.
    Gate,
    /// The tracker gives errors and may report any page.
    Broken,
}

/// The pages that the tracker may report.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) exact: Exactness,
    /// Pages stored to since the last harvest.
    pub(super) stored: PageSet,
    /// Pages reported as stored to, and in no version since.
    pending: PageSet,
    /// Pages declared as written, and in no version since.
    pub(super) marked: PageSet,
    /// Pages declared as written by devices. They are in every version.
    pub(super) always: PageSet,
    /// Pages reported every time, whether they were stored to or not.
    pub(super) pinned: PageSet,
    /// Pages that were not protected at the last harvest.
    unprotected: PageSet,
    /// The prediction of the library itself. Its own tests compare it with a model.
    prediction: Prediction,
}

impl Reports {
    /// Returns what a tracker reports of a region of `pages` pages that nothing was written to.
    pub(super) fn new(pages: usize, exact: Exactness) -> Self {
        let set = || PageSet::new(pages);
        Reports {
            exact,
            stored: set(),
            pending: set(),
            marked: set(),
            always: set(),
            pinned: set(),
            unprotected: set(),
            prediction: Prediction::new(pages),
        }
    }

    /// Takes what the tracker notes about the stores since the last harvest.
    pub(super) fn harvest(&mut self) {
        match self.exact {
            Exactness::Bytes => self.stored.clear(),
            Exactness::Stores => self.stored.subtract(&self.unprotected),
            Exactness::Gate | Exactness::Broken => {}
        }
        self.pending.union(&self.stored);
        self.stored.clear();
        self.unprotected = self.prediction.expected().clone();
    }

    /// Returns the pages that may be reported although their bytes are the same.
    pub(super) fn unchanged_too(&self) -> PageSet {
        let mut set = match self.exact {
            // Where protecting failed half-way, all pages look as if they were new.
            Exactness::Broken => {
                let mut all = PageSet::new(self.pending.capacity());
                all.insert_range(0..all.capacity());
                all
            }
            _ => self.pending.clone(),
        };
        for other in [&self.marked, &self.always, &self.pinned] {
            set.union(other);
        }
        set
    }

    /// Records that a version captured the pages `bound` and changed the pages `changed`.
    pub(super) fn learn(&mut self, bound: &PageSet, changed: &PageSet, deferred: &[usize]) {
        self.pending.subtract(bound);
        self.marked.subtract(bound);
        let (mut seen, mut changed) = (bound.clone(), changed.clone());
        for chunk in deferred {
            seen.remove_range(pages_of_chunk(*chunk));
        }
        changed.intersect(&seen);
        self.prediction.learn(&seen, &changed);
    }
}
