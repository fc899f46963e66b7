//! Nodes that cannot take part in writing checkpoints.

use crate::world::{World, run_steps};
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
