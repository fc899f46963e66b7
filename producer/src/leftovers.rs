//! Finds and removes the files of dead processes in the folder of the sockets.
//!
//! A killed producer leaves its socket and its lock file. So does a killed process that holds the
//! memory of a dead producer ([`Kept`](crate::Kept)). They take no memory, and the next owner of
//! the name uses them again.

use crate::claim;
use nix::unistd::getuid;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use tcasm_core::place::{
    check_name, kept_path, lock_path, lock_runtime_dir, open_runtime_dir, runtime_dir, socket_path,
};
use tcasm_core::sys::owner::{Owner, STICKY, owner};

/// A file that a dead process has left.
#[derive(Debug)]
pub struct Leftover {
    /// The name of the region.
    pub region: String,
    /// The file.
    pub path: PathBuf,
    /// Why it could not be removed.
    pub error: Option<io::Error>,
}

/// Finds the files that dead processes of this user have left in the folder of the sockets, and
/// removes them if `remove` is true.
///
/// A region whose producer lives, or whose memory a process holds, is left alone. So are files that
/// no producer has made. An error means that nothing was removed.
pub fn leftovers(remove: bool) -> io::Result<Vec<Leftover>> {
    let folder = runtime_dir();
    if !folder.try_exists()? {
        return Ok(Vec::new());
    }
    // Meanwhile no process claims a name, or gives one up.
    let file = open_runtime_dir(&folder)?;
    let _lock = lock_runtime_dir(file, claim::STARTING)?;
    let mut found = Vec::new();
    for region in names(&folder)? {
        found.extend(dead_files(&region).into_iter().map(|path| Leftover {
            region: region.clone(),
            error: remove.then(|| fs::remove_file(&path).err()).flatten(),
            path,
        }));
    }
    Ok(found)
}

/// Returns the names that have a lock file in the folder.
fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let files = folder.read_dir()?.flatten().map(|entry| entry.file_name());
    let files = files.filter_map(|file| file.into_string().ok());
    Ok(files.filter_map(|file| region(&file)).collect())
}

/// Returns the name of the region of a lock file.
fn region(file: &str) -> Option<String> {
    let socket = file.strip_suffix(".lock")?;
    let name = socket.strip_suffix(".sock");
    let name = name.or_else(|| socket.strip_suffix(".kept"))?;
    check_name(name).ok()?;
    Some(name.to_owned())
}

/// Returns the files of a region that no process owns. If that is not certain, returns none.
fn dead_files(region: &str) -> Vec<PathBuf> {
    let sockets = [socket_path(region), kept_path(region)];
    let is_dead = |socket: &PathBuf| {
        let owner = owner(&lock_path(socket));
        matches!(owner, Ok(Owner::Nobody | Owner::NoFile))
    };
    if !sockets.iter().all(is_dead) {
        return Vec::new();
    }
    let user = getuid().as_raw();
    let files = sockets.into_iter().flat_map(|socket| pair(socket, user));
    files.collect()
}

/// Returns a socket and its lock file, if they are what a dead process of `user` leaves. The socket
/// may be gone already.
fn pair(socket: PathBuf, user: u32) -> Vec<PathBuf> {
    let lock = lock_path(&socket);
    let is_own = |meta: &Metadata| meta.uid() == user;
    // Other programs have lock files of that name, too, but not of this kind.
    let is_lock = |meta: &Metadata| {
        let sticky = meta.mode() & STICKY != 0;
        meta.is_file() && meta.len() == 0 && sticky && is_own(meta)
    };
    if !lock.symlink_metadata().is_ok_and(|meta| is_lock(&meta)) {
        return Vec::new();
    }
    match socket.symlink_metadata() {
        Ok(meta) if meta.file_type().is_socket() && is_own(&meta) => vec![socket, lock],
        Err(error) if error.kind() == io::ErrorKind::NotFound => vec![lock],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    /// Makes a lock file, and returns the path of its socket.
    fn lock(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
        let socket = folder.join(name);
        fs::write(lock_path(&socket), text).unwrap();
        fs::set_permissions(lock_path(&socket), Permissions::from_mode(mode)).unwrap();
        socket
    }

    #[test]
    fn only_files_of_this_user_that_a_producer_has_made_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let user = getuid().as_raw();
        let whole = lock(folder.path(), "whole.sock", "", 0o1600);
        drop(UnixListener::bind(&whole).unwrap());
        let both = vec![whole.clone(), lock_path(&whole)];
        assert_eq!(pair(whole.clone(), user), both);
        assert_eq!(pair(whole, user + 1), [] as [PathBuf; 0]);
        let half = lock(folder.path(), "half.sock", "", 0o1600);
        assert_eq!(pair(half.clone(), user), [lock_path(&half)]);

        let file = lock(folder.path(), "file.sock", "", 0o1600);
        File::create(&file).unwrap();
        for other in [
            file,
            lock(folder.path(), "other.sock", "", 0o600),
            lock(folder.path(), "pid.sock", "4711\n", 0o1600),
            folder.path().join("none.sock"),
        ] {
            assert_eq!(pair(other.clone(), user), [] as [PathBuf; 0], "{other:?}");
        }
    }

    #[test]
    fn only_lock_files_of_regions_have_names() {
        for (file, name) in [
            ("heat.sock.lock", Some("heat")),
            ("heat.kept.lock", Some("heat")),
            ("a.sock.sock.lock", Some("a.sock")),
            ("heat.sock", None),
            (".sock.lock", None),
            ("a b.sock.lock", None),
            ("heat.lock", None),
        ] {
            assert_eq!(region(file).as_deref(), name, "{file}");
        }
    }
}
