//! A cluster on one machine: hosts that `mpirun` starts the processes of a job on.
//!
//! For root, each host is a set of namespaces: a network, a name, a `/dev/shm`, a `/tmp` and
//! processes of its own. All hosts have a link to one switch. A host can be killed as a whole and
//! started again, and its link can be down or slow.
//!
//! Each host has a disk, which is a folder ([`Cluster::disk`]). The test sees all disks, and a host
//! sees its own, under the same path. The disks of other hosts do not exist there. A disk outlives
//! its host until it is lost ([`Cluster::lose_disk`]); `/tmp` and `/dev/shm` do not.
//!
//! Other users get folders: each host is a folder for sockets on this host. That is the same for
//! agents and observers, but nothing goes through a network, no host can be killed, and each host
//! can reach the disks of all others if it is told where they are. The test says so.

mod disk;
mod holder;
mod launcher;
#[cfg(all(test, feature = "mpi"))]
mod tests;

use crate::child::Child;
use holder::Holder;
pub use launcher::Launcher;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// How many jobs were started.
static RUNS: AtomicU32 = AtomicU32::new(0);

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
    launcher: Launcher,
    namespaces: Option<Namespaces>,
}

struct Namespaces {
    switch: Holder,
    head: Holder,
    hosts: Vec<Option<Holder>>,
    /// How often a host was started, which its link to the switch has in its name.
    starts: usize,
}

impl Cluster {
    /// Makes so many hosts.
    pub fn new(hosts: usize) -> Cluster {
        let dir = TempDir::new().expect("there is a folder for temporary files");
        for name in (0..hosts).map(name).chain(["head".to_owned()]) {
            let own = dir.path().join(&name);
            let folders = ["tmp", "run", disk::OWN].map(|folder| own.join(folder));
            for path in folders.iter().chain([&disk::of_host(dir.path(), &name)]) {
                std::fs::create_dir_all(path).expect("a folder can be made");
            }
        }
        let mut cluster = Cluster {
            dir,
            hosts,
            launcher: Launcher::found(),
            namespaces: None,
        };
        match nix::unistd::geteuid().is_root() {
            true => cluster.namespaces = Some(cluster.make_namespaces()),
            false => eprintln!("not root: hosts are folders, without networks of their own"),
        }
        cluster
    }

    /// Returns true if hosts have a network of their own, can be killed, and see no disk but their
    /// own.
    pub fn has_networks(&self) -> bool {
        self.namespaces.is_some()
    }

    /// Returns the launcher of jobs.
    pub fn launcher(&self) -> Launcher {
        self.launcher
    }

    /// Returns the folder for sockets of a host.
    pub fn runtime_dir(&self, host: usize) -> PathBuf {
        self.dir.path().join(name(host)).join("run")
    }

    /// Returns the folder that is the disk of a host, as that host and the test see it.
    pub fn disk(&self, host: usize) -> PathBuf {
        disk::of_host(self.dir.path(), &name(host))
    }

    /// Removes everything on the disk of a host. What runs there can write to it again, so kill
    /// the host first, or its programs.
    pub fn lose_disk(&self, host: usize) {
        disk::empty(&self.disk(host));
    }

