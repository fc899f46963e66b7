//! Hosts of a network on one machine: namespaces with a name and a network of their own. Each host
//! has a link to the middle, which has a namespace too.
//!
//! Root makes them directly. Other users need user namespaces. A test that cannot make them fails.

use crate::child::Child;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const NEEDED: &str = "this test makes network namespaces: run it as root, or allow user \
                      namespaces (sysctl user.max_user_namespaces, \
                      kernel.apparmor_restrict_unprivileged_userns); it needs unshare and nsenter \
                      (util-linux), ip (iproute2) and hostname";

/// Several hosts and the middle. Dropping this removes all.
#[derive(Debug)]
pub struct Network {
    middle: Namespace,
    hosts: Vec<Namespace>,
}

impl Network {
    /// Makes a host for each name.
    pub fn new(names: &[&str]) -> Network {
        let middle = Namespace::new("middle", None);
        let host = |name: &&str| Namespace::new(name, Some(&middle));
        let hosts: Vec<Namespace> = names.iter().map(host).collect();
        let network = Network { middle, hosts };
        (0..names.len()).for_each(|i| network.link(i));
        network
    }

    /// Returns the address of the middle that host `i` reaches.
    pub fn address(&self, i: usize) -> String {
        format!("10.77.{i}.1")
    }

    /// Makes the link between host `i` and the middle.
    fn link(&self, i: usize) {
        let (host, at) = (&self.hosts[i], self.address(i));
        let (near, pid) = (format!("to{i}"), host.holder.id().to_string());
        let pair = [
            "link", "add", &near, "type", "veth", "peer", "eth0", "netns", &pid,
        ];
        self.middle.ip(&pair);
        self.middle
            .ip(&["address", "add", &format!("{at}/24"), "dev", &near]);
        self.middle.ip(&["link", "set", &near, "up"]);
        host.ip(&["address", "add", &format!("10.77.{i}.2/24"), "dev", "eth0"]);
        host.ip(&["link", "set", "eth0", "up"]);
    }

    /// Takes the link of host `i` down, as if somebody had pulled the cable out.
    pub fn cut(&self, i: usize) {
        self.middle.ip(&["link", "set", &format!("to{i}"), "down"]);
    }

    /// Starts a program on host `i`, or in the middle, with sockets in `dir`.
    pub fn start(
        &self,
        i: Option<usize>,
        program: &[&str],
        dir: &Path,
        env: &[(&str, &str)],
    ) -> Child {
        let namespace = i.map_or(&self.middle, |i| &self.hosts[i]);
        let arguments = namespace.entering(program);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Child::start("nsenter", &arguments, dir, env)
    }
}

/// A namespace, as long as the process lives that holds it.
#[derive(Debug)]
struct Namespace {
    holder: std::process::Child,
}

impl Namespace {
    /// Makes a namespace with this host name, from within `outer` if there is one.
    fn new(name: &str, outer: Option<&Namespace>) -> Namespace {
        let script = format!("hostname {name} && ip link set lo up && echo ready && exec cat");
        let mut new = vec!["unshare", "--net", "--uts"];
        if outer.is_none() && !is_root() {
            new.extend(["--user", "--map-root-user"]);
        }
        new.extend(["sh", "-c", &script]);
        let mut command = match outer {
            None => Command::new(new[0]),
            Some(_) => Command::new("nsenter"),
        };
        match outer {
            None => command.args(&new[1..]),
            Some(outer) => command.args(outer.entering(&new)),
        };
        // It ends when its input does, which is when the test has ended in any way.
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut holder = started.unwrap_or_else(|error| panic!("{error}: {NEEDED}"));
        let output = holder.stdout.take().expect("its output is a pipe");
        let line = BufReader::new(output).lines().next();
        assert!(
            matches!(line, Some(Ok(line)) if line == "ready"),
            "{NEEDED}"
        );
        Namespace { holder }
    }

    /// Returns the arguments of `nsenter` for a program in this namespace.
    fn entering(&self, program: &[&str]) -> Vec<String> {
        let pid = self.holder.id().to_string();
        let mut arguments = vec!["--target", &pid, "--net", "--uts"];
        if !is_root() {
            arguments.extend(["--user", "--preserve-credentials"]);
        }
        arguments.push("--");
        arguments.extend(program);
        arguments.into_iter().map(str::to_owned).collect()
    }

    /// Changes the network of this namespace.
    fn ip(&self, arguments: &[&str]) {
        let program = [&["ip"], arguments].concat();
        let done = Command::new("nsenter")
            .args(self.entering(&program))
            .status();
        let done = done.unwrap_or_else(|error| panic!("{error}: {NEEDED}"));
        assert!(done.success(), "ip {arguments:?} failed; {NEEDED}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
