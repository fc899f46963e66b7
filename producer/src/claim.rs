//! Claiming a name: the lock file of a name says which process owns it, and its socket carries
//! messages.
//!
//! The process that has locked the lock file owns the name (`tcasm_core::sys::owner`), and the lock
//! ends with the process. So another producer can take a name over as soon as its owner is dead,
//! whatever the state of the socket.

use crate::access::Access;
use crate::error::CreateError;
use nix::errno::Errno;
use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_core::place::{lock_path, lock_runtime_dir, open_runtime_dir, runtime_dir};
use tcasm_core::sys::owner::{Ownership, TakeError};
use tcasm_core::sys::socket;

/// How long a producer that starts waits for others that start.
pub(crate) const STARTING: Duration = Duration::from_secs(5);
/// How long a producer that ends waits for them. After that it leaves its lock file behind.
const ENDING: Duration = Duration::from_millis(100);

/// A name that this process owns until the claim is dropped, and the socket where observers find
/// it.
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
            .and_then(|file| lock_runtime_dir(file, STARTING))
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
                // If the lock file stayed, it would mean that the socket is that of a dead
                // producer.
                if !ownership.existed() {
                    ownership.remove_file();
                }
                Err(CreateError::Listen { path, source })
            }
        }
    }
}

/// Gives the name up: new observers find nothing, and another producer can claim it.
impl Drop for Claim {
    fn drop(&mut self) {
        if !self.ownership.is_own() {
            return;
        }
        // Remove only the socket of this process. If the socket was removed by force, another
        // producer may listen at the path now.
        if fs::symlink_metadata(&self.path).is_ok_and(|m| m.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
        // The lock file is removed only while the folder is locked, because another producer may be
        // about to lock the file. If the folder cannot be locked, the file stays. That does no
        // harm: it says that nobody owns the name.
        if let Ok(_lock) =
            File::open(&self.folder).and_then(|folder| lock_runtime_dir(folder, ENDING))
        {
            self.ownership.remove_file();
        }
    }
}

/// Takes ownership of the name whose lock file is at `path`. The error says which process owns it.
fn own(name: &str, path: PathBuf, access: &Access) -> Result<Ownership, CreateError> {
    // A user who can connect must also be able to find out who owns the name.
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
        other => CreateError::Lock {
            path,
            source: io::Error::other(other),
        },
    })
}

/// Listens at `path`, in place of a socket that a dead owner of the name has left.
fn replace(path: &Path, ownership: &Ownership, access: &Access) -> io::Result<(OwnedFd, u64)> {
    // A socket beside a lock file is a dead producer's. It is replaced even if something listens: a
    // forked child of the dead owner may still have it, and accepts nothing. A socket without a
    // lock file is not a producer's, so a program that listens there is left alone.
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

fn listen(path: &Path, access: &Access) -> io::Result<OwnedFd> {
    let listener = socket::listen_at(path)?;
    let mode = if *access == Access::SameUser {
        0o600
    } else {
        0o666
    };
    // The owner of the folder could replace the socket with a link to a file of this user. So links
    // are not followed.
    let no_link = FchmodatFlags::NoFollowSymlink;
    match fchmodat(AT_FDCWD, path, Mode::from_bits_truncate(mode), no_link) {
        // C libraries before 2.32 cannot do this. There the checks of the folder are the only
        // protection.
        Err(Errno::EOPNOTSUPP) => fs::set_permissions(path, Permissions::from_mode(mode))?,
        done => done?,
    }
    Ok(listener)
}
