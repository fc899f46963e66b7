//! Tests that run the programs with meshes of their own: they compute the same bits in a region and
//! in ordinary memory, and their sources differ in few lines.

use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Runs a program, and returns the file of its `--dump` as numbers of eight bytes.
fn dump(program: &str, args: &[&str]) -> Vec<u64> {
    let dir = TempDir::new().expect("a new folder");
    let file = dir.path().join("dump");
    let mut command = Command::new(program);
    command.args(args).arg("--dump").arg(&file);
    command.env("TCASM_RUNTIME_DIR", dir.path());
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let lines = String::from_utf8(output.stdout).expect("text");
    assert!(lines.lines().any(|l| l.starts_with("step ")), "{lines}");
    let bytes = std::fs::read(file).expect("the program has written it");
    let (words, rest) = bytes.as_chunks::<8>();
    assert_eq!(rest, [0; 0], "only numbers of eight bytes");
    words.iter().map(|w| u64::from_le_bytes(*w)).collect()
}

/// Returns the step and the size of each record. `words` is the number of words of a record with
/// these first ones.
fn records(dump: &[u64], words: fn(&[u64]) -> u64) -> Vec<[u64; 2]> {
    let (mut rest, mut found) = (dump, Vec::new());
    while !rest.is_empty() {
        found.push([rest[0], rest[1]]);
        rest = &rest[words(rest) as usize..];
    }
    found
}

/// Checks that there is a record of every 50th step, and that sizes differ.
fn assert_changing(records: &[[u64; 2]]) {
    let steps: Vec<u64> = records.iter().map(|[step, _]| *step).collect();
    assert_eq!(steps, [50, 100, 150, 200, 250, 300, 320]);
    let first = records[0][1];
    assert!(records.iter().any(|[_, n]| *n != first), "{records:?}");
}

const STEPS: [&str; 6] = ["--size", "4", "--steps", "320", "--every", "50"];

#[test]
fn atoms_have_the_same_bits_in_a_region_and_in_ordinary_memory() {
    let plain = dump(env!("CARGO_BIN_EXE_md_plain"), &STEPS);
    let words = |first: &[u64]| 2 + first[1] * (3 + 3 + 1 + 1) + 2;
    assert_changing(&records(&plain, words));
    let observed = dump(env!("CARGO_BIN_EXE_md"), &STEPS);
    assert!(plain == observed, "the results differ");
}

#[test]
fn heat_has_the_same_bits_in_a_region_and_in_ordinary_memory() {
    let args = [&STEPS[..], &["--refine-every", "120"]].concat();
    let plain = dump(env!("CARGO_BIN_EXE_fem_plain"), &args);
    let words = |first: &[u64]| 3 + first[1] * (3 + 1) + first[2] * (3 + 3);
    assert_changing(&records(&plain, words));
    let observed = dump(env!("CARGO_BIN_EXE_fem"), &args);
    assert!(plain == observed, "the results differ");
}

/// Returns how many lines of the program's source differ between memory and a region.
fn different_lines(name: &str) -> usize {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [plain, observed] =
        [format!("{name}_plain"), name.to_owned()].map(|name| examples.join(name).join("main.rs"));
    let diff = Command::new("diff").arg(plain).arg(observed).output();
    let diff = String::from_utf8(diff.expect("diff starts").stdout).expect("text");
    diff.lines().filter(|l| l.starts_with(['<', '>'])).count()
}

#[test]
fn simulations_in_a_region_differ_by_few_lines() {
    // The first continues runs, too.
    for (name, most) in [("md", 80), ("fem", 40)] {
        let lines = different_lines(name);
        assert!((1..=most).contains(&lines), "{name}: {lines} lines differ");
    }
}

#[test]
fn file_that_cannot_be_created_is_named() {
    for program in [
        env!("CARGO_BIN_EXE_md_plain"),
        env!("CARGO_BIN_EXE_fem_plain"),
    ] {
        let mut command = Command::new(program);
        let output = command.args(["--dump", "/nowhere/dump"]).output();
        let output = output.expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains("/nowhere/dump"));
    }
}
