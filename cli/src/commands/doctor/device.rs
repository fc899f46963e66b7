//! The device of userfaultfd, and what an administrator does so that a user can open it.

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, getgroups};
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

const PATH: &str = "/dev/userfaultfd";

/// The group of the udev rule in `packaging/`.
const GROUP: &str = "userfaultfd";

/// The commands that put the installed rule and group into effect.
const ACTIVATE: [&str; 3] = [
    "systemd-sysusers tcasm-userfaultfd.conf",
    "udevadm control --reload",
    "udevadm trigger --name-match=/dev/userfaultfd",
];

/// The permission to read and write of the group of a file.
const GROUP_ACCESS: u32 = 0o060;

/// The access of this process to the device.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "group", rename_all = "kebab-case")]
pub enum Device {
    /// The process can open the device.
    Usable,
    /// This group can open the device, and the process is not in it.
    ForGroup(String),
    /// The owner and the mode of the device keep the user out, and so for every group.
    Closed,
    /// Something else keeps the process out: the devices of a container, or a security module.
    Refused,
    /// There is no such device.
    Missing,
}

impl Device {
    /// Tries to open the device. If this fails, looks for the reason.
    pub fn check() -> Self {
        match File::options().read(true).write(true).open(PATH) {
            Ok(_) => Device::Usable,
            Err(error) => Device::after(&error),
        }
    }

    fn after(error: &io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO) => Device::Missing,
            Some(Errno::EACCES) => fs::metadata(PATH).map_or(Device::Refused, |device| {
                Device::by_mode(device.mode(), Gid::from_raw(device.gid()), &own_groups())
            }),
            _ => Device::Refused,
        }
    }

    /// Returns the reason why a device with this mode and group cannot be opened by a process that
    /// is in the groups `own`.
    fn by_mode(mode: u32, group: Gid, own: &[Gid]) -> Self {
        let root = group.as_raw() == 0;
        if root || mode & GROUP_ACCESS != GROUP_ACCESS {
            return Device::Closed;
        }
        if own.contains(&group) {
            return Device::Refused;
        }
        let known = Group::from_gid(group).ok().flatten();
        Device::ForGroup(known.map_or_else(|| group.to_string(), |group| group.name))
    }

    /// Describes the access in one line.
    pub fn text(&self) -> String {
        match self {
            Device::Usable => "this user may open it".to_owned(),
            Device::ForGroup(group) => format!("only the group {group} may open it"),
            Device::Closed => "this user may not open it".to_owned(),
            Device::Refused => "this process may not open it".to_owned(),
            Device::Missing => "missing".to_owned(),
        }
    }

    /// Returns what an administrator does so that `user` can open the device.
    pub fn advice(&self, user: &str) -> Option<String> {
        let give = format!("to give {user} {PATH} (docs/userfaultfd.md says what that means)");
        let join = |group: &str| format!("usermod -aG {group} {user}; then {user} logs in again");
        Some(match self {
            Device::Usable => return None,
            Device::ForGroup(group) => format!("{give}, as root: {}", join(group)),
            Device::Closed => {
                let activate = ACTIVATE.join("; ");
                let join = join(GROUP);
                format!("{give}, after `make install`, as root: {activate}; {join}")
            }
            Device::Refused => format!(
                "the system refuses {PATH} to this process, whatever its mode: in a container, \
                 use the option --device {PATH}"
            ),
            Device::Missing => format!(
                "there is no {PATH} here: use Linux 6.1 or newer, and in a container the option \
                 --device {PATH}"
            ),
        })
    }
}

/// Returns the groups of this process.
fn own_groups() -> Vec<Gid> {
    let mut groups = getgroups().unwrap_or_default();
    groups.push(Gid::effective());
    groups
}

/// Returns the name of the user of this process, or its number if it has no name.
pub fn user() -> String {
    let uid = Uid::effective();
    let known = User::from_uid(uid).ok().flatten();
    known.map_or_else(|| uid.to_string(), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = include_str!("../../../../packaging/60-tcasm-userfaultfd.rules");
    const SYSUSERS: &str = include_str!("../../../../packaging/tcasm-userfaultfd.conf");
    const PAGE: &str = include_str!("../../../../docs/userfaultfd.md");

    #[test]
    fn advice_names_the_group_and_the_commands_of_the_installed_files_and_the_page() {
        let advice = Device::Closed.advice("ada").unwrap();
        assert!(advice.contains("usermod -aG userfaultfd ada"), "{advice}");
        assert!(RULE.contains(&format!("GROUP=\"{GROUP}\"")), "{RULE}");
        assert!(SYSUSERS.contains(&format!("\ng {GROUP} ")), "{SYSUSERS}");
        for command in ACTIVATE {
            assert!(advice.contains(command), "{command} in {advice}");
            assert!(PAGE.contains(command), "{command} in docs/userfaultfd.md");
        }
    }

    #[test]
    fn only_a_group_that_may_read_and_write_helps() {
        let group = Gid::from_raw(4_000_000_001);
        let closed = |mode, group| assert_eq!(Device::by_mode(mode, group, &[]), Device::Closed);
        closed(0o020_600, group);
        closed(0o020_640, group);
        closed(0o020_660, Gid::from_raw(0)); // which users do not join
        let device = Device::by_mode(0o020_660, group, &[]);
        assert_eq!(device, Device::ForGroup("4000000001".to_owned()));
        let advice = device.advice("ada").unwrap();
        assert!(advice.contains("usermod -aG 4000000001 ada"), "{advice}");
        assert!(!advice.contains("udevadm"), "{advice}");
    }

    #[test]
    fn member_of_the_group_is_not_told_to_join_it() {
        let group = Gid::from_raw(4_000_000_001);
        let device = Device::by_mode(0o020_660, group, &[Gid::from_raw(7), group]);
        assert_eq!(device, Device::Refused);
        let after = |errno: Errno| Device::after(&io::Error::from(errno));
        assert_eq!(after(Errno::EPERM), Device::Refused);
        assert_eq!(after(Errno::ENOENT), Device::Missing);
        for device in [Device::Refused, Device::Missing] {
            let advice = device.advice("ada").unwrap();
            assert!(advice.contains("--device /dev/userfaultfd"), "{advice}");
            assert!(!advice.contains("usermod"), "{advice}");
        }
    }
}
