//! Hosts that do not reach each other's folders: files come by messages to where they are needed.

use crate::node::run_steps;
use crate::world::{COLUMNS, World};
use std::cell::Cell;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use tcasm_checkpoint::job::{
    Block, Channels, JobCheckpoint, JobError, Level, Messages, Places, Redundancy, channels,
};

const SCHEMES: [(Redundancy, usize); 4] = [
    (Redundancy::Partner, 3),
    (Redundancy::Xor, 2),
    (Redundancy::Xor, 4),
    (Redundancy::ReedSolomon, 5),
];

type Found = Result<Option<JobCheckpoint>, JobError>;

/// A process of the next run, on a host of its own.
struct Process {
    world: World,
    messages: Channels,
    /// The folder of its host, if it has one that was used before.
    local: Option<PathBuf>,
    /// The ranks that run on its host.
    ranks: Range<u32>,
}

impl Process {
    /// Returns its folder for files that it gets.
    fn spare(&self) -> PathBuf {
        let node = self.messages.node();
        self.world.root.join(format!("spare{node}"))
    }

    fn places(&self) -> Places {
        Places::new(self.world.slow(), self.local.as_slice()).rebuild_in(self.spare())
    }

    fn find(&mut self, needs: impl Fn(&Block) -> bool) -> Found {
        let places = self.places();
        JobCheckpoint::find_with(&mut self.messages, ("heat", None), &places, needs)
    }

    /// Finds a checkpoint of which it needs the blocks of its own ranks.
    fn find_own(&mut self) -> Found {
        self.find_own_in(&self.places())
    }

    /// The same in other folders.
    fn find_own_in(&mut self, places: &Places) -> Found {
        let ranks = self.ranks.clone();
        let needs = |block: &Block| ranks.contains(&block.rank);
        JobCheckpoint::find_with(&mut self.messages, ("heat", None), places, needs)
    }

    /// Compares all blocks of its ranks.
    fn check(&self, found: &JobCheckpoint) {
        for rank in self.ranks.clone() {
            let state = self.world.state(found.step(), rank);
            assert_eq!(found.rank(rank).unwrap().table, state.table);
            for (name, bytes) in &state.bytes {
                let mut read = vec![0; bytes.len()];
                found.read_block(rank, name, &mut read).unwrap();
                assert!(read == *bytes, "step {}, rank {rank}, {name}", found.step());
            }
        }
    }

    fn files_it_got(&self) -> usize {
        fs::read_dir(self.spare()).unwrap().count()
    }
}

/// Runs the processes of the next run: process `i` has the folder of node `folders[i]`, and an
/// equal part of the ranks.
fn run<R: Send + 'static>(
    world: &World,
    folders: &[Option<usize>],
    body: impl Fn(Process) -> R + Clone + Send + 'static,
) -> Vec<R> {
    let each = world.ranks() / folders.len() as u32;
    let ends = channels(folders.len()).into_iter().zip(folders);
    let threads: Vec<_> = ends
        .enumerate()
        .map(|(i, (messages, folder))| {
            let process = Process {
                world: world.clone(),
                messages,
                local: folder.map(|node| world.local(node)),
                ranks: i as u32 * each..(i as u32 + 1) * each,
            };
            let _ = fs::remove_dir_all(process.spare());
            fs::create_dir(process.spare()).unwrap();
            let body = body.clone();
            std::thread::spawn(move || body(process))
        })
        .collect();
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}

fn all(nodes: usize) -> Vec<Option<usize>> {
    (0..nodes).map(Some).collect()
}

/// Empties the folders of nodes whose bits are set. Returns them.
fn lose(world: &World, bits: usize) -> Vec<usize> {
    let lost: Vec<usize> = (0..world.nodes).filter(|n| bits >> n & 1 == 1).collect();
    lost.iter().for_each(|node| world.lose(*node));
    lost
}

