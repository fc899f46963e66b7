//! Writes, syncs, renames and closes of each kind of file fail, or the process is killed before
//! them. Either the failure is reported, or the written files are right. By default a few
//! operations of each kind on each kind of file are tried; `make soak` tries all.
//!
//! A small library (`faults.c`) is preloaded into a child process that runs this program. It counts
//! the operations below a folder and makes one of them fail. A first run without a failure shows
//! how many operations there are, and of which kinds.
//!
//! `full.rs` does without the library: it uses a file system that is really full, and SIGKILL.

#[path = "../common/mod.rs"]
mod common;

mod check;
mod full;
mod scenario;

use common::{disk, takes_direct_writes};
use scenario::{Report, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// The ways in which an operation fails: see `faults.c`.
const WAYS: [&str; 5] = ["once", "short", "full", "kill", "refuse"];

/// Builds the library.
fn library(dir: &Path) -> PathBuf {
    let library = dir.join("faults.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lost_writes/faults.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .status();
    assert!(built.unwrap().success(), "a C compiler is needed");
    library
}

/// A run of a scenario in a process of its own.
struct Run {
    dir: TempDir,
}

impl Run {
    fn new(scenario: Scenario, library: &Path, at: usize, how: &str) -> Run {
        Run::of("child", scenario, library, (at, how))
    }

    /// Runs the test `child` of this program.
    fn of(child: &str, scenario: Scenario, library: &Path, (at, how): (usize, &str)) -> Run {
        let dir = match scenario {
            Scenario::Direct => disk(),
            _ => tempfile::tempdir().unwrap(),
        };
        let files = dir.path().join("files");
        std::fs::create_dir(&files).unwrap();
        let run = Run { dir };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", child, "--ignored", "--test-threads", "1"])
            .env("LD_PRELOAD", library)
            .env("TCASM_FAULT_DIR", &files)
            .env("TCASM_FAULT_AT", at.to_string())
            .env("TCASM_FAULT_HOW", how)
            .env("TCASM_FAULT_LOG", run.log())
            .env(scenario::NAME, scenario.name())
            .env(scenario::FILES, &files)
            .env(scenario::REPORT, run.report_file())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = command.status().unwrap();
        let may_die = how == "kill" && at != 0;
        assert!(status.success() || may_die, "{scenario:?} {how} at {at}");
        run
    }

    fn files(&self) -> PathBuf {
        self.dir.path().join("files")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn report_file(&self) -> PathBuf {
        self.dir.path().join("report")
    }

    /// Returns the operations as `kind file`, without what differs from run to run.
    fn operations(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.log()).unwrap();
        let folder = self.files();
        let operation = |line: &str| {
            let (_, operation) = line.split_once(' ').unwrap();
            operation.replace(folder.to_str().unwrap(), "")
        };
        log.lines().map(operation).collect()
    }
}

/// The operations that are made to fail.
#[derive(Clone, Copy)]
enum Choice {
    All,
    /// The first and the last of each kind, on each kind of file.
    Some,
}

/// Fails the chosen operations of `scenario` in each way. Returns the errors that the checks found.
fn try_out(scenario: Scenario, choice: Choice) -> Vec<String> {
    let tools = tempfile::tempdir().unwrap();
    let library = library(tools.path());
    let undisturbed = Run::new(scenario, &library, 0, "once");
    let report = Report::read(&undisturbed.report_file());
    assert_eq!(report.failures(), 0, "{report:?}");
    check::all(scenario, &undisturbed.files(), &report).unwrap();
    let operations = undisturbed.operations();
    covers_all_kinds(scenario, &operations);
    if scenario == Scenario::Direct {
        let is_direct = operations.iter().any(|o| o.starts_with("direct"));
        assert_eq!(is_direct, takes_direct_writes(undisturbed.dir.path()));
    }
    let chosen = match choice {
        Choice::All => (1..=operations.len()).collect(),
        Choice::Some => some(&operations),
    };
    let cases: Vec<_> = chosen
        .into_iter()
        .flat_map(|at| WAYS.map(|how| (at, how)))
        .filter(|(at, how)| is_apt(how, &operations[at - 1]))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some((at, how)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = Run::new(scenario, &library, *at, how);
            let report = Report::read(&run.report_file());
            let checked = check::all(scenario, &run.files(), &report);
            let checked = checked.and_then(|()| match *how == "refuse" && report.failures() != 0 {
                true => Err(format!("a refusal is no failure: {report:?}")),
                false => Ok(()),
            });
            if let Err(why) = checked {
                let last = run.operations().get(at - 1).cloned();
                let last = last.unwrap_or_default();
                wrong.push(format!("{scenario:?}, {how} at {at} ({last}): {why}"));
            }
        }
        wrong
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Returns the numbers, from 1, of a few operations of each kind on each kind of file.
fn some(operations: &[String]) -> BTreeSet<usize> {
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, operation) in (1..).zip(operations) {
        // Files that only differ in steps or in numbers of files and processes are of one kind.
        let kind = operation.replace(|c: char| c.is_ascii_digit(), "");
        kinds.entry(kind).or_default().push(number);
    }
    let few = |numbers: &Vec<usize>| [numbers[0], numbers[numbers.len() - 1]];
    kinds.values().flat_map(few).collect()
}

/// Returns true if the operation can fail in this way. Only writes can be short or find no space,
/// and only those past the page cache can be refused.
fn is_apt(how: &str, operation: &str) -> bool {
    let is = |kind: &&str| operation.starts_with(kind);
    match how {
        "short" | "full" => ["write", "pwrite", "direct", "truncate"].iter().any(is),
        "refuse" => is(&"direct"),
        _ => true,
    }
}

/// Checks that the library sees the operations of libhdf5 and of the standard library. Otherwise
/// the test would try nothing.
fn covers_all_kinds(scenario: Scenario, operations: &[String]) {
    let kinds: BTreeSet<&str> = operations
        .iter()
        .filter_map(|operation| operation.split(' ').next())
        .collect();
    for kind in ["write", "pwrite", "truncate", "sync", "rename", "close"] {
        let unused = kind == "write" && !scenario.has_manifest();
        assert!(unused || kinds.contains(kind), "{kind}: {operations:#?}");
    }
}

fn assert_reported_or_right(scenario: Scenario, choice: Choice) {
    let wrong = try_out(scenario, choice);
    assert!(
        wrong.is_empty(),
        "{} failed:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn lost_writes_of_single_files_are_reported() {
    assert_reported_or_right(Scenario::Single, Choice::All);
}

#[test]
fn lost_writes_of_checkpoints_and_increments_are_reported() {
    assert_reported_or_right(Scenario::Chain, Choice::Some);
}

#[test]
fn lost_writes_of_compressed_openpmd_files_are_reported() {
    assert_reported_or_right(Scenario::OpenPmd, Choice::Some);
}

#[test]
fn lost_writes_of_copies_to_the_slow_tier_are_reported() {
    assert_reported_or_right(Scenario::Drained, Choice::Some);
}

#[test]
fn lost_writes_of_compacted_chains_are_reported() {
    assert_reported_or_right(Scenario::Compacted, Choice::Some);
}

#[test]
fn lost_writes_of_time_series_are_reported() {
    assert_reported_or_right(Scenario::Series, Choice::Some);
}

#[test]
fn lost_writes_past_the_page_cache_are_reported() {
    assert_reported_or_right(Scenario::Direct, Choice::Some);
}

#[test]
fn lost_writes_of_checkpoints_of_jobs_are_reported() {
    assert_reported_or_right(Scenario::Job, Choice::Some);
}

#[test]
fn lost_writes_of_manifests_that_are_replaced_are_reported() {
    assert_reported_or_right(Scenario::LongJob, Choice::Some);
}

#[test]
#[ignore = "takes minutes; run by `make soak`"]
fn each_lost_write_of_each_file_is_reported() {
    for scenario in scenario::ALL {
        assert_reported_or_right(scenario, Choice::All);
    }
}

/// Otherwise a crash could leave the line without the file, and nothing of the older file that it
/// has replaced.
#[test]
fn name_of_a_file_is_on_the_disk_before_it_is_entered() {
    let tools = tempfile::tempdir().unwrap();
    let library = library(tools.path());
    let run = Run::of("enters", Scenario::Chain, &library, (0, "once"));
    let operations = run.operations();
    let again = operations.iter().position(|o| o == "write /again").unwrap();
    let opening = &operations[again..];
    let first = |operation| opening.iter().position(|o| o == operation);
    let (synced, entered) = (first("sync "), first("write /run.manifest"));
    assert!(synced.is_some() && synced < entered, "{opening:#?}");
}

#[test]
#[ignore = "run by another test"]
fn enters() {
    scenario::enter_what_is_not_listed();
}

#[test]
#[ignore = "run by the other tests"]
fn child() {
    scenario::run();
}
