//! `tcasm export --follow`: writes a series that grows with the simulation.
//!
//! A version is pinned only while it is written. A version that cannot be written does not end the
//! program if a later attempt may succeed. With `--lossless` that version is tried again, and stays
//! pinned until it is on the disk. Otherwise the next one is tried.

mod changes;
mod missed;
mod progress;
mod sink;
mod source;
mod trouble;

use crate::failure::{Code, Failure};
use crate::files::args::ExportArgs;
use crate::files::end::End;
use crate::files::schedule::Schedule;
use crate::files::stored::Choice;
use crate::region;
use crate::signals::Signals;
use crate::wait::{self, POLL};
use changes::Changes;
use progress::FollowOutput;
use sink::Sink;
use source::Source;
use std::time::{Duration, Instant};
use tcasm_observer::{ObserveError, Observer, Stamp, Version};
use trouble::{Retry, Trouble};

/// The pause before a version is tried again with `--lossless`.
const PAUSE: Duration = Duration::from_secs(1);

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let sink = Sink::open(args)?;
    let mut follower = Follower {
        args,
        signals: &signals,
        choice: Choice::from(&args.part),
        sink,
        newest: 0,
        progress: FollowOutput::new(&args.name, args.file.clone()),
        changes: Changes::default(),
        last_failure: None,
    };
    let say = |text: &str| follower.progress.note(text);
    let end = || signals.end();
    let Some(mut observer) = wait::attach(&args.name, &args.follow.wait, end, say)? else {
        follower.progress.finish("interrupted");
        return Ok(());
    };
    follower.newest = newest_of_this_run(&mut observer, follower.sink.last())?;
    let end = follower.follow(&mut observer)?;
    if end != End::Interrupted && !follower.gave_up() {
        follower.append_newest(&mut observer)?;
    }
    follower.finish(end)
}

struct Follower<'a> {
    args: &'a ExportArgs,
    signals: &'a Signals,
    choice: Choice,
    sink: Sink,
    /// The number of the newest version in the series that is of this run of the simulation, or 0.
    newest: u64,
    progress: FollowOutput,
    changes: Changes,
    /// The error of the last attempt, if it failed.
    last_failure: Option<Failure>,
}

impl Follower<'_> {
    /// Goes through all versions that can be read, and appends those that are due.
    fn follow(&mut self, observer: &mut Observer) -> Result<End, Failure> {
        let mut schedule = Schedule::new(self.args.follow.when(), None, Instant::now());
        let mut source = Source::of(observer, self.args.follow.lossless)?;
        while !self.signals.end() {
            match source.next(POLL) {
                Ok(version) => self.see(version, &mut schedule)?,
                Err(ObserveError::NotReady) => {}
                Err(ObserveError::EndOfStream) => return Ok(End::OfStream),
                Err(ObserveError::ProducerLost) => return Ok(End::ProducerLost),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(End::by_signal(self.signals))
    }

    fn see(&mut self, version: Version, schedule: &mut Schedule) -> Result<(), Failure> {
        self.sink.check(&version, &self.choice)?;
        self.changes.see(&version);
        let interval = self.args.follow.when().interval;
        self.progress.saw(&version, interval);
        let began = Instant::now();
        if self.has(&version) || !schedule.is_due(version.stamp(), began) {
            return Ok(());
        }
        self.append(version)?;
        match self.last_failure {
            None => schedule.wrote(began, began.elapsed()),
            Some(_) => schedule.failed(began),
        }
        Ok(())
    }

    /// Appends the last version, unless the series has it. It can be read even if the producer is
    /// gone.
    fn append_newest(&mut self, observer: &mut Observer) -> Result<(), Failure> {
        match observer.latest() {
            Ok(version) if self.has(&version) => Ok(()),
            Ok(version) => {
                self.changes.see(&version);
                self.append(version)
            }
            Err(
                ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost,
            ) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the series already has `version` or a later one of the same run of the
    /// simulation. An earlier run of this command may have appended it.
    fn has(&self, version: &Version) -> bool {
        version.number() <= self.newest
    }

    /// Appends `version` and releases it. An error that may pass (a full disk, for example) is
    /// printed; any other is returned. With `--lossless` this tries again until it succeeds, if
    /// that is possible. After a signal it tries only once.
    fn append(&mut self, version: Version) -> Result<(), Failure> {
        let stamp = region::stamp_text(&version.stamp());
        while self.args.follow.lossless && !self.signals.end() {
            match self.write(version.clone()) {
                Err(Trouble {
                    failure,
                    retry: Retry::SameVersion,
                }) => {
                    self.progress.failed_for_now(&stamp, &failure.message);
                    self.pause();
                }
                last => return self.note(&stamp, last),
            }
        }
        let last = self.write(version);
        self.note(&stamp, last)
    }

    /// Notes the result of the last attempt at a version. Returns the failure if no later version
    /// can succeed.
    fn note(&mut self, stamp: &str, result: Result<(), Trouble>) -> Result<(), Failure> {
        match result {
            Ok(()) => Ok(()),
            Err(Trouble {
                failure,
                retry: Retry::Never,
            }) => Err(failure),
            Err(Trouble { failure, .. }) => {
                self.progress.failed(stamp, &failure.message);
                self.last_failure = Some(failure);
                Ok(())
            }
        }
    }

    /// Writes `version`, and releases it as soon as its bytes are written.
    fn write(&mut self, version: Version) -> Result<(), Trouble> {
        let number = version.number();
        let (changes, choice) = (&self.changes, &self.choice);
        let changed = |field: &_| changes.may_have_changed(field);
        let appended = self.sink.append(self.args, version, choice, changed)?;
        self.changes.appended();
        self.progress.appended(appended);
        (self.newest, self.last_failure) = (number, None);
        Ok(())
    }

    /// Waits before the next attempt, or until a signal comes.
    fn pause(&self) {
        let end = Instant::now() + PAUSE;
        while Instant::now() < end && !self.signals.end() {
            std::thread::sleep(POLL);
        }
    }

    /// Returns true if a signal came before a version could be written that must not be missed. No
    /// version is appended after it.
    fn gave_up(&self) -> bool {
        self.args.follow.lossless && self.last_failure.is_some()
    }

    /// Prints the last line, and returns the failure that sets the exit status, if there is one.
    fn finish(self, end: End) -> Result<(), Failure> {
        self.progress.finish(end.reason());
        let name = &self.args.name;
        if let Some(Failure { code, message }) = self.last_failure {
            let text = format!("the last version could not be appended: {message}");
            return Err(Failure::new(code, text));
        }
        match end {
            End::ProducerLost => Err(Failure::new(
                Code::Lost,
                format!("the producer of {name:?} died; its last version is in the file"),
            )),
            End::OfStream if self.sink.last().is_none() => Err(Failure::new(
                Code::NoVersion,
                format!("region {name:?} has published no version; none was appended"),
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the number of `last`, the newest version in the series, if it is of the same run of the
/// simulation as the region. Otherwise returns 0.
fn newest_of_this_run(observer: &mut Observer, last: Option<Stamp>) -> Result<u64, Failure> {
    // Not `latest`: `next` would then skip all versions up to it.
    let newest = observer.available()?.last().copied();
    let Some(last) = last.filter(|last| newest >= Some(last.version)) else {
        return Ok(0);
    };
    match observer.version(last.version) {
        Ok(version) if version.stamp() != last => Ok(0),
        Ok(_) | Err(ObserveError::Gone { .. }) => Ok(last.version),
        Err(error) => Err(error.into()),
    }
}
