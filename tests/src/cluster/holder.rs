//! A process that holds the namespaces of a host.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A process that holds namespaces.
pub(super) struct Holder {
    process: std::process::Child,
    /// The first process in the namespaces.
    pub(super) pid: i32,
}

impl Holder {
    pub(super) fn new(unshare: &[&str], script: &str) -> Holder {
        let script = format!("{script} && echo ready && exec cat");
        // It ends when its input does, which is when the test has ended in any way.
        let mut process = Command::new("unshare")
            .args(unshare)
            .args(["sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare (util-linux) can be started");
        let output = process.stdout.take().expect("its output is a pipe");
        let line = BufReader::new(output).lines().next();
        assert!(
            matches!(&line, Some(Ok(line)) if line == "ready"),
            "cannot make a host: {line:?}; this needs root, ip (iproute2) and mount"
        );
        let own = process.id() as i32;
        let forks = unshare.contains(&"--fork");
        let pid = if forks { only_child(own) } else { own };
        Holder { process, pid }
    }

    /// Returns the arguments of `nsenter` for a program in these namespaces.
    pub(super) fn entering(&self, kinds: &[&str], program: &[String]) -> Vec<String> {
        let mut arguments = vec!["--target".to_owned(), self.pid.to_string()];
        arguments.extend(kinds.iter().map(|&kind| kind.to_owned()));
        arguments.push("--".to_owned());
        arguments.extend(program.iter().cloned());
        arguments
    }

    /// Makes the link between this switch and a host. The number of the start tells it from a
    /// link of the same host that has not gone yet. The host keeps its address, so that the
    /// others find it where it was.
    pub(super) fn link(&self, (i, start): (usize, usize), host: &Holder) {
        let (near, pid) = (format!("v{i}-{start}"), host.pid.to_string());
        self.ip(&[
            "link", "add", &near, "type", "veth", "peer", "eth0", "netns", &pid,
        ]);
        self.ip(&["link", "set", &near, "master", "br0", "up"]);
        let hardware = format!("02:00:00:00:00:{:02x}", i + 1);
        host.ip(&["link", "set", "eth0", "address", &hardware]);
        let address = format!("10.78.0.{}/24", i + 1);
        host.ip(&["address", "add", &address, "dev", "eth0"]);
        host.ip(&["link", "set", "eth0", "up"]);
    }

    pub(super) fn ip(&self, arguments: &[&str]) {
        self.run_in_network(&[&["ip"], arguments].concat());
    }

    pub(super) fn run_in_network(&self, program: &[&str]) {
        let words: Vec<String> = program.iter().map(|&word| word.to_owned()).collect();
        let done = Command::new("nsenter")
            .args(self.entering(&["--net"], &words))
            .status()
            .expect("nsenter (util-linux) can be started");
        assert!(done.success(), "{program:?} failed");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.pid != self.process.id() as i32 {
            let first = nix::unistd::Pid::from_raw(self.pid);
            let _ = nix::sys::signal::kill(first, nix::sys::signal::Signal::SIGKILL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the only child of a process.
fn only_child(pid: i32) -> i32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let child = text.split_whitespace().next();
    let child = child.unwrap_or_else(|| panic!("{path} is empty"));
    child.parse().expect("process ids are numbers")
}
