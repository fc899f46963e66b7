//! Claiming a name: its socket. A stale one of a dead producer is taken over; a live one is not touched.

use crate::builder::Access;
use crate::error::CreateError;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, Flock, FlockArg};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_core::place::{runtime_dir, runtime_dir_is_chosen};
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;

/// A listening socket under the region's name; the name is given up when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    inode: u64,
    pub(crate) listener: OwnedFd,
}

impl Claim {
    /// Claim `name`, whose socket is at `path` in the folder of sockets, or say who has it.
    pub(crate) fn take(name: &str, path: PathBuf, access: &Access) -> Result<Claim, CreateError> {
        let folder = runtime_dir();
        let lock = open_folder(&folder)
            .and_then(lock)
            .map_err(|source| CreateError::Folder {
                path: folder,
                source,
            })?;
        let failed = |source| CreateError::Listen {
            path: path.clone(),
            source,
        };
        if let Some(pid) = owner(&path).map_err(|e| failed(e.into()))? {
            return Err(CreateError::InUse {
                name: name.to_owned(),
                pid,
            });
        }
        let _ = fs::remove_file(&path);
        let listener = listen(&path, access).map_err(failed)?;
        drop(lock);
        let inode = fs::symlink_metadata(&path).map_or(0, |m| m.ino());
        Ok(Claim {
            path,
            inode,
            listener,
        })
    }
}

/// Give the name up: new observers find nothing.
impl Drop for Claim {
    fn drop(&mut self) {
        // Only our own socket: after a forced removal another producer may listen there.
        if fs::symlink_metadata(&self.path).is_ok_and(|m| m.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The folder, made if need be. It must be ours or the system's, or somebody could put another socket in place of ours.
fn open_folder(folder: &Path) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let file = File::open(folder)?;
    let meta = file.metadata()?;
    let uid = nix::unistd::getuid().as_raw();
    let root_knows = uid == 0 && runtime_dir_is_chosen();
    if ![uid, 0].contains(&meta.uid()) && !root_knows {
        return Err(io::Error::other(format!(
            "it belongs to user {}",
            meta.uid()
        )));
    }
    let (sticky, others_write) = (meta.mode() & 0o1000 != 0, meta.mode() & 0o002 != 0);
    if others_write && !sticky {
        return Err(io::Error::other(
            "every user can replace what is in it (mode o+w without t)",
        ));
    }
    Ok(file)
}

/// Keep other producers from claiming at the same time. The lock guards this step only; it says nothing of who lives.
fn lock(mut folder: File) -> io::Result<Flock<File>> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, error)) if error != Errno::EWOULDBLOCK => return Err(error.into()),
            Err(_) if Instant::now() > deadline => {
                return Err(io::Error::other(
                    "another producer has been starting for 5 seconds",
                ));
            }
            Err((back, _)) => folder = back,
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The live process that listens at `path`, if one does. Not to know is an error: it may be somebody's.
fn owner(path: &Path) -> Result<Option<i32>, Errno> {
    match socket::connect_to(path) {
        // The process that listens, not one that inherited the socket by a fork.
        Ok(connection) => {
            let peer = Peer::of(&connection)?;
            Ok(peer.alive().then_some(peer.pid))
        }
        // A full backlog: somebody lives there, too busy to tell who.
        Err(Errno::EAGAIN) => Ok(Some(0)),
        Err(Errno::ENOENT | Errno::ECONNREFUSED) => Ok(None),
        Err(other) => Err(other),
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
