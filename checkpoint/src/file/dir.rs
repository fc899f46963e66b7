//! Safe creation of files in folders that other users may write to.
//!
//! Every file that this crate writes is created here. Two rules hold for all of them:
//!
//! 1. A folder is opened once, by the path that the user gave. Files in it are named relative to
//!    that descriptor by a single component. A symbolic link at such a name is never followed:
//!    opening one is an error, and a rename replaces the link itself. So no other user can redirect
//!    a write, a truncation or a removal to a file elsewhere. (With single components `O_NOFOLLOW`
//!    promises what `RESOLVE_NO_SYMLINKS` of `openat2` does, on every kernel.)
//! 2. A new file is created exclusively. It is written through that descriptor or through
//!    `/proc/self/fd`, which leads to the same inode even if the name is changed.

use super::mode::Mode;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat, renameat2};
use nix::sys::stat::{FileStat, Mode as Bits, fchmod, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The number of attempts to open a file that other processes create and remove meanwhile.
const ATTEMPTS: usize = 100;

/// An opened folder.
#[derive(Debug)]
pub struct Dir(File);

impl Dir {
    /// Opens the folder at `path`, which the user has chosen. Symbolic links in this path are
    /// followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let opened = nix::fcntl::open(path, flags, Bits::empty())?;
        Ok(Dir(opened.into()))
    }

    /// Opens the same folder once more, also if it has another path by now.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Dir)
    }

    /// Opens the folder that the file at `path` lies in. Returns it with the name of the file.
    pub fn of(path: &Path) -> io::Result<(Self, &OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        Ok((Dir::open(directory(path))?, name))
    }

    /// Opens the folder `name` in this one, and creates it if it does not exist.
    pub fn open_or_create_folder(&self, name: &OsStr, mode: Mode) -> io::Result<Self> {
        let bits = Bits::from_bits_truncate(mode.of_folder());
        let made = match mkdirat(&self.0, name, bits) {
            Err(Errno::EEXIST) => false,
            made => made.map(|()| true)?,
        };
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY;
        let folder = self.open_at(name, flags, 0)?;
        if made && matches!(mode, Mode::Exactly(_)) {
            fchmod(&folder, bits)?;
        }
        Ok(Dir(folder.into()))
    }

    /// Creates the file `name`, which must not exist, for reading and writing.
    pub fn create(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        self.create_with(name, mode, OFlag::empty())
    }

    /// Creates a new file with additional open flags.
    fn create_with(&self, name: &OsStr, mode: Mode, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_RDWR;
        let file = self.open_at(name, flags, mode.at_creation())?;
        if let Mode::Exactly(bits) = mode {
            fchmod(&file, Bits::from_bits_truncate(bits))?;
        }
        Ok(file.into())
    }

    /// Opens the regular file `name` for reading and appending, without changing it. Returns `None`
    /// if there is no file.
    pub fn open_file(&self, name: &OsStr) -> io::Result<Option<File>> {
        // With O_NONBLOCK, opening a pipe does not wait for its other end.
        let flags = OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_NONBLOCK;
        let file: File = match self.open_at(name, flags, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?.into(),
        };
        match file.metadata()?.is_file() {
            true => Ok(Some(file)),
            false => Err(io::Error::other("it is not a regular file; remove it")),
        }
    }

    /// Opens the regular file `name` for reading and appending, and creates it if it does not
    /// exist.
    pub fn open_or_create(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        for _ in 0..ATTEMPTS {
            if let Some(file) = self.open_file(name)? {
                return Ok(file);
            }
            match self.create_with(name, mode, OFlag::O_APPEND) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
        Err(io::Error::other(
            "another process creates and removes it all the time",
        ))
    }

    /// Opens `name` in this folder, without following a symbolic link.
    fn open_at(&self, name: &OsStr, flags: OFlag, mode: u32) -> io::Result<OwnedFd> {
        let safe = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
        let mode = Bits::from_bits_truncate(mode);
        openat(&self.0, name, flags | safe, mode).map_err(|error| match error {
            Errno::ELOOP => io::Error::other(
                "it is a symbolic link, which could lead to a file of another user; remove it",
            ),
            other => other.into(),
        })
    }

    /// Renames `from` to `to`, and replaces a file with that name. A symbolic link is replaced, not
    /// followed.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Renames `from` to `to`, unless something has that name already, even a dangling link.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match linkat(&self.0, from, &self.0, to, AtFlags::empty()) {
            // The file system has no hard links.
            Err(Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS) => {
                return self.rename_without_links(from, to);
            }
            // NFS may send a request twice, and the second one finds the name that the first one
            // has made.
            Err(Errno::EEXIST) if self.is_same(from, to) => {}
            linked => linked?,
        }
        // The file has its name. Its other name does no harm.
        if let Err(e) = self.remove(from) {
            tracing::warn!("cannot remove the temporary file {from:?}: {e}");
        }
        Ok(())
    }

    fn rename_without_links(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match renameat2(&self.0, from, &self.0, to, RenameFlags::RENAME_NOREPLACE) {
            // Then a file that appears just now is replaced.
            Err(Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOSYS) => match self.has(to) {
                true => Err(io::ErrorKind::AlreadyExists.into()),
                false => self.rename(from, to),
            },
            renamed => Ok(renamed?),
        }
    }

    /// Returns true if `a` and `b` are names of the same file.
    fn is_same(&self, a: &OsStr, b: &OsStr) -> bool {
        let inode = |name| self.stat(name).map(|found| (found.st_dev, found.st_ino));
        matches!((inode(a), inode(b)), (Ok(a), Ok(b)) if a == b)
    }

    /// Returns true if `name` is the name of `file`, and it has no other one.
    pub fn is_only_name(&self, name: &OsStr, file: &File) -> bool {
        match (self.stat(name), file.metadata()) {
            (Ok(found), Ok(file)) => {
                (found.st_dev, found.st_ino) == (file.dev(), file.ino()) && file.nlink() == 1
            }
            _ => false,
        }
    }

    /// Returns true if `name` is a name of `file`.
    pub fn is_name_of(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        match self.stat(name) {
            Err(Errno::ENOENT) => Ok(false),
            found => {
                let (found, file) = (found?, file.metadata()?);
                Ok((found.st_dev, found.st_ino) == (file.dev(), file.ino()))
            }
        }
    }

    /// Returns true if something has the name `name`.
    fn has(&self, name: &OsStr) -> bool {
        self.stat(name).is_ok()
    }

    /// Returns what the system knows of `name`. A symbolic link is not followed.
    fn stat(&self, name: &OsStr) -> nix::Result<FileStat> {
        fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Brings the names in this folder to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

/// Returns the folder that `path` lies in.
pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn symbolic_links_are_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, dir.path().join("link")).unwrap();
        symlink(dir.path().join("nothing"), dir.path().join("dangling")).unwrap();
        symlink(dir.path(), dir.path().join("folder")).unwrap();
        let opened = Dir::open(dir.path()).unwrap();
        for link in ["link", "dangling"] {
            let link = name(link);
            let error = opened.open_file(link).unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{error}");
            assert!(opened.open_or_create(link, Mode::PRIVATE).is_err());
            assert!(opened.create(link, Mode::PRIVATE).is_err());
        }
        let folder = opened.open_or_create_folder(name("folder"), Mode::PRIVATE);
        assert!(folder.is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(!dir.path().join("nothing").exists());
    }

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, Bits::S_IRWXU).unwrap();
        let opened = Dir::open(dir.path()).unwrap();
        let error = opened.open_file(name("fifo")).unwrap_err().to_string();
        assert!(error.contains("regular"), "{error}");
        assert!(opened.open_file(name("nothing")).unwrap().is_none());
    }

    #[test]
    fn writes_after_a_truncation_append_at_the_new_end() {
        let dir = tempfile::tempdir().unwrap();
        let opened = Dir::open(dir.path()).unwrap();
        for _ in ["created", "opened"] {
            let mut file = opened.open_or_create(name("a"), Mode::PRIVATE).unwrap();
            file.write_all(b"half").unwrap();
            file.set_len(0).unwrap();
            file.write_all(b"whole").unwrap();
            assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"whole");
            file.set_len(0).unwrap();
        }
    }

    #[test]
    fn exact_modes_ignore_the_umask_and_others_respect_it() {
        let dir = tempfile::tempdir().unwrap();
        let opened = Dir::open(dir.path()).unwrap();
        let mode = |file: &str, mode: Mode| {
            let file = opened.create(name(file), mode).unwrap();
            file.metadata().unwrap().permissions().mode() & 0o7777
        };
        fs::write(dir.path().join("plain"), "").unwrap();
        let plain = fs::metadata(dir.path().join("plain")).unwrap();
        let plain = plain.permissions().mode() & 0o7777;
        assert_eq!(mode("a", Mode::USUAL), plain);
        assert_eq!(mode("b", Mode::PRIVATE), 0o600 & plain);
        assert_eq!(mode("c", Mode::Exactly(0o666)), 0o666);
    }
}
