//! Ownership of a name, by a record lock on a lock file.
//!
//! A record lock (`fcntl` with F_SETLK) fits because the kernel releases it when its process ends,
//! never passes it on to a forked child, and tells which process holds it. It has two traps, so
//! lock files are opened in this module only:
//!
//! - Closing *any* descriptor of the file releases the locks that the process has on it. So a
//!   process must not open and close a file that it has locked, not even to find its owner.
//! - A process can lock the same file twice.
//!
//! To avoid both, this module keeps a list of the files that this process has locked, and checks it
//! before it opens a file.

use arc_swap::ArcSwap;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// The sticky bit, which lock files have. It tells programs that clean up folders to leave the file
/// alone (`systemd-tmpfiles` honours it).
pub const STICKY: u32 = 0o1000;

/// The owner of a name, as its lock file shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// There is no lock file.
    NoFile,
    /// The lock file exists, and no process has it locked: the last owner has ended.
    Nobody,
    /// The process with this id is the owner. The id is 0 or less if the process cannot be seen
    /// from here (another pid namespace).
    Process(i32),
}

/// The reason why a name cannot be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// A process owns the name.
    #[error("{} has it", text(*pid))]
    Owned {
        /// The id of the process, as in [`Owner::Process`].
        pid: i32,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A name that this process owns until it drops this value or ends. Forked children do not own it.
#[derive(Debug)]
pub struct Ownership {
    path: PathBuf,
    /// The lock file. Only `drop` closes it, while it holds the lock of the list.
    file: ManuallyDrop<File>,
    id: FileId,
    existed: bool,
    list: Arc<List>,
}

impl Ownership {
    /// Locks the file at `path`, and creates it with access rights `mode` if it does not exist.
    ///
    /// Two processes must not do this at the same time, so the caller must hold a lock on the
    /// folder.
    pub fn take(path: &Path, mode: u32) -> Result<Self, TakeError> {
        let list = List::of_this_process();
        let mut files = list.files();
        if let Owner::Process(pid) = files.owner(path)? {
            return Err(TakeError::Owned { pid });
        }
        let (file, existed) = open_or_create(path)?;
        let file = match lock(&file)? {
            true => file,
            // An owner would have been found above. A process that can only read the file can still
            // lock it against writers. Such a lock does not make it the owner, so the file is
            // replaced.
            false => replace(path)?,
        };
        file.set_permissions(Permissions::from_mode(STICKY | mode))?;
        let id = FileId::of(&file.metadata()?);
        files.locked.push(id);
        drop(files);
        Ok(Ownership {
            path: path.to_owned(),
            file: ManuallyDrop::new(file),
            id,
            existed,
            list,
        })
    }

    /// Returns true if the lock file existed before. Then other files of this name are left over
    /// from a former owner.
    pub fn existed(&self) -> bool {
        self.existed
    }

    /// Returns true in the process that took the name, and false in its forked children.
    pub fn is_own(&self) -> bool {
        self.list.pid == std::process::id()
    }

    /// Removes the lock file. The caller must hold the lock on the folder, so that no other process
    /// is about to lock the file.
    pub fn remove_file(&self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| FileId::of(&meta) == self.id) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // A forked child has no lock to release, and the mutex of its copy of the list may be
        // locked for ever.
        let mut files = self.is_own().then(|| self.list.files());
        // SAFETY: the file is dropped only here, and nothing uses it afterwards.
        unsafe { ManuallyDrop::drop(&mut self.file) };
        if let Some(files) = &mut files {
            files.locked.retain(|id| *id != self.id);
        }
    }
}

/// Returns the owner of the name whose lock file is at `path`.
pub fn owner(path: &Path) -> io::Result<Owner> {
    List::of_this_process().files().owner(path)
}

/// Returns the name of an owner for messages, from the id in [`Owner::Process`].
pub fn text(pid: i32) -> String {
    match pid {
        1.. => format!("process {pid}"),
        _ => "a process of another pid namespace".to_owned(),
    }
}

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(meta: &fs::Metadata) -> Self {
        FileId {
            device: meta.dev(),
            inode: meta.ino(),
        }
    }
}

/// The lock files of one process.
#[derive(Debug)]
struct List {
    pid: u32,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    /// The files that this copy of the library has locked.
    locked: Vec<FileId>,
    /// Files that another copy of this library in the same process has locked. They stay open,
    /// because closing one would release that lock.
    parked: Vec<(FileId, File)>,
}

impl List {
    /// Returns the list of the calling process. A forked child begins a new list, because it does
    /// not own the names of its parent, and because the mutex of the parent's list may have been
    /// locked at the moment of the fork.
    fn of_this_process() -> Arc<List> {
        static LIST: LazyLock<ArcSwap<List>> = LazyLock::new(|| ArcSwap::new(List::new()));
        let list = LIST.rcu(|list| match list.pid == std::process::id() {
            true => list.clone(),
            false => List::new(),
        });
        match list.pid == std::process::id() {
            true => list,
            false => LIST.load_full(),
        }
    }

