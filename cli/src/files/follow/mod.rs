//! `tcasm export --follow`: writes a series that grows with the simulation.
//!
//! A version is pinned only while it is written. A version that cannot be written does not end the
//! program if a later attempt may succeed.

mod changes;
mod missed;
mod progress;
mod sink;
mod source;

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
use sink::{Sink, Trouble};
use source::Source;
use std::time::Instant;
use tcasm_observer::{ObserveError, Observer, Stamp, Version};

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let sink = Sink::open(args)?;
    let mut follower = Follower {
        last: sink.last(),
        sink,
        progress: FollowOutput::new(&args.name, args.file.clone()),
        changes: Changes::default(),
        last_failure: None,
        choice: Choice::from(&args.part),
        args,
    };
    let say = |text: &str| follower.progress.note(text);
    let end = || signals.end();
    let Some(mut observer) = wait::attach(&args.name, &args.follow.wait, end, say)? else {
        follower.progress.finish("interrupted");
        return Ok(());
    };
    let end = follower.follow(&mut observer, &signals)?;
    if end != End::Interrupted {
        follower.append_newest(&mut observer)?;
    }
    follower.finish(end)
}

struct Follower<'a> {
    args: &'a ExportArgs,
    choice: Choice,
    sink: Sink,
    /// The newest version in the series.
    last: Option<Stamp>,
    progress: FollowOutput,
    changes: Changes,
    /// The error of the last attempt, if it failed.
    last_failure: Option<Failure>,
}

impl Follower<'_> {
    /// Goes through all versions that can be read, and appends those that are due.
    fn follow(&mut self, observer: &mut Observer, signals: &Signals) -> Result<End, Failure> {
        let mut schedule = Schedule::new(self.args.follow.when(), None, Instant::now());
        let mut source = Source::of(observer, self.args.follow.lossless)?;
        while !signals.end() {
            match source.next(POLL) {
                Ok(version) => self.see(source.observer(), version, &mut schedule)?,
                Err(ObserveError::NotReady) => {}
                Err(ObserveError::EndOfStream) => return Ok(End::OfStream),
                Err(ObserveError::ProducerLost) => return Ok(End::ProducerLost),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(End::by_signal(signals))
    }

    fn see(
        &mut self,
        observer: &mut Observer,
        version: Version,
        schedule: &mut Schedule,
    ) -> Result<(), Failure> {
        self.sink.check(&version, &self.choice)?;
        self.changes.see(&version);
        let interval = self.args.follow.when().interval;
        self.progress.saw(&version, interval);
        let began = Instant::now();
        if self.has(observer, &version) || !schedule.is_due(version.stamp(), began) {
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
            Ok(version) if self.has(observer, &version) => Ok(()),
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
    /// simulation. That is so if an earlier run of this command appended it.
    fn has(&self, observer: &mut Observer, version: &Version) -> bool {
        let last = self.last.filter(|last| version.number() <= last.version);
        last.is_some_and(|last| is_of_this_run(observer, last))
    }

    /// Appends `version` and releases it. An error that may pass (a full disk, for example) is
    /// printed; any other is returned.
    fn append(&mut self, version: Version) -> Result<(), Failure> {
        let stamp = version.stamp();
        let (changes, choice) = (&self.changes, &self.choice);
        let changed = |field: &_| changes.may_have_changed(field);
        match self.sink.append(&self.args.name, version, choice, changed) {
            Ok(appended) => {
                self.changes.appended();
                self.progress.appended(appended);
                (self.last, self.last_failure) = (Some(stamp), None);
            }
            Err(Trouble { failure, may_pass }) if !may_pass => return Err(failure),
            Err(Trouble { failure, .. }) => {
                let stamp = region::stamp_text(&stamp);
                self.progress.failed(&stamp, &failure.message);
                self.last_failure = Some(failure);
            }
        }
        Ok(())
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
            End::OfStream if self.last.is_none() => Err(Failure::new(
                Code::NoVersion,
                format!("region {name:?} has published no version; none was appended"),
            )),
            _ => Ok(()),
        }
    }
}

/// Returns true if the region belongs to the same run of the simulation as the version `last`.
fn is_of_this_run(observer: &mut Observer, last: Stamp) -> bool {
    // Not `latest`: `next` would then skip all versions up to it.
    let newest = observer
        .available()
        .ok()
        .and_then(|all| all.last().copied());
    if newest.is_some_and(|newest| newest < last.version) {
        return false;
    }
    let there = observer.version(last.version);
    there.map_or(true, |version| version.stamp() == last)
}
