//! Conditions under which a measurement can run as an ordinary user, who has no privileges.

use crate::outcome::Outcome;
use std::fs::File;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;
use tcasm_compare::user::{NOBODY, User, every_user_may_reach, run_as_nobody};
use tempfile::TempDir;

/// The device through which a user may make stores of system calls wait.
const DEVICE: &str = "/dev/userfaultfd";
/// With the value 1, every user may do so.
const SYSCTL: &str = "/proc/sys/vm/unprivileged_userfaultfd";

/// Makes an empty folder for the files of an ordinary user.
pub fn folder_of_ordinary() -> Outcome<TempDir> {
    let folder = tempfile::Builder::new().prefix("tcasm-bench-").tempdir()?;
    if User::current() == User::Root {
        chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
    }
    match every_user_may_reach(folder.path()) {
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
        run_as_nobody(command);
    }
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .env("TCASM_RUNTIME_DIR", folder)
        .env_remove("XDG_RUNTIME_DIR");
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
}