    fn new() -> Arc<List> {
        Arc::new(List {
            pid: std::process::id(),
            files: Mutex::default(),
        })
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn owner(&mut self, path: &Path) -> io::Result<Owner> {
        let id = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Owner::NoFile),
            meta => FileId::of(&meta?),
        };
        if self.locked.contains(&id) {
            return Ok(Owner::Process(std::process::id() as i32));
        }
        if let Some(i) = self.parked.iter().position(|(parked, _)| *parked == id) {
            let (_, file) = self.parked.swap_remove(i);
            return self.ask(file);
        }
        match open(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Owner::NoFile),
            file => self.ask(file?),
        }
    }

    /// Returns the owner of an open file, and closes the file unless that would release a lock.
    fn ask(&mut self, file: File) -> io::Result<Owner> {
        let (id, own) = (FileId::of(&file.metadata()?), std::process::id() as i32);
        let owner = owner_of(&file);
        // The file may have been replaced after its identity was looked up, so the list is checked
        // again.
        if self.locked.contains(&id) || matches!(owner, Ok(Owner::Process(pid)) if pid == own) {
            self.parked.push((id, file));
            return Ok(Owner::Process(own));
        }
        owner
    }
}

/// Returns the owner of an open file. It asks for a lock of an open file description, so that the
/// answer includes locks of this process.
fn owner_of(file: &File) -> io::Result<Owner> {
    let mut lock = whole_file(libc::F_RDLCK);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
    Ok(match i32::from(lock.l_type) {
        libc::F_UNLCK => Owner::Nobody,
        _ => Owner::Process(lock.l_pid),
    })
}

/// Locks a file that is open for writing. Returns false if another process has it locked.
fn lock(file: &File) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_SETLK(&whole_file(libc::F_WRLCK))) {
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        locked => Ok(locked.map(|_| true)?),
    }
}

/// Replaces a lock file by a new one, and locks it. Other users cannot open the new file before it
/// is locked.
fn replace(path: &Path) -> io::Result<File> {
    fs::remove_file(path)?;
    let file = create(path)?;
    match lock(&file)? {
        true => Ok(file),
        false => Err(io::Error::other(
            "another process of this user has locked the file",
        )),
    }
}

/// Returns the description of a lock of a whole file.
pub(super) fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Opens the file, or creates it if it does not exist. Returns the file, and true if it existed.
fn open_or_create(path: &Path) -> io::Result<(File, bool)> {
    match open(path, true) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((create(path)?, false)),
        file => Ok((file?, true)),
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Opens an existing file. Fails if it is a link, or anything else that is not a regular file.
/// Opening never blocks.
fn open(path: &Path, write: bool) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("the lock file is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tcasm-owner-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_name_has_only_one_owner_even_within_a_process() {
        let path = folder().join("one.lock");
        assert_eq!(owner(&path).unwrap(), Owner::NoFile);
        let first = Ownership::take(&path, 0o600).unwrap();
        assert!(!first.existed());
        let own = std::process::id() as i32;
        assert_eq!(owner(&path).unwrap(), Owner::Process(own));
        let second = Ownership::take(&path, 0o600);
        assert!(matches!(second, Err(TakeError::Owned { pid }) if pid == own));
        drop(first);
        assert_eq!(owner(&path).unwrap(), Owner::Nobody);
        let third = Ownership::take(&path, 0o600).unwrap();
        assert!(third.existed());
        third.remove_file();
        assert_eq!(owner(&path).unwrap(), Owner::NoFile);
    }

    #[test]
    fn owner_of_another_pid_namespace_is_named_without_an_id() {
        let message = |pid| TakeError::Owned { pid }.to_string();
        assert_eq!(message(17), "process 17 has it");
        for unseen in [0, -1] {
            assert_eq!(message(unseen), "a process of another pid namespace has it");
        }
    }

    #[test]
    fn asking_for_an_owner_in_the_same_process_does_not_release_the_lock() {
        let path = folder().join("kept.lock");
        // Locked as another copy of the library does it, so the list does not know about it.
        let file = create(&path).unwrap();
        assert!(lock(&file).unwrap());
        let own = std::process::id() as i32;
        for _ in 0..3 {
            assert_eq!(owner(&path).unwrap(), Owner::Process(own));
        }
        assert!(matches!(
            Ownership::take(&path, 0o600),
            Err(TakeError::Owned { .. })
        ));
        drop(file);
        assert_eq!(owner(&path).unwrap(), Owner::Nobody);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn links_folders_and_pipes_are_refused_as_lock_files() {
        let (target, link) = (folder().join("target"), folder().join("link.lock"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let pipe = folder().join("pipe.lock");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let inside = folder().join("folder.lock");
        fs::create_dir(&inside).unwrap();
        for path in [&link, &pipe, &inside] {
            assert!(matches!(
                Ownership::take(path, 0o600),
                Err(TakeError::Io(_))
            ));
            assert!(owner(path).is_err());
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        for path in [&link, &pipe, &target] {
            fs::remove_file(path).unwrap();
        }
        fs::remove_dir(inside).unwrap();
    }
}
