//! Checkpoints that the agents of a running job write.

use super::common::{HOSTS, RANKS_PER_HOST, ranks, signal, stop, wait_failed, wait_line};
use super::disks::{self, Disks, EVERY, checking_agents};
use tcasm_checkpoint::job::{Level, committed};
use tcasm_tests::cluster::Cluster;
use tcasm_tests::name;

/// Kills a rank of a job and then removes the folder of a host. Returns true if a committed step
/// was an increment.
fn survives_the_loss_of_a_host(name_of_test: &str, arguments: &[&str]) -> bool {
    let (cluster, group, disks) = (Cluster::new(HOSTS), name(name_of_test), Disks::new());
    let mut agents = checking_agents(&cluster, &group, &disks, arguments);
    let agent = wait_line(&agents, "agent ", |_| true);
    let mut job = ranks(&cluster, &group, 100_000, 5);
    let rank = wait_line(&job, "rank 1 ", |_| true);
    let first = disks.wait_committed(&group, 0);
    let reached = disks.wait_committed(&group, first + 4 * EVERY);
    signal(&cluster, &rank, "-KILL");
    wait_failed(&mut job);
    stop(&cluster, &agent, &mut agents);
    let newest = disks.wait_committed(&group, reached);
    let found = disks.find(&group);
    assert_eq!((found.step(), found.level()), (newest, Level::Protected));
    disks::check(&found, HOSTS * RANKS_PER_HOST);
    std::fs::remove_dir_all(disks.fast(1)).unwrap();
    let rebuilt = disks.find(&group);
    assert_eq!(rebuilt.step(), newest, "no step is lost with a host");
    disks::check(&rebuilt, HOSTS * RANKS_PER_HOST);
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
