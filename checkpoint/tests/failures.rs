//! Failures while writing keep older checkpoints, leave nothing behind, and say what to do.

mod common;

use common::{PLAIN, STAMP, Version, disk, field, mixed, names_in};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Contents, Options, Settings, Snapshot, WriteError,
};
use tcasm_core::field::DType;
use tcasm_core::format::stamp::Stamp;

/// The variable with the folder of a test that has started itself as a child process.
const CHILD_DIR: &str = "TCASM_TEST_CHILD_DIR";

fn child_of(test: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--include-ignored", "--nocapture"]);
    command.env(CHILD_DIR, dir).stdout(Stdio::null());
    command
}

fn child_dir() -> std::path::PathBuf {
    std::env::var_os(CHILD_DIR)
        .expect("run by another test")
        .into()
}

fn at(step: u64) -> Stamp {
    Stamp { step, ..STAMP }
}

fn big() -> Version {
    Version::of([field("big", DType::F64, &[64, 128, 128])])
}

/// Returns the targets in `dir` of the open descriptors of this process.
fn descriptors_into(dir: &Path) -> Vec<std::path::PathBuf> {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    // A checkpointer keeps these files open.
    let kept = [".run.tcasm-lock", "run.manifest"].map(|name| dir.join(name));
    targets
        .filter(|t| t.starts_with(dir) && !kept.contains(t))
        .collect()
}

/// Writes a small checkpoint, calls `full`, writes big ones that must fail, calls `roomy`, and
/// writes one that must succeed.
fn fill_up(dir: &Path, full: impl Fn(), roomy: impl Fn()) {
    for options in [PLAIN, Options::default()] {
        let small = mixed();
        let random = noise(8 << 20);
        let big = Version {
            table: big().table,
            bytes: [("big".to_owned(), random)].into(),
        };
        let mut checkpointer = Checkpointer::new(dir, "run", options).unwrap();
        checkpointer.write(&small.snapshot(at(1))).unwrap();
        let names = names_in(dir);
        full();
        for step in 2..5 {
            let error = checkpointer.write(&big.snapshot(at(step))).unwrap_err();
            assert!(matches!(error, WriteError::NoSpace { .. }), "{error:?}");
            assert_eq!(names_in(dir), names);
            assert_eq!(
                descriptors_into(dir),
                [] as [&Path; 0],
                "a failed write must free its space"
            );
        }
        assert_eq!(checkpointer.counters().failed, 3);
        assert!(checkpointer.counters().last_error.is_some());
        assert_eq!(Checkpoint::open(dir).unwrap().stamp(), at(1));
        Checkpoint::open(dir).unwrap().verify().unwrap();
        roomy();
        checkpointer.write(&small.snapshot(at(6))).unwrap();
        assert_eq!(Checkpoint::open(dir).unwrap().stamp(), at(6));
        assert_eq!(
            (
                checkpointer.counters().written,
                checkpointer.contents().items.len()
            ),
            (2, 2)
        );
        for name in names_in(dir) {
            fs::remove_file(dir.join(name)).unwrap();
        }
    }
}

fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn a_full_disk_costs_only_the_new_checkpoint() {
    // The second folder is more likely to take direct writes.
    for dir in [tempfile::tempdir().unwrap(), disk()] {
        let output = child_of("child_with_little_room", dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("HDF5"), "HDF5 prints its own errors: {said}");
    }
}

