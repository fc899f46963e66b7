//! States in memory: versions of a producer that has died, which `tcasm keep` holds.

use crate::error::RestoreError;
use crate::state::State;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::{Extent, kept_path};
use tcasm_observer::{AttachError, ObserveError, Observer, ReadError, Status, Version};

/// The largest number of threads that read a field. More do not make memory faster.
const MOST_THREADS: usize = 4;
/// The smallest number of bytes that is worth a thread.
const PART: usize = 8 << 20;
/// The time that a holder may take to notice that a run has ended, and to let go of it.
const LETTING_GO: Duration = Duration::from_secs(1);

impl State for Version {
    fn region(&self) -> &str {
        self.region()
    }

    fn stamp(&self) -> Stamp {
        self.stamp()
    }

    fn table(&self) -> &FieldTable {
        self.table()
    }

    fn extent(&self) -> Option<Extent> {
        Some(self.extent())
    }

    /// Reads the field with several threads, because most of the time is spent on pages that are
    /// touched for the first time.
    fn read(&self, name: &str, bytes: &mut [u8]) -> Result<(), RestoreError> {
        let threads = available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MOST_THREADS).min(bytes.len() / PART).max(1);
        let part = bytes.len().div_ceil(threads).max(1).next_multiple_of(PART);
        let read =
            |(i, part_of): (usize, &mut [u8])| self.read_bytes(name, (i * part) as u64, part_of);
        let mut parts = bytes.chunks_mut(part).enumerate();
        let first = parts.next();
        std::thread::scope(|scope| {
            let others: Vec<_> = parts.map(|p| scope.spawn(move || read(p))).collect();
            let first = first.map_or(Ok(()), read);
            let joined = others
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|_| lost()));
            std::iter::once(first)
                .chain(joined)
                .collect::<Result<(), ReadError>>()
        })?;
        Ok(())
    }
}

/// Returns the error for a thread that panicked.
fn lost() -> Result<(), ReadError> {
    Err(std::io::Error::other("a reading thread has panicked").into())
}

/// Returns the newest version that a dead producer of the region `name` has left, if `tcasm keep`
/// holds it. If the producer has closed the region, it is held with `--after-end` only. This then
/// takes a second, in which the holder could still let go.
pub fn kept(name: &str) -> Result<Version, RestoreError> {
    use AttachError::{Dead, Ended, NotFound};
    let mut observer = Observer::attach_kept(name).map_err(|error| match error {
        NotFound { .. } | Dead { .. } | Ended { .. } => not_kept(name),
        other => other.into(),
    })?;
    check_gone(name, &observer)?;
    if is_let_go(&observer)? {
        return Err(not_kept(name));
    }
    match observer.latest() {
        Err(ObserveError::NotReady | ObserveError::EndOfStream | ObserveError::ProducerLost) => {
            Err(RestoreError::NothingKept(name.to_owned()))
        }
        version => Ok(version?),
    }
}

fn not_kept(name: &str) -> RestoreError {
    RestoreError::NotKept {
        name: name.to_owned(),
        path: kept_path(name),
    }
}

/// Returns true if the holder lets go of a run that has ended normally: it closes the connection.
/// A program that starts right after that end may be faster than the holder, so this waits.
fn is_let_go(kept: &Observer) -> Result<bool, RestoreError> {
    let deadline = Instant::now() + LETTING_GO;
    while kept.status()? == Status::EndOfStream {
        if !kept.producer_alive() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    Ok(false)
}

/// Returns an error if the producer still runs. `tcasm keep` serves its versions from the
/// beginning, so that a program that starts right after its death finds them. While the producer
/// runs, it reclaims versions, and nothing would protect them from that.
fn check_gone(name: &str, kept: &Observer) -> Result<(), RestoreError> {
    use AttachError::{Dead, Ended, NotFound};
    let runs = match Observer::attach(name) {
        Err(NotFound { .. } | Dead { .. } | Ended { .. }) => return Ok(()),
        attached => attached?.info()?,
    };
    let left = kept.info()?;
    match (runs.pid, runs.created) == (left.pid, left.created) {
        true => Err(RestoreError::Runs {
            name: name.to_owned(),
            pid: runs.pid,
        }),
        false => Ok(()),
    }
}
