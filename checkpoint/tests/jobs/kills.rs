//! Deaths at each step of a checkpoint, of one node or of the whole job.

use crate::node::run;
use crate::world::World;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tcasm_checkpoint::job::Redundancy;
use tcasm_core::testing::fault::JOB_POINTS;
use tempfile::TempDir;

const ROOT: &str = "TCASM_JOB_ROOT";
const STEPS: [u64; 5] = [10, 20, 30, 40, 50];
/// The step at which the child begins, if it is not the first one.
const FIRST: &str = "TCASM_JOB_FIRST_STEP";

fn world(root: &Path) -> World {
    World::new(root, 4, Redundancy::Xor).with(|settings| {
        (settings.drain_every, settings.keep, settings.keep_slow) = (2, 1, 1);
        settings.set_size = 2;
    })
}

/// Runs a job in a process that is going to be killed. Prints each step that a node knows to be
/// committed.
#[test]
#[ignore = "a part of other tests"]
fn child() {
    let Ok(root) = std::env::var(ROOT) else {
        return;
    };
    let world = world(Path::new(&root));
    let first = std::env::var(FIRST).map_or(0, |text| text.parse().unwrap());
    run(&world, move |node| {
        for step in STEPS.into_iter().filter(|step| *step >= first) {
            let before = node.writer.base();
            let committed = node.step(step);
            // A node that was told of the commit before another died has it too.
            if matches!(committed, Ok(true)) || node.writer.base() != before {
                say(step);
            }
            // Without all others, a node can do nothing more.
            if !matches!(committed, Ok(true)) {
                return;
            }
        }
    });
}

fn say(step: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "committed {step}").unwrap();
}

/// Runs a child with a fault. Returns the newest step that was known to be committed, and whether
/// the process was killed.
fn run_child(root: &Path, first: u64, fault: &str) -> (Option<u64>, bool) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child", "--ignored", "--nocapture"])
        .env(ROOT, root)
        .env("TCASM_FAULT", fault)
        .env(FIRST, first.to_string())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let steps = text
        .lines()
        .filter_map(|line| line.split("committed ").nth(1)?.parse().ok());
    (steps.max(), output.status.signal() == Some(9))
}

/// Checks what is offered after a death, and that the next start goes on from there.
fn check(world: &World, known: Option<u64>, fault: &str) -> Option<u64> {
    let offered = match world.find() {
        Ok(found) => {
            world.check(&found);
            assert!(
                found.passed_over().is_empty(),
                "{fault}: {:?}",
                found.passed_over()
            );
            Some(found.step())
        }
        Err(error) => {
            assert!(known.is_none(), "{fault}: {known:?}, {error}");
            None
        }
    };
    assert!(
        offered >= known,
        "{fault}: {offered:?} is offered, {known:?} was committed"
    );
    // At most the step in progress can be newer.
    let next = STEPS.into_iter().find(|step| Some(*step) > known);
    assert!(
        offered == known || offered == next,
        "{fault}: {offered:?} {known:?}"
    );
    offered
}

/// Runs a job in `dir` that dies, and the next one. Returns the newest step that a node of the
/// first one knew to be committed.
fn after_death(dir: &TempDir, mode: &str, point: &str, count: usize) -> Option<u64> {
    let fault = format!("{mode}{point}:{count}");
    let (known, killed) = run_child(dir.path(), 0, &fault);
    let world = world(dir.path());
    assert!(
        !mode.is_empty() || killed || known == STEPS.last().copied(),
        "{fault}"
    );
    let offered = check(&world, known, &fault);
    // A whole node is lost besides, unless all was over.
    world.lose(count % 4);
    world.forget_rebuilt();
    let found = world.find().ok().map(|found| {
        world.check(&found);
        found.step()
    });
    assert_eq!(found, offered, "{fault}");
    // The next start writes the next step, and removes what was left half-written.
    let next = offered.map_or(10, |step| step + 10);
    let done = run(&world, move |node| node.step(next).unwrap());
    assert!(done.iter().all(|done| *done == Some(true)), "{fault}");
    let found = world.find().unwrap();
    assert_eq!(found.step(), next);
    world.check(&found);
    for dir in (0..world.nodes)
        .map(|node| world.local(node))
        .chain([world.slow()])
    {
        for entry in std::fs::read_dir(dir).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".tmp"), "{fault}: {name}");
        }
    }
    known
}

#[test]
fn job_that_is_killed_at_any_step_keeps_what_was_committed_and_offers_nothing_else() {
    for (i, point) in JOB_POINTS.iter().enumerate() {
        for count in [1 + i % 4, 6 + i % 3] {
            after_death(&tempfile::tempdir().unwrap(), "", point, count);
        }
    }
}

#[test]
fn node_that_dies_at_any_step_leaves_what_was_committed_to_the_others() {
    for (i, point) in JOB_POINTS.iter().enumerate() {
        for count in [1 + (i + 2) % 4, 5 + i % 4] {
            after_death(&tempfile::tempdir().unwrap(), "panic@", point, count);
        }
    }
}

#[test]
fn job_that_dies_while_it_replaces_the_manifest_has_the_old_one_or_the_new_one() {
    for point in ["job-rewritten", "job-replaced"] {
        for mode in ["", "panic@"] {
            let dir = tempfile::tempdir().unwrap();
            let world = world(dir.path());
            world.lengthen_manifest();
            let known = after_death(&dir, mode, point, 1);
            // The first commit comes before it, so no later one is known.
            assert!(known <= Some(STEPS[0]), "{mode}{point}: {known:?}");
            let length = std::fs::metadata(world.manifest()).unwrap().len();
            assert!(length < 1 << 20, "{mode}{point}: {length} bytes");
        }
    }
}

/// The job was at step 50, and continues from step 40. So it comes to step 50 again, whose files
/// are there.
#[test]
fn job_that_has_returned_and_is_killed_offers_only_what_can_be_read() {
    for point in JOB_POINTS {
        for (mode, count) in [("", 2), ("panic@", 3)] {
            let dir = tempfile::tempdir().unwrap();
            let world = world(dir.path()).with(|settings| settings.keep = 3);
            let done = run(&world, |node| {
                STEPS.into_iter().all(|step| node.step(step).unwrap())
            });
            assert!(done.iter().all(|done| *done == Some(true)));
            let fault = format!("{mode}{point}:{count}");
            run_child(dir.path(), 50, &fault);
            let found = world.find().unwrap();
            assert!(
                found.passed_over().is_empty(),
                "{fault}: {:?}",
                found.passed_over()
            );
            assert!(found.step() >= 40, "{fault}: {}", found.step());
            world.check(&found);
        }
    }
}
