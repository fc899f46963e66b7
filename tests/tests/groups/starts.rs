//! Ranks that die, are started again, come late, or begin another run.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use tcasm_observer::{AttachError, GroupError};
use tcasm_tests::child::DEADLINE;
use tcasm_tests::name;

#[test]
fn killed_rank_is_named_and_followed_after_its_restart() {
    let group = name("killed");
    let mut ranks = start_all(&group, "one");
    let mut observer = GroupObserver::attach(&group).unwrap();
    publish(&mut ranks, 3);
    let before = observer.wait_newer(DEADLINE).unwrap();
    ranks[2].child.kill();
    let lost = |result: Result<GroupVersion, GroupError>| match result {
        Err(GroupError::Lost { ranks, .. }) => assert_eq!(ranks, [2]),
        other => panic!("{other:?}"),
    };
    lost(observer.wait_newer(DEADLINE));
    for rank in [0, 1, 3] {
        ranks[rank].ok("publish 4");
    }
    lost(observer.wait_newer(DEADLINE));
    check(&before);
    assert_eq!(observer.latest().unwrap().step(), 3);
    ranks[2] = start_rank(&group, 2, "one");
    // It has not published yet.
    match observer.wait_newer(NOW) {
        Err(GroupError::NotReady { newest }) => {
            let newest = BTreeMap::from_iter(newest);
            assert_eq!((newest[&0], newest[&2]), (Some(4), None));
        }
        other => panic!("{other:?}"),
    }
    ranks[2].ok("publish 4");
    let after = observer.wait_newer(DEADLINE).unwrap();
    assert_eq!(after.step(), 4);
    check(&after);
    check(&before);
    // An older step that is asked for changes nothing: step 4 has been returned.
    ranks[2].child.kill();
    ranks[2] = start_rank(&group, 2, "one");
    ranks[2].ok("publish 3");
    assert_eq!(observer.latest().unwrap().step(), 3);
    ranks[2].ok("publish 4");
    assert!(matches!(
        observer.wait_newer(NOW),
        Err(GroupError::NotReady { .. })
    ));
    let extent = |version: &GroupVersion| version.member(2).unwrap().extent();
    assert_eq!(extent(&before), extent(&after));
}

#[test]
fn versions_of_different_runs_are_never_combined() {
    let group = name("runs");
    let (mut ranks, mut observer) = start_observed(&group, "one", 5);
    check(&observer.latest().unwrap());
    for rank in 0..RANKS {
        ranks[rank as usize].child.kill();
        ranks[rank as usize] = start_rank(&group, rank, "two");
        ranks[rank as usize].ok("publish 5");
        match (rank, observer.wait_newer(NOW)) {
            (0..=2, Err(GroupError::OtherRun { regions, runs })) => {
                let first = format!("{group}.0");
                assert_eq!(regions, [first, format!("{group}.{}", rank + 1)]);
                assert_eq!(runs, ["two", "one"]);
            }
            // The same step of another run is newer.
            (3, Ok(version)) => assert_eq!((version.step(), version.run()), (5, "two")),
            other => panic!("{other:?}"),
        }
    }
    // So is an earlier step, once all ranks have been started again, even under the same name.
    for rank in 0..RANKS {
        ranks[rank as usize].child.kill();
        ranks[rank as usize] = start_rank(&group, rank, "two");
        ranks[rank as usize].ok("publish 2");
        match (rank, observer.wait_newer(NOW)) {
            (0..=2, Err(GroupError::Lost { .. } | GroupError::NotReady { .. })) => {}
            (3, Ok(version)) => assert_eq!(version.step(), 2),
            other => panic!("{other:?}"),
        }
    }
}

/// Starts a rank of a run of which so many ranks, and so many on this host, are running. Publishes
/// a step.
fn start_placed(group: &str, rank: u32, [of, local]: [u32; 2], run: &str) -> Puppet {
    let mut process = start(group);
    process.number(&format!("take ranks {rank}"), "base");
    process.ok(&format!("create {group} {rank} {of} {local} {run}"));
    process.ok("publish 1");
    process
}

