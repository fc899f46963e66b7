//! Files that come into being whole: written under a temporary name beside their own, synced, renamed.

use crate::WriteError;
use crate::error::Fault;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Let `fill` write a file that is then renamed to `path`; returns its size. On an error nothing is left of it, and
/// an older file at `path` stays as it was.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Fault>,
) -> Result<u64, WriteError> {
    let (pending, ()) = begin(path, fill)?;
    pending.commit()
}

/// Let `fill` write a file that is going to be `path`.
pub fn begin<T>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<T, Fault>,
) -> Result<(Pending, T), WriteError> {
    let pending = Pending {
        temp: temp_beside(path).map_err(|e| Fault::from(e).at(path))?,
        path: path.to_owned(),
        settled: false,
    };
    let filled = fill(&pending.temp).map_err(|fault| fault.at(path))?;
    Ok((pending, filled))
}

/// A file that has all its bytes, and not yet its name. Dropped, it never was.
#[derive(Debug)]
pub struct Pending {
    temp: PathBuf,
    path: PathBuf,
    settled: bool,
}

impl Pending {
    /// Where the bytes are.
    pub fn temp(&self) -> &Path {
        &self.temp
    }

    /// Where they will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bring it to the disk, and give it its name; returns its size.
    pub fn commit(mut self) -> Result<u64, WriteError> {
        let size = settle(&self.temp, &self.path).map_err(|e| Fault::from(e).at(&self.path))?;
        self.settled = true;
        Ok(size)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.settled {
            discard(&self.temp);
        }
    }
}

/// Whether `file_name` is a temporary of ours for a file that `ours` accepts.
pub fn is_temporary(file_name: &str, ours: impl Fn(&str) -> bool) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let parts = || {
        let inner = file_name.strip_prefix('.')?.strip_suffix(".tmp")?;
        let (target, writer) = inner.rsplit_once(".tcasm-")?;
        let (pid, number) = writer.split_once('-')?;
        Some((target, pid, number))
    };
    parts().is_some_and(|(target, pid, number)| digits(pid) && digits(number) && ours(target))
}

/// The directory that `path` lies in.
pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// The process id and a number keep two writers apart, of one process or of several.
fn temp_beside(path: &Path) -> io::Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut temp = std::ffi::OsString::from(".");
    temp.push(name);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    temp.push(format!(".tcasm-{}-{number}.tmp", std::process::id()));
    Ok(directory(path).join(temp))
}

/// The content must be on the disk before the name says so, and the name before we say so.
fn settle(temp: &Path, path: &Path) -> io::Result<u64> {
    let file = File::open(temp)?;
    file.sync_all()?;
    fs::rename(temp, path)?;
    File::open(directory(path))?.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Truncated first: HDF5 may have kept a descriptor that it failed to close, and the space would stay taken.
fn discard(temp: &Path) {
    let truncated = File::options()
        .write(true)
        .open(temp)
        .and_then(|f| f.set_len(0));
    match truncated.and_then(|()| fs::remove_file(temp)) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => tracing::warn!("the temporary file {temp:?} stays behind: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.vtkhdf");
        fs::write(&path, "old").unwrap();
        let fill = |temp: &Path| {
            fs::write(temp, "half")?;
            Err(Fault::Io(io::ErrorKind::StorageFull.into()))
        };
        let error = write(&path, fill).unwrap_err();
        assert!(matches!(error, WriteError::NoSpace { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_our_own_pattern_is_a_temporary() {
        let ours = |target: &str| target == "run_00000001.vtkhdf";
        let temp = temp_beside(Path::new("run_00000001.vtkhdf")).unwrap();
        assert!(is_temporary(
            temp.file_name().unwrap().to_str().unwrap(),
            ours
        ));
        for other in [
            "run_00000001.vtkhdf",
            ".run_00000001.vtkhdf.tmp",
            ".run_00000002.vtkhdf.tcasm-1-1.tmp",
            ".run_00000001.vtkhdf.tcasm-x-1.tmp",
            ".run_00000001.vtkhdf.tcasm-1-.tmp",
            "run_00000001.vtkhdf.tcasm-1-1.tmp",
        ] {
            assert!(!is_temporary(other, ours), "{other}");
        }
    }
}
