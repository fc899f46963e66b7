//! One producer that a [`Holder`](crate::Holder) is attached to, and the versions that are held of
//! it.

use crate::error::RestoreError;
use std::collections::VecDeque;
use std::time::Duration;
use tcasm_core::format::stamp::Stamp;
use tcasm_observer::{ObserveError, Observer, Version};
use tcasm_producer::{Access, CreateError, Kept};

/// The interval at which a holder checks whether it is to end.
pub(crate) const POLL: Duration = Duration::from_millis(100);

/// A producer that is watched, and what is held of it.
pub(crate) struct Watch {
    observer: Observer,
    /// The largest number of versions to hold.
    most: usize,
    held: Held,
}

/// The memory and the socket of a producer. A process that has received them from here does not
/// depend on this one any more: memory lives as long as any process has it.
#[derive(Default)]
pub(crate) struct Held {
    /// The socket on which the versions are served. It exists from the beginning, because a program
    /// that starts right after the producer's death must find it.
    kept: Option<Kept>,
    /// The held versions, oldest first.
    versions: VecDeque<Version>,
}

/// The result of watching the producer for a while.
pub(crate) enum Step {
    /// It has published a version.
    Published(Stamp),
    /// It has not published.
    Quiet,
    /// It is gone. `closed` is true if it had closed the region.
    Gone { closed: bool },
}

impl Watch {
    /// Watches the producer of `observer`, and holds at most `most` of its versions.
    pub(crate) fn new(observer: Observer, most: usize) -> Self {
        Watch {
            observer,
            most,
            held: Held::default(),
        }
    }

    /// Serves the versions of the producer to others from now on.
    pub(crate) fn serve(&mut self, name: &str, access: &Access) -> Result<(), RestoreError> {
        if self.held.kept.is_none() {
            let kept = Kept::serve(name, self.observer.objects()?, access.clone());
            self.held.kept = Some(kept.map_err(|error| match error {
                CreateError::InUse { name, pid } => RestoreError::KeptBy { name, pid },
                other => other.into(),
            })?);
        }
        Ok(())
    }

    /// Waits at most [`POLL`] for something to happen.
    pub(crate) fn step(&mut self) -> Result<Step, RestoreError> {
        match self.observer.wait_newer(POLL) {
            Ok(version) => {
                let stamp = version.stamp();
                match self.most {
                    // The newest version is not reclaimed, so it needs no pin, which would cost the
                    // producer memory. Versions in between are not needed, so sleep before the next
                    // one.
                    1 => std::thread::sleep(POLL),
                    _ => self.take(version),
                }
                Ok(Step::Published(stamp))
            }
            Err(ObserveError::NotReady) => Ok(Step::Quiet),
            Err(ObserveError::EndOfStream) => Ok(Step::Gone { closed: true }),
            Err(ObserveError::ProducerLost) => Ok(Step::Gone { closed: false }),
            Err(error) => Err(error.into()),
        }
    }

    /// Holds `version`, and releases the oldest if there are too many.
    fn take(&mut self, version: Version) {
        let versions = &mut self.held.versions;
        if versions.back().map(Version::number) != Some(version.number()) {
            versions.push_back(version);
        }
        while versions.len() > self.most {
            versions.pop_front();
        }
    }

    /// Takes the last version of the producer, which is gone. Returns false if there is none.
    pub(crate) fn take_last(&mut self) -> Result<bool, RestoreError> {
        use ObserveError::{EndOfStream, NotReady, ProducerLost};
        match self.observer.latest() {
            Ok(newest) => self.take(newest),
            Err(NotReady | EndOfStream | ProducerLost) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Returns what is held of the producer.
    pub(crate) fn leave(self) -> Held {
        self.held
    }
}

impl Held {
    /// Returns the stamps of the held versions, oldest first.
    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        self.versions.iter().map(Version::stamp).collect()
    }
}
