//! One producer, from the moment that a keeper attaches to what it leaves.

use crate::error::RestoreError;
use crate::keeper::LOOK;
use std::collections::VecDeque;
use tcasm_core::stamp::Stamp;
use tcasm_observer::{ObserveError, Observer, Version};
use tcasm_producer::{Access, CreateError, Kept};

/// A producer that is watched, and the last of its versions.
pub(crate) struct Watch {
    observer: Observer,
    most: usize,
    last: VecDeque<Version>,
}

impl Watch {
    pub(crate) fn new(observer: Observer, most: usize) -> Self {
        let last = VecDeque::new();
        Watch {
            observer,
            most,
            last,
        }
    }

    /// Follow the producer to its end, or until it is enough; `seen` is told of each version. Whether it had closed the region;
    /// none: it lives.
    pub(crate) fn follow(
        &mut self,
        go_on: impl Fn() -> bool,
        mut seen: impl FnMut(Stamp),
    ) -> Result<Option<bool>, RestoreError> {
        while go_on() {
            match self.observer.wait_newer(LOOK) {
                Ok(version) => {
                    seen(version.stamp());
                    match self.most {
                        // The newest stays by itself: it needs no pin, which would cost the producer memory, nor a look at each.
                        1 => std::thread::sleep(LOOK),
                        _ => self.take(version),
                    }
                }
                Err(ObserveError::NotReady) => {}
                Err(ObserveError::EndOfStream) => return Ok(Some(true)),
                Err(ObserveError::ProducerLost) => return Ok(Some(false)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    fn take(&mut self, version: Version) {
        if self.last.back().map(Version::number) != Some(version.number()) {
            self.last.push_back(version);
        }
        while self.last.len() > self.most {
            self.last.pop_front();
        }
    }

    /// What is left of the producer, which is gone, served to whoever may have it; none: nothing.
    pub(crate) fn leave(
        mut self,
        name: &str,
        access: &Access,
    ) -> Result<Option<Held>, RestoreError> {
        use ObserveError::{EndOfStream, NotReady, ProducerLost};
        match self.observer.latest() {
            Ok(newest) => self.take(newest),
            Err(NotReady | EndOfStream | ProducerLost) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let objects = self.observer.objects()?;
        let kept = Kept::serve(name, objects, access.clone());
        Ok(Some(Held {
            _kept: kept.map_err(|error| match error {
                CreateError::InUse { name, pid } => RestoreError::KeptBy { name, pid },
                other => other.into(),
            })?,
            versions: self.last,
        }))
    }
}

/// What is held of a producer that is gone. Who has got it from here has it for good: memory lives as long as somebody has it.
pub(crate) struct Held {
    _kept: Kept,
    versions: VecDeque<Version>,
}

impl Held {
    pub(crate) fn stamps(&self) -> Vec<Stamp> {
        self.versions.iter().map(Version::stamp).collect()
    }
}
