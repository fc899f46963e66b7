//! Lost nodes and damaged files.

use crate::node::{run, run_steps};
use crate::world::World;
use std::fs;
use std::path::PathBuf;
use tcasm_checkpoint::job::{JobCheckpoint, JobError, Level, Places, Redundancy};

const SCHEMES: [(Redundancy, usize); 4] = [
    (Redundancy::Partner, 3),
    (Redundancy::Xor, 2),
    (Redundancy::Xor, 4),
    (Redundancy::ReedSolomon, 5),
];

/// Copies the folders of all nodes, so that they can be lost again and again.
fn saved(world: &World) -> Vec<Vec<(PathBuf, Vec<u8>)>> {
    let files = |node| {
        let entries = fs::read_dir(world.local(node)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    };
    (0..world.nodes).map(files).collect()
}

fn put_back(files: &[Vec<(PathBuf, Vec<u8>)>]) {
    for (path, bytes) in files.iter().flatten() {
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn each_redundancy_survives_all_losses_that_it_promises_and_no_more() {
    for (redundancy, nodes) in SCHEMES {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(dir.path(), nodes, redundancy);
        run_steps(&world, &[10]);
        let files = saved(&world);
        for lost in 0..1_usize << nodes {
            world.forget_rebuilt();
            put_back(&files);
            let gone: Vec<usize> = (0..nodes).filter(|node| lost >> node & 1 == 1).collect();
            gone.iter().for_each(|node| world.lose(*node));
            let found = world.find();
            let neighbours = |node: &usize| gone.contains(&((node + 1) % nodes));
            let survives = match redundancy {
                Redundancy::Partner => !gone.iter().any(neighbours),
                _ => gone.len() <= redundancy.losses(),
            };
            match found {
                Ok(found) => {
                    assert!(survives, "{redundancy:?} {gone:?}");
                    world.check(&found);
                }
                Err(error) => {
                    assert!(!survives, "{redundancy:?} {gone:?}: {error}");
                    let text = error.to_string();
                    // With copies of single files, one may have been rebuilt before.
                    let parity = format!("the parity of nodes {gone:?}");
                    let told = match redundancy {
                        Redundancy::Partner => parity,
                        _ => format!("the files of nodes {gone:?} and {parity}"),
                    };
                    assert!(text.contains(&told), "{text}");
                    assert!(text.contains(redundancy.name()), "{text}");
                }
            }
        }
    }
}

#[test]
fn older_checkpoint_is_taken_if_too_much_of_the_newest_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 4, Redundancy::Xor).with(|settings| {
        (settings.drain_every, settings.keep, settings.keep_slow) = (2, 2, 1);
    });
    run_steps(&world, &[10, 20, 30]);
    assert_eq!(world.find().unwrap().step(), 30);
    assert_eq!(world.find().unwrap().level(), Level::Protected);
    [1, 2].into_iter().for_each(|node| world.lose(node));
    let found = world.find().unwrap();
    assert_eq!((found.step(), found.level()), (20, Level::Drained));
    assert_eq!(found.passed_over()[0].0, 30);
    world.check(&found);
    // The drained files need no node at all.
    [0, 3].into_iter().for_each(|node| world.lose(node));
    let none: [PathBuf; 0] = [];
    let found = JobCheckpoint::find("heat", &Places::new(world.slow(), &none), None).unwrap();
    world.check(&found);
    let error = JobCheckpoint::find("heat", &world.places(), Some(30)).unwrap_err();
    assert!(matches!(error, JobError::NoneUsable { .. }), "{error}");
}

#[test]
fn flipped_byte_in_any_file_is_found_by_its_hash() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    let files = saved(&world);
    let mut random = 7_usize;
    for (path, bytes) in files.iter().flatten() {
        if path
            .extension()
            .is_none_or(|end| end == "prepared" || end == "tcasm-lock")
        {
            continue;
        }
        let is_parity = path.extension().unwrap() == "parity";
        for _ in 0..10 {
            world.forget_rebuilt();
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (random >> 20) % bytes.len();
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << ((random >> 40) % 8);
            fs::write(path, damaged).unwrap();
            let found = world.find().unwrap();
            world.check(&found);
            let rebuilt = fs::read_dir(world.root.join("spare")).unwrap().count();
            assert_eq!(rebuilt, usize::from(!is_parity), "{path:?} byte {at}");
            // Nothing can be rebuilt without a folder for it.
            let places = Places {
                rebuild_in: None,
                ..world.places()
            };
            let plain = JobCheckpoint::find("heat", &places, None);
            match is_parity {
                true => world.check(&plain.unwrap()),
                false => {
                    let text = plain.unwrap_err().to_string();
                    assert!(text.contains("its hash is"), "{text}");
                }
            }
            fs::write(path, bytes).unwrap();
        }
    }
    // Damaged parity is not used: with a lost node beside it, there is no checkpoint.
    let parity = world.local(1).join("heat.node1_00000010.parity");
    let mut bytes = fs::read(&parity).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&parity, bytes).unwrap();
    world.forget_rebuilt();
    world.lose(0);
    let text = world.find().unwrap_err().to_string();
    assert!(
        text.contains("the files of nodes [0] and the parity of nodes [0, 1]"),
        "{text}"
    );
}

#[test]
fn without_redundancy_any_lost_node_is_one_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10, 20]);
    let found = world.find().unwrap();
    assert_eq!((found.step(), found.level()), (20, Level::Local));
    world.check(&found);
    world.lose(1);
    assert!(matches!(world.find(), Err(JobError::NoneUsable { .. })));
}

#[test]
fn nodes_rebuild_their_own_files_by_messages_and_go_on() {
    for (redundancy, nodes) in SCHEMES {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(dir.path(), nodes, redundancy);
        run_steps(&world, &[10]);
        let files = saved(&world);
        for lost in 0..1_usize << nodes {
            put_back(&files);
            let gone: Vec<usize> = (0..nodes).filter(|node| lost >> node & 1 == 1).collect();
            gone.iter().for_each(|node| world.lose(*node));
            let recovered = run(&world, |node| {
                node.writer.recover().map_err(|e| e.to_string())
            });
            let one_fits = gone.len() <= redundancy.losses();
            for recovered in recovered {
                match recovered.unwrap() {
                    Ok(step) => assert_eq!(step, Some(10)),
                    Err(error) => {
                        assert!(!one_fits, "{redundancy:?} {gone:?}: {error}");
                        assert!(error.contains("too little is left of its set"), "{error}");
                    }
                }
            }
            if one_fits {
                let plain = Places {
                    rebuild_in: None,
                    ..world.places()
                };
                world.check(&JobCheckpoint::find("heat", &plain, None).unwrap());
            }
        }
        put_back(&files);
        run_steps(&world, &[20]);
        assert_eq!(world.find().unwrap().step(), 20);
    }
}

#[test]
fn recovery_steps_back_to_what_is_on_the_slow_tier() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor).with(|s| s.drain_every = 2);
    let nothing = run(&world, |node| node.writer.recover().unwrap());
    assert_eq!(nothing, [Some(None); 3]);
    run_steps(&world, &[10, 20, 30]);
    [0, 1].into_iter().for_each(|node| world.lose(node));
    let found = run(&world, |node| {
        let step = node.writer.recover().unwrap();
        assert!(node.step(40).unwrap());
        step
    });
    assert_eq!(found, [Some(Some(20)); 3]);
    assert!(world.local(0).join("heat.node0_00000020.h5").exists());
    world.check(&world.find().unwrap());
}
