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
    reservations: Reservations,
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
        let (session, windows) = (self.session.clone(), self.windows.clone());
        let reservations = Reservations::after(self.seen(), session, windows)?;
        let observer = self;
        Ok(EveryVersion {
            observer,
            reservations,
        })
    }
}

impl EveryVersion<'_> {
    /// Waits up to `timeout` for the next version. Fails with [`ObserveError::TooManyPins`] if
    /// there is one, but this observer holds as many versions as it can: drop some, and call this
    /// again.
    pub fn next(&mut self, timeout: Duration) -> Result<Version, ObserveError> {
        let EveryVersion {
            observer,
            reservations,
        } = self;
        observer.wait(timeout, |observer| {
            observer.acknowledge();
            observer.session.check()?;
            let version = reservations.take()?;
            if let Some(version) = &version {
                observer.saw(version.number());
            }
            Ok(version)
        })
    }

    /// Returns the numbers that were left out, up to the last version that was taken. Only versions
    /// after the newest one at the call of [`every_version`](Observer::every_version) count.
    ///
    /// Most are numbers of versions that never became visible, because the producer gave up their
    /// capture. The others were reclaimed before this observer could reserve them. That happens
    /// only if it holds too many versions, or looks seldom while several captures are given up.
    pub fn missed(&self) -> &[RangeInclusive<u64>] {
        self.reservations.missed()
    }

    /// Returns the observer, to ask for other versions.
    pub fn observer(&mut self) -> &mut Observer {
        self.observer
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