#[test]
fn each_host_gets_the_blocks_of_its_ranks_after_all_losses_that_the_redundancy_promises() {
    for (redundancy, nodes) in SCHEMES {
        for bits in 0..1_usize << nodes {
            let dir = tempfile::tempdir().unwrap();
            let world = World::new(dir.path(), nodes, redundancy);
            run_steps(&world, &[10]);
            let lost = lose(&world, bits);
            let neighbours = |node: &usize| lost.contains(&((node + 1) % nodes));
            let survives = match redundancy {
                Redundancy::Partner => !lost.iter().any(neighbours),
                _ => lost.len() <= redundancy.losses(),
            };
            let gone = lost.clone();
            let done = run(&world, &all(nodes), move |mut process| {
                let found = process.find_own();
                if let Ok(Some(found)) = &found {
                    process.check(found);
                    let is_lost = gone.contains(&process.messages.node());
                    assert_eq!(process.files_it_got(), usize::from(is_lost));
                }
                found.map(|found| found.unwrap().step())
            });
            for found in done {
                match found {
                    Ok(step) => assert_eq!((step, survives), (10, true), "{redundancy:?} {lost:?}"),
                    Err(error) => {
                        assert!(!survives, "{redundancy:?} {lost:?}: {error}");
                        let text = error.to_string();
                        assert!(text.contains("too little is left of its set"), "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn file_of_another_host_is_an_error_that_names_it_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::None);
    run_steps(&world, &[10]);
    run(&world, &all(3), |mut process| {
        let found = process.find_own().unwrap().unwrap();
        assert_eq!(found.lowest_here(), Some(process.ranks.start));
        // The array is described by a block that is here.
        assert_eq!(
            found.global("u").unwrap().shape,
            [process.world.rows(), COLUMNS]
        );
        let other = (process.ranks.start + 2) % process.world.ranks();
        let error = found.rank(other).unwrap_err().to_string();
        let named = format!("the file of node {} is lost", other / 2);
        assert!(error.contains(&named), "{error}");
    });
}

#[test]
fn fewer_hosts_in_another_order_get_what_their_part_of_the_array_needs() {
    let dir = tempfile::tempdir().unwrap();
    let world = World {
        increments: true,
        ..World::new(dir.path(), 4, Redundancy::Xor)
    };
    run_steps(&world, &[10, 20, 30]);
    world.lose(1);
    // Another host, which has no folder of a node, is there too.
    let done = run(&world, &[Some(3), None, Some(0), Some(2)], |mut process| {
        // Three parts of 64 rows, for three of the hosts: not those that were written.
        let part = process.world.rows() / 3;
        let i = process.messages.node();
        let rows = i * part..((i + 1) * part).min(process.world.rows());
        let ranges = [rows.clone(), 0..COLUMNS];
        let found = process.find(|block| block.field == "u" && block.overlaps(&ranges));
        let found = found.unwrap().unwrap();
        let u = found.read::<f64>("u", &ranges).unwrap();
        for ((index, value), row) in u.indexed_iter().map(|it| (it, rows.clone())) {
            let expected = (process.world.u)(found.step(), row.start + index[0], index[1]);
            assert_eq!(*value, expected, "row {} of host {i}", row.start + index[0]);
        }
        found.step()
    });
    assert_eq!(done, [30; 4]);
}

#[test]
fn damaged_file_is_found_by_the_host_that_has_it_and_rebuilt_there() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    for file in ["heat.node2_00000010.h5", "heat.node2_00000010.parity"] {
        let path = world.local(2).join(file);
        let bytes = fs::read(&path).unwrap();
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        fs::write(&path, damaged).unwrap();
        let got = run(&world, &all(3), |mut process| {
            let found = process.find_own().unwrap().unwrap();
            process.check(&found);
            process.files_it_got()
        });
        let rebuilt = usize::from(file.ends_with("h5"));
        assert_eq!(got, [0, 0, rebuilt], "{file}");
        // With damaged parity, no other file can be rebuilt.
        let lost = fs::read(world.local(1).join("heat.node1_00000010.h5")).unwrap();
        fs::remove_file(world.local(1).join("heat.node1_00000010.h5")).unwrap();
        let failed = run(&world, &all(3), |mut process| process.find_own().is_err());
        assert_eq!(failed, [true; 3], "{file}");
        fs::write(world.local(1).join("heat.node1_00000010.h5"), lost).unwrap();
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn all_hosts_step_back_to_what_is_drained() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor).with(|settings| {
        (settings.drain_every, settings.keep, settings.keep_slow) = (2, 3, 1);
    });
    run_steps(&world, &[10, 20, 30]);
    lose(&world, 0b011);
    let done = run(&world, &all(3), |mut process| {
        let found = process.find_own().unwrap().unwrap();
        process.check(&found);
        let over: Vec<u64> = found.passed_over().iter().map(|(step, _)| *step).collect();
        (found.step(), found.level(), over)
    });
    for found in done {
        assert_eq!(found, (20, Level::Drained, vec![30]));
    }
}

#[test]
fn nothing_that_was_committed_is_none_on_all_hosts() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let done = run(&world, &all(2), |mut process| {
        process.find_own().unwrap().is_none()
    });
    assert_eq!(done, [true; 2]);
}

#[test]
fn manifest_is_read_by_the_first_process_alone() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    run_steps(&world, &[10]);
    let found = |away: usize| {
        run(&world, &all(2), move |mut process| {
            let node = process.messages.node();
            let mut places = process.places();
            if node == away {
                places.slow = process.world.root.join("node0/heat.node0_00000010.h5");
            }
            let found = process.find_own_in(&places);
            if let Ok(Some(found)) = &found {
                process.check(found);
            }
            found
                .map(|found| found.unwrap().step())
                .map_err(|error| error.to_string())
        })
    };
    assert_eq!(found(1), [Ok(10), Ok(10)]);
    let errors = found(0);
    for error in &errors {
        let error = error.as_ref().unwrap_err();
        assert!(error.contains("node0_00000010.h5"), "{error}");
    }
    let told = errors[1].as_ref().unwrap_err();
    assert!(
        told.contains("its manifest cannot be read: node 0: "),
        "{told}"
    );
}

#[test]
fn host_without_room_for_what_it_needs_is_an_error_on_all() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    world.lose(1);
    let done = run(&world, &all(3), |mut process| {
        if process.messages.node() == 1 {
            fs::remove_dir(process.spare()).unwrap();
        }
        process.find_own().map(|_| ()).unwrap_err().to_string()
    });
    for error in done {
        assert!(
            error.contains("node 1: ") && error.contains("spare1"),
            "{error}"
        );
    }
    let done = run(&world, &all(3), |mut process| {
        let places = Places {
            rebuild_in: None,
            ..process.places()
        };
        let found = process.find_own_in(&places);
        found.map(|_| ()).unwrap_err().to_string()
    });
    for error in done {
        assert!(error.contains("give one to rebuild files in"), "{error}");
    }
}

#[test]
fn other_ranks_of_a_host_open_the_step_with_the_files_that_came() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    world.lose(2);
    run(&world, &all(3), |mut process| {
        let step = process.find_own().unwrap().unwrap().step();
        let places = process.places().only_own();
        process.check(&JobCheckpoint::find_at("heat", &places, step).unwrap());
        let got = process.files_it_got();
        assert_eq!(got, usize::from(process.messages.node() == 2));
    });
}

#[test]
fn job_that_goes_on_meanwhile_is_looked_at_again() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor).with(|settings| settings.keep = 1);
    run_steps(&world, &[10]);
    let done = run(&world, &all(2), |mut process| {
        let (world, ranks) = (process.world.clone(), process.ranks.clone());
        let goes_on = Cell::new(process.messages.node() == 0);
        let found = process.find(|block| {
            if goes_on.replace(false) {
                // The files of the step that was read are removed.
                run_steps(&world, &[20]);
            }
            ranks.contains(&block.rank)
        });
        let found = found.unwrap().unwrap();
        process.check(&found);
        found.step()
    });
    assert_eq!(done, [20; 2]);
}

