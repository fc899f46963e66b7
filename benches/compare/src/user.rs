//! The user as whom cases run.

use crate::failure::{Failure, While};
use nix::unistd::{Gid, Uid, chown, geteuid};
use std::fs::{Permissions, metadata, read_dir, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The id of the user and of the group that a process gets instead of root. They own nothing else.
const NOBODY: u32 = 65534;

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
        // The standard library removes all other groups before it changes the user. The kernel
        // then removes all capabilities.
        command.uid(NOBODY).gid(NOBODY).env("HOME", folder);
        Ok(())
    }
}

/// Returns true if every user may run the program at this absolute path.
fn every_user_may_run(program: &Path) -> bool {
    let mode = |path: &Path| metadata(path).map_or(0, |data| data.permissions().mode());
    let mut folders = program.ancestors().skip(1);
    mode(program) & 0o005 == 0o005 && folders.all(|folder| mode(folder) & 0o001 != 0)
}
