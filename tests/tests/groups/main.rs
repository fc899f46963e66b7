//! Groups with real processes: four ranks of one job, each with a region in its part of a host
//! buffer, and an observer that sees one step of all of them.

mod blocks;
mod global;
mod refused;
mod starts;
mod steps;

use std::time::Duration;
use tcasm_observer::{GroupObserver, GroupVersion, Version};
use tcasm_tests::puppet::Puppet;
use tcasm_tests::ranks::{ELEMENTS, RANKS, own_field, value};
use tcasm_tests::runtime_dir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_rank");
/// Waits for nothing.
const NOW: Duration = Duration::ZERO;

/// Starts a process of a job, which has no region yet.
fn start(job: &str) -> Puppet {
    Puppet::with_env(PROGRAM, runtime_dir(), &[("RANK_JOB", job)])
}

/// Creates the region of a rank, and returns its address.
fn create(process: &mut Puppet, group: &str, rank: u32, run: &str) -> u64 {
    let base = process.number(&format!("take ranks {rank}"), "base");
    process.ok(&format!("create {group} {rank} {RANKS} {RANKS} {run}"));
    base
}

/// Starts a rank with its region.
fn start_rank(group: &str, rank: u32, run: &str) -> Puppet {
    let mut process = start(group);
    create(&mut process, group, rank, run);
    process
}

/// Starts all ranks of a job, which has the name of its group.
fn start_all(group: &str, run: &str) -> Vec<Puppet> {
    (0..RANKS).map(|r| start_rank(group, r, run)).collect()
}

/// Makes each rank publish a step.
fn publish(ranks: &mut [Puppet], step: u64) {
    for rank in ranks {
        rank.ok(&format!("publish {step}"));
    }
}

/// Starts all ranks of a job, has each publish a step, and attaches to the group.
fn start_observed(group: &str, run: &str, step: u64) -> (Vec<Puppet>, GroupObserver) {
    let mut ranks = start_all(group, run);
    publish(&mut ranks, step);
    (ranks, GroupObserver::attach(group).unwrap())
}

/// Checks every value of a version of one rank.
fn check_rank(rank: u32, step: u64, version: &Version) {
    assert_eq!(version.step(), step, "rank {rank}");
    let view = version.view().unwrap();
    for field in ["t", &own_field(rank)] {
        let array = view.array::<u64>(field).unwrap();
        assert_eq!(array.len(), ELEMENTS);
        for (i, found) in array.iter().enumerate() {
            assert_eq!(
                *found,
                value(rank, step, i),
                "rank {rank} {step} {field}[{i}]"
            );
        }
    }
}

/// Checks that a version has the same step of all ranks, with every value.
fn check(version: &GroupVersion) {
    let ranks: Vec<u32> = version.members().map(|(rank, _)| rank).collect();
    assert_eq!(ranks, Vec::from_iter(0..RANKS));
    for (rank, member) in version.members() {
        check_rank(rank, version.step(), member);
        assert_eq!(version.member(rank).unwrap().extent(), member.extent());
        let own: Vec<u32> = version.blocks(&own_field(rank)).map(|b| b.rank).collect();
        assert_eq!(own, [rank]);
    }
    let blocks: Vec<(u32, Vec<usize>)> = version
        .blocks("t")
        .map(|block| (block.rank, block.field.shape.clone()))
        .collect();
    let all: Vec<_> = ranks.iter().map(|rank| (*rank, vec![ELEMENTS])).collect();
    assert_eq!(blocks, all);
    assert!(version.member(RANKS).is_none());
    assert_eq!(version.blocks("none").count(), 0);
}
