//! The steps that nodes know to be committed: the same on all, whatever fails on one of them.

use crate::node::{Node, run};
use crate::world::World;
use std::fs;
use tcasm_checkpoint::job::{JobCheckpoint, Redundancy};

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
    let steps = world.steps();
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
        assert_eq!(node.world.steps(), [10]);
        assert!(node.step(12).unwrap());
    });
    assert_eq!(done, [Some(()); 2]);
    assert_eq!(world.steps(), [10, 12]);
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
