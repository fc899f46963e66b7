//! The ranks of a run, which continue from the same step whatever happens between their looks.

use crate::node::run_steps;
use crate::world::World;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tcasm_checkpoint::job::{JobCheckpoint, JobError, Redundancy};
use tcasm_core::group::Member;

fn member(run: &str, rank: u32, ranks: u32) -> Member {
    Member {
        group: "heat".to_owned(),
        rank,
        ranks,
        local_ranks: ranks,
        run: run.to_owned(),
    }
}

/// Returns the step that a rank of this run continues from.
fn step_of(world: &World, run: &str, rank: u32) -> Result<Option<u64>, JobError> {
    let found = JobCheckpoint::find_together(&world.places(), &member(run, rank, world.ranks()));
    Ok(found?.map(|found| found.step()))
}

/// Returns the names of the files in the slow folder that say what a run continues from.
fn choices(world: &World) -> Vec<String> {
    let names = fs::read_dir(world.slow()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".continued")).collect()
}

/// Lets all files of [`choices`] look as if nobody had written to them for some hours.
fn age(world: &World, hours: u64) {
    let then = SystemTime::now() - Duration::from_secs(hours * 3600);
    for name in choices(world) {
        let file = File::options().append(true).open(world.slow().join(name));
        file.unwrap().set_modified(then).unwrap();
    }
}

/// Moves the file of a node away or back. Without redundancy, its step cannot be read meanwhile.
fn away(world: &World, step: u64) -> (PathBuf, PathBuf) {
    let file = world.local(1).join(format!("heat.node1_{step:08}.h5"));
    (file, world.root.join("away"))
}

/// Flips a bit of the full file of a node, which keeps its size.
fn damage(world: &World, node: usize, step: u64) {
    let file = format!("heat.node{node}_{step:08}.h5");
    let path = world.local(node).join(file);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn step_that_vanishes_after_it_was_chosen_is_an_error_for_the_other_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10, 20]);
    assert_eq!(step_of(&world, "a", 2).unwrap(), Some(20));
    let (file, away) = away(&world, 20);
    fs::rename(&file, &away).unwrap();
    let error = step_of(&world, "a", 0).unwrap_err();
    let JobError::NoneUsable { why, .. } = &error else {
        panic!("{error}")
    };
    assert!(matches!(why[..], [(20, _)]), "{error}");
    // The next start of the job chooses anew.
    for rank in 0..world.ranks() {
        assert_eq!(step_of(&world, "b", rank).unwrap(), Some(10));
    }
}

#[test]
fn newer_step_that_appears_after_the_choice_is_for_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    assert_eq!(step_of(&world, "a", 3).unwrap(), None);
    run_steps(&world, &[10]);
    assert_eq!(step_of(&world, "a", 0).unwrap(), None, "as all of this run");
    assert_eq!(step_of(&world, "b", 3).unwrap(), Some(10));
    run_steps(&world, &[20]);
    for rank in 0..3 {
        assert_eq!(step_of(&world, "b", rank).unwrap(), Some(10));
    }
    for rank in 0..4 {
        assert_eq!(step_of(&world, "c", rank).unwrap(), Some(20));
    }
}

#[test]
fn rank_of_a_killed_run_that_wakes_late_leaves_the_choice_of_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10]);
    assert_eq!(step_of(&world, "next", 0).unwrap(), Some(10));
    run_steps(&world, &[20]);
    // The run was killed before one of its ranks had chosen. This one was stopped, and wakes.
    assert_eq!(step_of(&world, "killed", 3).unwrap(), Some(20));
    for rank in 1..world.ranks() {
        assert_eq!(step_of(&world, "next", rank).unwrap(), Some(10));
    }
    // All ranks have continued, and none does so once more.
    assert_eq!(step_of(&world, "late", 3).unwrap(), Some(20));
    for rank in 0..world.ranks() {
        let error = step_of(&world, "next", rank).unwrap_err();
        assert!(matches!(error, JobError::OtherStart { .. }), "{error}");
    }
}

