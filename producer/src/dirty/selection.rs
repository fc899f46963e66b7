//! The pages that one version captures.

use tcasm_core::pageset::PageSet;

/// The fewest maybe dirty pages that are compared by several threads while they are copied. Below
/// this the threads are not worth waking.
const COMPARED_ON_COPY: usize = 1024;

/// The pages that one version captures.
#[derive(Debug)]
pub(crate) struct Selection {
    /// All pages to capture: those in `deferred` and in `inline`.
    pub(crate) all: PageSet,
    /// The pages of chunks whose capture is deferred.
    pub(crate) deferred: PageSet,
    /// The pages that are captured inside publish.
    pub(crate) inline: PageSet,
    /// Of the pages in `inline`, those that are compared while they are copied.
    pub(crate) maybe: PageSet,
    /// Pages that must be compared before it is known whether they are captured.
    doubtful: PageSet,
    /// Pages that were compared and equal the newest version.
    pub(crate) same: PageSet,
}

impl Selection {
    /// Selects the pages in `deferred` and `written`, and those in `doubtful` that turn out to have
    /// changed.
    pub(super) fn new(deferred: PageSet, written: PageSet, doubtful: PageSet) -> Self {
        let empty = PageSet::new(written.capacity());
        let mut all = deferred.clone();
        all.union(&written);
        Selection {
            all,
            deferred,
            inline: written,
            maybe: empty.clone(),
            doubtful,
            same: empty,
        }
    }

    /// Has the doubtful pages in `likely` compared while they are copied, by several threads. They
    /// must be many and have most likely changed, because their frames count under the bound on
    /// memory whether they changed or not.
    pub(super) fn compare_on_copy(mut self, likely: &PageSet) -> Self {
        let mut maybe = self.doubtful.clone();
        maybe.intersect(likely);
        if maybe.len() >= COMPARED_ON_COPY {
            self.doubtful.subtract(&maybe);
            self.take(&maybe);
            self.maybe = maybe;
        }
        self
    }

    /// Leaves out the pages that `keep_readable` removes from a set.
    pub(crate) fn keep_readable(&mut self, keep_readable: impl Fn(&mut PageSet)) {
        keep_readable(&mut self.inline);
        keep_readable(&mut self.doubtful);
        self.all = self.deferred.clone();
        self.all.union(&self.inline);
        self.maybe.intersect(&self.inline);
    }

    /// Decides about the doubtful pages: `drop_unchanged` removes from a set the pages that equal
    /// the newest version.
    pub(crate) fn compare<E>(
        &mut self,
        drop_unchanged: impl FnOnce(&mut PageSet) -> Result<(), E>,
    ) -> Result<(), E> {
        let empty = PageSet::new(self.doubtful.capacity());
        let mut doubtful = std::mem::replace(&mut self.doubtful, empty);
        if doubtful.is_empty() {
            return Ok(());
        }
        let mut changed = doubtful.clone();
        drop_unchanged(&mut changed)?;
        self.take(&changed);
        doubtful.subtract(&changed);
        self.same.union(&doubtful);
        Ok(())
    }

    /// Leaves out pages that were compared while they were copied, and equal the newest version.
    pub(crate) fn leave_out(&mut self, same: &PageSet) {
        self.all.subtract(same);
        self.inline.subtract(same);
        self.same.union(same);
    }

    fn take(&mut self, pages: &PageSet) {
        self.all.union(pages);
        self.inline.union(pages);
    }
}