    /// Starts a job with `mpirun`.
    pub fn mpirun(&self, parts: &[Part]) -> Child {
        let script = self.dir.path().join("on.sh").display().to_string();
        let agent = self.namespaces.as_ref().map(|_| script.as_str());
        let mut arguments = vec!["mpirun".to_owned()];
        arguments.extend(self.launcher.options(agent, parts));
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        for (i, part) in parts.iter().enumerate() {
            arguments.extend((i > 0).then(|| ":".to_owned()));
            if self.namespaces.is_some() {
                arguments.extend(self.launcher.place(part));
            }
            arguments.extend(["-n".to_owned(), part.processes.to_string()]);
            arguments.extend(self.environment(part, run));
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

    /// Returns the words before the program of a part, which set its environment. Hydra gives all
    /// processes the environment of `mpirun`, and no name of the run.
    fn environment(&self, part: &Part, run: u32) -> Vec<String> {
        let hydra = self.launcher == Launcher::Hydra;
        let folders = self.namespaces.is_none();
        let mut variables = Vec::new();
        if hydra || folders {
            let dir = self.runtime_dir(part.host);
            variables.push(format!("TCASM_RUNTIME_DIR={}", dir.display()));
        }
        if folders {
            variables.push(format!("TCASM_LOCAL_RANKS={}", part.processes));
        }
        if hydra {
            variables.push(format!("TCASM_RUN={}-{run}", std::process::id()));
        }
        let env = (!variables.is_empty()).then(|| "env".to_owned());
        env.into_iter().chain(variables).collect()
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

    /// Starts a host that was killed. Its folders for sockets and temporary files are empty. Its
    /// disk is as it was.
    ///
    /// # Panics
    ///
    /// Panics if hosts are folders.
    pub fn restart(&mut self, host: usize) {
        let sockets = self.runtime_dir(host);
        std::fs::remove_dir_all(&sockets).expect("a folder can be removed");
        std::fs::create_dir(&sockets).expect("a folder can be made");
        let holder = self.make_host(host);
        let all = self.namespaces.as_mut().expect("hosts are namespaces");
        all.starts += 1;
        all.switch.link((host, all.starts), &holder);
        all.hosts[host] = Some(holder);
        let hosts: Vec<Option<i32>> = all.pids();
        self.write_agent(&hosts);
    }

    /// Takes the link of a host down, or up again. No process learns of it.
    ///
    /// # Panics
    ///
    /// Panics if hosts are folders, and if the host is dead.
    pub fn set_link(&self, host: usize, up: bool) {
        let holder = self.holder(host).expect("hosts are namespaces");
        holder.ip(&["link", "set", "eth0", if up { "up" } else { "down" }]);
    }

    /// Limits what a host can send to so many kbit/s, and drops what would wait for more than 0.3
    /// s. `None` makes the link as it was.
    ///
    /// # Panics
    ///
    /// Panics if hosts are folders, and if the host is dead.
    pub fn slow_link(&self, host: usize, rate: Option<u32>) {
        let holder = self.holder(host).expect("hosts are namespaces");
        let place = ["tc", "qdisc", "replace", "dev", "eth0", "root"];
        let kbit = rate.map(|rate| format!("{rate}kbit"));
        let how = match &kbit {
            Some(rate) => &["tbf", "rate", rate, "burst", "16kb", "latency", "300ms"][..],
            None => &["pfifo"],
        };
        holder.run_in_network(&[&place, how].concat());
    }

    fn holder(&self, host: usize) -> Option<&Holder> {
        let all = self.namespaces.as_ref()?;
        Some(all.hosts[host].as_ref().expect("the host lives"))
    }

    fn child(&self, program: &str, arguments: &[String], dir: &Path) -> Child {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Child::start(program, &arguments, dir, &[])
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
        let hosts: Vec<Holder> = (0..self.hosts).map(|i| self.make_host(i)).collect();
        // Without processes of its own: it could not enter the namespaces of the others.
        let head = Holder::new(&["--net", "--uts", "--mount"], &self.script("head", false));
        for (i, holder) in hosts.iter().chain([&head]).enumerate() {
            switch.link((i, 0), holder);
        }
        let all = Namespaces {
            switch,
            head,
            hosts: hosts.into_iter().map(Some).collect(),
            starts: 0,
        };
        self.write_agent(&all.pids());
        all
    }

    fn make_host(&self, host: usize) -> Holder {
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
        Holder::new(&own, &self.script(&name(host), true))
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
                 /proc/sys/kernel/random/boot_id && {}",
                disk::hide_others(self.dir.path(), name)
            );
        }
        script
    }

    /// Writes the script that starts a command on a host, as `ssh` does. `hosts` has the first
    /// process of each host that lives.
    fn write_agent(&self, hosts: &[Option<i32>]) {
        let dir = self.dir.path();
        // Some launchers give options first.
        let mut script = String::from(
            "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1; shift\n\
             case $host in\n",
        );
        for (i, pid) in hosts.iter().enumerate() {
            let known = pid.map(|pid| format!("    {}) pid={pid} ;;\n", name(i)));
            script += &known.unwrap_or_default();
        }
        let dir_text = dir.display();
        script += &format!(
            "esac\nexec nsenter --target $pid --net --uts --ipc --mount --pid env \
             TCASM_RUNTIME_DIR={dir_text}/$host/run TMPDIR={dir_text}/$host/tmp sh -c \"$*\"\n"
        );
        let path = dir.join("on.sh");
        std::fs::write(&path, script).expect("a file can be written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("a file can be made executable");
    }
}

impl Namespaces {
    /// Returns the first process of each host that lives.
    fn pids(&self) -> Vec<Option<i32>> {
        let pid = |host: &Option<Holder>| host.as_ref().map(|holder| holder.pid);
        self.hosts.iter().map(pid).collect()
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.hosts.clear();
        let _ = (&self.head, &self.switch);
    }
}

/// Returns the name of host `i`.
fn name(i: usize) -> String {
    format!("h{}", i + 1)
}
