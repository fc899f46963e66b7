//! Jobs in which nothing fails.

use super::common::{
    HOSTS, Line, RANKS_PER_HOST, agents, all_lines, assert_blocks, assert_right, ranks,
    so_many_ranks, stop, wait_line,
};
use std::collections::BTreeMap;
use tcasm_tests::cluster::Cluster;
use tcasm_tests::name;

/// Returns the lines of each host. (Where hosts are folders, all have the same name.)
fn by_host(cluster: &Cluster, lines: &[Line]) -> Vec<Vec<(String, u64)>> {
    let of = |line: &Line| (line.get("run").to_owned(), line.number("step"));
    if !cluster.has_networks() {
        // Each step has a line of each host.
        let mut counts = BTreeMap::new();
        lines
            .iter()
            .for_each(|line| *counts.entry(of(line)).or_insert(0) += 1);
        assert!(counts.values().all(|n| *n == HOSTS), "{counts:?}");
        return vec![counts.into_keys().collect()];
    }
    let mut hosts: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for line in lines {
        hosts
            .entry(line.get("host").to_owned())
            .or_default()
            .push(of(line));
    }
    assert_eq!(hosts.len(), HOSTS);
    hosts.into_values().collect()
}

#[test]
fn all_agents_agree_on_the_same_steps_and_end_with_the_job() {
    let (cluster, group) = (Cluster::new(HOSTS), name("agreed"));
    let mut agents = agents(&cluster, &group, &[]);
    (0..HOSTS).for_each(|_| drop(agents.hear_line("agent ")));
    let mut job = ranks(&cluster, &group, 100, 20);
    let checked = all_lines(&agents, "checked");
    assert!(agents.wait().success());
    assert!(job.wait().success());
    checked.iter().for_each(assert_right);
    let hosts = by_host(&cluster, &checked);
    let steps: Vec<u64> = hosts[0].iter().map(|(_, step)| *step).collect();
    assert!(hosts.iter().all(|other| *other == hosts[0]), "{hosts:?}");
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    // All ranks keep their last version, so it is agreed before the agents end.
    assert_eq!(steps.last(), Some(&100));
    println!("{} of 100 steps agreed", steps.len());
}

#[test]
fn agents_that_stay_agree_on_steps_of_one_run_after_the_other() {
    let (cluster, group) = (Cluster::new(HOSTS), name("runs"));
    let mut agents = agents(&cluster, &group, &["--stay"]);
    let agent = wait_line(&agents, "agent ", |_| true);
    let mut runs = Vec::new();
    // The second run has other ranks on the hosts than the first one: 0 to 2 instead of 0 to 5.
    for (per_host, last) in [(RANKS_PER_HOST, 60), (1, 40), (RANKS_PER_HOST, 50)] {
        let mut job = so_many_ranks(per_host, &cluster, &group, last, 10);
        let other = |line: &Line| !runs.contains(&line.get("run").to_owned());
        // The last step of a later run is smaller than that of the first one.
        let is_last = |line: &Line| other(line) && line.number("step") == last;
        let mut hosts = Vec::new();
        while hosts.len() < HOSTS {
            let line = wait_line(&agents, "checked", is_last);
            assert_blocks(&line, per_host);
            hosts.push(line);
        }
        assert!(job.wait().success());
        runs.push(hosts[0].get("run").to_owned());
    }
    stop(&cluster, &agent, &mut agents);
}

#[test]
fn appointed_steps_are_agreed() {
    let (cluster, group) = (Cluster::new(HOSTS), name("appointed"));
    let mut agents = agents(&cluster, &group, &["--every", "10"]);
    (0..HOSTS).for_each(|_| drop(agents.hear_line("agent ")));
    let mut job = ranks(&cluster, &group, 95, 60);
    let checked = all_lines(&agents, "checked");
    assert!(agents.wait().success() && job.wait().success());
    checked.iter().for_each(assert_right);
    let kept = checked
        .iter()
        .filter(|line| line.get("appointed").starts_with("Some(Kept("));
    let kept: Vec<u64> = kept.map(|line| line.number("step")).collect();
    assert!(kept.iter().all(|step| step % 10 == 0), "{kept:?}");
    // Where rounds are slow, the steps pass the next multiple of ten before it can be appointed.
    assert!(kept.len() >= 3, "{kept:?}");
}
