//! Limits how many mappings windows take. The kernel's limit is for the whole process, which needs
//! mappings for other purposes too.
//!
//! All windows of all observers of this process share half of the limit. A window may take half of
//! what the others have left of it. So each window finds some, and all together never exceed their
//! half.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tcasm_core::sys::mem::max_map_count;

/// The number of runs of all windows of this process.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| max_map_count() / 2)
}

/// The runs that one window has taken. They are given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Share {
    runs: usize,
}

impl Share {
    /// Returns the most runs that this window may have now, including those that it has. (Threads
    /// that ask at the same time may together get a little more. The other half of the kernel's
    /// limit allows for that.)
    pub(crate) fn most(&self) -> usize {
        let others = TAKEN.load(Ordering::Relaxed).saturating_sub(self.runs);
        limit().saturating_sub(others) / 2
    }

    /// Returns the number of runs that are taken.
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    /// Takes `runs` runs from now on, instead of those taken before.
    pub(crate) fn set(&mut self, runs: usize) {
        TAKEN.fetch_add(runs, Ordering::Relaxed);
        TAKEN.fetch_sub(self.runs, Ordering::Relaxed);
        self.runs = runs;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_take_at_most_half_of_the_mappings_and_give_them_back() {
        let mut shares: Vec<Share> = Vec::new();
        for _ in 0..100 {
            let mut share = Share::default();
            share.set(share.most());
            shares.push(share);
        }
        assert!(TAKEN.load(Ordering::Relaxed) <= limit());
        assert_eq!(shares[0].runs, limit() / 2);
        shares.clear();
        assert_eq!(TAKEN.load(Ordering::Relaxed), 0);
    }
}
