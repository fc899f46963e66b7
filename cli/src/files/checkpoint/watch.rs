//! Writes the checkpoints of one region, from its first version to its last.

use super::progress::{Output, RegionOutput};
use super::writer::Writer;
use crate::failure::{Code, Failure};
use crate::files::args::CheckpointArgs;
use crate::files::end::End;
use crate::files::schedule::Schedule;
use crate::region;
use crate::signals::Signals;
use crate::wait::{self, POLL};
use std::cmp::Reverse;
use std::time::{Duration, Instant};
use tcasm_checkpoint::Draining;
use tcasm_observer::{ObserveError, Observer, Version};

/// Detects copies to the slow folder that make no progress.
struct Stall {
    grace: Duration,
    since: Instant,
    furthest: Option<(Reverse<usize>, u64)>,
}

impl Stall {
    fn new(grace: f64) -> Self {
        Stall {
            grace: Duration::from_secs_f64(grace),
            since: Instant::now(),
            furthest: None,
        }
    }

    /// Returns true while the copies make progress, or the grace period since the last progress has
    /// not passed.
    fn lasts(&mut self, state: &Draining) -> bool {
        if self.comes_further(state) {
            self.since = Instant::now();
        }
        self.since.elapsed() < self.grace
    }

    /// Returns true if less is left to copy than ever before. Restarting the same copy, for example
    /// after the disk was full, is no progress.
    fn comes_further(&mut self, state: &Draining) -> bool {
        let copied = state.copying.map_or(0, |(_, done, _)| done);
        let now = Some((Reverse(state.outstanding), copied));
        let further = now > self.furthest;
        self.furthest = self.furthest.max(now);
        further
    }
}

/// Writes checkpoints of the region `name` until it ends or a signal arrives.
pub fn run(
    name: &str,
    args: &CheckpointArgs,
    signals: &Signals,
    progress: &Output,
) -> Result<(), Failure> {
    let mut watch = Watch {
        name,
        args,
        signals,
        writer: Writer::new(name, args)?,
        output: progress.region(name),
    };
    let say = |text: &str| watch.output.note(text);
    let Some(mut observer) = wait::attach(name, &args.wait, || signals.end(), say)? else {
        return Err(Failure::new(
            Code::Interrupted,
            format!("interrupted before region {name:?} appeared"),
        ));
    };
    let end = watch.follow(&mut observer)?;
    if end != End::Interrupted {
        watch.write_last(&mut observer)?;
        drop(observer);
        watch.drain();
    }
    watch.output.finish(&watch.writer, end);
    watch.verdict(end)
}

struct Watch<'a> {
    name: &'a str,
    args: &'a CheckpointArgs,
    signals: &'a Signals,
    writer: Writer,
    output: RegionOutput<'a>,
}

