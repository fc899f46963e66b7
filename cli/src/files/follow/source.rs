//! The sources of the versions to append.

use std::time::Duration;
use tcasm_observer::{EveryVersion, ObserveError, Observer, Version};

/// The versions of a region, in order.
pub enum Source<'o> {
    /// The versions that still exist when the command looks for them.
    Existing(&'o mut Observer),
    /// Every version. The producer keeps the versions that are not taken yet.
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

    /// Returns the observer, to ask for other versions.
    pub fn observer(&mut self) -> &mut Observer {
        match self {
            Source::Existing(observer) => observer,
            Source::Every(every) => every.observer(),
        }
    }
}
