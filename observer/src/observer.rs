//! The observer: attaches to a region, asks for versions, and waits for newer ones.

use crate::attach;
use crate::error::{AttachError, ObserveError, no_such_version};
use crate::info::RegionInfo;
use crate::pin::Pin;
use crate::reservations::Reservations;
use crate::session::Session;
use crate::version::Version;
use crate::windows::Windows;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tcasm_core::place::{kept_path, socket_path};
use tcasm_core::sys::futex;
use tcasm_core::sys::time::deadline;

/// The state of the stream of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The producer runs, and there is a version.
    Ok,
    /// The producer runs, but has published nothing yet.
    NotReady,
    /// The producer has closed the region. Its last version is still available.
    EndOfStream,
    /// The producer died. Its last version is still available, because this observer was attached.
    ProducerLost,
    /// The producer has revoked this observer's lease. The versions that it holds stay as they are,
    /// but keep memory of the producer: drop them, and attach again.
    Revoked,
}

/// An attachment to a region.
pub struct Observer {
    pub(crate) session: Arc<Session>,
    pub(crate) windows: Arc<Windows>,
    /// The newest version that `latest`, `wait_newer` or `next` has returned, or 0.
    seen: u64,
    /// The versions that `next` must not leave out: see `every_version`.
    pub(crate) reservations: Option<Reservations>,
    /// The producer was asked for notices.
    pub(crate) subscribed: bool,
}

/// How long an attaching observer waits for the producer's answer.
pub(crate) const ATTACH_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a waiting observer checks that the producer lives.
pub(crate) const LIVENESS: Duration = Duration::from_millis(50);

impl Observer {
    /// Attaches to the region `name`.
    pub fn attach(name: &str) -> Result<Observer, AttachError> {
        Observer::attach_within(name, ATTACH_TIMEOUT)
    }

    /// Attaches to what a dead producer of the region `name` has left, if a process keeps it
    /// (`tcasm keep`). No newer version will come, and the existing ones stay as long as this
    /// observer.
    pub fn attach_kept(name: &str) -> Result<Observer, AttachError> {
        Observer::attach_at(name, &kept_path(name), ATTACH_TIMEOUT)
    }

    /// Does the same as [`attach`](Self::attach), and waits at most `timeout` for the producer's
    /// answer.
    pub(crate) fn attach_within(name: &str, timeout: Duration) -> Result<Observer, AttachError> {
        Observer::attach_at(name, &socket_path(name), timeout)
    }

    fn attach_at(name: &str, path: &Path, timeout: Duration) -> Result<Observer, AttachError> {
        let session = Arc::new(attach::attach(name, path, timeout)?);
        let windows = Arc::new(Windows::new(session.extent().bytes as usize));
        Ok(Observer {
            session,
            windows,
            seen: 0,
            reservations: None,
            subscribed: false,
        })
    }

    /// Attaches to the region `name`. Waits up to `timeout` for its producer to start, and some
    /// seconds longer for the answer of one that is stopped or gets no processor.
    pub fn attach_wait(name: &str, timeout: Duration) -> Result<Observer, AttachError> {
        let deadline = deadline(timeout);
        loop {
            match Observer::attach(name) {
                Err(
                    AttachError::NotFound { .. }
                    | AttachError::Dead { .. }
                    | AttachError::Ended { .. }
                    | AttachError::NoAnswer { .. },
                ) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                result => return result,
            }
        }
    }

    /// Returns the state of the stream.
    pub fn status(&self) -> Result<Status, ObserveError> {
        let index = self.session.index()?;
        // This comes first: a producer closes the stream before it ends.
        let gone = self.session.producer_gone();
        Ok(if self.session.check().is_err() {
            Status::Revoked
        } else if index.closed()? {
            Status::EndOfStream
        } else if gone {
            Status::ProducerLost
        } else if index.latest()? == 0 {
            Status::NotReady
        } else {
            Status::Ok
        })
    }

    pub(crate) fn check(&self) -> Result<(), ObserveError> {
        if self.session.forked() {
            Err(ObserveError::Forked)
        } else {
            Ok(())
        }
    }

    /// Returns the newest version, also after the end of the stream or the producer's death.
    pub fn latest(&mut self) -> Result<Version, ObserveError> {
        self.acknowledge();
        loop {
            self.session.check()?;
            let n = self.session.index()?.latest()?;
            if n == 0 {
                return Err(self.why_nothing()?);
            }
            if let Some(version) = self.pin(n)? {
                self.seen = self.seen.max(n);
                return Ok(version);
            }
            // The version is gone, so a newer one was visible before. If the index does not show a
            // newer one it is wrong, and trying again would never end.
            if self.session.index()?.latest()? == n {
                return Err(no_such_version(n).into());
            }
        }
    }

