//! `export --follow`.

use crate::checkpoint::attached;
use crate::common::{Background, Run, Victim, bad, command, line, name, publish, tcasm, until};
use nix::sys::signal::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tcasm_checkpoint::Checkpoint;
use tcasm_observer::Observer;
use tcasm_producer::Field;

/// A Python that has VTK and h5py. Without one these tests fail: nothing else tells whether others can read us.
fn python(script: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.unwrap().success(), "ci/python-env.sh made no Python");
    let mut python = Command::new(root.join("target/venv/bin/python"));
    python
        .arg("-B")
        .arg(root.join("cli/tests/cli").join(script));
    python
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    python
}

/// Start a run, and wait until it is attached.
fn start(name: &str, file: &Path, args: &[&str]) -> Background {
    let all = [&["export", name, file.to_str().unwrap(), "--follow"], args].concat();
    let run = Background::start(&all);
    attached(name, run.pid());
    run
}

/// The steps of a series, and the first value of the field `t` in each.
fn read(file: &Path) -> Vec<(u64, f64)> {
    let file = hdf5::File::open(file).unwrap();
    let steps: Vec<u64> = file.dataset("tcasm/step").unwrap().read_raw().unwrap();
    let dataset = file.dataset("VTKHDF/PointData/t").unwrap();
    let values: Vec<f64> = dataset.read_raw().unwrap();
    let each = values.len() / steps.len();
    let rows = values.chunks(each).map(|row| {
        assert!(row.iter().all(|v| *v == row[0]), "{row:?}");
        row[0]
    });
    steps.into_iter().zip(rows).collect()
}

/// What [`read`] is to return for these steps.
fn of(steps: &[u64]) -> Vec<(u64, f64)> {
    steps.iter().map(|step| (*step, *step as f64)).collect()
}

/// How many versions a series has.
fn versions(file: &Path) -> usize {
    let file = hdf5::File::open(file).unwrap();
    file.dataset("tcasm/step").unwrap().size()
}

fn has(file: &Path, step: u64) -> bool {
    file.exists() && read(file).last().unwrap().0 == step
}

fn in_dir() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.vtkhdf");
    (dir, file)
}

#[test]
fn every_version_is_appended_until_the_simulation_ends() {
    let (_dir, file) = in_dir();
    let name = name("follow");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    for n in 1..=5 {
        publish(&mut p, t, n * 10);
        until("it is appended", || has(&file, n * 10));
        let steps: Vec<u64> = (1..=n).map(|n| n * 10).collect();
        assert_eq!(read(&file), of(&steps));
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 1, "{run:?}");
    let told = "the simulation has ended: 5 versions appended to ";
    assert!(lines[0].starts_with(told), "{run:?}");
}

#[test]
fn every_third_version_and_the_last_are_appended() {
    let (_dir, file) = in_dir();
    let name = name("follow-third");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &["--every", "3"]);
    (1..=10).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(read(&file), of(&[30, 60, 90, 100]));
}

#[test]
fn asked_to_end_it_appends_the_newest_version_first() {
    let (_dir, file) = in_dir();
    let name = name("follow-term");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &["--every-steps", "1000"]);
    (1..=3).for_each(|n| publish(&mut p, t, n * 10));
    run.signal(Signal::SIGTERM);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(read(&file), of(&[30]));
}

#[test]
fn interrupted_it_ends_well() {
    let (_dir, file) = in_dir();
    let name = name("follow-int");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    run.signal(Signal::SIGINT);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(
        run.out.starts_with("interrupted: 1 version appended"),
        "{run:?}"
    );
    let other = file.with_file_name("other.vtkhdf");
    let other = other.to_str().unwrap();
    let waiting = Background::start(&["export", "nobody", other, "--follow", "--wait", "60"]);
    let lock = file.with_file_name(".other.vtkhdf.tcasm-lock");
    until("it waits", || lock.exists());
    waiting.signal(Signal::SIGINT);
    let waiting = waiting.end();
    assert_eq!(waiting.code, 0, "{waiting:?}");
}

#[test]
fn the_last_version_of_a_killed_simulation_is_appended() {
    let (_dir, file) = in_dir();
    let mut victim = Victim::start("follow-victim");
    let run = start(&victim.name, &file, &["--every", "1000000"]);
    let mut observer = Observer::attach(&victim.name).unwrap();
    victim.kill();
    let run = run.end();
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("died"), "{run:?}");
    let last = observer.latest().unwrap().step();
    let series = hdf5::File::open(&file).unwrap();
    let steps: Vec<u64> = series.dataset("tcasm/step").unwrap().read_raw().unwrap();
    assert_eq!(steps, [last]);
}