#[test]
fn a_disk_that_is_full_within_a_line_of_the_manifest_costs_only_that_line() {
    let dir = tempfile::tempdir().unwrap();
    let child = child_of("child_without_room_for_the_manifest", dir.path());
    let output = { child }.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Checks the same on a disk that is really full, where mounting is permitted. The test above runs
/// everywhere.
#[test]
fn a_full_file_system_costs_only_the_new_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
        .arg(dir.path());
    if mount
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
    {
        let _unmount = Unmount(dir.path());
        fill_up(dir.path(), || (), || ());
    }
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

/// Limits the size of files, which makes writes fail as a full disk does and needs no privilege.
#[test]
#[ignore = "run by a_full_disk_costs_only_the_new_checkpoint"]
fn child_with_little_room() {
    // SAFETY: ignoring a signal runs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    let limit =
        |n: u64| move || setrlimit(Resource::RLIMIT_FSIZE, n, nix::libc::RLIM_INFINITY).unwrap();
    fill_up(
        &child_dir(),
        limit(1 << 20),
        limit(nix::libc::RLIM_INFINITY),
    );
}

#[test]
#[ignore = "run by a_disk_that_is_full_within_a_line_of_the_manifest_costs_only_that_line"]
fn child_without_room_for_the_manifest() {
    // SAFETY: ignoring a signal runs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    let limit = |n: u64| setrlimit(Resource::RLIMIT_FSIZE, n, nix::libc::RLIM_INFINITY).unwrap();
    let version = Version::of([field("t", DType::U8, &[4])]);
    let mut checkpointer = Checkpointer::new(child_dir(), "run", PLAIN).unwrap();
    let manifest = child_dir().join("run.manifest");
    let size = || fs::metadata(&manifest).unwrap().len();
    let mut step = 0;
    // No other file may be as large as the manifest, because the limit holds for all files.
    while step == 0 || size() < 100_000 {
        step += 1;
        checkpointer.write(&version.snapshot(at(step))).unwrap();
        fs::remove_file(child_dir().join(format!("run_{step:08}.vtkhdf"))).unwrap();
    }
    let whole = size();
    limit(whole + 20);
    let error = checkpointer
        .write(&version.snapshot(at(step + 1)))
        .unwrap_err();
    assert!(matches!(error, WriteError::NoSpace { .. }), "{error:?}");
    assert_eq!(size(), whole, "the partial line must be removed");
    limit(nix::libc::RLIM_INFINITY);
    checkpointer.write(&version.snapshot(at(step + 2))).unwrap();
    let contents = Contents::read(&manifest).unwrap();
    let steps: Vec<u64> = contents.items.keys().copied().rev().take(2).collect();
    assert_eq!(
        steps,
        [step + 2, step + 1],
        "the next write must list the file whose line was lost"
    );
    assert_eq!(contents.damaged, [] as [usize; 0]);
}

#[test]
fn a_missing_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let error = Checkpointer::new(&missing, "run", PLAIN).unwrap_err();
    assert!(
        matches!(&error, WriteError::NoDirectory(d) if *d == missing),
        "{error}"
    );
    let error = tcasm_checkpoint::write(missing.join("a.vtkhdf"), &mixed().snapshot(STAMP), &PLAIN);
    let error = error.unwrap_err();
    assert!(
        matches!(&error, WriteError::NoDirectory(d) if *d == missing),
        "{error}"
    );
}

#[test]
fn a_directory_that_vanishes_fails_checkpoints_until_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let version = mixed();
    let mut checkpointer = Checkpointer::new(&inner, "run", PLAIN).unwrap();
    fs::rename(&inner, dir.path().join("away")).unwrap();
    let error = checkpointer.write(&version.snapshot(at(1))).unwrap_err();
    assert!(matches!(error, WriteError::NoDirectory(_)), "{error}");
    fs::rename(dir.path().join("away"), &inner).unwrap();
    checkpointer.write(&version.snapshot(at(2))).unwrap();
    let counters = checkpointer.counters();
    assert_eq!((counters.written, counters.failed), (1, 1));
    let error = Checkpointer::new(&inner, "run", PLAIN).unwrap_err();
    let hint = "the first checkpointer still has the lock";
    assert!(matches!(error, WriteError::Busy { .. }), "{hint}: {error}");
}

