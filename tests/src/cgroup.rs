//! A memory control group, version 1 or 2, for the processes that a test starts.

use crate::child::poll_until;
use std::fs::{create_dir, read_to_string, remove_dir, write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A memory control group. Dropping this removes it; its processes must have ended before.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
    files: Files,
}

/// The names of the files, which differ between the two versions.
#[derive(Clone, Copy, Debug)]
struct Files {
    limit: &'static str,
    none: &'static str,
    usage: &'static str,
    events: &'static str,
}

const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    none: "-1",
    usage: "memory.usage_in_bytes",
    events: "memory.oom_control",
};

const VERSION_2: Files = Files {
    limit: "memory.max",
    none: "max",
    usage: "memory.current",
    events: "memory.events",
};

impl Cgroup {
    /// Creates a group without a limit. Prints a line and returns `None` if the test is not root.
    /// Fails the test if root cannot create one.
    pub fn create() -> Option<Cgroup> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !nix::unistd::Uid::effective().is_root() {
            println!("NOT RUN: only root can make a memory control group");
            return None;
        }
        let (mount, files) = mounted();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tcasm-test-{}-{number}", std::process::id());
        let folder = mount.join(name);
        create_dir(&folder).unwrap_or_else(|e| panic!("{folder:?} cannot be made: {e}"));
        let group = Cgroup { folder, files };
        assert!(
            group.folder.join(files.usage).exists(),
            "{mount:?} does not count memory: write +memory to its cgroup.subtree_control"
        );
        Some(group)
    }

    /// Adds a process to the group. The memory that it takes from now on counts.
    pub fn add(&self, pid: i32) {
        self.set("cgroup.procs", &pid.to_string());
    }

    /// Returns the bytes that the group uses.
    pub fn usage(&self) -> u64 {
        let text = self.get(self.files.usage);
        text.trim().parse().expect("the usage is a number")
    }

    /// Sets the limit to `more` bytes above the present usage.
    pub fn leave(&self, more: u64) {
        self.set(self.files.limit, &(self.usage() + more).to_string());
    }

    /// Removes the limit.
    pub fn unlimit(&self) {
        self.set(self.files.limit, self.files.none);
    }

    /// Returns how many processes the kernel has killed because the group was out of memory.
    pub fn kills(&self) -> u64 {
        let text = self.get(self.files.events);
        let line = text.lines().find_map(|l| l.strip_prefix("oom_kill "));
        line.and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    fn get(&self, file: &str) -> String {
        let path = self.folder.join(file);
        read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"))
    }

    fn set(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        write(&path, text).unwrap_or_else(|e| panic!("{text:?} to {path:?}: {e}"));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last process may still be ending.
        let gone = || remove_dir(&self.folder).ok();
        if !std::thread::panicking() {
            poll_until("the control group goes", gone);
        } else if gone().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(200));
            let _ = gone();
        }
    }
}

/// Returns the folder in which groups with memory limits can be made.
fn mounted() -> (PathBuf, Files) {
    let mounts = read_to_string("/proc/self/mounts").expect("/proc is mounted");
    let find = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, folder, of, options, ..] = words[..] else {
                return None;
            };
            let has_it = options.split(',').any(|o| o == option);
            (of == kind && has_it).then(|| Path::new(folder).to_owned())
        })
    };
    if let Some(folder) = find("cgroup", "memory") {
        return (folder, VERSION_1);
    }
    let folder = find("cgroup2", "rw").expect("control groups are mounted");
    (folder, VERSION_2)
}