#[test]
fn versions_are_pinned_only_while_they_are_appended() {
    let (_dir, file) = in_dir();
    let name = name("follow-pins");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    let mut observer = Observer::attach(&name).unwrap();
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
        until("it is appended, and let go of", || {
            let rows = observer.observers().unwrap();
            let row = rows
                .iter()
                .find(|row| row.pid == u64::from(run.pid()))
                .unwrap();
            has(&file, n * 10) && row.pinned.is_empty()
        });
    }
}

/// The writer is killed again and again, at whatever moment, while others read all the time; the next goes on.
#[test]
fn readers_never_fail_though_the_writer_is_killed_again_and_again() {
    let (dir, file) = in_dir();
    let name = name("follow-kills");
    let (mut p, t) = line(&name, 3000);
    publish(&mut p, t, 1);
    let first = start(&name, &file, &[]);
    until("there is a version", || file.exists());
    drop(first);
    let mut reader = python("follow.py").arg(&file).spawn().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 2.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                publish(&mut p, t, step);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for round in 0..40 {
            let args = ["export", &name, file.to_str().unwrap(), "--follow"];
            let mut run = Background::start(&args);
            let before = versions(&file);
            until("it goes on", || versions(&file) > before);
            std::thread::sleep(Duration::from_millis(round * 11 % 13));
            // It runs on from kill to kill: nothing that is left behind stops the next.
            assert!(run.child().try_wait().unwrap().is_none(), "{:?}", run.end());
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(reader.stdin.take());
    let read_all: Run = reader.wait_with_output().unwrap().into();
    assert_eq!(read_all.code, 0, "{read_all:?}");
    let counts: Vec<u64> = read_all
        .out
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert!(counts[0] > 1 && counts[1] > 40, "{counts:?}");
    let run = start(&name, &file, &[]);
    drop(p);
    assert_eq!(run.end().code, 0);
    let steps = read(&file);
    assert_eq!(
        steps,
        of(&steps.iter().map(|(step, _)| *step).collect::<Vec<_>>())
    );
    let mut left = crate::common::names_in(dir.path());
    left.retain(|name| !name.ends_with(".tcasm-lock"));
    assert_eq!(left, ["run.steps", "run.vtkhdf"]);
    let rows = crate::common::names_in(&dir.path().join("run.steps"));
    let chapters = steps.len() / 256;
    assert_eq!(
        rows.len(),
        steps.len() + chapters,
        "none that nothing refers to"
    );
}

/// h5py locks what it reads, and so do VTK and ParaView.
#[test]
fn a_reader_that_locks_the_file_holds_nobody_up() {
    let (_dir, file) = in_dir();
    let name = name("follow-lock");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    let script = "import h5py, sys\n\
        file = h5py.File(sys.argv[1]); dataset = file['tcasm/step']; print(dataset[()], flush=True)\n\
        sys.stdin.read(); print(dataset[()])";
    let python = python("follow.py");
    let mut holder = Command::new(python.get_program());
    holder
        .args(["-c", script])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut opened = [0; 4];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut opened).unwrap();
    assert_eq!(&opened, b"[10]");
    let locked = fs::File::open(&file).unwrap();
    assert!(locked.try_lock().is_err(), "the reader has no lock");
    for n in 2..=4 {
        publish(&mut p, t, n * 10);
        until("it is appended", || has(&file, n * 10));
    }
    drop(holder.stdin.take());
    let held: Run = holder.wait_with_output().unwrap().into();
    assert_eq!((held.code, held.out.trim()), (0, "[10]"), "{held:?}");
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
}

/// The script of `docs/paraview.md`, as it stands there.
#[test]
fn the_live_loop_of_the_documentation_sees_the_newest_version() {
    let (dir, file) = in_dir();
    let text = include_str!("../../../docs/paraview.md");
    let script = text.split("```python\n").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    fs::write(dir.path().join("live.py"), script).unwrap();
    let name = name("follow-live");
    let (mut p, t) = line(&name, 100);
    let _run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    let mut live = Command::new(python("follow.py").get_program());
    live.arg(dir.path().join("live.py")).arg(&file).arg("t");
    let mut live = Background::from(live);
    for n in 1..=4 {
        let told = live.read_line();
        let step = n * 10;
        assert_eq!(told, format!("step {step}, {n} versions: mean {step}\n"));
        publish(&mut p, t, n * 10 + 10);
    }
}

