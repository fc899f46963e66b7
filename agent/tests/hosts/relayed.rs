//! In transit: the last hosts have no ranks, and mirror the regions of the others.

use super::common::{Line, ask_for, reader, stop, wait_line, wait_told};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::time::Duration;
use tcasm_tests::child::{Child, Received, poll_until, program};
use tcasm_tests::cluster::{Cluster, part};
use tcasm_tests::name;

const SOURCES: usize = 2;
const RANKS: u64 = 4;

/// Starts the ranks and the agents, one of them on an analysis node. Returns a line that names an
/// agent, too.
fn start(cluster: &Cluster, group: &str, steps: &str, pause: &str) -> (Child, Child, Line) {
    start_with(1, cluster, group, steps, pause)
}

/// The same, with so many analysis nodes.
fn start_with(
    relays: usize,
    cluster: &Cluster,
    group: &str,
    steps: &str,
    pause: &str,
) -> (Child, Child, Line) {
    let job = program("examples/job");
    let agent = [job.as_str(), "agent", group];
    let relay = [&agent[..], &["--relay"]].concat();
    let mut parts: Vec<_> = (0..SOURCES).map(|i| part(i, 1, &agent)).collect();
    parts.extend((0..relays).map(|i| part(SOURCES + i, 1, &relay)));
    let agents = cluster.mpirun(&parts);
    let lines = (0..SOURCES + relays).map(|_| wait_line(&agents, "agent ", |_| true));
    let agent = lines.collect::<Vec<_>>().swap_remove(0);
    let words = [job.as_str(), "rank", group, steps, pause];
    let parts: Vec<_> = (0..SOURCES).map(|i| part(i, 2, &words)).collect();
    (cluster.mpirun(&parts), agents, agent)
}

fn assert_whole(line: &Line) {
    assert_eq!(line.number("wrong"), 0, "{:?}", line.text);
    assert_eq!(line.number("ranks"), RANKS, "{:?}", line.text);
}

#[test]
fn mirrors_show_each_relayed_step_and_only_changes_are_sent() {
    let (cluster, group) = (Cluster::new(SOURCES + 1), name("relay"));
    let (mut job, mut agents, _) = start(&cluster, &group, "150", "20");
    let mut mirror = reader(&cluster, SOURCES, &group);
    let mut seen = [Vec::new(), Vec::new()];
    // The mirrors end with the agents, after the last step.
    let sums = loop {
        for (which, seen) in ["latest", "agreed"].into_iter().zip(&mut seen) {
            if let Ok(line) = ask_for(which, &mut mirror) {
                assert_whole(&line);
                let step = line.number("step");
                seen.extend((seen.last() != Some(&step)).then_some(step));
            }
        }
        match agents.receive(Duration::ZERO) {
            Received::Line(line) if line.starts_with("relayed") => break Line::new(&line),
            Received::Ended => panic!("no line about the relay"),
            _ => {}
        }
    };
    assert!(agents.wait().success() && job.wait().success());
    assert!(seen.iter().all(|seen| seen.is_sorted()), "{seen:?}");
    assert!(!seen[1].is_empty(), "no agreed step");
    // The last step is relayed before the agents end.
    for which in ["latest", "agreed"] {
        let last = ask_for(which, &mut mirror).unwrap();
        assert_whole(&last);
        assert_eq!(last.number("step"), 150, "{which}");
    }
    let (steps, sent, all) = (
        sums.number("steps"),
        sums.number("bytes"),
        sums.number("of"),
    );
    println!("{steps} of 150 steps relayed, {sent} of {all} bytes, seen {seen:?}");
    // In each step, 1/16 of `part` (1 MiB) and all of `u` (160,000 bytes) change.
    let whole = all / steps;
    let changed_most = |steps_between: u64| 160_000 + 4096 + steps_between * (65_536 + 8192);
    let skipped = 150 / steps + 1;
    assert!(
        sent <= whole + steps * 2 * changed_most(skipped),
        "{sent} bytes of {all}"
    );
}

#[test]
fn mirrors_follow_the_next_run() {
    let (cluster, group) = (Cluster::new(SOURCES + 1), name("relay-runs"));
    let (mut first, mut agents, agent) = start(&cluster, &group, "100000", "10");
    let mut mirror = reader(&cluster, SOURCES, &group);
    let until = |mirror: &mut Child, is_it: &dyn Fn(&Line) -> bool| {
        let mut until = |which| {
            let line = poll_until("a mirrored step", || {
                ask_for(which, mirror).ok().filter(|line| is_it(line))
            });
            assert_whole(&line);
            line
        };
        until("latest");
        until("agreed")
    };
    let line = until(&mut mirror, &|line| line.number("step") >= 20);
    let run = line.get("run").to_owned();
    first.signal(Signal::SIGTERM);
    wait_told(&mut first);
    let job = program("examples/job");
    let words = [job.as_str(), "rank", &group, "100000", "10"];
    let parts: Vec<_> = (0..SOURCES).map(|i| part(i, 2, &words)).collect();
    let _second = cluster.mpirun(&parts);
    until(&mut mirror, &|line| line.get("run") != run);
    stop(&cluster, &agent, &mut agents);
}

