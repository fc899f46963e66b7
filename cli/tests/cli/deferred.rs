//! Tests of what `doctor` says about deferred capture, to users with and without a right to it.
//!
//! Root runs the command as a user without rights, in a mount namespace where /dev/userfaultfd has
//! the group and the mode that the test needs. Other users cannot do this, and do not run these
//! tests.

use crate::common::{Run, command, good, json};
use serde_json::Value;
use std::os::unix::fs::chown;
use std::process::Command;
use tempfile::TempDir;

/// A user without rights, and its group.
const NOBODY: u32 = 65534;
/// A group without a name and without members.
const GROUP: u32 = 65432;

/// Replaces the device in the namespace. The arguments of the test are in $MODE and $GROUP, and
/// $PLACE is an empty folder.
const REPLACE_DEVICE: &str = r#"
mount -t tmpfs -o mode=0755 tcasm "$PLACE"
cp -a /dev/userfaultfd "$PLACE/node"
chown "0:$GROUP" "$PLACE/node"
chmod "$MODE" "$PLACE/node"
mount --bind "$PLACE/node" /dev/userfaultfd
"#;

/// Runs the program, which is the first argument, as another user with $RIGHTS. It is opened
/// before, because its folder may be closed to the user.
const RUN: &str = r#"
exec setpriv --reuid=65534 --clear-groups $RIGHTS /proc/self/fd/3 "$@" 3<"$0"
"#;

/// The report of `doctor`.
struct Report {
    json: Value,
    text: String,
}

impl Report {
    /// Runs `doctor` in a process that may do as much as this one.
    fn own() -> Report {
        let text = good(&["doctor"]).out;
        let json = json(&["doctor", "--json"]);
        Report { json, text }
    }

    /// Runs `doctor` as a user without rights, except those that the options `rights` of setpriv
    /// give. The device has this mode, and belongs to `group`.
    fn of_nobody(rights: &str, mode: &str, group: u32) -> Report {
        let run = |arguments: &[&str]| {
            let [place, folder] = [TempDir::new().unwrap(), TempDir::new().unwrap()];
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation=private", "sh", "-ec"]);
            command.arg(format!("{REPLACE_DEVICE}{RUN}"));
            command.arg(env!("CARGO_BIN_EXE_tcasm")).args(arguments);
            command.env("TCASM_RUNTIME_DIR", folder.path());
            command.env("PLACE", place.path()).env("RIGHTS", rights);
            command.env("MODE", mode).env("GROUP", group.to_string());
            let run = Run::from(command.output().unwrap());
            assert_eq!((run.code, run.err.as_str()), (0, ""), "{rights} {mode}");
            run.out
        };
        let json = serde_json::from_str(&run(&["doctor", "--json"])).unwrap();
        let text = run(&["doctor"]);
        Report { json, text }
    }

    /// Returns the line of the text about deferred capture.
    fn line(&self) -> &str {
        let mut lines = self.text.lines().map(str::trim_start);
        let line = lines.find(|line| line.starts_with("deferred capture "));
        line.unwrap_or_else(|| panic!("no line in {}", self.text))
    }

    /// Returns all advice, after checking that the text has it too.
    fn advice(&self) -> String {
        let advice = self.json["advice"].as_array().unwrap().iter();
        let advice: Vec<&str> = advice.map(|line| line.as_str().unwrap()).collect();
        for line in &advice {
            assert!(self.text.contains(line), "{line} in {}", self.text);
        }
        advice.join("\n")
    }

    /// Checks that deferred capture works by this right.
    fn assert_works(&self, by: &str, line: &str) {
        assert_eq!(self.json["kernel_faults_by"], by, "{}", self.text);
        assert_eq!(self.json["deferred_capture"], true, "{}", self.text);
        assert!(self.line().ends_with(line), "{}", self.line());
        assert!(!self.advice().contains("usermod"), "{}", self.text);
    }

