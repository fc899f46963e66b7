//! The user as whom a measurement runs: root, or an ordinary user, who has no privileges.

use crate::outcome::Outcome;
use std::fs::File;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The id of the user and of the group that a command gets instead of root. They own nothing else.
const NOBODY: u32 = 65534;
/// The device through which a user may make stores of system calls wait.
const DEVICE: &str = "/dev/userfaultfd";
/// With the value 1, every user may do so.
const SYSCTL: &str = "/proc/sys/vm/unprivileged_userfaultfd";

/// A kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The user with the id 0.
    Root,
    /// Any other user.
    Ordinary,
}

impl User {
    /// Returns the user of this process.
    pub fn current() -> Self {
        match nix::unistd::geteuid().is_root() {
            true => User::Root,
            false => User::Ordinary,
        }
    }

    /// Returns the name in tables.
    pub fn title(self) -> &'static str {
        match self {
            User::Root => "root",
            User::Ordinary => "ordinary user",
        }
    }
}

/// Makes an empty folder for the files of an ordinary user.
pub fn folder_of_ordinary() -> Outcome<TempDir> {
    let folder = tempfile::Builder::new().prefix("tcasm-bench-").tempdir()?;
    if User::current() == User::Root {
        chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
    }
    match enterable(folder.path()) {
        true => Ok(folder),
        false => Err(format!(
            "an ordinary user cannot enter {:?}; set TMPDIR to a folder that every user may enter",
            folder.path()
        )
        .into()),
    }
}

/// Makes `command` run as an ordinary user whose files are in `folder`, which belongs to that user.
/// The command keeps no capability and no group of root.
pub fn run_as_ordinary(command: &mut Command, folder: &Path) {
    if User::current() == User::Root {
        // The standard library removes all other groups before it changes the user. The kernel
        // then removes all capabilities.
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .env("TCASM_RUNTIME_DIR", folder)
        .env_remove("XDG_RUNTIME_DIR");
}

/// Returns true if every user may run the program at this absolute path.
pub fn ordinary_may_run(program: &Path) -> bool {
    mode(program) & 0o005 == 0o005 && enterable(program)
}

/// Returns true if every user may enter all folders above this absolute path.
fn enterable(path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .all(|folder| mode(folder) & 0o001 != 0)
}

/// Returns the permissions, none if there is no such file.
fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).map_or(0, |data| data.permissions().mode())
}

/// Returns the rights of this process that make a difference to TCASM, for people.
pub fn rights() -> Outcome<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let capabilities = match effective_capabilities(&status) {
        Some(0) => "no capabilities",
        Some(_) => "capabilities",
        None => return Err("/proc/self/status has no line CapEff".into()),
    };
    let device = File::options().read(true).write(true).open(DEVICE);
    let access = if device.is_ok() {
        "access"
    } else {
        "no access"
    };
    let sysctl = std::fs::read_to_string(SYSCTL).unwrap_or_else(|_| "unknown".to_owned());
    let id = nix::unistd::geteuid();
    Ok(format!(
        "user {id}, {capabilities}, {access} to {DEVICE}, vm.unprivileged_userfaultfd: {}",
        sysctl.trim()
    ))
}

/// Returns the effective capabilities in the text of a file `/proc/PID/status`.
fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions, write};

    /// Returns the numbers in the line of `/proc/PID/status` that begins with `name`.
    fn numbers(status: &str, name: &str) -> Vec<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let words = line.expect(name).split_whitespace();
        words.map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn command_of_an_ordinary_user_has_no_rights_and_can_write_its_folder() {
        let folder = folder_of_ordinary().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "touch \"$TMPDIR/new\" && cat /proc/self/status"]);
        run_as_ordinary(&mut command, folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(folder.path().join("new").exists());
        let status = String::from_utf8(output.stdout).unwrap();
        for ids in ["Uid:", "Gid:"].map(|name| numbers(&status, name)) {
            assert!(ids.len() == 4 && !ids.contains(&0), "{ids:?}");
        }
        assert!(!numbers(&status, "Groups:").contains(&0), "{status}");
        assert_eq!(effective_capabilities(&status), Some(0), "{status}");
    }

    #[test]
    fn capabilities_are_read_as_hexadecimal() {
        let status = "Name:\tx\nCapPrm:\tffff\nCapEff:\t000001ff00000010\nCapBnd:\t0\n";
        assert_eq!(effective_capabilities(status), Some(0x1ff_0000_0010));
        assert_eq!(effective_capabilities("Name:\tx\n"), None);
    }

    #[test]
    fn programs_in_closed_folders_cannot_be_run_by_every_user() {
        let folder = folder_of_ordinary().unwrap();
        let inner = folder.path().join("inner");
        let program = inner.join("program");
        create_dir(&inner).unwrap();
        write(&program, "").unwrap();
        let set = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(folder.path(), 0o711);
        set(&inner, 0o711);
        set(&program, 0o755);
        assert!(ordinary_may_run(&program));
        set(&inner, 0o700);
        assert!(!ordinary_may_run(&program), "the folder is closed");
        set(&inner, 0o711);
        set(&program, 0o750);
        assert!(!ordinary_may_run(&program), "the program is closed");
        assert!(!ordinary_may_run(&inner.join("missing")));
    }
}
