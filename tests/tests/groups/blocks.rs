//! Fields that are no blocks of one global array, and what else is refused of such arrays.

use super::*;
use ndarray::ArrayD;
use std::ops::Range;
use tcasm_observer::GlobalArrayError;
use tcasm_tests::name;
use tcasm_tests::ranks::block_value;

const BLOCK: &str = env!("CARGO_BIN_EXE_block");

/// Starts four ranks and publishes step 1. Besides a good array `good` of 4 rows they have fields
/// that are local (`local`), or fit together in all but one respect.
fn start_blocks(group: &str) -> Vec<Puppet> {
    let start = |rank: u32| {
        let mut process = Puppet::start(BLOCK, runtime_dir());
        process.ok(&format!("create {group} {rank} 4 4"));
        let n = rank + 1;
        let global = if rank < 3 { "8" } else { "none" };
        for field in [
            format!("good C 1 1,1,0,0 3,6 4,6 {rank},0"),
            format!("local C 1 0,0,1,0 {n},3 none none"),
            format!("odd C {n} 0,0 2 8 0"),
            format!("shape C 1 0,0 2 {} 0", 8 + n / 4),
            format!("half C 1 0,0 2 {global} {rank}"),
        ] {
            process.ok(&format!("field {field}"));
        }
        process.ok("publish 1");
        process
    };
    (0..4).map(start).collect()
}

fn version_of(group: &str) -> GroupVersion {
    GroupObserver::attach(group).unwrap().latest().unwrap()
}

#[test]
fn fields_that_give_no_global_array_are_told() {
    let group = name("differ");
    let _ranks = start_blocks(&group);
    let version = version_of(&group);
    for (field, part) in [
        ("none", "\"good\", \"half\", \"local\""),
        ("local", "of rank 0 is no block"),
        ("half", "of rank 3 is no block"),
        ("odd", "components in rank 1 than in rank 0: 2 and 1"),
        ("shape", "rank 3 than in rank 0: [9] and [8]"),
    ] {
        let why = version.global(field).unwrap_err().to_string();
        assert!(why.contains(part), "{field}: {why}");
    }
}

#[test]
fn only_values_of_the_array_can_be_read() {
    let group = name("beyond");
    let _ranks = start_blocks(&group);
    let version = version_of(&group);
    let good = version.global("good").unwrap();
    let refused = good.array::<f64>();
    assert!(matches!(refused, Err(GlobalArrayError::Array(_))));
    let view = good.view::<u64>().unwrap();
    for (at, len) in [(0, 200), (185, 8), (184, 7), (u64::MAX - 7, 16)] {
        match view.read_bytes(at, &mut vec![0; len]) {
            Err(GlobalArrayError::Bytes { bytes, size, .. }) => assert_eq!((bytes, size), (192, 8)),
            other => panic!("{other:?}"),
        }
    }
    let backwards = Range { start: 3, end: 2 };
    for ranges in [&[0..4, 0..6, 0..1][..], &[0..5, 0..6], &[backwards, 0..6]] {
        let read = good.read::<u64>(ranges);
        assert!(matches!(read, Err(GlobalArrayError::Range { .. })));
    }
}

#[test]
fn local_fields_are_one_behind_the_other_without_their_ghosts() {
    let group = name("local");
    let _ranks = start_blocks(&group);
    let version = version_of(&group);
    let all = version.concatenated("local").unwrap();
    let rows = (0..4u32).flat_map(|rank| (0..=rank as usize).map(move |row| (rank, row)));
    let of_row = |(rank, row)| (0..2).map(move |i| block_value(rank, 1, row * 2 + i, 0));
    let expected = ArrayD::from_shape_vec(vec![10, 2], rows.flat_map(of_row).collect());
    assert_eq!(all.array::<u64>().unwrap(), expected.unwrap());
}

#[test]
fn block_outside_its_global_array_is_refused_by_the_rank() {
    let mut process = Puppet::start(BLOCK, runtime_dir());
    process.ok(&format!("create {} 0 1 1", name("outside")));
    for (field, part) in [
        (
            "u C 1 0,0 4 8 5",
            "shape [4], which at offset [5] is not inside",
        ),
        (
            "u C 1 0,0,0,0 4,4 8 0",
            "the global shape [8] does not have",
        ),
        (
            "u C 3 0,0 4 8,3 0,0",
            "the global shape [8, 3] does not have",
        ),
        ("u C 1 0,0 4 8 -", "the offset [] does not have one number"),
    ] {
        let why = process.error(&format!("field {field}"));
        assert!(why.contains(part), "{field}: {why}");
    }
    process.ok("field u C 1 1,0 5 8 4");
}