    /// Checks that deferred capture does not work, and that the state of the device is `device`.
    fn assert_lacks(&self, device: &str) {
        assert_eq!(self.json["kernel_faults_by"], Value::Null, "{}", self.text);
        assert_eq!(self.json["deferred_capture"], false, "{}", self.text);
        assert_eq!(self.json["userfaultfd_device"]["state"], device);
        assert!(self.line().ends_with("does not work here: see below"));
        // The tracker needs no right.
        assert_eq!(self.json["choice"]["tracker"], "uffd-async");
    }
}

/// Returns true if the sysctl gives the right to every user.
fn given_to_all() -> bool {
    let path = "/proc/sys/vm/unprivileged_userfaultfd";
    std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

/// Returns true if the test can be run: we are root, and the sysctl does not give the right to
/// everyone. Otherwise prints a line.
fn can_run() -> bool {
    if !nix::unistd::geteuid().is_root() {
        println!("NOT RUN: only root can run the command as another user");
        return false;
    }
    if given_to_all() {
        println!("NOT RUN: vm.unprivileged_userfaultfd is 1, so no user lacks the right");
        return false;
    }
    true
}

#[test]
fn doctor_says_whether_this_user_has_deferred_capture_and_by_which_right() {
    let report = Report::own();
    let by = report.json["kernel_faults_by"].as_str();
    if given_to_all() {
        assert_eq!(by, Some("sysctl"));
    }
    match by {
        Some("root") => report.assert_works("root", "this process is root"),
        Some("sysctl") => report.assert_works("sysctl", "vm.unprivileged_userfaultfd is 1"),
        Some("capability") => report.assert_works("capability", "has CAP_SYS_PTRACE"),
        Some(by) => report.assert_works(by, "can open /dev/userfaultfd"),
        None => {
            let advice = report.advice();
            assert!(advice.contains("for deferred capture"), "{advice}");
            assert!(advice.contains("/dev/userfaultfd"), "{advice}");
        }
    }
}

#[test]
fn user_without_rights_learns_the_commands_of_the_administrator() {
    if !can_run() {
        return;
    }
    let report = Report::of_nobody("--regid=65534", "0600", 0);
    report.assert_lacks("closed");
    let advice = report.advice();
    for words in [
        "`make install`",
        "systemd-sysusers tcasm-userfaultfd.conf",
        "udevadm control --reload",
        "udevadm trigger --name-match=/dev/userfaultfd",
        "usermod -aG userfaultfd ",
    ] {
        assert!(advice.contains(words), "{words} in {advice}");
    }
}

#[test]
fn user_outside_the_group_of_the_device_is_told_to_join_it() {
    if !can_run() {
        return;
    }
    let report = Report::of_nobody("--regid=65534", "0660", GROUP);
    report.assert_lacks("for-group");
    let group = GROUP.to_string();
    assert_eq!(report.json["userfaultfd_device"]["group"], group.as_str());
    let advice = report.advice();
    assert!(
        advice.contains(&format!("usermod -aG {group} ")),
        "{advice}"
    );
    assert!(!advice.contains("udevadm"), "the rule is active: {advice}");
}

#[test]
fn member_of_the_group_of_the_device_has_deferred_capture() {
    if !can_run() {
        return;
    }
    let report = Report::of_nobody(&format!("--regid={GROUP}"), "0660", GROUP);
    report.assert_works("device", "can open /dev/userfaultfd");
    assert_eq!(report.json["userfaultfd_device"]["state"], "usable");
}

#[test]
fn capability_gives_deferred_capture_without_the_device() {
    if !can_run() {
        return;
    }
    let rights = "--regid=65534 --inh-caps=+sys_ptrace --ambient-caps=+sys_ptrace";
    let report = Report::of_nobody(rights, "0600", 0);
    report.assert_works("capability", "this process has CAP_SYS_PTRACE");
    assert_eq!(report.json["userfaultfd_device"]["state"], "closed");
}

#[test]
fn other_tracker_has_no_deferred_capture() {
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("TCASM_TRACKER", "cow");
        Run::from(command.output().unwrap()).out
    };
    let report: Value = serde_json::from_str(&run(&["doctor", "--json"])).unwrap();
    assert_eq!(report["deferred_capture"], false);
    let text = run(&["doctor"]);
    assert!(text.contains("it needs the tracker uffd-async"), "{text}");
}
