//! The bell of a region: wakes whoever waits for its next event.
//!
//! Waking takes the longer the more there are who wait, and any process with a descriptor of the index can wait, with any number
//! of threads. So `publish` counts the event and goes on (I5); this is for the service thread.

use crate::layout::header;
use crate::sys::futex;
use crate::sys::mem::{MapError, Mapping, page_size};
use std::os::fd::BorrowedFd;

/// The futex word of an index, mapped to wake those who wait on it.
#[derive(Debug)]
pub struct Bell {
    head: Mapping,
}

impl Bell {
    /// Maps the head of an index: a sealed object, checked to be one.
    pub fn of(index: BorrowedFd<'_>) -> Result<Self, MapError> {
        let head = Mapping::shared(index, page_size(), false)?;
        head.dont_fork_or_dump()?;
        Ok(Bell { head })
    }

    /// Wakes everybody who waits for an event.
    pub fn ring(&self) {
        const {
            assert!(
                header::EVENT < 4096,
                "the event counter is in the first page"
            )
        };
        // SAFETY: the first page of an index, which is longer, readable, and sealed against shrinking.
        let words = unsafe { self.head.words() };
        futex::wake(&words[header::EVENT / 8]);
    }
}
