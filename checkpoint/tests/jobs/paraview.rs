//! VTK reads the files for ParaView.

use crate::node::run_steps;
use crate::world::{COLUMNS, ROWS, World};
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_checkpoint::job::{Redundancy, committed};

/// Returns a Python with VTK. Without one these tests fail, because nothing else shows that VTK can
/// read the files.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh"))
        .status()
        .unwrap();
    assert!(
        made.success(),
        "ci/python-env.sh made no Python environment"
    );
    root.join("target/venv/bin/python")
}

fn read(world: &World, step: u64, kind: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs/paraview.py");
    let numbers = [step as usize, world.ranks() as usize, ROWS, COLUMNS].map(|n| n.to_string());
    let output = Command::new(python())
        .arg("-B") // writes no compiled scripts among the sources
        .arg(script)
        .arg(world.slow().join(format!("heat_{step:08}.job.vtkhdf")))
        .arg(kind)
        .args(numbers)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let more = if world.meshes {
        on_meshes(world.ranks() as usize)
    } else {
        0
    };
    let right = format!("{} values are right", world.rows() * COLUMNS + more);
    assert!(output.status.success() && text.contains(&right), "{text}");
}

/// Returns the number of values of the fields on the meshes of all ranks.
fn on_meshes(ranks: usize) -> usize {
    let of_rank = |n: usize| {
        let (solid, shell) = (n + 3 + 2 * (n + 1), if n == 1 { 0 } else { 5 });
        let (gas, boxed) = (2 * n * (1 + n % 2), 6);
        solid + shell + gas + boxed
    };
    (0..ranks).map(of_rank).sum()
}

fn drained(world: World) -> World {
    let world = world.with(|settings| settings.drain_every = 1);
    run_steps(&world, &[10]);
    world
}

#[test]
fn vtk_reads_global_arrays_as_one_image() {
    let dir = tempfile::tempdir().unwrap();
    read(
        &drained(World::new(dir.path(), 3, Redundancy::Xor)),
        10,
        "image",
    );
}

#[test]
fn vtk_reads_ranks_with_their_own_grids_as_a_collection() {
    let dir = tempfile::tempdir().unwrap();
    let mut world = World::new(dir.path(), 2, Redundancy::Xor);
    (world.global, world.vector) = (false, false);
    read(&drained(world), 10, "collection");
}

#[test]
fn vtk_reads_meshes_and_particles_with_a_part_for_each_rank() {
    let both = [(true, "meshes"), (false, "meshes-and-grids")];
    // The only rank of the last job has no particles.
    for (nodes, ranks_per_node, (global, kind)) in
        [(2, 2, both[0]), (2, 2, both[1]), (1, 1, both[1])]
    {
        let dir = tempfile::tempdir().unwrap();
        let redundancy = if nodes == 1 {
            Redundancy::None
        } else {
            Redundancy::Xor
        };
        let mut world = World::new(dir.path(), nodes, redundancy);
        world.ranks_per_node = ranks_per_node;
        (world.meshes, world.global, world.vector) = (true, global, false);
        read(&drained(world), 10, kind);
    }
}

#[test]
fn vtk_reads_a_drained_step_of_a_job_that_writes_increments() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let world = world.with(|settings| settings.drain_every = 2);
    let world = World {
        increments: true,
        ..world
    };
    run_steps(&world, &[10, 20, 30]);
    let all = committed(&world.slow(), "heat").unwrap();
    let bases = all.iter().map(|found| found.commit.parts[0].base);
    assert_eq!(bases.collect::<Vec<_>>(), [None, Some(20)]);
    read(&world, 20, "image");
}

#[test]
fn file_for_paraview_exists_only_for_complete_steps_and_goes_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let world = world.with(|settings| (settings.drain_every, settings.keep_slow) = (2, 1));
    let shown = |world: &World| {
        let names = std::fs::read_dir(world.slow()).unwrap();
        let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.ends_with("vtkhdf"))
            .collect::<Vec<_>>()
    };
    run_steps(&world, &[10]);
    assert!(shown(&world).is_empty());
    run_steps(&world, &[20, 30]);
    assert_eq!(shown(&world), ["heat_00000020.job.vtkhdf"]);
    run_steps(&world, &[40]);
    assert_eq!(shown(&world), ["heat_00000040.job.vtkhdf"]);
}
