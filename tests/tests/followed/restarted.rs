//! The particles continue after a kill, from files and from memory, to the bits of a run that was
//! never killed. Their number differs from that at the beginning, and from file to file of a chain
//! of increments.

use crate::{start, text};
use std::fs;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_observer::Observer;
use tcasm_tests::child::{Child, DEADLINE, poll_until};
use tcasm_tests::name;
use tempfile::TempDir;

/// The number of atoms at the beginning.
const FIRST: u64 = 192;

/// Starts the particles, which publish every tenth step.
fn particles(name: &str, steps: u64, more: &[&str]) -> Child {
    let steps = steps.to_string();
    let args = ["--name", name, "--size", "4", "--every", "10", "--steps"];
    start("md", &[&args[..], &[steps.as_str()], more].concat())
}

/// Continues the run `name` for 500 steps from `step`, and compares it with a run that was never
/// killed. `more` are the folders of checkpoints.
fn assert_continues(name: &str, step: u64, more: &[&str]) {
    let dir = TempDir::new().expect("a new folder");
    let [continued, plain] = ["continued", "plain"].map(|file| dir.path().join(file));
    let args = [&["--dump", text(&continued)][..], more].concat();
    let mut second = particles(name, step + 500, &args);
    let from = second.hear_line("goes on from step ");
    assert!(from.starts_with(&format!("{step}, ")), "{from}");
    assert!(second.wait().success());
    undisturbed(step + 500, &plain);
    let [continued, plain] = [continued, plain].map(|file| fs::read(file).expect("a dump"));
    let records = records(&continued);
    assert_eq!((records.len(), records[0][0]), (50, step + 10));
    assert!(plain.ends_with(&continued), "the results differ");
    assert!(records.iter().any(|[_, n]| *n != FIRST), "{records:?}");
}

/// Runs the particles in ordinary memory from the beginning.
fn undisturbed(steps: u64, dump: &Path) {
    let steps = steps.to_string();
    let args = ["--size", "4", "--every", "10", "--steps", &steps];
    let mut plain = start("md_plain", &[&args[..], &["--dump", text(dump)]].concat());
    assert!(plain.wait().success());
}

/// Returns the step and the number of atoms of each record of a dump.
fn records(dump: &[u8]) -> Vec<[u64; 2]> {
    let (mut words, mut found) = (dump.as_chunks::<8>().0, Vec::new());
    while let [step, n, rest @ ..] = words {
        let [step, n] = [step, n].map(|word| u64::from_le_bytes(*word));
        found.push([step, n]);
        words = &rest[n as usize * (3 + 3 + 1 + 1) + 2..];
    }
    found
}

#[test]
fn killed_particles_continue_from_a_checkpoint_with_the_same_bits() {
    let (dir, name) = (TempDir::new().expect("a new folder"), name("md"));
    let folder = text(dir.path());
    let mut first = particles(&name, 100_000_000, &[folder]);
    first.hear_line("begins");
    let checkpoint = ["checkpoint", &name, "--fast", folder];
    let every = ["--every-seconds", "0.05"];
    let mut writer = start("tcasm", &[&checkpoint[..], &every].concat());
    writer.hear_line("wrote ");
    first.kill();
    assert_eq!(writer.wait().code(), Some(4), "the producer was lost");
    let newest = Checkpoint::restart_named(&[folder], &name, None).expect("a checkpoint");
    let step = newest.stamp().step;
    drop(newest);
    assert_continues(&name, step, &[folder]);
}

/// Returns the newest checkpoint in a folder, or that of a step.
fn stored(folder: &str, name: &str, step: Option<u64>) -> Option<Checkpoint> {
    Checkpoint::restart_named(&[folder], name, step).ok()
}

/// Returns the number of atoms in a checkpoint.
fn atoms(checkpoint: &Checkpoint) -> usize {
    let id = checkpoint.table().get("id").expect("atoms have ids");
    id.length()
}

#[test]
fn killed_particles_continue_from_an_increment_with_the_same_bits() {
    let (dir, name) = (TempDir::new().expect("a new folder"), name("md"));
    let folder = text(dir.path());
    let mut first = particles(&name, 100_000_000, &[folder]);
    first.hear_line("begins");
    let checkpoint = ["checkpoint", &name, "--fast", folder];
    let every = ["--every-seconds", "0.05", "--increments", "1000"];
    let mut writer = start("tcasm", &[&checkpoint[..], &every].concat());
    poll_until("an increment has another number of atoms", || {
        let newest = stored(folder, &name, None)?;
        let (full, count) = (newest.steps()[0], atoms(&newest));
        drop(newest);
        let full = stored(folder, &name, Some(full))?;
        (atoms(&full) != count).then_some(())
    });
    first.kill();
    assert_eq!(writer.wait().code(), Some(4), "the producer was lost");
    let newest = stored(folder, &name, None).expect("a checkpoint");
    let passed_over = newest.passed_over();
    assert!(passed_over.is_empty(), "{passed_over:?}");
    let file = text(newest.path());
    assert!(file.ends_with(".increment.h5"), "{file}");
    let step = newest.stamp().step;
    drop(newest);
    assert_continues(&name, step, &[folder]);
}

#[test]
fn killed_particles_continue_from_kept_memory_with_the_same_bits() {
    let name = name("md");
    let mut first = particles(&name, 100_000_000, &[]);
    first.hear_line("begins");
    let holder = start("tcasm", &["keep", &name]);
    holder.hear_line("attached to");
    let mut observer = Observer::attach(&name).expect("it runs");
    poll_until("atoms have come", || {
        let version = observer.wait_newer(DEADLINE).expect("a version");
        (version.step() >= 500).then_some(())
    });
    drop(observer);
    first.kill();
    holder.hear_line(&format!("{name} has died; held: "));
    let step = tcasm_restart::kept(&name).expect("it is held").step();
    assert_continues(&name, step, &[]);
}