#[test]
fn a_full_disk_costs_versions_and_not_the_series() {
    let (dir, file) = in_dir();
    let name = name("follow-disk");
    let (mut p, t) = line(&name, 1 << 16);
    // No file may grow beyond 100 KiB: small enough for the pictures of constant fields, not for those of noise.
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
    let tcasm = command(&["export", &name, file.to_str().unwrap(), "--follow"]);
    let mut shell = Command::new("bash");
    shell
        .args(["-c", limited, "bash"])
        .arg(tcasm.get_program())
        .args(tcasm.get_args());
    let run = Background::from(shell);
    attached(&name, run.pid());
    publish(&mut p, t, 10);
    until("it is appended", || has(&file, 10));
    let mut random = 1_u64;
    for x in p.view_mut(t).unwrap().iter_mut() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *x = f64::from_bits(random >> 2);
    }
    p.publish(20, 0.2).unwrap();
    publish(&mut p, t, 30);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "the last version was appended: {run:?}");
    assert!(
        run.err.contains("no room") && run.err.contains("step 20"),
        "{run:?}"
    );
    assert_eq!(read(&file), of(&[10, 30]));
    assert_eq!(
        crate::common::names_in(&dir.path().join("run.steps")).len(),
        2
    );
}

#[test]
fn the_next_start_goes_on_and_a_simulation_that_goes_back_is_refused() {
    let (_dir, file) = in_dir();
    let name = name("follow-again");
    let path = file.to_str().unwrap();
    let run_to = |steps: &[u64], args: &[&str]| {
        let (mut p, t) = line(&name, 100);
        let all = [&["export", &name, path, "--follow"], args].concat();
        let run = Background::start(&all);
        attached(&name, run.pid());
        steps.iter().for_each(|step| publish(&mut p, t, *step));
        until("it is appended, or refused", || {
            has(&file, *steps.last().unwrap())
                || Observer::attach(&name)
                    .unwrap()
                    .observers()
                    .unwrap()
                    .is_empty()
        });
        drop(p);
        run.end()
    };
    assert_eq!(run_to(&[10, 20, 30], &[]).code, 0);
    assert_eq!(run_to(&[40, 50], &[]).code, 0);
    assert_eq!(read(&file), of(&[10, 20, 30, 40, 50]));
    let (mut p, t) = line(&name, 100);
    publish(&mut p, t, 30);
    let refused = bad(&["export", &name, path, "--follow"], 11);
    assert!(
        refused.contains("step 30") && refused.contains("step 50"),
        "{refused}"
    );
    drop(p);
    assert_eq!(read(&file).len(), 5);
    assert_eq!(run_to(&[30, 40], &["--replace-later"]).code, 0);
    assert_eq!(read(&file), of(&[10, 20, 30, 40]));
}

#[test]
fn what_is_appended_already_is_not_appended_again() {
    let (_dir, file) = in_dir();
    let name = name("follow-there");
    let (mut p, t) = line(&name, 100);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
    }
    for _ in 0..2 {
        let run = start(&name, &file, &["--every", "2"]);
        until("it is appended", || has(&file, 20));
        run.signal(Signal::SIGINT);
        assert_eq!(run.end().code, 0);
    }
    assert_eq!(read(&file), of(&[20]));
    let run = start(&name, &file, &[]);
    until("it is appended", || has(&file, 30));
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(read(&file), of(&[20, 30]));
}

#[test]
fn a_new_field_begins_another_file() {
    let (dir, file) = in_dir();
    let name = name("follow-fields");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    publish(&mut p, t, 20);
    let more: Field<f64, _> = p.field("more", [10]).add().unwrap();
    p.view_mut(more).unwrap().fill(7.0);
    publish(&mut p, t, 30);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    let second = dir.path().join("run_2.vtkhdf");
    assert!(
        run.out.contains("going on in") && run.out.contains("run_2.vtkhdf"),
        "{run:?}"
    );
    assert_eq!((read(&file), read(&second)), (of(&[10, 20]), of(&[30])));
}

