//! A cluster on one machine: hosts that `mpirun` starts the processes of a job on.
//!
//! For root, each host is a set of namespaces: a network, a name, a `/dev/shm`, a `/tmp` and
//! processes of its own. All hosts have a link to one switch. A host can be killed as a whole.
//!
//! Other users get folders: each host is a folder for sockets on this host. That is the same for
//! agents and observers, but nothing goes through a network, and no host can be killed. The test
//! says so.

use crate::child::Child;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Some processes of a job on one host.
#[derive(Clone, Debug)]
pub struct Part {
    /// The number of the host, from 0.
    pub host: usize,
    /// The number of processes.
    pub processes: usize,
    /// The program and its arguments.
    pub program: Vec<String>,
}

/// The program and its arguments as a part of a job.
pub fn part(host: usize, processes: usize, program: &[&str]) -> Part {
    Part {
        host,
        processes,
        program: program.iter().map(|&word| word.to_owned()).collect(),
    }
}

/// Several hosts. Dropping this kills all.
pub struct Cluster {
    dir: TempDir,
    hosts: usize,
    namespaces: Option<Namespaces>,
}

struct Namespaces {
    switch: Holder,
    head: Holder,
    hosts: Vec<Option<Holder>>,
}

/// A process that holds namespaces.
struct Holder {
    process: std::process::Child,
    /// The first process in the namespaces.
    pid: i32,
}

impl Cluster {
    /// Makes so many hosts.
    pub fn new(hosts: usize) -> Cluster {
        let dir = TempDir::new().expect("there is a folder for temporary files");
        for name in (0..hosts).map(name).chain(["head".to_owned()]) {
            for folder in ["tmp", "run"] {
                let path = dir.path().join(&name).join(folder);
                std::fs::create_dir_all(path).expect("a folder can be made");
            }
        }
        let mut cluster = Cluster {
            dir,
            hosts,
            namespaces: None,
        };
        match nix::unistd::geteuid().is_root() {
            true => cluster.namespaces = Some(cluster.make_namespaces()),
            false => eprintln!("not root: hosts are folders, without networks of their own"),
        }
        cluster
    }

    /// Returns true if hosts have a network of their own, and can be killed.
    pub fn has_networks(&self) -> bool {
        self.namespaces.is_some()
    }

    /// Returns the folder for sockets of a host.
    pub fn runtime_dir(&self, host: usize) -> PathBuf {
        self.dir.path().join(name(host)).join("run")
    }

    /// Starts a job with `mpirun`.
    pub fn mpirun(&self, parts: &[Part]) -> Child {
        let mut arguments = self.mpirun_options();
        for (i, part) in parts.iter().enumerate() {
            arguments.extend((i > 0).then(|| ":".to_owned()));
            let count = part.processes.to_string();
            if self.namespaces.is_some() {
                let place = format!("{}:{count}", name(part.host));
                arguments.extend(["-host".to_owned(), place]);
            }
            arguments.extend(["-n".to_owned(), count.clone()]);
            if self.namespaces.is_none() {
                let dir = self.runtime_dir(part.host);
                arguments.push("env".to_owned());
                arguments.push(format!("TCASM_RUNTIME_DIR={}", dir.display()));
                arguments.push(format!("TCASM_LOCAL_RANKS={count}"));
            }
            arguments.extend(part.program.iter().cloned());
        }
        let (program, arguments) = match &self.namespaces {
            Some(all) => (
                "nsenter",
                all.head
                    .entering(&["--net", "--uts", "--mount"], &arguments),
            ),
            None => ("mpirun", arguments[1..].to_vec()),
        };
        self.child(program, &arguments, &self.dir.path().join("head/run"))
    }

    /// Starts a program on a host.
    pub fn start(&self, host: usize, program: &[&str]) -> Child {
        let words: Vec<String> = program.iter().map(|&word| word.to_owned()).collect();
        let dir = self.runtime_dir(host);
        match self.holder(host) {
            Some(holder) => {
                let all = ["--net", "--uts", "--ipc", "--mount", "--pid"];
                self.child("nsenter", &holder.entering(&all, &words), &dir)
            }
            None => self.child(&words[0], &words[1..], &dir),
        }
    }

    /// Kills a host with all its processes.
    ///
    /// # Panics
    ///
    /// Panics if hosts are folders.
    pub fn kill(&mut self, host: usize) {
        let all = self.namespaces.as_mut().expect("hosts are namespaces");
        drop(all.hosts[host].take());
    }

    fn holder(&self, host: usize) -> Option<&Holder> {
        let all = self.namespaces.as_ref()?;
        Some(all.hosts[host].as_ref().expect("the host lives"))
    }

    fn child(&self, program: &str, arguments: &[String], dir: &Path) -> Child {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Child::start(program, &arguments, dir, &[])
    }

