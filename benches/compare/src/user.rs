//! The user as whom cases run.

use crate::failure::{Failure, While};
use nix::unistd::{Gid, Uid, chown, geteuid};
use std::fs::{Permissions, metadata, read_dir, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The id of the user and of the group that a process gets instead of root. They own nothing else.
pub const NOBODY: u32 = 65534;

/// A kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum User {
    /// The user with the id 0.
    Root,
    /// A user without privileges.
    Ordinary,
}

impl User {
    /// Returns the user of this process.
    pub fn current() -> Self {
        match geteuid().is_root() {
            true => User::Root,
            false => User::Ordinary,
        }
    }

    /// Returns the name in rows and messages.
    pub fn title(self) -> &'static str {
        match self {
            User::Root => "root",
            User::Ordinary => "ordinary user",
        }
    }

    /// Checks that this process can start processes of this user. They use files in `folder`.
    pub fn prepare(self, folder: &Path) -> Result<(), Failure> {
        if self == User::current() {
            return Ok(());
        }
        if self == User::Root {
            return Err(Failure::NotRoot);
        }
        let program = std::env::current_exe().context("finding this program")?;
        if !every_user_may_run(&program) {
            return Err(Failure::Closed(program));
        }
        let enterable = Permissions::from_mode(0o711);
        set_permissions(folder, enterable).context(format!("opening {folder:?} to others"))
    }

    /// Makes `command` run as this user. The folder, and all that is in it, becomes that user's.
    pub fn lend(self, command: &mut Command, folder: &Path) -> Result<(), Failure> {
        if self == User::current() {
            return Ok(());
        }
        let give = |path: &Path| {
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            chown(path, Some(user), Some(group)).context(format!("giving away {path:?}"))
        };
        give(folder)?;
        for entry in read_dir(folder).context(format!("listing {folder:?}"))? {
            give(&entry.context(format!("listing {folder:?}"))?.path())?;
        }
        run_as_nobody(command);
        command.env("HOME", folder);
        Ok(())
    }
}

/// Makes `command`, which root starts, run as an ordinary user. It keeps no capability and no group
/// of root.
pub fn run_as_nobody(command: &mut Command) {
    // The standard library removes all other groups before it changes the user. The kernel then
    // removes all capabilities.
    command.uid(NOBODY).gid(NOBODY);
}

/// Returns true if every user may run the program at this absolute path.
pub fn every_user_may_run(program: &Path) -> bool {
    mode(program) & 0o005 == 0o005 && every_user_may_reach(program)
}

/// Returns true if every user may enter all folders above this absolute path.
pub fn every_user_may_reach(path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1);
    folders.all(|folder| mode(folder) & 0o001 != 0)
}

/// Returns the permissions, none if there is no such file.
fn mode(path: &Path) -> u32 {
    metadata(path).map_or(0, |data| data.permissions().mode())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};

    #[test]
    fn programs_in_closed_folders_cannot_be_run_by_every_user() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        let program = inner.join("program");
        create_dir(&inner).unwrap();
        write(&program, "").unwrap();
        let set = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(folder.path(), 0o711);
        set(&inner, 0o711);
        set(&program, 0o755);
        assert!(every_user_may_run(&program), "set TMPDIR to an open folder");
        set(&inner, 0o700);
        assert!(!every_user_may_run(&program), "the folder is closed");
        set(&inner, 0o711);
        set(&program, 0o750);
        assert!(!every_user_may_run(&program), "the program is closed");
        assert!(!every_user_may_run(&inner.join("missing")));
    }
}
