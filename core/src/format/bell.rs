//! The bell of a region, which wakes the threads that wait for its next event.
//!
//! Waking takes longer the more threads wait, and any process with a descriptor of the index can
//! wait with any number of threads. So `publish` only counts the event (I5), and the service thread
//! rings the bell.

use crate::format::layout::header;
use crate::sys::futex;
use crate::sys::mem::{MapError, Mapping, page_size};
use std::os::fd::BorrowedFd;

/// A mapping of the futex word of an index, to wake the threads that wait on it.
#[derive(Debug)]
pub struct Bell {
    head: Mapping,
}

impl Bell {
    /// Maps the head of an index. `index` must be a sealed object that was checked to be an index.
    pub fn of(index: BorrowedFd<'_>) -> Result<Self, MapError> {
        let head = Mapping::shared(index, page_size(), false)?;
        head.dont_fork_or_dump()?;
        Ok(Bell { head })
    }

    /// Wakes all threads that wait for an event.
    pub fn ring(&self) {
        const {
            assert!(
                header::EVENT < 4096,
                "the event counter is in the first page"
            )
        };
        // SAFETY: the mapping is readable and is the first page of an index. The index is at least
        // that long, and is sealed against shrinking.
        let words = unsafe { self.head.words() };
        futex::wake(&words[header::EVENT / 8]);
    }
}
