//! The work of `tcasm keep`: holds the versions that a producer leaves when it dies, for the next
//! producer of that name.

use crate::error::RestoreError;
use crate::watch::{Held, POLL, Step, Watch};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::check_name;
use tcasm_observer::{AttachError, Observer};
use tcasm_producer::Access;

/// An event to report to the user of a holder.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The holder has attached to a producer.
    Attached {
        /// The producer's process id, in its own PID namespace.
        pid: u64,
    },
    /// The producer is gone. Its last versions are held for the next producer.
    Holds {
        /// The stamps of the versions, oldest first.
        stamps: Vec<Stamp>,
        /// True if the producer had closed the region. False if it has died.
        closed: bool,
    },
    /// The producer has closed the region, so its run is complete. Nothing is held any more.
    Ended,
    /// The producer is gone and had published nothing. Versions that were held before are still
    /// held.
    Nothing,
    /// The next producer has published, so the versions that were held are released.
    TakenOver {
        /// The first version of that producer that the holder has seen.
        by: Stamp,
    },
    /// An error that may pass. The holder releases nothing, and tries again.
    Trouble {
        /// The error.
        why: String,
    },
}

/// Holds the last versions of a region after its producer has died.
#[derive(Clone, Debug)]
pub struct Holder {
    name: String,
    versions: usize,
    access: Access,
    after_end: bool,
}

impl Holder {
    /// Returns a holder of the last `versions` versions (at least one) of the region `name`.
    ///
    /// These versions are pinned, so the producer must allow for as many versions besides those
    /// that it keeps itself. A single version is not pinned.
    pub fn new(name: &str, versions: usize) -> Result<Self, RestoreError> {
        check_name(name)?;
        Ok(Holder {
            name: name.to_owned(),
            versions: versions.max(1),
            access: Access::SameUser,
            after_end: false,
        })
    }

    /// Sets which processes may get the versions, besides those of the same user.
    pub fn allow(self, access: Access) -> Self {
        Holder { access, ..self }
    }

    /// Sets whether the versions of a producer that has closed the region are held, too. By default
    /// only those of a producer that has died are held. A run that has ended is complete, so its
    /// next start begins anew.
    pub fn after_end(self, after_end: bool) -> Self {
        Holder { after_end, ..self }
    }

    /// Runs until `go_on` returns false, and calls `tell` with each event. `go_on` is called every
    /// tenth of a second.
    ///
    /// An error ends this function only while nothing is held. Otherwise it is reported as
    /// [`Event::Trouble`], and the versions are still held.
    pub fn run(
        &self,
        go_on: impl Fn() -> bool,
        mut tell: impl FnMut(Event),
    ) -> Result<(), RestoreError> {
        let (mut held, mut reported) = (None, String::new());
        while go_on() {
            let Err(error) = self.watch_next(&mut held, &go_on, &mut tell) else {
                reported.clear();
                continue;
            };
            if held.is_none() {
                return Err(error);
            }
            let why = error.to_string();
            if why != reported {
                reported.clone_from(&why);
                tell(Event::Trouble { why });
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Waits for the next producer and watches it until it is gone.
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
                Step::Gone { closed: true } if !self.after_end => {
                    return let_go(watch, held, tell);
                }
                Step::Gone { closed } => return self.hold(watch, held, closed, tell),
            }
        }
        Ok(())
    }

    /// Handles a version of a new producer: releases what is held of the one before.
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

    /// Handles the end of a producer: holds its versions, if there are any.
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
        // Release the versions of the producer before first, because they use the same socket.
        drop(held.take());
        watch.serve(&self.name, &self.access)?;
        let left = watch.leave();
        let stamps = left.stamps();
        *held = Some(left);
        tell(Event::Holds { stamps, closed });
        Ok(())
    }

    /// Waits for the next producer and attaches to it. Returns `None` if the holder is to end.
    fn attach(&self, go_on: impl Fn() -> bool) -> Result<Option<Observer>, RestoreError> {
        while go_on() {
            match Observer::attach_wait(&self.name, POLL) {
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

/// Handles the normal end of a producer: holds nothing of it. If it had published nothing, versions
/// that were held before are still held.
fn let_go(
    mut watch: Watch,
    held: &mut Option<Held>,
    tell: &mut impl FnMut(Event),
) -> Result<(), RestoreError> {
    let published = watch.take_last()?;
    drop(watch);
    if published {
        drop(held.take());
    }
    tell(match published {
        true => Event::Ended,
        false => Event::Nothing,
    });
    Ok(())
}
