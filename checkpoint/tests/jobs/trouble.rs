//! Disks that fail, and settings that do not fit.

use crate::world::{Node, World, run, run_steps};
use std::fs;
use tcasm_checkpoint::job::{JobCheckpoint, JobError, JobWriter, Redundancy, channels, committed};

/// Returns the committed steps.
fn steps(world: &World) -> Vec<u64> {
    let steps = committed(&world.slow(), "heat").unwrap().into_iter();
    steps.map(|found| found.commit.step).collect()
}

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
        assert_eq!(steps(&world), [10, 30]);
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
    assert_eq!(steps(&world), [10, 30]);
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

/// Nodes that know different steps would do different things when the job returns to one.
#[test]
fn nodes_know_the_same_steps_although_one_cannot_remove_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(|settings| settings.keep = 1);
    let done = run(&world, |node| {
        assert!(node.step(10).unwrap());
        let file = node.world.local(1).join("heat.node1_00000010.h5");
        let own = node.writer.node() == 1;
        if own {
            // A folder cannot be removed like a file.
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
        }
        let removed = node.step(20).map_err(|error| error.to_string());
        assert_eq!(removed.is_err(), own, "{removed:?}");
        if own {
            assert!(removed.unwrap_err().contains("heat.node1_00000010.h5"));
            fs::remove_dir(&file).unwrap();
        }
        node.step(10).unwrap()
    });
    assert_eq!(done, [Some(true); 2]);
    let found = world.find().unwrap();
    assert_eq!(found.step(), 10);
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
fn committed_step_that_no_round_has_shown_is_known_when_the_next_one_is_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let done = run(&world, |node| {
        node.prepare(10).unwrap();
        // The next run comes to the same step. There is no other one, so its files must stay.
        let error = node.prepare(10).unwrap_err().to_string();
        assert!(error.contains("it is committed already"), "{error}");
        assert!(node.step(20).unwrap());
    });
    assert_eq!(done, [Some(()); 2]);
    let steps = steps(&world);
    assert_eq!(steps, [10, 20]);
    for step in steps {
        world.check(&JobCheckpoint::find("heat", &world.places(), Some(step)).unwrap());
    }
}

#[test]
fn return_to_an_earlier_step_forgets_a_commit_that_no_round_has_shown() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let done = run(&world, |node| {
        assert!(node.step(10).unwrap());
        node.prepare(20).unwrap();
        node.writer.continue_from(10).unwrap();
        assert_eq!(steps(&node.world), [10]);
        assert!(node.step(12).unwrap());
    });
    assert_eq!(done, [Some(()); 2]);
    assert_eq!(steps(&world), [10, 12]);
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

#[test]
fn nodes_know_the_same_steps_although_a_return_is_not_entered_into_the_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor).with(|settings| settings.keep = 3);
    let done = run(&world, |node| {
        assert!(
            [10, 20, 30]
                .into_iter()
                .all(|step| node.step(step).unwrap())
        );
        let known = |node: &Node| format!("{:?} {:?}", node.writer, node.writer.base());
        let before = known(node);
        let (manifest, away) = (node.world.manifest(), node.world.root.join("away"));
        let copy = node.world.root.join("copy");
        if node.writer.node() == 0 {
            fs::copy(&manifest, &copy).unwrap();
            fs::rename(&manifest, &away).unwrap();
            fs::rename(&copy, &manifest).unwrap();
        }
        let error = node.writer.continue_from(10).unwrap_err().to_string();
        assert_eq!(known(node), before, "{error}");
        if node.writer.node() == 0 {
            fs::rename(&away, &manifest).unwrap();
        }
        node.writer.continue_from(10).unwrap();
        (error, known(node).contains("[10]"), node.step(20).unwrap())
    });
    for done in done {
        let (error, forgotten, committed) = done.unwrap();
        assert!(
            error.contains("step 10") && error.contains("heat.job"),
            "{error}"
        );
        assert!(forgotten && committed);
    }
    let found = world.find().unwrap();
    assert_eq!(found.step(), 20);
    world.check(&found);
}
