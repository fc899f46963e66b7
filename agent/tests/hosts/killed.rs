//! Jobs in which ranks and agents are killed.

use super::common::{
    HOSTS, Line, RANKS_PER_HOST, agents, ask, ask_until, assert_right, ranks, reader, signal, stop,
    wait_failed, wait_line,
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
