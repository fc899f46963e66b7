//! The socket of an owner, and who may connect to it.

use crate::cookie::Cookie;
use crate::error::OwnerError;
use nix::errno::Errno;
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::unistd::geteuid;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_core::place::{open_runtime_dir, runtime_dir};
use tcasm_core::sys::socket;

/// The users whose processes an owner admits, besides root. They must also be able to enter the
/// folder of the sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// The user of the owner.
    SameUser,
    /// The user of the owner, and these user ids.
    Users(Vec<u32>),
    /// All users of the machine. They still need a cookie.
    Everyone,
}

impl Allowed {
    pub(crate) fn admits(&self, user: u32) -> bool {
        let own = user == geteuid().as_raw() || user == 0;
        own || match self {
            Allowed::SameUser => false,
            Allowed::Users(users) => users.contains(&user),
            Allowed::Everyone => true,
        }
    }
}

/// The end of the names of sockets. Those of regions have another one.
const ENDING: &str = ".transfer";
/// The end of names of sockets on which nobody listens yet.
const EARLY: &str = ".transfer-new";

/// Listens at a new path in the folder of the sockets. The path has random digits, so that nobody
/// else uses it, and it is never used again.
pub(crate) fn listen(allowed: &Allowed) -> Result<(OwnedFd, PathBuf), OwnerError> {
    let folder = runtime_dir();
    let in_folder = |source| OwnerError::Folder {
        path: folder.clone(),
        source,
    };
    open_runtime_dir(&folder).map_err(in_folder)?;
    remove_leftovers(&folder);
    let digits = Cookie::random().map_err(in_folder)?.to_string();
    let path = folder.join(format!("{}{ENDING}", &digits[..16]));
    // Another owner that begins removes sockets on which nobody listens. So this one gets its name
    // when it listens.
    let early = folder.join(format!("{}{EARLY}", &digits[..16]));
    let bound = bind(&early, allowed).and_then(|listener| {
        fs::rename(&early, &path)?;
        Ok(listener)
    });
    match bound {
        Ok(listener) => Ok((listener, path)),
        Err(source) => {
            let _ = fs::remove_file(&early);
            Err(OwnerError::Listen { path, source })
        }
    }
}

fn bind(path: &Path, allowed: &Allowed) -> io::Result<OwnedFd> {
    let listener = socket::listen_at(path)?;
    let mode = match allowed {
        Allowed::SameUser => 0o600,
        Allowed::Users(_) | Allowed::Everyone => 0o666,
    };
    // Links are not followed, in case that another user can replace the socket.
    let no_link = FchmodatFlags::NoFollowSymlink;
    let mode = Mode::from_bits_truncate(mode);
    match fchmodat(nix::fcntl::AT_FDCWD, path, mode, no_link) {
        // C libraries before 2.32 cannot do this. There only the same user can connect.
        Err(Errno::EOPNOTSUPP) if *allowed == Allowed::SameUser => {}
        done => done?,
    }
    Ok(listener)
}

/// Removes the sockets of owners that were killed: nobody listens there.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let ours = name.ends_with(ENDING) || name.ends_with(EARLY) && is_old(&path);
        if ours && matches!(socket::connect_to(&path), Err(Errno::ECONNREFUSED)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns true for a file that is older than the time that an owner needs to begin.
fn is_old(path: &Path) -> bool {
    let written = fs::symlink_metadata(path).and_then(|found| found.modified());
    let age = written.ok().and_then(|written| written.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_secs(60))
}
