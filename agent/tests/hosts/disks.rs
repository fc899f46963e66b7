//! The folders of a job's checkpoints, the agents that write there, and the values of a checkpoint.

use super::common::HOSTS;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_checkpoint::job::{JobCheckpoint, JobError, Places, committed};
use tcasm_tests::child::{Child, poll_until, program};
use tcasm_tests::cluster::{Cluster, part};
use tcasm_tests::ranks::value;
use tempfile::TempDir;

/// The length of the block of a rank, as the ranks have it.
const LENGTH: usize = 20_000;
/// The agents write checkpoints of the multiples of this step.
pub const EVERY: u64 = 20;

/// The size of each file system of [`Disks::limited`]. Chains of increments on all nodes fit.
const SIZE: &str = "size=100m";
/// The file that fills a file system.
const FILLER: &str = "filler";

/// The folders of a job.
pub struct Disks {
    dir: TempDir,
    /// Each folder is a file system of its own.
    limited: bool,
}

impl Disks {
    pub fn new() -> Disks {
        let dir = TempDir::new().unwrap();
        let limited = false;
        let disks = Disks { dir, limited };
        for folder in disks.folders() {
            std::fs::create_dir(folder).unwrap();
        }
        disks
    }

    /// Returns folders that are file systems of their own, which this thread and what it starts
    /// from now on see. Returns `None` if this user cannot mount.
    pub fn limited() -> Option<Disks> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        run("mount", &["--make-rprivate", "/"]);
        let mut disks = Disks::new();
        disks.limited = true;
        for folder in disks.folders() {
            run(
                "mount",
                &["-t", "tmpfs", "-o", SIZE, "tmpfs", text(&folder)],
            );
        }
        Some(disks)
    }

    fn folders(&self) -> Vec<PathBuf> {
        let fast = (0..HOSTS).map(|host| self.fast(host));
        fast.chain([self.slow(), self.spare()]).collect()
    }

    /// Leaves no room in the file system of a folder.
    pub fn fill(&self, folder: &Path) {
        let mut options = OpenOptions::new();
        let mut filler = options
            .create(true)
            .append(true)
            .open(folder.join(FILLER))
            .unwrap();
        let full = loop {
            if let Err(error) = filler.write_all(&[1; 4096]) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }

    pub fn make_room(&self, folder: &Path) {
        let _ = std::fs::remove_file(folder.join(FILLER));
    }

    /// Removes all files of a folder.
    pub fn empty(&self, folder: &Path) {
        for file in std::fs::read_dir(folder).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
    }

    /// Returns the names of all files.
    fn names(&self) -> Vec<String> {
        let folders = self.folders().into_iter();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// Returns the names of temporary files.
    pub fn temporary(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| name.ends_with(".tmp"));
        names
    }

    /// Returns the steps of all files of nodes, also of those that belong to no checkpoint.
    pub fn steps_of_files(&self, group: &str) -> BTreeSet<u64> {
        let step = |name: String| {
            let rest = name.strip_prefix(group)?.strip_prefix(".node")?;
            let (_, rest) = rest.split_once('_')?;
            rest.split('.').next()?.parse().ok()
        };
        self.names().into_iter().filter_map(step).collect()
    }

    /// Returns the steps of all lines of the manifest that commit a step, whether or not they still
    /// count, in the order of the lines.
    pub fn commit_lines(&self, group: &str) -> Vec<u64> {
        let text = std::fs::read_to_string(self.slow().join(format!("{group}.job")));
        let text = text.unwrap_or_default();
        let commits = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n') && line.contains("\"event\":\"commit\""));
        let step = |line: &str| {
            let (_, rest) = line.split_once("\"step\":")?;
            rest.split(',').next()?.parse().ok()
        };
        commits.filter_map(step).collect()
    }

    /// The same as [`open`](Self::open), but no file is rebuilt.
    pub fn open_as_it_is(&self, group: &str, step: Option<u64>) -> Result<JobCheckpoint, JobError> {
        JobCheckpoint::find(group, &self.places(), step)
    }

    fn places(&self) -> Places {
        let fast: Vec<PathBuf> = (0..HOSTS).map(|host| self.fast(host)).collect();
        Places::new(self.slow(), &fast)
    }

    pub fn fast(&self, host: usize) -> PathBuf {
        self.dir.path().join(format!("host{host}"))
    }

    pub fn slow(&self) -> PathBuf {
        self.dir.path().join("slow")
    }

    /// The folder in which lost files are rebuilt.
    pub fn spare(&self) -> PathBuf {
        self.dir.path().join("spare")
    }

    /// Opens the newest committed checkpoint, or that of `step`.
    pub fn open(&self, group: &str, step: Option<u64>) -> Result<JobCheckpoint, JobError> {
        JobCheckpoint::find(group, &self.places().rebuild_in(self.spare()), step)
    }

    pub fn find(&self, group: &str) -> JobCheckpoint {
        self.open(group, None).unwrap()
    }

    /// Returns the committed steps, ascending.
    pub fn committed(&self, group: &str) -> Vec<u64> {
        let all = committed(&self.slow(), group).unwrap();
        all.iter().map(|found| found.commit.step).collect()
    }

    /// Waits until so many checkpoints were committed, as their steps show.
    pub fn wait_committed(&self, group: &str, at_least: u64) -> u64 {
        poll_until("checkpoints", || {
            let newest = self.committed(group).into_iter().max()?;
            (newest >= at_least).then_some(newest)
        })
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        if self.limited {
            for folder in self.folders() {
                run("umount", &["--lazy", text(&folder)]);
            }
        }
    }
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}

/// Starts an agent on each host, which checks agreed steps and writes checkpoints to the folder of
/// its host.
pub fn checking_agents(cluster: &Cluster, group: &str, disks: &Disks, arguments: &[&str]) -> Child {
    agents_that_write(EVERY, cluster, group, disks, arguments)
}

/// The same, with so many steps from one appointed step to the next.
pub fn agents_that_write(
    every: u64,
    cluster: &Cluster,
    group: &str,
    disks: &Disks,
    arguments: &[&str],
) -> Child {
    let (job, every) = (program("examples/job"), every.to_string());
    let parts = (0..HOSTS).map(|host| {
        let (fast, slow) = (disks.fast(host), disks.slow());
        let words = [
            &[&job, "agent", group, "--every", &every][..],
            &["--fast", text(&fast), "--slow", text(&slow)],
            &["--failure-group", &format!("host{host}")],
            arguments,
        ];
        part(host, 1, &words.concat())
    });
    cluster.mpirun(&parts.collect::<Vec<_>>())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Checks a checkpoint of a job of so many ranks of which none has died.
pub fn check_appointed(found: &JobCheckpoint, ranks: usize) {
    assert_eq!(found.step() % EVERY, 0, "only appointed steps are due");
    check(found, ranks);
}

/// Checks all values of the global array of a checkpoint of so many ranks.
pub fn check(found: &JobCheckpoint, ranks: usize) {
    assert_eq!(found.ranks() as usize, ranks);
    let range = 0..LENGTH * ranks;
    let u = found.read::<u64>("u", std::slice::from_ref(&range));
    for (i, found_value) in u.unwrap().iter().enumerate() {
        let expected = value((i / LENGTH) as u32, found.step(), i % LENGTH);
        assert_eq!(*found_value, expected, "value {i} of step {}", found.step());
    }
    found.verify().unwrap();
}
