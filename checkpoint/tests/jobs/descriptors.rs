//! The files that are open while a checkpoint is read.

use crate::node::run_steps;
use crate::world::{COLUMNS, World};
use std::fs;
use std::path::Path;
use tcasm_checkpoint::job::Redundancy;

/// Returns how many files below `root` this process has open.
fn open_below(root: &Path) -> usize {
    let entries = fs::read_dir("/proc/self/fd").unwrap();
    let links = entries.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    links.filter(|link| link.starts_with(root)).count()
}

fn world(dir: &Path, nodes: usize) -> World {
    let world = World::new(dir, nodes, Redundancy::None).with(|settings| settings.keep = 3);
    World {
        increments: true,
        ranks_per_node: 1,
        ..world
    }
}

#[test]
fn few_files_are_open_while_a_checkpoint_of_many_nodes_and_increments_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = world(dir.path(), 40);
    run_steps(&world, &[10, 20, 30]);
    let found = world.find().unwrap();
    let mut most = 0;
    for rank in 0..world.ranks() {
        let name = format!("heat.node{rank}_00000030.increment.h5");
        assert!(world.local(rank as usize).join(name).exists());
        let mut list = vec![0; 8 * (1 + rank as usize)];
        found.read_block(rank, "list", &mut list).unwrap();
        most = most.max(open_below(dir.path()));
    }
    assert!((3..=64 + 3).contains(&most), "{most} of 120 files are open");
    world.check(&found);
    let u = found
        .read::<f64>("u", &[0..world.rows(), 0..COLUMNS])
        .unwrap();
    assert_eq!(u[[world.rows() - 1, 7]], (world.u)(30, world.rows() - 1, 7));
    assert!(open_below(dir.path()) <= 64 + 3);
    drop(found);
    assert_eq!(open_below(dir.path()), 0);
}

#[test]
fn file_that_was_replaced_since_it_was_found_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = World {
        increments: false,
        ..world(dir.path(), 2)
    };
    run_steps(&world, &[10, 20]);
    let found = world.find().unwrap();
    // The job has returned to step 10 and comes to step 20 again.
    run_steps(&world, &[20]);
    let error = found.rank(1).unwrap_err().to_string();
    assert!(error.contains("heat.node1_00000020.h5"), "{error}");
    assert!(error.contains("replaced since"), "{error}");
    world.check(&world.find().unwrap());
}
