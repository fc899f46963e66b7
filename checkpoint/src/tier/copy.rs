//! Copies files from one tier to another. The rate of a copy can be limited. A copy appears whole
//! or not at all.

use crate::error::{ReadError, WriteError};
use crate::file::{Fault, Mode, atomic, regular};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The largest number of bytes that are read and written at once.
const BLOCK: usize = 4 << 20;

/// The rate of a copy, and whether it goes on.
pub struct Pace<'a> {
    /// The highest average rate since the start, in bytes per second. `None`: no limit.
    pub limit: Option<u64>,
    /// Called with the number of bytes copied so far. The copy ends with an error if it returns
    /// false.
    pub go_on: &'a dyn Fn(u64) -> bool,
}

/// Copies `from` to `to` and returns the size. The copy gets its name when it is on the disk and
/// `check` has found no error in it. If `from` cannot be read, this is [`WriteError::Copy`].
pub fn copy(
    from: &Path,
    to: &Path,
    mode: Mode,
    pace: &Pace<'_>,
    check: impl FnOnce(&Path) -> Result<(), Fault>,
) -> Result<u64, WriteError> {
    let unread = |e| WriteError::Copy(ReadError::io(from)(e));
    let mut source = regular::open(from).map_err(unread)?;
    atomic::write(to, mode, |pending| {
        blocks(&mut source, pending.file(), pace, unread)?;
        pending.file().sync_all()?;
        check(&pending.here())
    })
}

/// Copies `source` to `target` block by block, at the rate of `pace`. `unread` makes the error of a
/// source that cannot be read.
fn blocks(
    source: &mut impl Read,
    mut target: &File,
    pace: &Pace<'_>,
    unread: impl Fn(io::Error) -> WriteError,
) -> Result<(), Fault> {
    let (start, mut done) = (Instant::now(), 0);
    let mut buffer = vec![0; block(pace)];
    loop {
        if !(pace.go_on)(done) {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        let n = source.read(&mut buffer).map_err(&unread)?;
        if n == 0 {
            return Ok(());
        }
        target.write_all(&buffer[..n])?;
        done += n as u64;
        std::thread::sleep(too_early(start.elapsed(), done, pace.limit));
    }
}

/// Returns the size of a block. It is small enough that even a slow copy moves several blocks per
/// second.
fn block(pace: &Pace<'_>) -> usize {
    let tenth = pace.limit.map_or(u64::MAX, |limit| limit / 10);
    tenth.clamp(4096, BLOCK as u64) as usize
}

/// Returns how long to wait so that `done` bytes do not exceed the limit.
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
    fn copy_waits_as_long_as_the_limit_requires() {
        let early = |ms, done, limit| too_early(Duration::from_millis(ms), done, limit);
        assert_eq!(early(0, 500, Some(1000)), Duration::from_millis(500));
        assert_eq!(early(400, 500, Some(1000)), Duration::from_millis(100));
        assert_eq!(early(600, 500, Some(1000)), Duration::ZERO);
        assert_eq!(early(0, 500, None), Duration::ZERO);
    }

    #[test]
    fn stopped_or_refused_copy_leaves_no_file() {
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
