//! Checkpoints that the agents of a running job write.

use super::common::{
    HOSTS, Line, RANKS_PER_HOST, ask, ask_until, ranks, reader, signal, stop, wait_failed,
    wait_line,
};
use super::disks::{self, Disks, EVERY, agents_that_write, checking_agents};
use tcasm_checkpoint::job::{JobCheckpoint, Level, committed};
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::cluster::Cluster;
use tcasm_tests::name;

const RANKS: usize = HOSTS * RANKS_PER_HOST;

/// Returns the agreed steps as an observer on each host has them.
fn agreed(readers: &mut [Child]) -> Vec<u64> {
    let step = |each: &mut Child| ask(each).unwrap().number("step");
    readers.iter_mut().map(step).collect()
}

/// Kills a rank of a job and then removes the folder of a host. Returns true if a committed step
/// was an increment.
fn survives_the_loss_of_a_host(name_of_test: &str, arguments: &[&str]) -> bool {
    let (cluster, group, disks) = (Cluster::new(HOSTS), name(name_of_test), Disks::new());
    let mut agents = checking_agents(&cluster, &group, &disks, arguments);
    let agent = wait_line(&agents, "agent ", |_| true);
    let mut job = ranks(&cluster, &group, 100_000, 5);
    let rank = wait_line(&job, "rank 1 ", |_| true);
    let mut readers = [reader(&cluster, 0, &group)];
    let first = disks.wait_committed(&group, 0);
    let reached = disks.wait_committed(&group, first + 4 * EVERY);
    ask_until(&mut readers[0], |line| line.number("step") >= reached);
    let appointed = |step: &u64| step.is_multiple_of(EVERY);
    assert!(disks.committed(&group).iter().all(appointed));
    signal(&cluster, &rank, "-KILL");
    wait_failed(&mut job);
    // The agents write what they agree on, so nothing that was seen then is lost.
    let written = disks.wait_committed(&group, agreed(&mut readers)[0]);
    stop(&cluster, &agent, &mut agents);
    let newest = disks.wait_committed(&group, written);
    let found = disks.find(&group);
    assert_eq!((found.step(), found.level()), (newest, Level::Protected));
    disks::check(&found, RANKS);
    std::fs::remove_dir_all(disks.fast(1)).unwrap();
    let rebuilt = disks.find(&group);
    assert_eq!(rebuilt.step(), newest, "no step is lost with a host");
    disks::check(&rebuilt, RANKS);
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

/// Waits until the newest checkpoint has the step that is agreed on all hosts.
fn wait_agreed_written(disks: &Disks, group: &str, readers: &mut [Child]) -> JobCheckpoint {
    poll_until("the agreed step is written", || {
        let newest = disks.committed(group).into_iter().max()?;
        let same = agreed(readers).iter().all(|step| *step == newest);
        same.then(|| disks.open(group, Some(newest)).unwrap())
    })
}

/// Returns the committed steps of a run.
fn steps_of(run: &str, disks: &Disks, group: &str) -> Vec<u64> {
    let all = committed(&disks.slow(), group).unwrap();
    let own = all.iter().filter(|found| found.commit.run == run);
    own.map(|found| found.commit.step).collect()
}

/// No step is due here. So what is committed is what the ranks have left.
#[test]
fn death_of_a_rank_costs_only_the_steps_since_the_agreed_one() {
    let (cluster, group, disks) = (Cluster::new(HOSTS), name("saved"), Disks::new());
    let arguments = ["--stay", "--drain-every", "0"];
    let mut agents = agents_that_write(1_000_000, &cluster, &group, &disks, &arguments);
    let agent = wait_line(&agents, "agent ", |_| true);
    let mut readers: Vec<Child> = (0..HOSTS).map(|i| reader(&cluster, i, &group)).collect();
    let mut saved = 0;
    // In the second run, the first one's checkpoint is there.
    for _ in 0..2 {
        let mut job = ranks(&cluster, &group, 100_000, 10);
        let rank = wait_line(&job, "rank 3 ", |_| true);
        let reached = |line: &Line| line.number("step") >= saved + 20;
        let lines = readers.iter_mut().map(|each| ask_until(each, reached));
        let runs: Vec<String> = lines.map(|line| line.get("run").to_owned()).collect();
        assert!(steps_of(&runs[0], &disks, &group).is_empty());
        signal(&cluster, &rank, "-KILL");
        wait_failed(&mut job);
        let found = wait_agreed_written(&disks, &group, &mut readers);
        assert!(found.step() >= saved + 20);
        assert!(steps_of(&runs[0], &disks, &group).contains(&found.step()));
        assert_eq!(found.level(), Level::Protected);
        disks::check(&found, RANKS);
        saved = found.step();
    }
    stop(&cluster, &agent, &mut agents);
    let left = disks.find(&group);
    assert!(left.step() >= saved);
    disks::check(&left, RANKS);
}
