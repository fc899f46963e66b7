//! Jobs that go on with fewer nodes, or with their hosts in another order, and the files that they
//! leave under the numbers of before.

use crate::node::run_steps;
use crate::world::World;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobCheckpoint, JobSettings, Places, Redundancy};

/// Keeps two checkpoints on each tier.
fn two(settings: &mut JobSettings) {
    (settings.drain_every, settings.keep, settings.keep_slow) = (1, 2, 2);
}

/// Returns the numbers of the nodes that have files in a folder.
fn nodes_in(dir: &Path) -> Vec<usize> {
    let names = fs::read_dir(dir).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let number = |name: String| {
        let rest = name.strip_prefix("heat.node")?;
        rest.split(['_', '.']).next()?.parse().ok()
    };
    let numbers: BTreeSet<usize> = names.filter_map(number).collect();
    numbers.into_iter().collect()
}

/// Returns the job on so many nodes: node `n` has the folder of host `hosts[n]`.
fn on_hosts(world: &World, hosts: &'static [usize]) -> World {
    let before = world.clone();
    let world = World {
        nodes: hosts.len(),
        ..world.clone()
    };
    world.with(move |settings| {
        let node = (0..hosts.len()).find(|node| before.local(*node) == settings.local);
        settings.local = before.local(hosts[node.unwrap()]);
    })
}

/// Checks the values of a step of a job. No file may have to be rebuilt.
fn check(world: &World, locals: &[PathBuf], step: u64) {
    let places = Places::new(world.slow(), locals);
    world.check(&JobCheckpoint::find("heat", &places, Some(step)).unwrap());
}

#[test]
fn files_of_nodes_that_the_job_has_no_more_go_when_their_step_does() {
    let dir = tempfile::tempdir().unwrap();
    let four = World::new(dir.path(), 4, Redundancy::Xor).with(two);
    let locals: Vec<PathBuf> = (0..4).map(|host| four.local(host)).collect();
    run_steps(&four, &[10]);
    assert_eq!(nodes_in(&four.slow()), [0, 1, 2, 3]);
    let half = ".heat.node3_00000010.h5.tcasm-1-2.tmp";
    for dir in [four.slow(), four.local(3)] {
        fs::write(dir.join(half), "half").unwrap();
    }
    // Host 2 is lost. The others get other numbers.
    let hosts = [1, 3, 0];
    let three = on_hosts(&four, &[1, 3, 0]);
    run_steps(&three, &[20]);
    check(&four, &locals, 10);
    check(&three, &locals, 20);
    assert!(
        four.slow().join(half).exists(),
        "somebody may be rebuilding"
    );
    run_steps(&three, &[30]);
    assert_eq!(three.steps(), [20, 30]);
    assert_eq!(nodes_in(&four.slow()), [0, 1, 2]);
    for (node, host) in hosts.into_iter().enumerate() {
        assert_eq!(nodes_in(&four.local(host)), [node], "host {host}");
    }
    for dir in [four.slow(), four.local(3)] {
        assert!(!dir.join(half).exists(), "{dir:?}");
    }
    [20, 30]
        .into_iter()
        .for_each(|step| check(&three, &locals, step));
}

#[test]
fn nodes_that_share_a_folder_lose_no_file_of_a_step_that_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let locals = [shared.clone()];
    let four = World::new(dir.path(), 4, Redundancy::Xor).with(two);
    let four = four.with(move |settings| {
        settings.drain_every = 0;
        settings.local = shared.clone();
    });
    run_steps(&four, &[10, 20, 30]);
    assert_eq!(four.steps(), [20, 30]);
    [20, 30]
        .into_iter()
        .for_each(|step| check(&four, &locals, step));
    let two = World {
        nodes: 2,
        ..four.clone()
    };
    run_steps(&two, &[40]);
    assert_eq!(two.steps(), [30, 40]);
    check(&four, &locals, 30);
    check(&two, &locals, 40);
    run_steps(&two, &[50]);
    assert_eq!(nodes_in(&locals[0]), [0, 1]);
    [40, 50]
        .into_iter()
        .for_each(|step| check(&two, &locals, step));
}

#[test]
fn files_of_another_manifest_stay_though_their_node_has_another_number() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(two);
    let world = world.with(|settings| settings.drain_every = 0);
    run_steps(&world, &[10]);
    let old = dir.path().join("old");
    fs::rename(world.slow(), &old).unwrap();
    fs::create_dir(world.slow()).unwrap();
    run_steps(&on_hosts(&world, &[1, 0]), &[20, 30, 40]);
    let places = Places::new(old, &[world.local(0), world.local(1)]);
    world.check(&JobCheckpoint::find("heat", &places, None).unwrap());
}