impl Watch<'_> {
    /// Goes through all versions that can be read, and writes those that are due.
    fn follow(&mut self, observer: &mut Observer) -> Result<End, Failure> {
        let mut schedule = Schedule::new(self.args.when, self.args.max_overhead, Instant::now());
        let mut answered = 0;
        while !self.signals.end() {
            let asked = self.signals.asked();
            if asked != answered && self.write_newest(observer)? {
                answered = asked;
            }
            match observer.next(POLL) {
                Ok(version) => self.see(version, &mut schedule)?,
                Err(ObserveError::NotReady) => {}
                Err(ObserveError::EndOfStream) => return Ok(End::OfStream),
                Err(ObserveError::ProducerLost) => return Ok(End::ProducerLost),
                Err(error) => return Err(error.into()),
            }
            self.output.draining(self.writer.draining());
        }
        Ok(End::by_signal(self.signals))
    }

    fn see(&mut self, version: Version, schedule: &mut Schedule) -> Result<(), Failure> {
        self.output.saw(&version);
        let began = Instant::now();
        if schedule.is_due(version.stamp(), began) {
            self.write(version)?;
            match self.writer.last_failure() {
                None => schedule.wrote(began, began.elapsed()),
                Some(_) => schedule.failed(began),
            }
        }
        Ok(())
    }

    /// Writes the newest version, unless it is on the disk already. Returns false if there is no
    /// version.
    fn write_newest(&mut self, observer: &mut Observer) -> Result<bool, Failure> {
        match observer.latest() {
            Ok(version) if self.writer.has(&version) => Ok(true),
            Ok(version) => self.write(version).map(|()| true),
            Err(
                ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost,
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the last version, unless it is on the disk already. It can be read even if the
    /// producer is gone. If the disk is full, tries again while copies to the slow folder make
    /// room.
    fn write_last(&mut self, observer: &mut Observer) -> Result<(), Failure> {
        let mut stall = Stall::new(self.args.grace);
        loop {
            let left = self.is_draining();
            self.write_newest(observer)?;
            if self.writer.last_failure().is_none() || !left || !self.drains(&mut stall) {
                return Ok(());
            }
        }
    }

    /// Writes `version` and releases it. Returns an error only if the lease is lost, or if the
    /// version has no field of a name that was asked for. A file that cannot be written is
    /// reported, and the run continues.
    fn write(&mut self, version: Version) -> Result<(), Failure> {
        let stamp = region::stamp_text(&version.stamp());
        match self.writer.write(version) {
            Ok(written) => {
                self.output.wrote(&stamp, &written, &self.writer);
                self.output.tell(&self.writer.table);
                self.output.no_place(self.writer.no_place.as_deref());
            }
            Err(failure) if matches!(failure.code, Code::NotAllowed | Code::NoField) => {
                return Err(failure);
            }
            Err(failure) => self.output.failed(&stamp, &failure.message, &self.writer),
        }
        Ok(())
    }

    /// Waits for the copies to the slow folder, as long as they make progress.
    fn drain(&self) {
        let mut stall = Stall::new(self.args.grace);
        while self.is_draining() && self.drains(&mut stall) {}
    }

    fn is_draining(&self) -> bool {
        let state = self.writer.draining();
        state.is_some_and(|state| state.outstanding != 0)
    }

    /// Waits for the copies for a short time. Returns true if it makes sense to wait longer.
    fn drains(&self, stall: &mut Stall) -> bool {
        let Some(state) = self.writer.wait_drained(POLL) else {
            return false;
        };
        let lasts = stall.lasts(&state);
        self.output.draining(Some(state));
        !self.signals.stop() && lasts
    }

    /// Returns the failure that sets the exit status of the run, if there is one.
    fn verdict(&self, end: End) -> Result<(), Failure> {
        let (name, writer) = (self.name, &self.writer);
        if let Some((code, message)) = writer.last_failure() {
            let text = format!("the last checkpoint could not be written: {message}");
            return Err(Failure::new(code, text));
        }
        if let Some(state) = writer.draining().filter(|state| state.outstanding != 0) {
            let why = state
                .trouble
                .unwrap_or_else(|| "there was no time to copy them".to_owned());
            let text = format!(
                "{} checkpoints of {name:?} are in the fast folder only: {why}; \
                 the next start copies them",
                state.outstanding
            );
            let code = match end {
                End::Interrupted => Code::Interrupted,
                _ => Code::Io,
            };
            return Err(Failure::new(code, text));
        }
        match end {
            End::Interrupted => Err(Failure::new(Code::Interrupted, "interrupted")),
            End::ProducerLost => Err(Failure::new(
                Code::Lost,
                format!("the producer of {name:?} died; {}", writer.rescued()),
            )),
            End::OfStream | End::Finished if writer.written == 0 => Err(Failure::new(
                Code::NoVersion,
                format!("region {name:?} has published no version; no checkpoint was written"),
            )),
            End::OfStream | End::Finished => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarting_the_same_copy_is_no_progress() {
        let mut stall = Stall::new(60.0);
        let mut further = |outstanding, copying, trouble: Option<&str>| {
            stall.comes_further(&Draining {
                outstanding,
                copying,
                trouble: trouble.map(str::to_owned),
                ..Draining::default()
            })
        };
        assert!(further(3, None, None));
        assert!(further(3, Some((10, 4096, 9000)), None));
        for attempt in ["no room", "still no room"] {
            assert!(!further(3, None, Some(attempt)));
            assert!(!further(3, Some((10, 0, 9000)), Some(attempt)));
            assert!(!further(3, Some((10, 4096, 9000)), Some(attempt)));
        }
        assert!(further(3, Some((10, 8192, 9000)), None));
        assert!(further(2, None, None), "one is copied");
        assert!(further(2, Some((20, 1, 9000)), None));
    }
}
