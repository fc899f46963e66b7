//! Nodes that cannot take part in writing checkpoints, and jobs that must not.

use crate::node::run_steps;
use crate::world::World;
use std::fs;
use tcasm_checkpoint::job::{JobError, JobWriter, Redundancy, channels};

/// Connects all nodes of a job, and returns the errors.
fn connect_all(world: &World) -> Vec<Option<JobError>> {
    let connect = |(node, messages)| {
        let settings = world.settings(node);
        let group = format!("host{node}");
        std::thread::spawn(move || JobWriter::connect(settings, &group, messages).err())
    };
    let threads: Vec<_> = channels(world.nodes)
        .into_iter()
        .enumerate()
        .map(connect)
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

#[test]
fn all_nodes_learn_which_node_cannot_take_part_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    let manifest = world.slow().join("heat.job");
    fs::create_dir(&manifest).unwrap();
    for (node, error) in connect_all(&world).into_iter().enumerate() {
        let error = error.unwrap().to_string();
        assert!(error.contains("heat.job"), "{error}");
        assert_eq!(error.contains("node 0: "), node != 0, "{error}");
    }
    fs::remove_dir(&manifest).unwrap();
    let (folder, away) = (world.local(2), world.root.join("away"));
    fs::rename(&folder, &away).unwrap();
    for (node, error) in connect_all(&world).into_iter().enumerate() {
        let error = error.unwrap();
        let of_another = matches!(error, JobError::NotConnected { .. });
        assert_eq!(of_another, node != 2, "{error}");
        let error = error.to_string();
        assert!(error.contains(folder.to_str().unwrap()), "{error}");
        assert_eq!(error.contains("node 2: "), node != 2, "{error}");
    }
    fs::rename(&away, &folder).unwrap();
    run_steps(&world, &[10]);
}

#[test]
fn folder_with_files_of_another_manifest_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 1, Redundancy::None);
    run_steps(&world, &[10]);
    fs::rename(world.slow(), world.root.join("old")).unwrap();
    fs::create_dir(world.slow()).unwrap();
    let messages = channels(1).remove(0);
    let error = JobWriter::connect(world.settings(0), "a", messages).unwrap_err();
    assert!(
        matches!(error, JobError::OtherManifest { node: 0, .. }),
        "{error}"
    );
    assert!(world.local(0).join("heat.node0_00000010.h5").exists());
}

#[test]
fn only_one_writer_at_a_time_has_the_folder_of_a_node() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 1, Redundancy::None);
    let connect = || JobWriter::connect(world.settings(0), "a", channels(1).remove(0));
    let first = connect().unwrap();
    assert!(
        connect()
            .unwrap_err()
            .to_string()
            .contains("another checkpointer")
    );
    drop(first);
    connect().unwrap();
}

#[test]
fn only_one_job_at_a_time_writes_a_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 1, Redundancy::None);
    run_steps(&world, &[10]);
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let connect = |local: std::path::PathBuf| {
        let mut settings = world.settings(0);
        settings.local = local;
        JobWriter::connect(settings, "a", channels(1).remove(0))
    };
    let first = connect(world.local(0)).unwrap();
    let error = connect(other.clone()).unwrap_err().to_string();
    assert!(
        error.contains("another checkpointer") && error.contains(world.slow().to_str().unwrap()),
        "{error}"
    );
    drop(first);
    connect(other).unwrap();
}

#[test]
fn nodes_that_fail_together_are_refused_by_all() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let threads: Vec<_> = channels(2)
        .into_iter()
        .enumerate()
        .map(|(node, messages)| {
            let settings = world.settings(node);
            std::thread::spawn(move || {
                JobWriter::connect(settings, "one rack", messages).unwrap_err()
            })
        })
        .collect();
    for thread in threads {
        let error = thread.join().unwrap();
        assert!(matches!(error, JobError::FewNodes { .. }), "{error}");
    }
}
