//! Claiming a name: its lock file says who owns it, its socket carries messages.
//!
//! Whoever has the lock file locked owns the name (`tcasm_core::sys::owner`), and the lock ends with its process. So a name
//! is taken over as soon as its owner is dead, whatever has become of the socket.

use crate::builder::Access;
use crate::error::CreateError;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, Flock, FlockArg};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_core::place::{lock_path, open_runtime_dir, runtime_dir};
use tcasm_core::sys::owner::{Ownership, TakeError};
use tcasm_core::sys::socket;

/// How long a producer that starts waits for others that do.
const STARTING: Duration = Duration::from_secs(5);
/// The same for one that ends: it leaves its lock file rather than wait.
const ENDING: Duration = Duration::from_millis(100);

/// A name that this process owns until this is dropped, and the socket that observers find under it.
#[derive(Debug)]
pub(crate) struct Claim {
    folder: PathBuf,
    path: PathBuf,
    inode: u64,
    ownership: Ownership,
}

impl Claim {
    /// Claims `name`, whose socket is at `path` in the folder of sockets, and listens there.
    pub(crate) fn take(
        name: &str,
        path: PathBuf,
        access: &Access,
    ) -> Result<(Claim, OwnedFd), CreateError> {
        let folder = runtime_dir();
        let _lock = open_runtime_dir(&folder)
            .and_then(|file| lock(file, STARTING))
            .map_err(|source| CreateError::Folder {
                path: folder.clone(),
                source,
            })?;
        let ownership = own(name, lock_path(&path), access)?;
        match replace(&path, &ownership, access) {
            Ok((listener, inode)) => {
                let claim = Claim {
                    folder,
                    path,
                    inode,
                    ownership,
                };
                Ok((claim, listener))
            }
            Err(source) => {
                // Left behind, the file would say that the socket is a dead producer's.
                if !ownership.existed() {
                    ownership.remove_file();
                }
                Err(CreateError::Listen { path, source })
            }
        }
    }
}

/// Gives the name up: new observers find nothing, and another producer can have it.
impl Drop for Claim {
    fn drop(&mut self) {
        if !self.ownership.is_own() {
            return;
        }
        // Only our own socket: after a forced removal another producer may listen there.
        if fs::symlink_metadata(&self.path).is_ok_and(|m| m.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
        // Another producer may be about to lock the file, unless the folder is locked. The file may stay: it says that
        // nobody owns the name.
        if let Ok(_lock) = File::open(&self.folder).and_then(|folder| lock(folder, ENDING)) {
            self.ownership.remove_file();
        }
    }
}

/// Owns the name whose lock file is at `path`, or says who does.
fn own(name: &str, path: PathBuf, access: &Access) -> Result<Ownership, CreateError> {
    // Those who can connect can also ask who owns the name.
    let mode = if *access == Access::SameUser {
        0o600
    } else {
        0o644
    };
    Ownership::take(&path, mode).map_err(|error| match error {
        TakeError::Owned { pid } => CreateError::InUse {
            name: name.to_owned(),
            pid,
        },
        TakeError::Io(source) => CreateError::Lock { path, source },
    })
}

/// Listens at `path`, in place of a socket that a dead owner of the name has left.
fn replace(path: &Path, ownership: &Ownership, access: &Access) -> io::Result<(OwnedFd, u64)> {
    // A forked child of the dead owner may still have the socket, with nobody to accept. Without a lock file the socket
    // is not of a producer, and whoever listens there is left alone.
    if !ownership.existed() && listens(path) {
        return Err(io::Error::other(
            "another program listens there; end it, or choose another name",
        ));
    }
    let _ = fs::remove_file(path);
    let listener = listen(path, access)?;
    Ok((listener, fs::symlink_metadata(path)?.ino()))
}

/// Returns true unless it is certain that nobody listens at `path`.
fn listens(path: &Path) -> bool {
    !matches!(
        socket::connect_to(path),
        Err(Errno::ENOENT | Errno::ECONNREFUSED)
    )
}

/// Keeps other producers from claiming and giving up names at the same time, for at most `patience`. This says nothing of
/// who lives.
fn lock(mut folder: File, patience: Duration) -> io::Result<Flock<File>> {
    let deadline = Instant::now() + patience;
    loop {
        match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, error)) if error != Errno::EWOULDBLOCK => return Err(error.into()),
            Err(_) if Instant::now() > deadline => {
                return Err(io::Error::other(format!(
                    "another producer has been starting for {patience:?}"
                )));
            }
            Err((back, _)) => folder = back,
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn listen(path: &Path, access: &Access) -> io::Result<OwnedFd> {
    let listener = socket::listen_at(path)?;
    let mode = if *access == Access::SameUser {
        0o600
    } else {
        0o666
    };
    // Whoever owns the folder could put a link in its place meanwhile, to a file of ours.
    let no_link = FchmodatFlags::NoFollowSymlink;
    match fchmodat(AT_FDCWD, path, Mode::from_bits_truncate(mode), no_link) {
        // C libraries before 2.32 cannot do it so; the folder at least was looked at.
        Err(Errno::EOPNOTSUPP) => fs::set_permissions(path, Permissions::from_mode(mode))?,
        done => done?,
    }
    Ok(listener)
}