#[test]
fn run_that_has_other_ranks_on_this_host_is_followed() {
    let group = name("other-ranks");
    let (mut ranks, mut observer) = start_observed(&group, "one", 5);
    let before = observer.wait_newer(NOW).unwrap();
    // Fewer ranks, the ranks of other placements, also in the same run, a single one, and more.
    for (placed, of, run) in [
        (&[0, 1][..], 2, "two"),
        (&[1, 3], 4, "three"),
        (&[0, 2], 4, "three"),
        (&[2], 3, "four"),
        (&[2, 3, 0], 4, "five"),
    ] {
        ranks.iter_mut().for_each(|rank| rank.child.kill());
        ranks.clear();
        for rank in placed {
            // The earlier run counts until all ranks of the later one are there.
            assert!(ranks.is_empty() || observer.wait_newer(NOW).is_err());
            let local = placed.len() as u32;
            ranks.push(start_placed(&group, *rank, [of, local], run));
        }
        let version = observer.wait_newer(DEADLINE).unwrap();
        let found = BTreeSet::from_iter(version.members().map(|(rank, _)| rank));
        assert_eq!(found, BTreeSet::from_iter(placed.iter().copied()));
        assert_eq!(
            (version.run(), version.step(), version.ranks()),
            (run, 1, of)
        );
        assert_eq!(observer.members().len(), placed.len());
        assert_eq!(observer.steps().unwrap().common, [1]);
    }
    check(&before);
}

#[test]
fn ranks_that_return_to_an_earlier_step_begin_another_run() {
    let group = name("back");
    let mut ranks = start_all(&group, "one");
    (1..=5).for_each(|step| publish(&mut ranks, step));
    let mut observer = GroupObserver::attach(&group).unwrap();
    check(&observer.latest().unwrap());
    let back = |rank: &mut Puppet| {
        rank.ok("attr run two");
        rank.ok("publish 3");
    };
    back(&mut ranks[0]);
    match observer.wait_newer(NOW) {
        Err(GroupError::OtherRun { runs, .. }) => assert_eq!(runs, ["two", "one"]),
        other => panic!("{other:?}"),
    }
    // The others follow while the observer waits.
    let version = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| observer.wait_newer(DEADLINE));
        ranks[1..].iter_mut().for_each(back);
        waiting.join().unwrap().unwrap()
    });
    assert_eq!((version.step(), version.run()), (3, "two"));
    check(&version);
    assert_eq!(observer.latest().unwrap().step(), 3);
    // All ranks end, and had nothing newer.
    ranks.iter_mut().for_each(|rank| drop(rank.ok("close")));
    assert!(matches!(
        observer.wait_newer(NOW),
        Err(GroupError::EndOfStream { .. })
    ));
}

#[test]
fn observer_may_come_before_the_last_rank() {
    let group = name("early");
    let attach = || GroupObserver::attach(&group);
    assert!(matches!(attach(), Err(GroupError::NotFound { .. })));
    let mut ranks: Vec<Puppet> = (0..2).map(|r| start_rank(&group, r, "")).collect();
    let mut observer = attach().unwrap();
    assert!(matches!(
        observer.latest(),
        Err(GroupError::NotReady { .. })
    ));
    for rank in 2..RANKS {
        publish(&mut ranks, 1);
        match observer.wait_newer(NOW) {
            Err(GroupError::Absent { came, wanted, .. }) => {
                assert_eq!((came, wanted), (rank as usize, RANKS));
            }
            other => panic!("{other:?}"),
        }
        if rank + 1 < RANKS {
            ranks.push(start_rank(&group, rank, ""));
        }
    }
    // The last rank starts while the observer waits.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| observer.wait_newer(DEADLINE));
        ranks.push(start_rank(&group, RANKS - 1, ""));
        ranks[3].ok("publish 1");
        check(&waiting.join().unwrap().unwrap());
    });
    assert_eq!(observer.members().len(), RANKS as usize);
    ranks.iter_mut().for_each(|rank| rank.child.kill());
    match attach() {
        Err(GroupError::Attach(AttachError::Dead { name, .. })) => {
            assert_eq!(name, format!("{group}.0"));
        }
        other => panic!("{other:?}"),
    }
}
