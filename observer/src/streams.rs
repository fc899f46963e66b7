//! Versions as an iterator.

use crate::error::ObserveError;
use crate::observer::Observer;
use crate::version::Version;
use std::time::Duration;

/// An iterator over every available version, in order, until the stream ends: see
/// [`Observer::versions`].
///
/// It waits for the producer. The end of the stream ends the iteration. If the producer dies or
/// revokes the lease, the iterator returns an error and then ends.
pub struct Versions<'o> {
    observer: &'o mut Observer,
    over: bool,
}

impl Observer {
    /// Returns all versions from now on, one after the other, until the stream ends.
    pub fn versions(&mut self) -> Versions<'_> {
        Versions {
            observer: self,
            over: false,
        }
    }
}

impl Iterator for Versions<'_> {
    type Item = Result<Version, ObserveError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            match self.observer.next(Duration::from_secs(3600)) {
                Err(ObserveError::NotReady) => {}
                Err(ObserveError::EndOfStream) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
                version => return Some(version),
            }
        }
        None
    }
}
