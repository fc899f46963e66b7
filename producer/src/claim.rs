//! Claiming a name: its socket. A stale one of a dead producer is taken over; a live one is not touched.

use crate::builder::Access;
use crate::error::CreateError;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_core::place::{runtime_dir, socket_path};
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
    /// Claim `name`, or say who has it.
    pub(crate) fn take(name: &str, access: &Access) -> Result<Claim, CreateError> {
        let folder = runtime_dir();
        let lock = open_folder(&folder)
            .and_then(lock)
            .map_err(|source| CreateError::Folder {
                path: folder,
                source,
            })?;
        let path = socket_path(name);
        match owner(&path) {
            Some(pid) => {
                return Err(CreateError::InUse {
                    name: name.to_owned(),
                    pid,
                });
            }
            None => drop(fs::remove_file(&path)),
        }
        let listener = listen(&path, access).map_err(|source| CreateError::Listen {
            path: path.clone(),
            source,
        })?;
        drop(lock);
        let inode = fs::metadata(&path).map_or(0, |m| m.ino());
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
        if fs::metadata(&self.path).is_ok_and(|m| m.ino() == self.inode) {
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
    if ![uid, 0].contains(&meta.uid()) && uid != 0 {
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

/// The live process that listens at `path`, if one does.
fn owner(path: &Path) -> Option<i32> {
    match socket::connect_to(path) {
        // The process that listens, not one that inherited the socket by a fork.
        Ok(connection) => Peer::of(&connection)
            .ok()
            .filter(Peer::alive)
            .map(|peer| peer.pid),
        // A full backlog: somebody lives there, too busy to tell who.
        Err(Errno::EAGAIN) => Some(0),
        Err(_) => None,
    }
}

fn listen(path: &Path, access: &Access) -> io::Result<OwnedFd> {
    let listener = socket::listen_at(path)?;
    let mode = if *access == Access::SameUser {
        0o600
    } else {
        0o666
    };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(listener)
}
