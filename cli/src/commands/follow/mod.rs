//! `tcasm export --follow`: a time series that grows with the simulation. It pins a version only while it writes it, and whatever
//! happens to the file, it goes on until the simulation ends.

mod changes;
mod progress;
mod sink;

use crate::args::ExportArgs;
use crate::exit::{Code, Failure};
use crate::region;
use crate::schedule::Schedule;
use crate::signals::{LOOK, Signals};
use changes::Changes;
use progress::Progress;
use sink::{Sink, Trouble};
use std::time::Instant;
use tcasm_observer::{ObserveError, Observer, Stamp, Version};

/// Why it is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfStream,
    ProducerLost,
    /// Asked to append the newest version and end.
    Finished,
    Interrupted,
}

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let sink = Sink::open(args)?;
    let mut follower = Follower {
        last: sink.last(),
        sink,
        progress: Progress::new(&args.name, args.file.clone()),
        changes: Changes::default(),
        last_failure: None,
        args,
    };
    let Some(mut observer) = region::attach(&args.name, args.follow.wait, &signals)? else {
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
    sink: Sink,
    /// The newest version that is in the series.
    last: Option<Stamp>,
    progress: Progress,
    changes: Changes,
    /// Why the last attempt failed, if it did.
    last_failure: Option<Failure>,
}

impl Follower<'_> {
    /// Look at every version that can be had, and append those that are due, until it is over.
    fn follow(&mut self, observer: &mut Observer, signals: &Signals) -> Result<End, Failure> {
        let mut schedule = Schedule::new(self.args.follow.when(), None, Instant::now());
        while !signals.end() {
            match observer.next(LOOK) {
                Ok(version) => self.see(observer, version, &mut schedule)?,
                Err(ObserveError::NotReady) => {}
                Err(ObserveError::EndOfStream) => return Ok(End::OfStream),
                Err(ObserveError::ProducerLost) => return Ok(End::ProducerLost),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(match signals.stop() {
            true => End::Interrupted,
            false => End::Finished,
        })
    }

    fn see(
        &mut self,
        observer: &mut Observer,
        version: Version,
        schedule: &mut Schedule,
    ) -> Result<(), Failure> {
        let missed = self.changes.see(&version);
        self.progress.saw(&version, missed);
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

    /// The last version of all, unless it is there already. It can still be had when the producer is gone.
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

    /// Whether the series has `version`, or one after it, of this very run of the simulation: an earlier start has appended it.
    fn has(&self, observer: &mut Observer, version: &Version) -> bool {
        let last = self.last.filter(|last| version.number() <= last.version);
        last.is_some_and(|last| is_of_this_run(observer, last))
    }

    /// Append `version`, and let go of it. A file that cannot be written for the time being is told.
    fn append(&mut self, version: Version) -> Result<(), Failure> {
        let stamp = version.stamp();
        let changes = &self.changes;
        let changed = |field: &_| changes.may_have_changed(field);
        match self.sink.append(&self.args.name, version, changed) {
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

    /// What the last line and the exit status say of the run.
    fn finish(self, end: End) -> Result<(), Failure> {
        self.progress.finish(match end {
            End::OfStream => "the simulation has ended",
            End::ProducerLost => "the simulation has died",
            End::Finished => "asked to end",
            End::Interrupted => "interrupted",
        });
        let name = &self.args.name;
        if let Some(Failure { code, message }) = self.last_failure {
            let text = format!("the last version could not be appended: {message}");
            return Err(Failure::new(code, text));
        }
        match end {
            End::ProducerLost => Err(Failure::new(
                Code::Lost,
                format!("the producer of {name:?} died; what it published last is in the file"),
            )),
            End::OfStream if self.last.is_none() => Err(Failure::new(
                Code::NoVersion,
                format!("{name:?} has published nothing; there was nothing to append"),
            )),
            _ => Ok(()),
        }
    }
}

/// Whether the region is of the same run of the simulation as the version `last`.
fn is_of_this_run(observer: &mut Observer, last: Stamp) -> bool {
    // `latest` would count as having seen all.
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
