//! Increments and their parity.

use crate::node::{run, run_steps};
use crate::world::{COLUMNS, World};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tcasm_checkpoint::job::{JobSettings, Redundancy, committed};

/// A job of which only some rows of `u` change at each step.
fn sparse(world: World, changes: Vec<BTreeSet<usize>>) -> World {
    let u = move |step: u64, row: usize, column: usize| {
        let since = &changes[..(step / 10) as usize];
        let last = since
            .iter()
            .rposition(|rows| rows.contains(&row))
            .map_or(0, |i| i + 1);
        (last * 1_000_000 + row * 1000 + column) as f64
    };
    World {
        u: Arc::new(u),
        increments: true,
        ..world
    }
}

fn keep_all(settings: &mut JobSettings) {
    settings.keep = 100;
}

/// Returns the sizes of the parity of node 0 at each step.
fn parity_sizes(world: &World) -> Vec<u64> {
    let all = committed(&world.slow(), "heat").unwrap();
    let first = all.iter().map(|found| &found.commit.parts[0]);
    first
        .map(|part| part.parity.as_ref().unwrap().bytes)
        .collect()
}

#[test]
fn parity_of_increments_is_made_of_changed_pages_only() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor).with(keep_all);
    let world = World {
        ranks_per_node: 12,
        ..sparse(
            world,
            vec![
                BTreeSet::new(),
                BTreeSet::from([5, 20]),
                BTreeSet::from([1]),
            ],
        )
    };
    run_steps(&world, &[10, 20, 30]);
    let all = committed(&world.slow(), "heat").unwrap();
    let bases: Vec<_> = all.iter().map(|found| found.commit.parts[0].base).collect();
    assert_eq!(bases, [None, Some(10), Some(20)]);
    let sizes = parity_sizes(&world);
    let bytes = (12 * 10 * COLUMNS * 8) as u64;
    assert!(sizes[0] > bytes / 2, "{sizes:?}");
    assert!(
        sizes[1] < sizes[0] / 2 && sizes[2] < sizes[0] / 2,
        "{sizes:?}"
    );
    world.lose(1);
    let found = world.find().unwrap();
    assert_eq!(found.step(), 30);
    world.check(&found);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Rebuilding from the parity of a chain gives the same bytes as from parity from scratch.
    #[test]
    fn state_from_parity_of_increments_is_that_from_parity_from_scratch(
        changes in prop::collection::vec(prop::collection::btree_set(0..64_usize, 0..6), 2..6),
        scheme in 0..3_usize,
        lost in 0..4_usize,
        most_files in 2..5_usize,
    ) {
        let redundancy = [Redundancy::Partner, Redundancy::Xor, Redundancy::ReedSolomon][scheme];
        let steps: Vec<u64> = (1..=changes.len() as u64).map(|i| 10 * i).collect();
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let worlds = [true, false].map(|increments| {
            let dir = dirs[usize::from(increments)].path();
            let world = World::new(dir, 4, redundancy).with(keep_all);
            let world = world.with(move |settings| settings.most_files = most_files);
            World { increments, ..sparse(world, changes.clone()) }
        });
        let mut found = Vec::new();
        for world in &worlds {
            run_steps(world, &steps);
            let both = redundancy.losses() == 2;
            let lost = if both { vec![lost, (lost + 2) % 4] } else { vec![lost] };
            lost.into_iter().for_each(|node| world.lose(node));
            found.push(world.find().unwrap());
            prop_assert_eq!(found.last().unwrap().step(), *steps.last().unwrap());
            world.check(found.last().unwrap());
        }
        let all = committed(&worlds[0].slow(), "heat").unwrap();
        let longest = all.iter().filter(|found| found.commit.parts[0].base.is_some()).count();
        prop_assert!(longest > 0);
    }
}

#[test]
fn increments_build_only_on_what_was_committed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None).with(keep_all);
    let rows = |row| BTreeSet::from([row]);
    let world = sparse(world, vec![rows(0), rows(9), rows(17), rows(25)]);
    let done = run(&world, |node| {
        assert!(node.step(10).unwrap());
        // Node 1 cannot write step 20, but node 0 has prepared it.
        let folder = node.world.local(1);
        let away = node.world.root.join("away");
        if node.writer.node() == 1 {
            std::fs::rename(&folder, &away).unwrap();
        }
        assert!(node.step(20).is_err() || node.writer.node() == 0);
        if node.writer.node() == 1 {
            std::fs::rename(&away, &folder).unwrap();
        }
        assert!(node.step(30).unwrap());
        assert!(node.step(40).unwrap());
    });
    assert!(done.iter().all(Option::is_some));
    let all = committed(&world.slow(), "heat").unwrap();
    let steps: Vec<_> = all
        .iter()
        .map(|f| (f.commit.step, f.commit.parts[0].base))
        .collect();
    assert_eq!(steps, [(10, None), (30, Some(10)), (40, Some(30))]);
    world.check(&world.find().unwrap());
}

#[test]
fn retention_keeps_the_newest_and_all_that_they_build_on() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(|settings| {
        (settings.keep, settings.most_files) = (1, 3);
    });
    let world = sparse(world, vec![BTreeSet::from([3]); 8]);
    run_steps(&world, &[10, 20, 30, 40, 50]);
    let all = committed(&world.slow(), "heat").unwrap();
    let steps: Vec<u64> = all.iter().map(|found| found.commit.step).collect();
    assert_eq!(steps, [40, 50]);
    for node in 0..2 {
        let names = std::fs::read_dir(world.local(node)).unwrap();
        let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        assert_eq!(
            names,
            [
                format!("heat.node{node}.prepared"),
                format!("heat.node{node}_00000040.h5"),
                format!("heat.node{node}_00000040.parity"),
                format!("heat.node{node}_00000050.increment.h5"),
                format!("heat.node{node}_00000050.parity"),
            ]
        );
    }
    world.check(&world.find().unwrap());
}

/// The nodes would keep different steps otherwise.
#[test]
fn all_nodes_write_full_files_if_the_fields_of_one_have_changed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor).with(|settings| {
        (settings.keep, settings.drain_every) = (1, 3);
    });
    let world = World {
        more: Some((20, 2)), // a rank of node 1
        ..sparse(world, vec![BTreeSet::from([3]); 8])
    };
    let bases = || {
        let all = committed(&world.slow(), "heat").unwrap();
        let parts = all.iter().flat_map(|found| &found.commit.parts);
        parts.map(|part| (part.step, part.base)).collect::<Vec<_>>()
    };
    let done = run(&world, |node| {
        [10, 20].into_iter().all(|step| node.step(step).unwrap())
    });
    assert!(done.iter().all(|done| *done == Some(true)));
    assert_eq!(bases(), [(20, None); 3]);
    // Without its table in memory, no node writes an increment at first.
    run_steps(&world, &[30, 40]);
    let expected = [(30, None), (40, Some(30))];
    let expected: Vec<_> = expected.into_iter().flat_map(|one| [one; 3]).collect();
    assert_eq!(bases(), expected);
    world.check(&world.find().unwrap());
}
