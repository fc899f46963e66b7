//! The source of the versions to append: all that still exist, or every version.

use std::time::Duration;
use tcasm_observer::{EveryVersion, ObserveError, Observer, Version};

/// The versions of a region, in order.
pub enum Source<'o> {
    /// Gives the versions that still exist.
    Existing(&'o mut Observer),
    /// Gives every version. The producer keeps those that are not taken yet.
    Every(EveryVersion<'o>),
}

impl<'o> Source<'o> {
    pub fn of(observer: &'o mut Observer, lossless: bool) -> Result<Self, ObserveError> {
        Ok(match lossless {
            true => Source::Every(observer.every_version()?),
            false => Source::Existing(observer),
        })
    }

    /// Waits up to `timeout` for the next version.
    pub fn next(&mut self, timeout: Duration) -> Result<Version, ObserveError> {
        match self {
            Source::Existing(observer) => observer.next(timeout),
            Source::Every(every) => every.next(timeout),
        }
    }
}
