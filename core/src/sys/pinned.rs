//! Memory that devices may write, as the whole process knows it: who registers memory announces it,
//! and whoever owns a region asks what was announced there.

use super::per_process::PerProcess;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The addresses that somebody owns, and what was announced there since they last asked.
#[derive(Debug)]
pub struct Announced {
    range: Range<usize>,
    news: AtomicBool,
    parts: Mutex<Vec<Range<usize>>>,
}

/// A forked child owns nothing: its parent tracks the regions.
static OWNERS: PerProcess<Mutex<Vec<Weak<Announced>>>> = PerProcess::new();

fn owners() -> MutexGuard<'static, Vec<Weak<Announced>>> {
    OWNERS.get().lock().unwrap_or_else(PoisonError::into_inner)
}

impl Announced {
    /// Collects what is announced in `range` from now on, until the result is dropped.
    pub fn collect(range: Range<usize>) -> Arc<Self> {
        let announced = Arc::new(Announced {
            range,
            news: AtomicBool::new(false),
            parts: Mutex::default(),
        });
        let mut owners = owners();
        owners.retain(|owner| owner.strong_count() > 0);
        owners.push(Arc::downgrade(&announced));
        announced
    }

    /// Takes what was announced since the last call. If nothing was, this costs one load.
    pub fn take(&self) -> Vec<Range<usize>> {
        if !self.news.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *parts)
    }

    fn add(&self, range: &Range<usize>) {
        let part = range.start.max(self.range.start)..range.end.min(self.range.end);
        if part.is_empty() {
            return;
        }
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if !parts
            .iter()
            .any(|p| p.start <= part.start && part.end <= p.end)
        {
            parts.retain(|p| p.start < part.start || part.end < p.end);
            parts.push(part);
        }
        self.news.store(true, Ordering::Release);
    }
}

/// Announces that devices may write the memory from now on. The caller does so before the first
/// device can.
pub fn announce(range: &Range<usize>) {
    for owner in owners().iter().filter_map(Weak::upgrade) {
        owner.add(range);
    }
}

/// Returns the addresses of all owners. They change the mappings there themselves, and need
/// userfaultfd for it, so nobody else may register this memory with a userfaultfd.
pub fn owned() -> Vec<Range<usize>> {
    let owners = owners();
    let owners = owners.iter().filter_map(Weak::upgrade);
    owners.map(|owner| owner.range.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Addresses at which no region of another test lies.
    #[test]
    fn an_owner_is_told_once_of_what_lies_in_its_range() {
        let owner = Announced::collect(0x1000..0x9000);
        assert!(owner.take().is_empty());
        announce(&(0x8000..0xa000));
        announce(&(0xb000..0xc000));
        announce(&(0x8000..0x9000));
        assert_eq!(owner.take().pop(), Some(0x8000..0x9000));
        assert!(owned().contains(&(0x1000..0x9000)));
        assert!(owner.take().is_empty());
    }
}