    fn mpirun_options(&self) -> Vec<String> {
        let mut options = vec!["mpirun"];
        let script = self.dir.path().join("on.sh").display().to_string();
        options.extend([
            "--allow-run-as-root",
            "--oversubscribe",
            "--mca",
            "pml",
            "ob1",
        ]);
        match self.namespaces {
            Some(_) => {
                options.extend(["--mca", "plm_rsh_agent", &script]);
                options.extend(["--mca", "oob_tcp_if_include", "eth0"]);
                options.extend(["--mca", "btl", "self,vader,tcp"]);
                options.extend(["--mca", "btl_tcp_if_include", "eth0"]);
            }
            None => options.extend(["--mca", "btl", "self,vader"]),
        }
        options.into_iter().map(str::to_owned).collect()
    }

    fn make_namespaces(&self) -> Namespaces {
        let dir = self.dir.path();
        let mut names = String::from("127.0.0.1 localhost\n");
        let all = (0..self.hosts).map(name).chain(["head".to_owned()]);
        for (i, name) in all.enumerate() {
            names += &format!("10.78.0.{} {name}\n", i + 1);
        }
        std::fs::write(dir.join("names"), names).expect("a file can be written");
        let bridge = "ip link add br0 type bridge && ip link set br0 up && ip link set lo up";
        let switch = Holder::new(&["--net"], bridge);
        let own = [
            "--net",
            "--uts",
            "--ipc",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ];
        let host = |i| Holder::new(&own, &self.script(&name(i), true));
        let hosts: Vec<Holder> = (0..self.hosts).map(host).collect();
        // Without processes of its own: it could not enter the namespaces of the others.
        let head = Holder::new(&["--net", "--uts", "--mount"], &self.script("head", false));
        for (i, holder) in hosts.iter().chain([&head]).enumerate() {
            switch.link(i, holder);
        }
        let on = self.write_agent(&hosts);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(on, mode).expect("a file can be made executable");
        Namespaces {
            switch,
            head,
            hosts: hosts.into_iter().map(Some).collect(),
        }
    }

    /// Returns what the first process of a host does.
    fn script(&self, name: &str, is_host: bool) -> String {
        let dir = self.dir.path().display();
        let mut script = format!(
            "hostname {name} && mount --bind {dir}/names /etc/hosts && ip link set lo up && \
             mount -t tmpfs tmp {dir}/{name}/tmp && chmod 1777 {dir}/{name}/tmp"
        );
        if is_host {
            // Another machine has another identity, by which some MPIs find shared memory.
            script += &format!(
                " && mount -t tmpfs shm /dev/shm && cat /proc/sys/kernel/random/uuid > \
                 {dir}/{name}/boot && mount --bind {dir}/{name}/boot \
                 /proc/sys/kernel/random/boot_id"
            );
        }
        script
    }

    /// Writes the script that starts a command on a host, as `ssh` does.
    fn write_agent(&self, hosts: &[Holder]) -> PathBuf {
        let dir = self.dir.path();
        let mut script = String::from("#!/bin/sh\nhost=$1; shift\ncase $host in\n");
        for (i, holder) in hosts.iter().enumerate() {
            script += &format!("    {}) pid={} ;;\n", name(i), holder.pid);
        }
        let dir_text = dir.display();
        script += &format!(
            "esac\nexec nsenter --target $pid --net --uts --ipc --mount --pid env \
             TCASM_RUNTIME_DIR={dir_text}/$host/run TMPDIR={dir_text}/$host/tmp sh -c \"$*\"\n"
        );
        let path = dir.join("on.sh");
        std::fs::write(&path, script).expect("a file can be written");
        path
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.hosts.clear();
        let _ = (&self.head, &self.switch);
    }
}

impl Holder {
    fn new(unshare: &[&str], script: &str) -> Holder {
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
    fn entering(&self, kinds: &[&str], program: &[String]) -> Vec<String> {
        let mut arguments = vec!["--target".to_owned(), self.pid.to_string()];
        arguments.extend(kinds.iter().map(|&kind| kind.to_owned()));
        arguments.push("--".to_owned());
        arguments.extend(program.iter().cloned());
        arguments
    }

    /// Makes the link between this switch and host `i`.
    fn link(&self, i: usize, host: &Holder) {
        let (near, pid) = (format!("v{i}"), host.pid.to_string());
        self.ip(&[
            "link", "add", &near, "type", "veth", "peer", "eth0", "netns", &pid,
        ]);
        self.ip(&["link", "set", &near, "master", "br0", "up"]);
        host.ip(&[
            "address",
            "add",
            &format!("10.78.0.{}/24", i + 1),
            "dev",
            "eth0",
        ]);
        host.ip(&["link", "set", "eth0", "up"]);
    }

    fn ip(&self, arguments: &[&str]) {
        let words: Vec<String> = ["ip"]
            .iter()
            .chain(arguments)
            .map(|&w| w.to_owned())
            .collect();
        let done = Command::new("nsenter")
            .args(self.entering(&["--net"], &words))
            .status()
            .expect("nsenter (util-linux) can be started");
        assert!(done.success(), "ip {arguments:?} failed");
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

/// Returns the name of host `i`.
fn name(i: usize) -> String {
    format!("h{}", i + 1)
}

/// Returns the only child of a process.
fn only_child(pid: i32) -> i32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let child = text.split_whitespace().next();
    let child = child.unwrap_or_else(|| panic!("{path} is empty"));
    child.parse().expect("process ids are numbers")
}
