//! `tcasm checkpoint`: files of versions as the simulation goes. It pins a version only while it writes it, and whatever
//! happens to the files, it goes on until the simulation ends.

mod progress;
mod schedule;
mod writer;

use crate::args::CheckpointArgs;
use crate::exit::{Code, Failure};
use crate::region;
use progress::Progress;
use schedule::Schedule;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tcasm_observer::{AttachError, ObserveError, Observer, Version};
use writer::Writer;

/// How long at most until a signal is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// Why it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    OfStream,
    ProducerLost,
    Interrupted,
}

pub fn run(args: &CheckpointArgs) -> Result<(), Failure> {
    let stop = stop_flag().map_err(|e| Failure::new(Code::Other, format!("no signals: {e}")))?;
    let mut writer = Writer::new(args)?;
    let Some(mut observer) = attach(args, &stop)? else {
        return Err(Failure::new(
            Code::Interrupted,
            "interrupted before the region appeared",
        ));
    };
    let progress = Progress::new(&args.name);
    let end = follow(&mut observer, args, &mut writer, &progress, &stop)?;
    if end != End::Interrupted {
        write_last(&mut observer, &mut writer, &progress)?;
    }
    progress.finish(&writer, end);
    verdict(&args.name, &writer, end)
}

/// Set by the first signal to end; the second ends at once.
fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, Code::Interrupted as i32, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// Attach, waiting as long as the command line says; none when interrupted.
fn attach(args: &CheckpointArgs, stop: &AtomicBool) -> Result<Option<Observer>, Failure> {
    let deadline = Instant::now() + Duration::from_secs_f64(args.wait);
    while !stop.load(Ordering::Relaxed) {
        let left = deadline.saturating_duration_since(Instant::now());
        match Observer::attach_wait(&args.name, left.min(LOOK)) {
            Ok(observer) => return Ok(Some(observer)),
            Err(
                AttachError::NotFound { .. } | AttachError::Dead { .. } | AttachError::Ended { .. },
            ) if left > LOOK => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Look at every version that can be had, and write those that are due, until it is over.
fn follow(
    observer: &mut Observer,
    args: &CheckpointArgs,
    writer: &mut Writer,
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<End, Failure> {
    let mut schedule = Schedule::new(args.when);
    while !stop.load(Ordering::Relaxed) {
        match observer.next(LOOK) {
            Ok(version) => {
                progress.saw(&version);
                if schedule.is_due(version.stamp()) {
                    write(version, writer, progress)?;
                }
            }
            Err(ObserveError::NotReady) => {}
            Err(ObserveError::EndOfStream) => return Ok(End::OfStream),
            Err(ObserveError::ProducerLost) => return Ok(End::ProducerLost),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(End::Interrupted)
}

/// The last version of all, unless it is written already. It can still be had when the producer is gone.
fn write_last(
    observer: &mut Observer,
    writer: &mut Writer,
    progress: &Progress,
) -> Result<(), Failure> {
    match observer.latest() {
        Ok(version) if writer.has(&version) => Ok(()),
        Ok(version) => write(version, writer, progress),
        // Nothing was ever published.
        Err(ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Write `version`, and let go of it. Only a lost lease ends the run: a file that cannot be written is told.
fn write(version: Version, writer: &mut Writer, progress: &Progress) -> Result<(), Failure> {
    match writer.write(&version) {
        Ok(written) => progress.wrote(&version, &written, writer),
        Err(failure) if failure.code == Code::NotAllowed => return Err(failure),
        Err(failure) => progress.failed(&region::stamp(&version), &failure.message, writer),
    }
    Ok(())
}

/// What the exit status says of the run.
fn verdict(name: &str, writer: &Writer, end: End) -> Result<(), Failure> {
    if let Some(message) = writer.last_failure() {
        let text = format!("the last checkpoint could not be written: {message}");
        return Err(Failure::new(Code::Io, text));
    }
    match end {
        End::Interrupted => Err(Failure::new(Code::Interrupted, "interrupted")),
        End::ProducerLost => Err(Failure::new(
            Code::Lost,
            format!("the producer of {name:?} died; {}", writer.rescued()),
        )),
        End::OfStream if writer.written == 0 => Err(Failure::new(
            Code::NoVersion,
            format!("{name:?} has ended without publishing anything; there was nothing to write"),
        )),
        End::OfStream => Ok(()),
    }
}
