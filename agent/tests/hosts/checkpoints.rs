//! Checkpoints that the agents of a running job write.

use super::common::{HOSTS, RANKS_PER_HOST, ranks, signal, stop, wait_line};
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobCheckpoint, Level, Places, committed};
use tcasm_tests::child::{Child, poll_until, program};
use tcasm_tests::cluster::{Cluster, part};
use tcasm_tests::name;
use tcasm_tests::ranks::value;
use tempfile::TempDir;

/// The length of the block of a rank, as the ranks have it.
const LENGTH: usize = 20_000;
const EVERY: u64 = 20;

/// The folders of a job.
struct Disks(TempDir);

impl Disks {
    fn new() -> Disks {
        let disks = Disks(TempDir::new().unwrap());
        for host in 0..HOSTS {
            std::fs::create_dir(disks.fast(host)).unwrap();
        }
        std::fs::create_dir(disks.slow()).unwrap();
        std::fs::create_dir(disks.spare()).unwrap();
        disks
    }

    fn fast(&self, host: usize) -> PathBuf {
        self.0.path().join(format!("host{host}"))
    }

    fn slow(&self) -> PathBuf {
        self.0.path().join("slow")
    }

    fn spare(&self) -> PathBuf {
        self.0.path().join("spare")
    }

    fn find(&self, group: &str) -> JobCheckpoint {
        let fast: Vec<PathBuf> = (0..HOSTS).map(|host| self.fast(host)).collect();
        let places = Places::new(self.slow(), &fast).rebuild_in(self.spare());
        JobCheckpoint::find(group, &places, None).unwrap()
    }
}

/// Starts an agent on each host, which writes checkpoints to the folder of its host.
fn agents(cluster: &Cluster, group: &str, disks: &Disks, arguments: &[&str]) -> Child {
    let (job, every) = (program("examples/job"), EVERY.to_string());
    let parts = (0..HOSTS).map(|host| {
        let (fast, slow) = (disks.fast(host), disks.slow());
        let words = [
            &[&job, "agent", group, "--quiet", "--every", &every][..],
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

/// Waits until so many checkpoints were committed, as their steps show.
fn wait_committed(disks: &Disks, group: &str, at_least: u64) -> u64 {
    poll_until("checkpoints", || {
        let all = committed(&disks.slow(), group).ok()?;
        let newest = all.iter().map(|found| found.commit.step).max()?;
        (newest >= at_least).then_some(newest)
    })
}

/// Checks all values of the global array of a checkpoint.
fn check(found: &JobCheckpoint) {
    let all = HOSTS * RANKS_PER_HOST;
    assert_eq!(found.ranks() as usize, all);
    assert_eq!(found.step() % EVERY, 0, "only appointed steps are due");
    let range = 0..LENGTH * all;
    let u = found.read::<u64>("u", std::slice::from_ref(&range));
    for (i, found_value) in u.unwrap().iter().enumerate() {
        let expected = value((i / LENGTH) as u32, found.step(), i % LENGTH);
        assert_eq!(*found_value, expected, "value {i}");
    }
    found.verify().unwrap();
}

/// Kills a rank of a job and then removes the folder of a host. Returns true if a committed step
/// was an increment.
fn survives_the_loss_of_a_host(name_of_test: &str, arguments: &[&str]) -> bool {
    let (cluster, group, disks) = (Cluster::new(HOSTS), name(name_of_test), Disks::new());
    let mut agents = agents(&cluster, &group, &disks, arguments);
    let agent = wait_line(&agents, "agent ", |_| true);
    let mut job = ranks(&cluster, &group, 100_000, 5);
    let rank = wait_line(&job, "rank 1 ", |_| true);
    let reached = wait_committed(&disks, &group, 5 * EVERY);
    signal(&cluster, &rank, "-KILL");
    assert!(!job.wait().success());
    stop(&cluster, &agent, &mut agents);
    let newest = wait_committed(&disks, &group, reached);
    let found = disks.find(&group);
    assert_eq!((found.step(), found.level()), (newest, Level::Protected));
    check(&found);
    std::fs::remove_dir_all(disks.fast(1)).unwrap();
    let rebuilt = disks.find(&group);
    assert_eq!(rebuilt.step(), newest, "no step is lost with a host");
    check(&rebuilt);
    let all = committed(&disks.slow(), &group).unwrap();
    let mut parts = all.iter().flat_map(|found| &found.commit.parts);
    parts.any(|part| part.base.is_some())
}

#[test]
fn checkpoints_of_a_killed_job_survive_the_loss_of_a_host() {
    let increments = survives_the_loss_of_a_host("full", &["--drain-every", "0"]);
    assert!(!increments);
}

#[test]
fn increments_of_a_killed_job_survive_the_loss_of_a_host() {
    let arguments = ["--drain-every", "0", "--increments"];
    assert!(survives_the_loss_of_a_host("increments", &arguments));
}