/// The ranks whose mirrors each of two analysis nodes has.
const SHARES: [&str; 2] = ["0,1", "2,3"];

/// Checks all values that observers on both analysis nodes find now.
fn check_shares(mirrors: &mut [Child]) {
    for (mirror, share) in mirrors.iter_mut().zip(SHARES) {
        for which in ["latest", "agreed"] {
            if let Ok(line) = ask_for(which, mirror) {
                assert_eq!(line.number("wrong"), 0, "{:?}", line.text);
                assert_eq!(line.get("of"), share, "{:?}", line.text);
            }
        }
    }
}

/// Returns the newest steps that a node has, ascending. It keeps more than these, so no step is
/// missing in between.
fn newest_steps(mirror: &mut Child) -> Vec<u64> {
    let line = ask_for("steps", mirror).ok();
    let text = line.map_or(String::new(), |line| line.get("steps").to_owned());
    let all: Vec<u64> = text
        .split(',')
        .filter_map(|step| step.parse().ok())
        .collect();
    all[all.len().saturating_sub(3)..].to_vec()
}

/// Checks that each step of one node which the other one can have by now is there too. Returns
/// these steps.
fn same_steps(mirrors: &mut [Child]) -> Vec<u64> {
    let all: Vec<Vec<u64>> = mirrors.iter_mut().map(newest_steps).collect();
    let ends = |steps: &Vec<u64>| Some((*steps.first()?, *steps.last()?));
    let ends: Option<Vec<(u64, u64)>> = all.iter().map(ends).collect();
    let Some(ends) = ends else {
        return Vec::new();
    };
    let from = ends.iter().map(|(first, _)| *first).max().unwrap();
    let to = ends.iter().map(|(_, last)| *last).min().unwrap();
    let both = |steps: &Vec<u64>| -> Vec<u64> {
        let both = steps.iter().filter(|step| (from..=to).contains(*step));
        both.copied().collect()
    };
    let compared: Vec<Vec<u64>> = all.iter().map(both).collect();
    assert_eq!(compared[0], compared[1], "of {all:?}");
    compared[0].clone()
}

/// Follows two analysis nodes until so many of their steps were compared.
fn compare(count: usize, mirrors: &mut [Child]) {
    let mut compared = BTreeSet::new();
    poll_until("steps of both analysis nodes", || {
        check_shares(mirrors);
        compared.extend(same_steps(mirrors));
        (compared.len() >= count).then_some(())
    });
    println!("both analysis nodes have {compared:?}");
}

/// Waits until observers beside the ranks have seen so many more steps.
fn ranks_go_on(cluster: &Cluster, group: &str, more: u64) {
    for host in 0..SOURCES {
        let mut beside = reader(cluster, host, group);
        let mut newest = || {
            let line = ask_for("latest", &mut beside).ok()?;
            Some(line.number("step"))
        };
        let goal = poll_until("a step", &mut newest) + more;
        poll_until("the ranks go on", || newest().filter(|step| *step >= goal));
    }
}

#[test]
fn two_analysis_nodes_have_the_same_steps_also_if_one_of_them_is_slow() {
    let (cluster, group) = (Cluster::new(SOURCES + 2), name("relay-two"));
    let (mut job, mut agents, agent) = start_with(2, &cluster, &group, "100000", "10");
    let hosts = [SOURCES, SOURCES + 1];
    let mut mirrors = hosts.map(|host| reader(&cluster, host, &group));
    compare(10, &mut mirrors);
    if cluster.has_networks() {
        cluster.slow_link(SOURCES + 1, Some(500));
        compare(8, &mut mirrors);
        ranks_go_on(&cluster, &group, 50);
        compare(8, &mut mirrors);
        cluster.slow_link(SOURCES + 1, None);
    } else {
        eprintln!("NOT RUN: only links of namespaces can be slow, which needs root");
    }
    compare(10, &mut mirrors);
    assert_eq!(job.ended(), None, "no rank has noticed");
    stop(&cluster, &agent, &mut agents);
}
