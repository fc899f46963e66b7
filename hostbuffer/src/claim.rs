//! The files of a host buffer: the socket of the process that leads, the lock that says which
//! process that is, and the file of those that have the buffer.

use crate::error::HostBufferError;
use crate::link::Link;
use nix::fcntl::Flock;
use nix::unistd::getuid;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;
use tcasm_core::place::{lock_path, lock_runtime_dir, open_runtime_dir, runtime_dir};
use tcasm_core::sys::owner::{Ownership, TakeError};
use tcasm_core::sys::presence::{self, Presence};
use tcasm_core::sys::socket;

/// How long a process waits for the lock of the folder.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns the socket of the process that leads.
fn socket_path(job: &str) -> PathBuf {
    runtime_dir().join(format!("{job}.hostbuffer"))
}

/// Returns the file that each process has locked which has the buffer.
fn members_path(job: &str) -> PathBuf {
    runtime_dir().join(format!("{job}.hostbuffer.members"))
}

/// Connects to the process that leads, if there is one. It must be of the same user, because it
/// says which memory is mapped.
pub(crate) fn connect(job: &str) -> Result<Option<Link>, HostBufferError> {
    let path = socket_path(job);
    let Ok(socket) = socket::connect_to(&path) else {
        return Ok(None);
    };
    let link = Link::new(socket).map_err(HostBufferError::os("look at the other process"))?;
    match link.uid() {
        uid if uid != getuid().as_raw() => Err(HostBufferError::Foreign { path, uid }),
        // A forked child of a process that has ended holds the socket open, and accepts nobody.
        _ => Ok(link.is_alive().then_some(link)),
    }
}

/// Enters the processes that have the buffer.
pub(crate) fn enter(job: &str) -> Result<Presence, HostBufferError> {
    let path = members_path(job);
    // A process that is the last one and leaves may be about to remove the file.
    let entered = lock_folder().and_then(|_lock| Presence::enter(&path));
    entered.map_err(HostBufferError::os(format!("lock {path:?}")))
}

/// The right to lead the processes of this host, until it is dropped or the process ends. The
/// process must not be present among those that have the buffer when it drops the right.
#[derive(Debug)]
pub(crate) struct Claim {
    job: String,
    ownership: Ownership,
}

impl Claim {
    /// Claims the right, and listens. Returns `None` if another process leads, or must: a process
    /// that does not have the buffer may not lead those that have it.
    pub(crate) fn take(
        job: &str,
        member: bool,
    ) -> Result<Option<(Claim, OwnedFd)>, HostBufferError> {
        let path = runtime_dir();
        taken(job, member).map_err(|source| HostBufferError::Folder { path, source })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.ownership.is_own() {
            return;
        }
        // Without the lock of the folder, another process may have made new files. These here then
        // stay, which does no harm.
        let Ok(_lock) = lock_folder() else { return };
        let _ = fs::remove_file(socket_path(&self.job));
        let members = members_path(&self.job);
        if matches!(presence::anyone(&members), Ok(false)) {
            let _ = fs::remove_file(members);
        }
        self.ownership.remove_file();
    }
}

fn taken(job: &str, member: bool) -> io::Result<Option<(Claim, OwnedFd)>> {
    let _lock = lock_folder()?;
    if !member && presence::anyone(&members_path(job))? {
        return Ok(None);
    }
    let path = socket_path(job);
    let ownership = match Ownership::take(&lock_path(&path), 0o600) {
        Ok(ownership) => ownership,
        Err(TakeError::Owned { .. }) => return Ok(None),
        Err(TakeError::Io(error)) => return Err(error),
        Err(other) => return Err(io::Error::other(other)),
    };
    let _ = fs::remove_file(&path);
    // The claim is made last, because dropping it locks the folder again.
    let listener = socket::listen_at(&path).inspect_err(|_| ownership.remove_file())?;
    let claim = Claim {
        job: job.to_owned(),
        ownership,
    };
    Ok(Some((claim, listener)))
}

fn lock_folder() -> io::Result<Flock<File>> {
    lock_runtime_dir(open_runtime_dir(&runtime_dir())?, PATIENCE)
}
