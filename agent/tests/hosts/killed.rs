//! Jobs in which ranks and agents are killed, or agents are stopped.

use super::common::{
    HOSTS, Line, RANKS_PER_HOST, agents, ask, ask_for, ask_until, assert_right, ranks, reader,
    signal, stop, try_signal, wait_failed, wait_line,
};
use tcasm_tests::child::{Child, poll_until};
use tcasm_tests::cluster::Cluster;
use tcasm_tests::name;

fn readers(cluster: &Cluster, group: &str) -> Vec<Child> {
    (0..HOSTS).map(|i| reader(cluster, i, group)).collect()
}

#[test]
fn after_the_death_of_a_rank_agents_hold_one_step_of_all_ranks() {
    let (cluster, group) = (Cluster::new(HOSTS), name("rank"));
    let mut agents = agents(&cluster, &group, &[]);
    let agent = wait_line(&agents, "agent ", |_| true);
    let mut job = ranks(&cluster, &group, 100_000, 10);
    let rank = wait_line(&job, "rank 3 ", |_| true);
    let mut readers = readers(&cluster, &group);
    for each in &mut readers {
        ask_until(each, |line| line.number("step") >= 20);
    }
    signal(&cluster, &rank, "-KILL");
    wait_failed(&mut job);
    // The last round may not be over yet.
    let same = poll_until("the last agreed step", || {
        let all: Vec<Line> = readers.iter_mut().map(|each| ask(each).unwrap()).collect();
        let step = |line: &Line| line.number("step");
        all.iter()
            .all(|line| step(line) == step(&all[0]))
            .then_some(all)
    });
    for line in &same {
        assert_right(line);
        assert_eq!(line.number("ranks"), RANKS_PER_HOST as u64);
        assert!(line.number("step") >= 20);
    }
    // The agents wait for the next run.
    assert_eq!(agents.ended(), None);
    stop(&cluster, &agent, &mut agents);
}

#[test]
fn agents_that_were_killed_and_started_again_agree_on_newer_steps() {
    let (cluster, group) = (Cluster::new(HOSTS), name("agents"));
    let mut job = ranks(&cluster, &group, 100_000, 10);
    let mut first = agents(&cluster, &group, &[]);
    let agent = wait_line(&first, "agent ", |_| true);
    let mut readers = readers(&cluster, &group);
    let reached = readers.iter_mut().map(|each| {
        let line = ask_until(each, |line| line.number("step") >= 20);
        line.number("step")
    });
    let reached = reached.max().unwrap_or(0);
    signal(&cluster, &agent, "-KILL");
    wait_failed(&mut first);
    let mut second = agents(&cluster, &group, &[]);
    let newer = wait_line(&second, "agent ", |_| true);
    for each in &mut readers {
        assert_right(&ask_until(each, |line| line.number("step") > reached + 20));
    }
    assert_eq!(job.ended(), None, "no rank has noticed");
    stop(&cluster, &newer, &mut second);
}

/// Agents that are stopped by a signal, until this is dropped.
struct Stopped<'a> {
    cluster: &'a Cluster,
    agents: &'a [Line],
}

impl<'a> Stopped<'a> {
    fn new(cluster: &'a Cluster, agents: &'a [Line]) -> Self {
        let stopped = Stopped { cluster, agents };
        agents
            .iter()
            .for_each(|line| signal(cluster, line, "-STOP"));
        stopped
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        for line in self.agents {
            let _ = try_signal(self.cluster, line, "-CONT");
        }
    }
}

/// Waits until all ranks of the host of each observer have published so many steps from now on.
fn wait_published(readers: &mut [Child], more: u64) {
    for each in readers {
        let mut newer = |than: u64| {
            let is_newer = |line: &Line| line.number("step") > than;
            poll_until("the ranks publish", || {
                ask_for("latest", each).ok().filter(is_newer)
            })
        };
        let now = newer(0).number("step");
        assert_right(&newer(now + more));
    }
}

/// G4: `publish` waits for no agent, also for none that has pinned versions and does nothing more.
#[test]
fn ranks_go_on_publishing_while_all_agents_are_stopped() {
    let (cluster, group) = (Cluster::new(HOSTS), name("stopped"));
    let mut agents = agents(&cluster, &group, &[]);
    let lines: Vec<Line> = (0..HOSTS)
        .map(|_| wait_line(&agents, "agent ", |_| true))
        .collect();
    let mut job = ranks(&cluster, &group, 100_000, 10);
    let mut readers = readers(&cluster, &group);
    for each in &mut readers {
        ask_until(each, |line| line.number("step") >= 20);
    }
    let stopped = Stopped::new(&cluster, &lines);
    wait_published(&mut readers, 20);
    let agreed = |each: &mut Child| ask(each).unwrap().number("step");
    let before: Vec<u64> = readers.iter_mut().map(agreed).collect();
    wait_published(&mut readers, 20);
    let after: Vec<u64> = readers.iter_mut().map(agreed).collect();
    assert_eq!(before, after, "the agents agree on nothing");
    drop(stopped);
    for (each, before) in readers.iter_mut().zip(before) {
        assert_right(&ask_until(each, |line| line.number("step") > before + 20));
    }
    assert_eq!(job.ended(), None, "no rank has noticed");
    stop(&cluster, &lines[0], &mut agents);
}
