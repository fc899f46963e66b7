//! Every version in order, none left out.

use crate::error::ObserveError;
use crate::observer::Observer;
use crate::reservations::Reservations;
use crate::version::Version;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Takes every version in order: see [`Observer::every_version`].
pub struct EveryVersion<'o> {
    observer: &'o mut Observer,
}

impl Observer {
    /// Takes every version from now on, in order, beginning with the oldest that exists. While the
    /// result lives, the producer reclaims no version that it has not returned yet.
    ///
    /// So the versions that are not taken yet fill the bounds of the producer. At the bound
    /// `publish` skips: it publishes no version, and the changes are in the next one. A producer
    /// that calls `publish_wait` instead waits for this observer, as long as its timeout says. Then
    /// each of its steps is a version, and none is missed.
    ///
    /// An observer has 64 pins. This uses as many of them as the region can have versions at once.
    /// If the observer holds so many versions that fewer are left, some may be missed:
    /// [`missed`](EveryVersion::missed) tells which.
    pub fn every_version(&mut self) -> Result<EveryVersion<'_>, ObserveError> {
        self.begin_every_version()?;
        Ok(EveryVersion { observer: self })
    }

    /// Makes [`next`](Observer::next) take every version from now on, for programs that cannot keep
    /// the borrow of [`every_version`](Observer::every_version): bindings to other languages. It is
    /// the same otherwise, and lasts until [`end_every_version`](Observer::end_every_version).
    pub fn begin_every_version(&mut self) -> Result<(), ObserveError> {
        // The pins of an earlier call would take those that the new one needs.
        self.end_every_version();
        let (session, windows) = (self.session.clone(), self.windows.clone());
        let all = Reservations::after(self.seen(), session, windows)?;
        self.reservations = Some(all);
        Ok(())
    }

    /// Lets the producer reclaim versions again that this observer has not taken.
    pub fn end_every_version(&mut self) {
        self.reservations = None;
    }

    /// Returns the numbers that [`next`](Observer::next) has left out since
    /// [`begin_every_version`](Observer::begin_every_version): see [`EveryVersion::missed`].
    pub fn missed(&self) -> &[RangeInclusive<u64>] {
        self.reservations.as_ref().map_or(&[], Reservations::missed)
    }
}

impl EveryVersion<'_> {
    /// Waits up to `timeout` for the next version. Fails with [`ObserveError::TooManyPins`] if
    /// there is one, but this observer holds as many versions as it can: drop some, and call this
    /// again.
    pub fn next(&mut self, timeout: Duration) -> Result<Version, ObserveError> {
        self.observer.next(timeout)
    }

    /// Returns the numbers that were left out, up to the last version that was taken. Only versions
    /// after the newest one at the call of [`every_version`](Observer::every_version) count.
    ///
    /// Most are numbers of versions that never became visible, because the producer gave up their
    /// capture. The others were reclaimed before this observer could reserve them. That happens
    /// only if it holds too many versions, or looks seldom while several captures are given up.
    pub fn missed(&self) -> &[RangeInclusive<u64>] {
        self.observer.missed()
    }

    /// Returns the observer, to ask for other versions. Its `next` is that of this.
    pub fn observer(&mut self) -> &mut Observer {
        self.observer
    }
}

impl Drop for EveryVersion<'_> {
    fn drop(&mut self) {
        self.observer.end_every_version();
    }
}

impl std::fmt::Debug for EveryVersion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EveryVersion")
            .field("observer", &self.observer)
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}