#[test]
fn unwritable_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let status = child_of("child_without_permission", dir.path())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "run by unwritable_directory_is_named"]
fn child_without_permission() {
    let dir = child_dir();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    if nix::unistd::geteuid().is_root() {
        nix::unistd::setuid(nix::unistd::Uid::from_raw(65534)).unwrap();
    }
    let error = Checkpointer::new(&dir, "run", PLAIN).unwrap_err();
    assert!(
        matches!(error, WriteError::NotPermitted { .. }),
        "{error:?}"
    );
    let error = tcasm_checkpoint::write(dir.join("a.vtkhdf"), &mixed().snapshot(STAMP), &PLAIN);
    let error = error.unwrap_err();
    assert!(
        matches!(error, WriteError::NotPermitted { .. }),
        "{error:?}"
    );
}

#[test]
fn a_snapshot_that_gives_too_few_bytes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut version = mixed();
    version.bytes.get_mut("complex").unwrap().pop();
    let error = tcasm_checkpoint::write(
        dir.path().join("a.vtkhdf"),
        &version.snapshot(STAMP),
        &PLAIN,
    );
    let error = error.unwrap_err();
    assert!(
        matches!(&error, WriteError::Bytes { field, .. } if field == "complex"),
        "{error}"
    );
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn a_table_that_could_not_be_read_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut version = Version::of([field("a", DType::F64, &[2])]);
    version.table.fields[0].name = "../a".to_owned();
    let error = tcasm_checkpoint::write(
        dir.path().join("a.vtkhdf"),
        &version.snapshot(STAMP),
        &PLAIN,
    );
    assert!(matches!(error.unwrap_err(), WriteError::Table(_)));
}

#[test]
fn one_checkpointer_writes_a_name_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = Checkpointer::new(dir.path(), "run", PLAIN).unwrap();
    let error = Checkpointer::new(dir.path(), "run", PLAIN).unwrap_err();
    assert!(matches!(error, WriteError::Busy { .. }), "{error}");
    Checkpointer::new(dir.path(), "other", PLAIN).unwrap();
    drop(first);
    Checkpointer::new(dir.path(), "run", PLAIN).unwrap();
    for name in ["", "a/b", ".a", "a b", "..", &"x".repeat(200)] {
        let error = Checkpointer::new(dir.path(), name, PLAIN).unwrap_err();
        assert!(matches!(error, WriteError::Name(_)), "{error}");
    }
}

/// Checks that no lock on a file outlives its writing. A program that starts while a file is
/// written inherits its descriptor.
#[test]
fn program_started_while_writing_does_not_keep_the_file_locked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vtkhdf");
    let version = Version::of([field("a", DType::F64, &[2]), field("b", DType::F64, &[2])]);
    let started = std::cell::RefCell::new(None);
    let snapshot = Snapshot::new("test", STAMP, &version.table, |field| {
        if field.name == "b" {
            let sleeping = Command::new("sleep").arg("600").spawn().unwrap();
            *started.borrow_mut() = Some(Killed(sleeping));
        }
        &version.bytes[&field.name]
    });
    tcasm_checkpoint::write(&path, &snapshot, &PLAIN).unwrap();
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.file_locking(true))
        .open_rw(&path)
        .unwrap();
    drop(file);
    assert!(started.borrow().is_some());
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn temporaries(dir: &Path) -> Vec<String> {
    let is = |n: &String| n.ends_with(".tmp") && n.contains("vtkhdf.tcasm-");
    names_in(dir).into_iter().filter(is).collect()
}