#[test]
fn fields_that_do_not_change_are_written_once() {
    let (dir, file) = in_dir();
    let name = name("follow-still");
    let (mut p, t) = line(&name, 100);
    let still: Field<f64, _> = p.field("still", [100]).add().unwrap();
    p.view_mut(still).unwrap().fill(7.0);
    let run = start(&name, &file, &[]);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
        until("it is appended", || has(&file, n * 10));
    }
    // In a later version it does.
    p.view_mut(still).unwrap().fill(8.0);
    publish(&mut p, t, 40);
    drop(p);
    assert_eq!(run.end().code, 0);
    let stored = |number: u64| {
        let rows = dir.path().join(format!("run.steps/{number:08}.h5"));
        hdf5::File::open(rows)
            .unwrap()
            .dataset("tcasm/fields/still")
            .is_ok()
    };
    assert_eq!([1, 2, 3, 4].map(stored), [true, false, false, true]);
    let series = hdf5::File::open(&file).unwrap();
    let still = series.dataset("VTKHDF/PointData/still").unwrap();
    let values: Vec<f64> = still.read_raw().unwrap();
    assert_eq!(
        values.chunks(100).map(|row| row[99]).collect::<Vec<_>>(),
        [7.0, 7.0, 7.0, 8.0]
    );
}

#[test]
fn the_newest_versions_are_kept() {
    let (_dir, file) = in_dir();
    let name = name("follow-keep");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &["--keep", "2"]);
    (1..=6).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(read(&file), of(&[50, 60]));
}

#[test]
fn a_file_for_each_version_and_their_list() {
    let (dir, _) = in_dir();
    let (list, name) = (dir.path().join("run.vtkhdf.series"), name("follow-list"));
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &list, &["--every", "2"]);
    (1..=5).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let text = fs::read_to_string(&list).unwrap();
    let listed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let files = listed["files"].as_array().unwrap();
    for (entry, step) in files.iter().zip([20.0_f64, 40.0, 50.0]) {
        assert_eq!(entry["time"], step / 100.0);
        let file = dir.path().join(entry["name"].as_str().unwrap());
        let mut bytes = vec![0; 800];
        Checkpoint::open(file)
            .unwrap()
            .read_bytes("t", &mut bytes)
            .unwrap();
        assert!(bytes.chunks(8).all(|v| v == step.to_le_bytes()));
    }
    assert_eq!(files.len(), 3);
    let other = crate::common::name("follow-other");
    let (_p, _) = line(&other, 100);
    let refused = bad(&["export", &other, list.to_str().unwrap(), "--follow"], 11);
    assert!(refused.contains(&name), "{refused}");
}

#[test]
fn a_file_that_is_not_ours_is_left_alone() {
    let (_dir, file) = in_dir();
    let name = name("follow-foreign");
    let (mut p, t) = line(&name, 100);
    publish(&mut p, t, 10);
    let path = file.to_str().unwrap();
    fs::write(&file, "a letter").unwrap();
    let refused = bad(&["export", &name, path, "--follow"], 11);
    assert!(refused.contains("run.vtkhdf"), "{refused}");
    assert_eq!(fs::read(&file).unwrap(), b"a letter");
    assert_eq!(tcasm(&["export", &name, path]).code, 0);
    let exported = fs::read(&file).unwrap();
    bad(&["export", &name, path, "--follow"], 11);
    assert_eq!(fs::read(&file).unwrap(), exported);
}

#[test]
fn wrong_arguments_are_told() {
    let (dir, file) = in_dir();
    let name = name("follow-misuse");
    let (mut p, t) = line(&name, 100);
    publish(&mut p, t, 10);
    let path = file.to_str().unwrap();
    for wrong in [
        &["--every", "2"][..],
        &["--keep", "2"],
        &["--wait", "2"],
        &["--follow", "--every", "0"],
        &["--follow", "--every", "2", "--every-seconds", "1"],
        &["--follow", "--keep", "0"],
        &["--follow", "--version", "1"],
        &["--follow", "--layout", "openpmd"],
    ] {
        bad(&[&["export", &name, path], wrong].concat(), 2);
    }
    let other = dir.path().join("run.h5");
    bad(&["export", &name, other.to_str().unwrap(), "--follow"], 2);
    let nowhere = dir.path().join("no/run.vtkhdf");
    bad(&["export", &name, nowhere.to_str().unwrap(), "--follow"], 9);
    bad(&["export", "nobody", path, "--follow"], 3);
    assert!(!file.exists() && !other.exists());
}
