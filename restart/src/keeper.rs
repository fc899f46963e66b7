//! The keeper: holds what a producer leaves when it dies, for the next producer of that name.

use crate::error::RestoreError;
use crate::watch::{Held, Step, Watch};
use std::time::Duration;
use tcasm_core::place::check_name;
use tcasm_core::stamp::Stamp;
use tcasm_observer::{AttachError, Observer};
use tcasm_producer::Access;

/// How often it looks whether it is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// What a keeper does, to be told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Attached to the producer with this process id.
    Attached {
        /// The producer's process id, as it sees itself.
        pid: u64,
    },
    /// The producer is gone: these are its last versions, oldest first, which the next can have.
    Holds {
        /// The versions.
        stamps: Vec<Stamp>,
        /// Whether it had closed the region, and not died.
        closed: bool,
    },
    /// The producer is gone, and had published nothing. What was held before is still.
    Nothing,
    /// The next producer has published: what was held is let go of.
    TakenOver {
        /// Its first version that was seen.
        by: Stamp,
    },
    /// Something is in the way for now: it holds what it has, and tries again.
    Trouble {
        /// What.
        why: String,
    },
}

/// Keeps the last versions of whatever producer of a region there is.
#[derive(Clone, Debug)]
pub struct Keeper {
    name: String,
    versions: usize,
    access: Access,
}

impl Keeper {
    /// A keeper of the last `versions` versions (at least one) of the region `name`. The producer has to allow for as many
    /// besides those that it keeps itself, as they are pinned; for one alone nothing is.
    pub fn new(name: &str, versions: usize) -> Result<Self, RestoreError> {
        check_name(name)?;
        Ok(Keeper {
            name: name.to_owned(),
            versions: versions.max(1),
            access: Access::SameUser,
        })
    }

    /// Who may have what is kept, besides processes of the same user.
    pub fn allow(self, access: Access) -> Self {
        Keeper { access, ..self }
    }

    /// Keep until `go_on` says no, which is asked every tenth of a second, and tell what happens. An error ends it only while
    /// nothing is held: else it is told, and what is held stays.
    pub fn run(
        &self,
        go_on: impl Fn() -> bool,
        mut tell: impl FnMut(Event),
    ) -> Result<(), RestoreError> {
        let (mut held, mut told) = (None, String::new());
        while go_on() {
            let Err(error) = self.watch_next(&mut held, &go_on, &mut tell) else {
                told.clear();
                continue;
            };
            if held.is_none() {
                return Err(error);
            }
            let why = error.to_string();
            if why != told {
                told.clone_from(&why);
                tell(Event::Trouble { why });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Wait for the next producer and follow it to its end.
    fn watch_next(
        &self,
        held: &mut Option<Held>,
        go_on: impl Fn() -> bool,
        tell: &mut impl FnMut(Event),
    ) -> Result<(), RestoreError> {
        let Some(observer) = self.attach(&go_on)? else {
            return Ok(());
        };
        let pid = observer.info()?.pid;
        tell(Event::Attached { pid });
        let mut watch = Watch::new(observer, self.versions);
        if held.is_none() {
            watch.serve(&self.name, &self.access)?;
        }
        while go_on() {
            match watch.step()? {
                Step::Quiet => {}
                Step::Published(by) => self.take_over(&mut watch, held, by, tell)?,
                Step::Gone { closed } => return self.hold(watch, held, closed, tell),
            }
        }
        Ok(())
    }

    /// A producer has published: what is held of the one before is let go of.
    fn take_over(
        &self,
        watch: &mut Watch,
        held: &mut Option<Held>,
        by: Stamp,
        tell: &mut impl FnMut(Event),
    ) -> Result<(), RestoreError> {
        let before = held.take().is_some();
        watch.serve(&self.name, &self.access)?;
        if before {
            tell(Event::TakenOver { by });
        }
        Ok(())
    }

    /// A producer is gone: what it leaves is held, unless that is nothing.
    fn hold(
        &self,
        mut watch: Watch,
        held: &mut Option<Held>,
        closed: bool,
        tell: &mut impl FnMut(Event),
    ) -> Result<(), RestoreError> {
        if !watch.take_last()? {
            tell(Event::Nothing);
            return Ok(());
        }
        // Its socket is needed.
        drop(held.take());
        watch.serve(&self.name, &self.access)?;
        let left = watch.leave();
        let stamps = left.stamps();
        *held = Some(left);
        tell(Event::Holds { stamps, closed });
        Ok(())
    }

    /// The next producer; none: it is over.
    fn attach(&self, go_on: impl Fn() -> bool) -> Result<Option<Observer>, RestoreError> {
        while go_on() {
            match Observer::attach_wait(&self.name, LOOK) {
                Ok(observer) => return Ok(Some(observer)),
                Err(
                    AttachError::NotFound { .. }
                    | AttachError::Dead { .. }
                    | AttachError::Ended { .. },
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}
