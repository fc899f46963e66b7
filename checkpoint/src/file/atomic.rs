//! Files that appear whole or not at all. They are written under a temporary name in the same
//! folder, synced, and renamed.

use super::dir::{Dir, directory};
use super::fault::Fault;
use super::mode::Mode;
use super::regular;
use crate::error::WriteError;
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};

/// The number of further names that are tried if the first one is taken.
const ATTEMPTS: usize = 16;

/// Creates a temporary file, calls `fill` to write it, and renames it to `path`. Returns its size.
/// An error before the rename leaves nothing of it, and an older file at `path` untouched. If only
/// the sync of the folder fails, the new file has its name, but may lose it in a crash.
pub fn write(
    path: &Path,
    mode: Mode,
    fill: impl FnOnce(&Pending) -> Result<(), Fault>,
) -> Result<u64, WriteError> {
    let (pending, ()) = begin(path, mode, fill)?;
    pending.commit()
}

/// Creates a temporary file and calls `fill` to write it. The file becomes `path` when it is
/// committed.
pub fn begin<T>(
    path: &Path,
    mode: Mode,
    fill: impl FnOnce(&Pending) -> Result<T, Fault>,
) -> Result<(Pending, T), WriteError> {
    let dir = Dir::open(directory(path)).map_err(|e| Fault::from(e).at(path))?;
    begin_in(dir, path, mode, fill)
}

/// Does the same in the folder `dir`, which was opened as that of `path`.
pub fn begin_in<T>(
    dir: Dir,
    path: &Path,
    mode: Mode,
    fill: impl FnOnce(&Pending) -> Result<T, Fault>,
) -> Result<(Pending, T), WriteError> {
    let pending = Pending::create(dir, path, mode).map_err(|e| Fault::from(e).at(path))?;
    let filled = fill(&pending).map_err(|fault| fault.at(path))?;
    Ok((pending, filled))
}

/// A file without its final name. Dropping it before it is committed removes it.
#[derive(Debug)]
pub struct Pending {
    dir: Dir,
    temp: OsString,
    path: PathBuf,
    /// The file, open from the beginning. So `fsync` reports all errors of writes to it.
    file: File,
    /// True if the file has its final name.
    settled: bool,
}

impl Pending {
    fn create(dir: Dir, path: &Path, mode: Mode) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let (temp, file) = create_temporary(&dir, name, mode)?;
        Ok(Pending {
            dir,
            temp,
            path: path.to_owned(),
            file,
            settled: false,
        })
    }

    /// Returns the file, open to read and write.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns a path that leads to the file itself, even if its temporary name is taken by another
    /// file. It is valid while this value exists.
    pub fn here(&self) -> PathBuf {
        regular::path_of(&self.file)
    }

    /// Returns the path that the file is going to have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Brings the file to the disk and gives it its name. Returns its size.
    pub fn commit(mut self) -> Result<u64, WriteError> {
        self.settle(Dir::rename)
            .map_err(|e| Fault::from(e).at(&self.path))
    }

    /// Does the same, but replaces no file.
    pub fn commit_new(mut self) -> Result<u64, WriteError> {
        self.settle(Dir::rename_new).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists(self.path.clone()),
            _ => Fault::from(e).at(&self.path),
        })
    }

    /// Does the work of [`Pending::commit`]. The content must be on the disk before the file gets
    /// its name by `rename`, and the name before this returns.
    fn settle(
        &mut self,
        rename: impl Fn(&Dir, &OsStr, &OsStr) -> io::Result<()>,
    ) -> io::Result<u64> {
        self.file.sync_all()?;
        let size = self.file.metadata()?.len();
        let name = self.path.file_name().unwrap_or_default();
        rename(&self.dir, &self.temp, name)?;
        self.settled = true;
        self.dir.sync()?;
        Ok(size)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // HDF5 may have kept a descriptor that it failed to close. Without truncation, the space
        // would stay in use until the process ends. But over NFS a rename can report an error
        // although it was done, and the file with the final name must not become empty.
        let truncated = match self.dir.is_only_name(&self.temp, &self.file) {
            true => self.file.set_len(0),
            false => Ok(()),
        };
        match truncated.and_then(|()| self.dir.remove(&self.temp)) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => tracing::warn!("cannot remove the temporary file {:?}: {e}", self.temp),
        }
    }
}

