//! Requests of ranks and observers that are refused, and the errors that they get.

use super::*;
use tcasm_core::sys::mem::HUGE_PAGE;
use tcasm_observer::{GroupError, ObserveError};
use tcasm_tests::child::DEADLINE;
use tcasm_tests::name;
use tcasm_tests::puppet::number;
use tcasm_tests::ranks::{CAPACITY, HISTORY};

#[test]
fn ranks_that_do_not_agree_on_their_number_are_named() {
    let group = name("sizes");
    let mut ranks: Vec<Puppet> = (0..3).map(|r| start_rank(&group, r, "")).collect();
    publish(&mut ranks, 1);
    let mut observer = GroupObserver::attach(&group).unwrap();
    let mut other = start(&group);
    other.ok("take ranks 3");
    for (numbers, what, found) in [
        ("5 4", "ranks", [4, 5]),
        ("4 3", "ranks on this host", [4, 3]),
    ] {
        other.ok(&format!("create {group} 3 {numbers}"));
        other.ok("publish 1");
        match observer.latest() {
            Err(GroupError::Sizes {
                what: w,
                regions,
                found: f,
            }) => {
                assert_eq!((w, f), (what, found));
                assert_eq!(regions[1], format!("{group}.3"));
            }
            result => panic!("{result:?}"),
        }
        other.ok("close");
    }
}

#[test]
fn region_that_only_has_the_name_of_a_rank_is_told() {
    let group = name("others");
    let mut ranks: Vec<Puppet> = (0..3).map(|r| start_rank(&group, r, "")).collect();
    publish(&mut ranks, 1);
    let mut observer = GroupObserver::attach(&group).unwrap();
    let mut other = start(&group);
    other.ok(&format!("plain {group}.3"));
    let mut told = |attr: &str, value: &str, part: &str| {
        other.ok(&format!("attr {attr} {value}"));
        other.ok("publish 1");
        match observer.latest() {
            Err(GroupError::NotMember { region, why }) => {
                assert_eq!(region, format!("{group}.3"));
                assert!(why.contains(part), "{why}");
            }
            result => panic!("{result:?}"),
        }
    };
    told("group", "else", "\"rank\"");
    told("rank", "3", "\"ranks\"");
    told("ranks", "4", "\"local_ranks\"");
    told("local_ranks", "4", "\"run\"");
    told("run", "", "rank 3 of group \"else\"");
    told("rank", "2", "rank 2 of group \"else\"");
    told("group", &group, "rank 2 of group");
}

#[test]
fn what_a_rank_cannot_have_is_refused_with_the_reason() {
    let group = name("refused");
    let mut one = start_rank(&group, 1, "");
    let refused = |process: &mut Puppet, command: &str, part: &str| {
        let why = process.error(command);
        assert!(why.contains(part), "{command}: {why}");
    };
    refused(
        &mut one,
        "take ranks 4",
        "\"ranks\" has no part for rank 4: its ranks are 0 to 3",
    );
    refused(
        &mut one,
        "take ranks 1",
        "rank 1 in section \"ranks\" already",
    );
    refused(
        &mut one,
        "take progress 0",
        "\"progress\" is not for regions",
    );
    refused(&mut one, "take none 0", "no section \"none\"");
    refused(&mut one, "seal ranks", "\"ranks\" is for regions");
    refused(&mut one, "wait-sealed ranks", "\"ranks\" is for regions");
    one.ok("seal progress");
    let pid = one.child.pid();
    let mut two = start(&group);
    two.ok("take ranks 1");
    refused(
        &mut two,
        &format!("create {group} 1 4 4"),
        &format!("process {pid}"),
    );
    refused(
        &mut two,
        &format!("create {group} 4 4 4"),
        "rank 4 is not one of 4 ranks",
    );
    refused(
        &mut two,
        &format!("create {group} 0 4 5"),
        "5 ranks on this host",
    );
    // The part of the next rank is in the way of a larger region.
    two.ok("larger");
    refused(
        &mut two,
        &format!("create {group} 2 4 4"),
        "are taken by the mapping",
    );
}

#[test]
fn region_outlives_the_host_buffer_of_its_process() {
    let group = name("outlives");
    let (mut ranks, mut observer) = start_observed(&group, "", 1);
    ranks.iter_mut().for_each(|rank| drop(rank.ok("leave")));
    publish(&mut ranks, 2);
    check(&observer.wait_newer(DEADLINE).unwrap());
}

#[test]
fn part_that_cannot_be_unmapped_stays_reserved() {
    let mut rank = start(&name("full"));
    rank.ok("exhaust");
    let why = rank.error("take ranks 1");
    assert!(why.contains("no mappings left"), "{why}");
    rank.ok("relax");
    let answer = rank.ok("take ranks 1");
    assert_eq!(
        number(&answer, "bytes"),
        Some((CAPACITY + HUGE_PAGE) as u64)
    );
}

#[test]
fn rank_that_keeps_too_few_versions_is_told_by_the_newest_steps() {
    let group = name("apart");
    let (mut ranks, mut observer) = start_observed(&group, "", 1);
    for step in 2..HISTORY as u64 + 20 {
        ranks[1].ok(&format!("publish {step}"));
    }
    let why = observer.latest().unwrap_err().to_string();
    assert!(why.contains("0: 1, 1: 23, 2: 1, 3: 1"), "{why}");
    assert!(why.contains("Builder::history"), "{why}");
    // The lease has 64 pins. The group uses one of each rank for each version that is held.
    publish(&mut ranks, 30);
    let held: Vec<_> = (0..64).map(|_| observer.latest().unwrap()).collect();
    match observer.latest() {
        Err(GroupError::Member {
            rank: 0, source, ..
        }) => {
            assert!(matches!(*source, ObserveError::TooManyPins { pins: 64 }));
        }
        other => panic!("{other:?}"),
    }
    drop(held);
    check(&observer.latest().unwrap());
}