#[test]
fn choices_to_which_nobody_has_written_for_a_day_are_removed_by_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10]);
    step_of(&world, "a", 0).unwrap();
    let half = ".heat.0123456789abcdef.continued.tcasm-1-2.tmp";
    fs::write(world.slow().join(half), "half").unwrap();
    age(&world, 23);
    step_of(&world, "b", 0).unwrap();
    assert_eq!(choices(&world).len(), 3);
    age(&world, 25);
    // A rank that continues adds a line, so this choice is young again.
    step_of(&world, "b", 1).unwrap();
    step_of(&world, "c", 0).unwrap();
    assert_eq!(choices(&world).len(), 2, "{:?}", choices(&world));
    run_steps(&world, &[20]);
    assert_eq!(step_of(&world, "b", 2).unwrap(), Some(10));
    assert_eq!(step_of(&world, "c", 1).unwrap(), Some(10));
    assert_eq!(step_of(&world, "a", 1).unwrap(), Some(20), "it is gone");
}

#[test]
fn chosen_step_that_is_not_committed_any_more_is_not_taken_for_a_new_begin() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None).with(|s| s.keep = 1);
    run_steps(&world, &[10]);
    assert_eq!(step_of(&world, "a", 0).unwrap(), Some(10));
    run_steps(&world, &[20]);
    let error = step_of(&world, "a", 1).unwrap_err();
    assert!(
        matches!(error, JobError::StepGone { step: 10, .. }),
        "{error}"
    );
}

#[test]
fn start_with_the_name_of_an_earlier_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10]);
    for rank in 0..world.ranks() {
        step_of(&world, "", rank).unwrap();
    }
    run_steps(&world, &[20]);
    for rank in 0..world.ranks() {
        let error = step_of(&world, "", rank).unwrap_err().to_string();
        let told = format!("rank {rank} has already continued");
        assert!(
            error.contains(&told) && error.contains("TCASM_RUN"),
            "{error}"
        );
    }
    let other = member("", 0, world.ranks() + 1);
    let error = JobCheckpoint::find_together(&world.places(), &other).unwrap_err();
    assert!(error.to_string().contains("it is of 4 ranks"), "{error}");
    fs::rename(world.slow().join("heat.job"), world.root.join("away")).unwrap();
    let error = step_of(&world, "", 0).unwrap_err().to_string();
    assert!(error.contains("another manifest"), "{error}");
    fs::rename(world.root.join("away"), world.slow().join("heat.job")).unwrap();
    // A job of one rank has nobody to agree with.
    for _ in 0..2 {
        let alone = JobCheckpoint::find_together(&world.places(), &member("", 0, 1));
        assert_eq!(alone.unwrap().unwrap().step(), 20);
    }
}

/// Ends a thread also if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets all ranks of a run look at once. Returns what those found that got no error.
fn looks(world: &World, run: &str) -> Vec<Option<u64>> {
    std::thread::scope(|scope| {
        let look = |rank| scope.spawn(move || step_of(world, run, rank));
        let threads: Vec<_> = (0..world.ranks()).map(look).collect();
        let found = threads.into_iter().map(|thread| thread.join().unwrap());
        found.filter_map(Result::ok).collect()
    })
}

#[test]
fn all_ranks_that_look_at_the_same_time_get_the_newest_step() {
    let dir = tempfile::tempdir().unwrap();
    let mut world = World::new(dir.path(), 1, Redundancy::None);
    world.ranks_per_node = 8;
    run_steps(&world, &[10, 20]);
    for run in 0..40 {
        assert_eq!(looks(&world, &run.to_string()), [Some(20); 8], "run {run}");
    }
    assert_eq!(choices(&world).len(), 40, "no temporary file is left");
}

#[test]
fn ranks_that_look_at_the_same_time_get_the_same_while_a_file_comes_and_goes() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10, 20]);
    let (file, away) = away(&world, 20);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&file, &away).unwrap();
                std::thread::yield_now();
                fs::rename(&away, &file).unwrap();
                std::thread::yield_now();
            }
        });
        let _stop = Stop(&stop);
        for run in 0..40 {
            let run = run.to_string();
            let mut steps = looks(&world, &run);
            steps.dedup();
            assert!(steps.len() <= 1, "run {run}: {steps:?}");
        }
    });
}

