//! Presence in a group of processes, by a shared record lock on a file.
//!
//! The kernel releases the lock when the process ends, however it ends, and a forked child does not
//! have it. Closing any descriptor of the file would release it too. So a process that is present
//! must not call [`anyone`] for the same file, nor enter twice.

use super::owner::{STICKY, whole_file};
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The presence of this process, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Presence {
    /// Closing the file releases the lock.
    _file: File,
}

impl Presence {
    /// Enters the group whose file is at `path`, and creates the file if it does not exist.
    pub fn enter(path: &Path) -> io::Result<Self> {
        let mut options = options();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path)?;
        // The sticky bit tells programs that clean up folders to leave the file alone.
        file.set_permissions(std::fs::Permissions::from_mode(STICKY | 0o600))?;
        fcntl(&file, FcntlArg::F_SETLK(&whole_file(libc::F_RDLCK)))?;
        Ok(Presence { _file: file })
    }
}

/// Returns true if a process is present in the group whose file is at `path`. The calling process
/// must not be present itself.
pub fn anyone(path: &Path) -> io::Result<bool> {
    match options().open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        file => locked_by_others(&file?),
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    options.read(true).custom_flags(flags);
    options
}

fn locked_by_others(file: &File) -> io::Result<bool> {
    let mut lock = whole_file(libc::F_WRLCK);
    fcntl(file, FcntlArg::F_GETLK(&mut lock))?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_present_before_the_first_and_a_process_does_not_see_itself() {
        let name = format!("tcasm-presence-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        assert!(!anyone(&path).unwrap(), "there is no file");
        let present = Presence::enter(&path).unwrap();
        assert!(!anyone(&path).unwrap());
        drop(present);
        std::fs::remove_file(&path).unwrap();
    }
}
