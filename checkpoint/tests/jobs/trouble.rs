//! Disks that fail, and memory that is lost.

use crate::node::{run, run_steps};
use crate::world::World;
use std::fs;
use tcasm_checkpoint::job::{JobError, Redundancy};

#[test]
fn step_that_a_node_cannot_write_is_not_committed_and_the_next_one_is() {
    for bad in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(dir.path(), 3, Redundancy::Xor);
        let errors = run(&world, move |node| {
            assert!(node.step(10).unwrap());
            let (folder, away) = (node.world.local(bad), node.world.root.join("away"));
            let own = node.writer.node() == bad;
            if own {
                fs::rename(&folder, &away).unwrap();
            }
            let error = node.step(20).err().map(|error| error.to_string());
            if own {
                fs::rename(&away, &folder).unwrap();
            }
            assert!(node.step(30).unwrap());
            error
        });
        let of_commit = errors[0].clone().unwrap().unwrap();
        let told = format!("step 20 is not committed: node {bad}: the directory");
        // The others of the set have no parity, and say why.
        assert!(
            of_commit.contains(&told) || of_commit.contains(&format!("node {bad}")),
            "{of_commit}"
        );
        assert_eq!(world.steps(), [10, 30]);
        // Nothing is left of step 20 once a later one is committed.
        for node in 0..3 {
            for entry in fs::read_dir(world.local(node)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(!name.contains("00000020"), "{name}");
            }
        }
        world.check(&world.find().unwrap());
    }
}

#[test]
fn step_with_a_lost_field_is_not_committed_and_the_error_names_the_field() {
    let dir = tempfile::tempdir().unwrap();
    let mut world = World::new(dir.path(), 2, Redundancy::Xor);
    world.lost = Some(20);
    let errors = run(&world, |node| {
        assert!(node.step(10).unwrap());
        let error = node.step(20).err().map(|error| error.to_string());
        assert!(node.step(30).unwrap());
        error
    });
    let error = errors[0].clone().unwrap().unwrap();
    assert!(error.contains("list") && error.contains("lost"), "{error}");
    assert_eq!(world.steps(), [10, 30]);
    world.check(&world.find().unwrap());
}

#[test]
fn slow_tier_that_is_away_takes_no_commit_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(|s| s.drain_every = 1);
    run(&world, |node| {
        assert!(node.step(10).unwrap());
        let (slow, away) = (node.world.slow(), node.world.root.join("away"));
        if node.writer.node() == 0 {
            fs::rename(&slow, &away).unwrap();
        }
        // The manifest is still open, so the step is committed. The copies fail.
        let error = node.step(20).unwrap_err();
        assert!(
            matches!(error, JobError::NotDrained { step: 20, .. }),
            "{error}"
        );
        if node.writer.node() == 0 {
            fs::rename(&away, &slow).unwrap();
        }
    });
    let found = world.find().unwrap();
    assert_eq!(found.step(), 20);
    world.check(&found);
}

#[test]
fn manifest_that_one_node_cannot_read_is_an_error_on_all() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    // Node 1 reaches the slow folder by a link of its own.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(world.slow(), &link).unwrap();
    let own = world.local(1);
    let path = link.clone();
    let world = world.with(move |settings| {
        if settings.local == own {
            settings.slow = path.clone();
        }
    });
    let done = run(&world, move |node| {
        if node.writer.node() == 1 {
            fs::remove_file(&link).unwrap();
        }
        let errors = [node.writer.rebuild(), node.writer.recover().map(drop)];
        let errors = errors.map(|done| done.unwrap_err().to_string());
        if node.writer.node() == 1 {
            std::os::unix::fs::symlink(node.world.slow(), &link).unwrap();
        }
        assert!(node.step(20).unwrap());
        errors
    });
    for errors in done {
        for error in errors.unwrap() {
            assert!(
                error.contains("node 1: ") && error.contains("link"),
                "{error}"
            );
        }
    }
    world.check(&world.find().unwrap());
}

#[test]
fn file_that_one_node_cannot_get_back_is_an_error_on_all() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None).with(|s| s.drain_every = 1);
    run_steps(&world, &[10]);
    fs::remove_file(world.local(1).join("heat.node1_00000010.h5")).unwrap();
    let errors = run(&world, |node| {
        let (folder, away) = (node.world.local(1), node.world.root.join("away"));
        if node.writer.node() == 1 {
            fs::rename(&folder, &away).unwrap();
        }
        let error = node.writer.rebuild().unwrap_err().to_string();
        if node.writer.node() == 1 {
            fs::rename(&away, &folder).unwrap();
        }
        node.writer.rebuild().unwrap();
        assert!(node.step(20).unwrap());
        error
    });
    for error in errors {
        assert!(error.unwrap().contains("node 1: "));
    }
}

/// Nodes that do not continue from the same step would do different things afterwards.
#[test]
fn node_that_does_not_get_its_files_back_is_an_error_on_all() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10, 20]);
    let done = run(&world, |node| {
        let list = node.world.local(1).join("heat.node1.prepared");
        let own = node.writer.node() == 1;
        if own {
            // A folder cannot be replaced by a file.
            fs::remove_file(&list).unwrap();
            fs::create_dir(&list).unwrap();
        }
        let errors = [node.writer.rebuild(), node.writer.recover().map(drop)];
        let errors = errors.map(|done| done.map_err(|error| error.to_string()));
        if own {
            fs::remove_dir(&list).unwrap();
        }
        let again = node.writer.recover().unwrap();
        (errors, again, node.step(30).unwrap())
    });
    for done in done {
        let (errors, again, committed) = done.unwrap();
        for error in errors {
            let error = error.unwrap_err();
            assert!(
                error.contains("node 1: ") && error.contains("prepared"),
                "{error}"
            );
        }
        assert_eq!((again, committed), (Some(20), true));
    }
    world.check(&world.find().unwrap());
}