#[test]
fn slow_folder_that_a_rank_cannot_write_to_is_an_error_that_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10]);
    step_of(&world, "a", 0).unwrap();
    let path = world.slow().join(choices(&world).remove(0));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = step_of(&world, "a", 1).unwrap_err();
    assert!(matches!(error, JobError::NotShared { .. }), "{error}");
    assert!(error.to_string().contains("restore_job_at"), "{error}");
    let found = JobCheckpoint::find_at("heat", &world.places(), 10).unwrap();
    world.check(&found);
}

#[test]
fn ranks_that_have_not_chosen_check_only_the_files_that_they_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::None);
    run_steps(&world, &[10]);
    assert_eq!(step_of(&world, "a", 0).unwrap(), Some(10));
    damage(&world, 1, 10);
    let member = member("a", 1, world.ranks());
    let found = JobCheckpoint::find_together(&world.places(), &member).unwrap();
    let found = found.unwrap();
    found.rank(1).unwrap();
    for _ in 0..2 {
        let error = found.rank(2).unwrap_err().to_string();
        assert!(error.contains("the file of node 1 is lost"), "{error}");
        assert!(error.contains("its hash is"), "{error}");
    }
    // A rank that chooses has checked all of them.
    let error = step_of(&world, "b", 0).unwrap_err();
    assert!(matches!(error, JobError::NoneUsable { .. }), "{error}");
}

#[test]
fn file_of_a_chosen_step_is_rebuilt_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 3, Redundancy::Xor);
    run_steps(&world, &[10]);
    let rebuilt = || fs::read_dir(world.root.join("spare")).unwrap().count();
    let file = world.local(1).join("heat.node1_00000010.h5");
    let bytes = fs::read(&file).unwrap();
    for is_lost in [false, true] {
        match is_lost {
            true => fs::remove_file(&file).unwrap(),
            false => damage(&world, 1, 10),
        }
        let found = JobCheckpoint::find_at("heat", &world.places(), 10).unwrap();
        found.rank(0).unwrap();
        assert_eq!(rebuilt(), 0);
        world.check(&found);
        assert_eq!(rebuilt(), 1);
        world.forget_rebuilt();
        fs::write(&file, &bytes).unwrap();
    }
    // Too much is lost for some ranks, and so for all.
    world.lose(0);
    world.lose(1);
    let error = JobCheckpoint::find_at("heat", &world.places(), 10).unwrap_err();
    assert!(matches!(error, JobError::NoneUsable { .. }), "{error}");
}

#[test]
fn damaged_file_that_a_chosen_increment_builds_on_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = World {
        increments: true,
        ..World::new(dir.path(), 3, Redundancy::Xor)
    };
    run_steps(&world, &[10, 20]);
    damage(&world, 1, 10);
    let found = JobCheckpoint::find_at("heat", &world.places(), 20).unwrap();
    world.check(&found);
    let bases = world.root.join("spare").join("heat.node1_00000010.h5");
    assert!(bases.exists(), "it was rebuilt");
}

#[test]
fn slow_tier_that_is_not_mounted_is_no_reason_to_begin_anew() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    assert_eq!(step_of(&world, "a", 0).unwrap(), None);
    run_steps(&world, &[10]);
    fs::rename(world.slow(), world.root.join("away")).unwrap();
    fs::create_dir(world.slow()).unwrap();
    for rank in [0, 3] {
        let error = step_of(&world, "b", rank).unwrap_err();
        assert!(matches!(error, JobError::NoManifest { .. }), "{error}");
        assert!(error.to_string().contains(".prepared"), "{error}");
    }
    fs::remove_dir(world.slow()).unwrap();
    fs::rename(world.root.join("away"), world.slow()).unwrap();
    assert_eq!(step_of(&world, "b", 0).unwrap(), Some(10));
}
