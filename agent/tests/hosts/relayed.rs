//! In transit: the last host has no ranks, and mirrors the regions of the others.

use super::common::{Line, ask_for, reader, stop, wait_line, wait_told};
use nix::sys::signal::Signal;
use std::time::Duration;
use tcasm_tests::child::{Child, Received, program};
use tcasm_tests::cluster::{Cluster, part};
use tcasm_tests::name;

const SOURCES: usize = 2;
const RANKS: u64 = 4;

/// Starts the ranks and the agents. Returns a line that names an agent, too.
fn start(cluster: &Cluster, group: &str, steps: &str, pause: &str) -> (Child, Child, Line) {
    let job = program("examples/job");
    let agent = [job.as_str(), "agent", group];
    let relay = [&agent[..], &["--relay"]].concat();
    let mut parts: Vec<_> = (0..SOURCES).map(|i| part(i, 1, &agent)).collect();
    parts.push(part(SOURCES, 1, &relay));
    let agents = cluster.mpirun(&parts);
    let lines = (0..=SOURCES).map(|_| wait_line(&agents, "agent ", |_| true));
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
            let line = tcasm_tests::child::poll_until("a mirrored step", || {
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
