//! Every step of all ranks, with every value, while they publish.

use super::*;
use std::collections::BTreeSet;
use tcasm_core::sys::mem::HUGE_PAGE;
use tcasm_observer::{GroupError, Observer};
use tcasm_tests::child::DEADLINE;
use tcasm_tests::name;
use tcasm_tests::ranks::CAPACITY;

/// Returns the newest step that all ranks have, by the versions that each one has.
fn oracle(observer: &GroupObserver) -> Option<u64> {
    let steps = observer.members().map(|(_, member)| {
        let mut own = Observer::attach(&member.info().unwrap().name).unwrap();
        let all = own.available().unwrap().into_iter();
        all.map(|n| own.version(n).unwrap().step()).collect()
    });
    let common = steps.reduce(|a: BTreeSet<u64>, b| &a & &b);
    common.and_then(|steps| steps.last().copied())
}

#[test]
fn ranks_at_different_speeds_give_whole_steps_and_the_last_one() {
    const STEPS: u64 = 300;
    let group = name("speeds");
    let mut ranks: Vec<Puppet> = (0..RANKS).map(|_| start(&group)).collect();
    let bases = ranks.iter_mut().zip(0..);
    let bases: Vec<u64> = bases.map(|(p, r)| create(p, &group, r, "one")).collect();
    let mut observer = GroupObserver::attach(&group).unwrap();
    for rank in &mut ranks {
        rank.child.send(&format!("run 1 {STEPS}"));
        rank.child.send("close");
    }
    let mut steps = Vec::new();
    let end = loop {
        match observer.wait_newer(DEADLINE) {
            Ok(version) => {
                check(&version);
                assert_eq!((version.run(), version.ranks()), ("one", RANKS));
                steps.push(version.step());
                let places = version.members().map(|(_, member)| member.extent().base);
                assert_eq!(Vec::from_iter(places), bases);
            }
            Err(end) => break end,
        }
    };
    assert!(matches!(end, GroupError::EndOfStream { .. }), "{end}");
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    assert_eq!(steps.last(), Some(&STEPS));
    // The parts lie one behind the other, in the order of ranks.
    let parts: BTreeSet<u64> = bases.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(Vec::from_iter(parts), [(CAPACITY + HUGE_PAGE) as u64]);
}

#[test]
fn latest_is_the_newest_step_of_all_ranks_in_any_order_of_publishing() {
    let group = name("orders");
    let (mut ranks, mut observer) = start_observed(&group, "", 1);
    let (mut state, mut next) = (1u64, [2u64; RANKS as usize]);
    let (mut none, mut some) = (0, 0);
    for _ in 0..150 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (rank, skipped) = ((state >> 33) as usize % next.len(), state >> 50 & 1);
        next[rank] += skipped;
        ranks[rank].ok(&format!("publish {}", next[rank]));
        next[rank] += 1;
        match (oracle(&observer), observer.latest()) {
            (Some(step), Ok(version)) => {
                assert_eq!(version.step(), step);
                check(&version);
                some += 1;
            }
            (None, Err(GroupError::NotReady { newest })) => {
                let newest: Vec<u64> = newest.iter().map(|(_, step)| step.unwrap()).collect();
                assert_eq!(newest, next.map(|step| step - 1));
                none += 1;
            }
            (expected, found) => panic!("{expected:?}: {found:?}"),
        }
    }
    assert!(some > 10 && none > 10, "{some} {none}");
}

#[test]
fn group_version_pins_its_step_in_all_ranks() {
    let group = name("pins");
    let (mut ranks, mut observer) = start_observed(&group, "", 1);
    let first = observer.latest().unwrap();
    for step in 2..10 {
        publish(&mut ranks, step);
    }
    let second = observer.wait_newer(NOW).unwrap();
    check(&first);
    check(&second);
    assert_eq!((first.step(), second.step()), (1, 9));
    let pins = |observer: &GroupObserver, numbers: &[u64]| {
        for (rank, member) in observer.members() {
            let mut own = Observer::attach(&member.info().unwrap().name).unwrap();
            let rows = own.observers().unwrap();
            let pinned: Vec<u64> = rows.into_iter().flat_map(|row| row.pinned).collect();
            assert_eq!(pinned, numbers, "rank {rank}");
        }
    };
    pins(&observer, &[1, 9]);
    drop(first);
    pins(&observer, &[9]);
    // Looking for a newer step pins nothing if there is none.
    ranks[0].ok("publish 10");
    assert!(matches!(
        observer.wait_newer(NOW),
        Err(GroupError::NotReady { .. })
    ));
    pins(&observer, &[9]);
}

#[test]
fn step_right_before_the_end_is_not_missed() {
    let group = name("end");
    let mut ranks = start_all(&group, "");
    for round in 0..12 {
        publish(&mut ranks, 1);
        let mut observer = GroupObserver::attach(&group).unwrap();
        observer.latest().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| observer.wait_newer(DEADLINE));
            std::thread::sleep(Duration::from_millis(round * 7));
            for rank in &mut ranks {
                rank.child.send("publish 2");
                rank.child.send("close");
            }
            assert_eq!(waiting.join().unwrap().unwrap().step(), 2);
        });
        for (rank, process) in ranks.iter_mut().enumerate() {
            (0..2).for_each(|_| drop(process.child.hear_line("ok")));
            process.ok(&format!("create {group} {rank} {RANKS} {RANKS}"));
        }
    }
}