#[test]
fn kill_while_writing_keeps_the_last_checkpoint_and_the_next_start_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen_half_written = false;
    for round in 0..20 {
        let child = child_of("child_that_writes_until_killed", dir.path())
            .spawn()
            .unwrap();
        let mut child = Killed(child);
        let deadline = Instant::now() + Duration::from_secs(60);
        let first = dir.path().join("run_00000001.vtkhdf");
        while !first.exists() || temporaries(dir.path()).is_empty() {
            assert!(Instant::now() < deadline && child.0.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_millis(2 * round));
        kill(Pid::from_raw(child.0.id() as i32), Signal::SIGKILL).unwrap();
        child.0.wait().unwrap();

        let left = temporaries(dir.path());
        seen_half_written |= !left.is_empty();
        let newest = Checkpoint::open(dir.path()).unwrap();
        assert!(newest.passed_over().is_empty());
        newest.verify().unwrap();
        // Neither a file of another run nor one with a similar name may be removed.
        let foreign = [
            ".other_00000001.vtkhdf.tcasm-1-1.tmp",
            ".run_1.vtkhdf.tcasm-1-1.tmp",
            "notes.tmp",
        ];
        for name in foreign {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let checkpointer = Checkpointer::new(dir.path(), "run", PLAIN).unwrap();
        assert!(left.iter().all(|name| !dir.path().join(name).exists()));
        assert!(foreign.iter().all(|name| dir.path().join(name).exists()));
        for name in foreign {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        // The newest file may have been written but not listed when it was killed. It is listed
        // now.
        let contents = checkpointer.contents();
        let (_, last) = contents.items.last_key_value().unwrap();
        assert!(newest.path().ends_with(&last.entry.file));
        if seen_half_written && round >= 3 {
            return;
        }
    }
    panic!("no kill came in the middle of a file");
}

#[test]
#[ignore = "run by kill_while_writing_keeps_the_last_checkpoint_and_the_next_start_cleans_up"]
fn child_that_writes_until_killed() {
    let version = big();
    let options = Options {
        compression: Compression::Deflate(6),
        ..Options::default()
    };
    let mut checkpointer = Checkpointer::new(child_dir(), "run", options).unwrap();
    for step in 1.. {
        checkpointer.write(&version.snapshot(at(step))).unwrap();
    }
}

#[test]
fn list_keeps_existing_files_and_replaces_later_steps() {
    let dir = tempfile::tempdir().unwrap();
    let version = Version::of([field("t", DType::F64, &[4])]);
    let run = |steps: &[(u64, f64)]| {
        let settings = Settings {
            options: PLAIN,
            replace_later: true,
            ..Settings::new(dir.path())
        };
        let mut checkpointer = Checkpointer::open("run", settings).unwrap();
        for &(step, time) in steps {
            let stamp = Stamp {
                version: 1,
                step,
                time,
            };
            checkpointer.write(&version.snapshot(stamp)).unwrap();
        }
    };
    let listed = || -> Vec<(String, f64)> {
        let text = fs::read(dir.path().join("run.vtkhdf.series")).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(list["file-series-version"], "1.0");
        let entry = |f: &serde_json::Value| {
            (
                f["name"].as_str().unwrap().to_owned(),
                f["time"].as_f64().unwrap(),
            )
        };
        list["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(entry)
            .collect()
    };
    let expected = |entries: &[(u64, f64)]| -> Vec<(String, f64)> {
        entries
            .iter()
            .map(|(step, time)| (format!("run_{step:08}.vtkhdf"), *time))
            .collect()
    };
    run(&[(10, 1.0), (20, 2.0), (30, 3.0)]);
    assert_eq!(listed(), expected(&[(10, 1.0), (20, 2.0), (30, 3.0)]));
    fs::remove_file(dir.path().join("run_00000010.vtkhdf")).unwrap();
    run(&[(25, 2.5), (30, 3.5)]);
    assert_eq!(
        listed(),
        expected(&[(20, 2.0), (25, 2.5), (30, 3.5)]),
        "checkpoints after step 25 must be replaced"
    );
    // A damaged list is rebuilt from the files. JSON has no NaN, so the time is listed as the step.
    fs::write(dir.path().join("run.vtkhdf.series"), "{\"files\": [").unwrap();
    run(&[(40, f64::NAN)]);
    assert_eq!(
        listed(),
        expected(&[(20, 2.0), (25, 2.5), (30, 3.5), (40, 40.0)])
    );
}