    /// Returns version `number`, if it still exists.
    pub fn version(&mut self, number: u64) -> Result<Version, ObserveError> {
        self.session.check()?;
        let gone = |available| ObserveError::Gone {
            version: number,
            available,
        };
        match self.pin(number)? {
            Some(version) => Ok(version),
            None => Err(gone(self.available()?)),
        }
    }

    /// Returns the numbers of the versions that exist at this moment, oldest first.
    pub fn available(&self) -> Result<Vec<u64>, ObserveError> {
        self.check()?;
        Ok(self.session.index()?.versions()?)
    }

    /// Waits up to `timeout` until there is a version that is newer than all that were returned
    /// before. Returns the newest one.
    pub fn wait_newer(&mut self, timeout: Duration) -> Result<Version, ObserveError> {
        let seen = self.seen;
        self.wait(timeout, |o| match o.latest() {
            Ok(version) if version.number() > seen => Ok(Some(version)),
            Ok(_) | Err(ObserveError::NotReady) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Waits up to `timeout` until there is a version that is newer than all that were returned
    /// before. Returns the oldest one. Versions that were reclaimed before are left out: the
    /// producer keeps as many as its `history` says. None are left out after
    /// [`begin_every_version`](Observer::begin_every_version).
    pub fn next(&mut self, timeout: Duration) -> Result<Version, ObserveError> {
        let Some(mut reservations) = self.reservations.take() else {
            let seen = self.seen;
            return self.wait(timeout, |o| o.next_after(seen));
        };
        let found = self.wait(timeout, |o| o.next_reserved(&mut reservations));
        self.reservations = Some(reservations);
        found
    }

    /// Returns the oldest available version that is newer than `seen`, if there is one.
    fn next_after(&mut self, seen: u64) -> Result<Option<Version>, ObserveError> {
        self.acknowledge();
        self.session.check()?;
        for n in self.available()? {
            if n > seen
                && let Some(version) = self.pin(n)?
            {
                self.seen = n;
                return Ok(Some(version));
            }
        }
        Ok(None)
    }

    /// Returns the version that is reserved next, if it exists.
    fn next_reserved(&mut self, all: &mut Reservations) -> Result<Option<Version>, ObserveError> {
        self.acknowledge();
        self.session.check()?;
        let version = all.take()?;
        if let Some(version) = &version {
            self.seen = self.seen.max(version.number());
        }
        Ok(version)
    }

    /// Returns the newest version that was returned so far, or 0.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Calls `look` until it returns a version, the stream has ended, or the time is over.
    pub(crate) fn wait(
        &mut self,
        timeout: Duration,
        mut look: impl FnMut(&mut Self) -> Result<Option<Version>, ObserveError>,
    ) -> Result<Version, ObserveError> {
        let deadline = deadline(timeout);
        loop {
            self.session.check()?;
            let session = self.session.clone();
            let event = session.index()?.event()?;
            // Order matters: first read the event counter, then whether the stream has ended, then
            // look for a version. A version that comes after `look` changes the counter, so the
            // wait returns at once. A version that came before the end is not missed.
            let count = event.load(Ordering::SeqCst);
            let ended = self.why_nothing()?;
            if let Some(version) = look(self)? {
                return Ok(version);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !matches!(ended, ObserveError::NotReady) || left.is_zero() {
                return Err(ended);
            }
            futex::wait(event, count, left.min(LIVENESS));
        }
    }

    /// Returns why there is no version.
    fn why_nothing(&self) -> Result<ObserveError, ObserveError> {
        Ok(match self.status()? {
            Status::Ok | Status::NotReady => ObserveError::NotReady,
            Status::EndOfStream => ObserveError::EndOfStream,
            Status::ProducerLost => ObserveError::ProducerLost,
            Status::Revoked => ObserveError::Revoked,
        })
    }

    /// Pins version `n`. Returns `None` if it is gone.
    pub(crate) fn pin(&self, n: u64) -> Result<Option<Version>, ObserveError> {
        let Some(slot) = self.session.index()?.slot_of(n)? else {
            return Ok(None);
        };
        match self.session.pin(slot, n)? {
            Some(word) => {
                let pin = Pin::new(self.session.clone(), slot, n, word)?;
                Ok(Some(Version::new(pin, self.windows.clone())))
            }
            None => Ok(None),
        }
    }

    /// Returns read-only descriptors of the region's index and planes, in this order. Another
    /// process needs them to see all existing versions. They include no pin, so they are useful
    /// when the producer is gone.
    pub fn objects(&self) -> Result<Vec<OwnedFd>, ObserveError> {
        self.check()?;
        self.session.objects().map_err(ObserveError::Descriptors)
    }

    /// Returns information about the region besides its versions.
    pub fn info(&self) -> Result<RegionInfo, ObserveError> {
        self.check()?;
        RegionInfo::of(&self.session)
    }

    /// Returns true if the producer runs.
    pub fn producer_alive(&self) -> bool {
        !self.session.producer_gone()
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer")
            .field("region", &self.session.info.name)
            .field("seen", &self.seen)
            .finish()
    }
}