#[test]
fn slow_tier_that_is_not_mounted_is_noticed_by_any_host_that_has_files() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    run_steps(&world, &[10]);
    fs::rename(world.slow(), world.root.join("away")).unwrap();
    fs::create_dir(world.slow()).unwrap();
    let errors = run(&world, &[None, Some(1)], |mut process| {
        process.find_own().unwrap_err()
    });
    for error in errors {
        assert!(matches!(error, JobError::NoManifest { .. }), "{error}");
        assert!(error.to_string().contains("heat.node1.prepared"), "{error}");
    }
}

#[test]
fn increment_whose_base_is_in_another_folder_needs_a_folder_for_both() {
    let dir = tempfile::tempdir().unwrap();
    let world = World {
        increments: true,
        ..World::new(dir.path(), 2, Redundancy::Xor)
    };
    run_steps(&world, &[10, 20]);
    let base = "heat.node1_00000010.h5";
    fs::rename(world.local(1).join(base), world.slow().join(base)).unwrap();
    for has_folder in [true, false] {
        let done = run(&world, &all(2), move |mut process| {
            let mut places = process.places();
            places.rebuild_in = places.rebuild_in.filter(|_| has_folder);
            let found = process.find_own_in(&places);
            if let Ok(Some(found)) = &found {
                process.check(found);
            }
            found
                .map(|found| found.unwrap().step())
                .map_err(|error| error.to_string())
        });
        for found in done {
            match found {
                Ok(step) => assert_eq!((step, has_folder), (20, true)),
                Err(error) => {
                    assert!(
                        !has_folder && error.contains("in several folders"),
                        "{error}"
                    );
                }
            }
        }
    }
}
