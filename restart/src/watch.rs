//! One producer, from the moment that a keeper attaches to what it leaves.

use crate::error::RestoreError;
use crate::keeper::LOOK;
use std::collections::VecDeque;
use tcasm_core::stamp::Stamp;
use tcasm_observer::{ObserveError, Observer, Version};
use tcasm_producer::{Access, CreateError, Kept};

/// A producer that is watched, and what is held of it.
pub(crate) struct Watch {
    observer: Observer,
    most: usize,
    held: Held,
}

/// What is held of a producer. Who has got it from here has it for good: memory lives as long as somebody has it.
#[derive(Default)]
pub(crate) struct Held {
    /// It is served from the beginning: who starts right after the producer's death must find it.
    kept: Option<Kept>,
    versions: VecDeque<Version>,
}

/// What has become of the producer.
pub(crate) enum Step {
    /// It has published.
    Published(Stamp),
    /// Nothing is new.
    Quiet,
    /// It is gone, and had closed the region or not.
    Gone { closed: bool },
}

impl Watch {
    pub(crate) fn new(observer: Observer, most: usize) -> Self {
        Watch {
            observer,
            most,
            held: Held::default(),
        }
    }

    /// Serve what it leaves, from now on.
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

    /// Wait a little for something to happen.
    pub(crate) fn step(&mut self) -> Result<Step, RestoreError> {
        match self.observer.wait_newer(LOOK) {
            Ok(version) => {
                let stamp = version.stamp();
                match self.most {
                    // The newest stays by itself: it needs no pin, which would cost the producer memory, nor a look at each.
                    1 => std::thread::sleep(LOOK),
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

    fn take(&mut self, version: Version) {
        let versions = &mut self.held.versions;
        if versions.back().map(Version::number) != Some(version.number()) {
            versions.push_back(version);
        }
        while versions.len() > self.most {
            versions.pop_front();
        }
    }

    /// Take the last version of the producer, which is gone; false: there is none.
    pub(crate) fn take_last(&mut self) -> Result<bool, RestoreError> {
        use ObserveError::{EndOfStream, NotReady, ProducerLost};
        match self.observer.latest() {
            Ok(newest) => self.take(newest),
            Err(NotReady | EndOfStream | ProducerLost) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// What is held of the producer.
    pub(crate) fn leave(self) -> Held {
        self.held
    }
}

impl Held {
    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        self.versions.iter().map(Version::stamp).collect()
    }
}
