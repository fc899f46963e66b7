//! Files copied from one tier to another: slowly, so that nobody else notices, and whole or not at all.

use crate::error::{Fault, WriteError};
use crate::{Mode, atomic, regular};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes read and written at once.
const BLOCK: usize = 4 << 20;

/// How fast, and whether at all.
pub struct Pace<'a> {
    /// Most bytes in a second.
    pub limit: Option<u64>,
    /// Called with the bytes copied so far; false ends the copy.
    pub go_on: &'a dyn Fn(u64) -> bool,
}

/// Copy `from` to `to`. It appears under its name when it is on the disk and `check` has found nothing wrong with it.
pub fn copy(
    from: &Path,
    to: &Path,
    mode: Mode,
    pace: &Pace<'_>,
    check: impl FnOnce(&Path) -> Result<(), Fault>,
) -> Result<u64, WriteError> {
    let mut source = regular::open(from).map_err(|e| Fault::from(e).at(from))?;
    atomic::write(to, mode, |pending| {
        blocks(&mut source, pending.file(), pace)?;
        pending.file().sync_all()?;
        check(&pending.here())
    })
}

fn blocks(source: &mut File, mut target: &File, pace: &Pace<'_>) -> io::Result<()> {
    let (start, mut done) = (Instant::now(), 0);
    let mut buffer = vec![0; block(pace)];
    loop {
        if !(pace.go_on)(done) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = source.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        target.write_all(&buffer[..n])?;
        done += n as u64;
        std::thread::sleep(too_early(start.elapsed(), done, pace.limit));
    }
}

/// Small enough that a slow copy still comes in pieces of a fraction of a second.
fn block(pace: &Pace<'_>) -> usize {
    let tenth = pace.limit.map_or(u64::MAX, |limit| limit / 10);
    tenth.clamp(4096, BLOCK as u64) as usize
}

/// How much too early `done` bytes are there.
fn too_early(elapsed: Duration, done: u64, limit: Option<u64>) -> Duration {
    let due = limit.map_or(Duration::ZERO, |limit| {
        Duration::from_secs_f64(done as f64 / limit.max(1) as f64)
    });
    due.saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_due_as_late_as_the_limit_says() {
        let early = |ms, done, limit| too_early(Duration::from_millis(ms), done, limit);
        assert_eq!(early(0, 500, Some(1000)), Duration::from_millis(500));
        assert_eq!(early(400, 500, Some(1000)), Duration::from_millis(100));
        assert_eq!(early(600, 500, Some(1000)), Duration::ZERO);
        assert_eq!(early(0, 500, None), Duration::ZERO);
    }

    #[test]
    fn a_copy_that_is_stopped_or_refused_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&from, vec![7; 3 * BLOCK]).unwrap();
        let stop = Pace {
            limit: None,
            go_on: &|done| done < 2 * BLOCK as u64,
        };
        assert!(copy(&from, &to, Mode::USUAL, &stop, |_| Ok(())).is_err());
        let refuse = |_: &Path| Err(Fault::Io(io::ErrorKind::InvalidData.into()));
        let go = Pace {
            limit: None,
            go_on: &|_| true,
        };
        assert!(copy(&from, &to, Mode::USUAL, &go, refuse).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(
            copy(&from, &to, Mode::USUAL, &go, |_| Ok(())).unwrap(),
            3 * BLOCK as u64
        );
        assert_eq!(std::fs::read(&to).unwrap(), std::fs::read(&from).unwrap());
    }
}
