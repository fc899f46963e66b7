//! The memory and mappings that the views of an observer take of its process.

use crate::budget;
use crate::error::ObserveError;
use crate::observer::Observer;

/// What the views of one observer take of this process. No other process can see it: the lease that
/// producer and observer share says nothing about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObserverStats {
    /// Address ranges that show versions. Views of the same version share one, and a few are kept
    /// for the next views.
    pub windows: usize,
    /// Mappings of these windows, at most.
    pub mappings: usize,
    /// Mappings that the windows of all observers of this process may have: half of the kernel's
    /// limit.
    pub most_mappings: usize,
    /// Bytes of memory in which the windows hold copies of scattered chunks.
    pub copied_bytes: u64,
    /// Bytes that copies may take: see [`Observer::set_copy_budget`].
    pub copy_budget: u64,
}

impl Observer {
    /// Sets how many bytes of this process's memory the views of this observer may take for copies.
    ///
    /// A chunk (2 MiB) whose pages are scattered over many runs is copied instead of mapped, which
    /// takes less time from version to version, and no mappings. What exceeds the budget is mapped.
    /// With a budget of 0 chunks are copied only when the process would run out of mappings. Such
    /// copies can exceed any budget, as far as there is memory for them.
    ///
    /// The default is the size of the region, at most 256 MiB. Unless a budget is set, copies also
    /// leave a sixteenth of the memory of the machine or control group free. Copies that exist
    /// already stay as long as their chunk is scattered.
    pub fn set_copy_budget(&self, bytes: u64) {
        self.windows.usage().set_budget(bytes);
    }

    /// Returns what the views of this observer take of this process.
    pub fn stats(&self) -> Result<ObserverStats, ObserveError> {
        if self.session.forked() {
            return Err(ObserveError::Forked);
        }
        let usage = self.windows.usage();
        Ok(ObserverStats {
            windows: self.windows.count(),
            mappings: usage.mappings(),
            most_mappings: budget::limit(),
            copied_bytes: usage.copied(),
            copy_budget: usage.budget(),
        })
    }
}