/// Returns true if `file_name` is that of a temporary file of this module for a file that `ours`
/// accepts.
pub fn is_temporary(file_name: &str, ours: impl Fn(&str) -> bool) -> bool {
    target(file_name).is_some_and(ours)
}

/// Returns the name of the file that a temporary file of this module would have become.
pub fn target(file_name: &str) -> Option<&str> {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let inner = file_name.strip_prefix('.')?.strip_suffix(".tmp")?;
    let (target, writer) = inner.rsplit_once(".tcasm-")?;
    let (pid, number) = writer.split_once('-')?;
    (digits(pid) && digits(number)).then_some(target)
}

fn create_temporary(dir: &Dir, name: &OsStr, mode: Mode) -> io::Result<(OsString, File)> {
    let mut attempts = 0;
    loop {
        let temp = temporary_for(name);
        match dir.create(&temp, mode) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => {
                attempts += 1;
            }
            created => return Ok((temp, created?)),
        }
    }
}

/// Returns a temporary name for `name`. Other users cannot foresee it, so they cannot create such a
/// file first.
fn temporary_for(name: &OsStr) -> OsString {
    let number = RandomState::new().hash_one(std::process::id());
    let mut temp = OsString::from(".");
    temp.push(name);
    temp.push(format!(".tcasm-{}-{number}.tmp", std::process::id()));
    temp
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{FileExt, symlink};

    fn failing(mut file: &File) -> Result<(), Fault> {
        file.write_all(b"half")?;
        Err(Fault::Io(io::ErrorKind::StorageFull.into()))
    }

    #[test]
    fn failed_write_leaves_only_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.vtkhdf");
        fs::write(&path, "old").unwrap();
        let error = write(&path, Mode::USUAL, |pending| failing(pending.file())).unwrap_err();
        assert!(matches!(error, WriteError::NoSpace { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn new_file_replaces_nothing_that_appears_while_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let fill = |_: &Pending| Ok(());
        let begin = |name: &str| begin(&dir.path().join(name), Mode::USUAL, fill).unwrap().0;
        let (first, second, linked) = (begin("a"), begin("a"), begin("b"));
        symlink(dir.path().join("nothing"), dir.path().join("b")).unwrap();
        first.file().write_all_at(b"first", 0).unwrap();
        assert_eq!(first.commit_new().unwrap(), 5);
        for late in [second, linked] {
            let error = late.commit_new().unwrap_err();
            assert!(matches!(error, WriteError::Exists(_)), "{error}");
        }
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    fn new_file(path: &Path) -> Pending {
        let fill = |pending: &Pending| -> Result<(), Fault> {
            pending.file().write_all_at(b"new", 0)?;
            Ok(())
        };
        begin(path, Mode::USUAL, fill).unwrap().0
    }

    /// Over NFS a request may be sent twice. The second one fails, because of what the first did.
    #[test]
    fn name_that_was_given_although_an_error_is_reported_leads_to_the_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let linked = new_file(&a);
        fs::hard_link(dir.path().join(&linked.temp), &a).unwrap();
        assert_eq!(linked.commit_new().unwrap(), 3);
        let renamed = new_file(&b);
        fs::rename(dir.path().join(&renamed.temp), &b).unwrap();
        assert!(renamed.commit().is_err());
        for path in [a, b] {
            assert_eq!(fs::read(path).unwrap(), b"new");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn temporary_file_that_is_replaced_by_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let replace = |pending: &Pending| {
            let temp = dir.path().join(&pending.temp);
            fs::remove_file(&temp)?;
            symlink(&victim, &temp)?;
            failing(pending.file())
        };
        write(&dir.path().join("a"), Mode::USUAL, replace).unwrap_err();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_names_of_our_pattern_are_temporary_files() {
        let ours = |target: &str| target == "run_00000001.vtkhdf";
        let temp = temporary_for(OsStr::new("run_00000001.vtkhdf"));
        assert!(is_temporary(temp.to_str().unwrap(), ours));
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
