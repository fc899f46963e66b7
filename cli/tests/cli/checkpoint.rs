//! Tests of `checkpoint`.

use crate::common::{Background, Run, Victim, bad, command, line, name, publish, tcasm, until};
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tcasm_checkpoint::Checkpoint;
use tcasm_observer::Observer;

/// Returns the names of the checkpoints in `dir`, sorted.
pub fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let names = entries.map(|e| e.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|n| n.ends_with(".vtkhdf")).collect();
    names.sort();
    names
}

pub fn expected(name: &str, steps: &[u64]) -> Vec<String> {
    steps
        .iter()
        .map(|s| format!("{name}_{s:08}.vtkhdf"))
        .collect()
}

/// Starts a run and waits until it is attached.
pub fn start(name: &str, dir: &Path, args: &[&str]) -> Background {
    let all = [&["checkpoint", name, "--fast", dir.to_str().unwrap()], args].concat();
    let run = Background::start(&all);
    attached(name, run.pid());
    run
}

/// Waits until the process is attached.
pub fn attached(name: &str, pid: u32) {
    let mut observer = Observer::attach(name).unwrap();
    until("the command attaches", || {
        pins(&mut observer, pid).is_some()
    });
}

/// Returns the versions that the process pins, if it is attached.
fn pins(observer: &mut Observer, pid: u32) -> Option<Vec<u64>> {
    let rows = observer.observers().unwrap();
    rows.into_iter()
        .find(|row| row.pid == u64::from(pid))
        .map(|row| row.pinned)
}

fn publish_all(name: &str, dir: &Path, args: &[&str], versions: u64) -> Run {
    let (mut p, t) = line(name, 100);
    let run = start(name, dir, args);
    for version in 1..=versions {
        publish(&mut p, t, version * 10);
    }
    drop(p);
    run.end()
}

#[test]
fn every_third_version_and_the_last_are_written() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("third"));
    let run = publish_all(&name, dir.path(), &["--every", "3"], 10);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(files(dir.path()), expected(&name, &[30, 60, 90, 100]));
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 5, "{run:?}");
    assert!(lines[0].starts_with("wrote ") && lines[0].contains("version 3  step 30  t = 0.3"));
    assert!(
        lines[4].contains("ended") && lines[4].contains("4 files written"),
        "{run:?}"
    );
    for (file, step) in files(dir.path()).iter().zip([30.0_f64, 60.0, 90.0, 100.0]) {
        let checkpoint = Checkpoint::open(dir.path().join(file)).unwrap();
        let mut bytes = vec![0; 800];
        checkpoint.read_bytes("t", &mut bytes).unwrap();
        assert!(bytes.chunks(8).all(|v| v == step.to_le_bytes()), "{file}");
    }
}

#[test]
fn last_version_that_is_due_is_written_once() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("once"));
    let run = publish_all(&name, dir.path(), &["--every", "2"], 4);
    assert_eq!((run.code, run.out.lines().count()), (0, 3), "{run:?}");
    assert_eq!(files(dir.path()), expected(&name, &[20, 40]));
}

#[test]
fn every_steps_counts_steps_instead_of_versions() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("steps"));
    let run = publish_all(&name, dir.path(), &["--every-steps", "25"], 8);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(files(dir.path()), expected(&name, &[30, 50, 80]));
}

#[test]
fn last_writes_only_the_last_version() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("last"));
    let run = publish_all(&name, dir.path(), &["--last", "--compress", "0"], 5);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(files(dir.path()), expected(&name, &[50]));
}

/// Checks what the command says of the option. The tests of `tcasm-checkpoint` check the files.
#[test]
fn large_fields_are_written_directly_unless_that_is_off() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let takes = fs::File::options()
        .create(true)
        .truncate(true)
        .write(true)
        .custom_flags(OFlag::O_DIRECT.bits())
        .open(folder.path().join("probe"))
        .is_ok();
    for when in ["auto", "off"] {
        let (dir, name) = (tempfile::tempdir_in(folder.path()).unwrap(), name(when));
        let (mut p, t) = line(&name, 1 << 18);
        let args = ["--last", "--compress", "none", "--direct", when];
        let run = start(&name, dir.path(), &args);
        publish(&mut p, t, 10);
        drop(p);
        let run = run.end();
        assert_eq!(run.code, 0, "{run:?}");
        let told = run.out.contains("(2.00 MiB direct)");
        assert_eq!(told, when == "auto" && takes, "{run:?}");
        let checkpoint = Checkpoint::open(dir.path()).unwrap();
        checkpoint.verify().unwrap();
    }
}

#[test]
fn region_that_ends_without_a_version_writes_no_file() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("nothing"));
    let run = publish_all(&name, dir.path(), &["--every", "1"], 0);
    assert_eq!((run.code, files(dir.path()).len()), (8, 0), "{run:?}");
}

#[test]
fn wait_waits_for_the_region_to_appear() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("later"));
    let path = dir.path().to_str().unwrap();
    let args = [
        "checkpoint",
        &name,
        "--fast",
        path,
        "--every",
        "1",
        "--timeout",
        "30",
    ];
    let run = Background::start(&args);
    std::thread::sleep(Duration::from_millis(300));
    let (mut p, t) = line(&name, 8);
    attached(&name, run.pid());
    publish(&mut p, t, 10);
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(files(dir.path()), expected(&name, &[10]));
    let waited = Instant::now();
    bad(
        &[
            "checkpoint",
            &name,
            "--fast",
            path,
            "--every",
            "1",
            "--timeout",
            "0.5",
        ],
        3,
    );
    assert!(waited.elapsed() >= Duration::from_millis(500));
}

#[test]
fn versions_are_pinned_only_while_they_are_written() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("pins"));
    let (mut p, t) = line(&name, 8);
    let run = start(&name, dir.path(), &["--every", "1"]);
    let mut observer = Observer::attach(&name).unwrap();
    for version in 1..=3 {
        publish(&mut p, t, version * 10);
        until("the file is written", || {
            files(dir.path()).len() == version as usize
        });
        until("the pin is gone", || {
            pins(&mut observer, run.pid()) == Some(Vec::new())
        });
    }
    drop(p);
    assert_eq!(run.end().code, 0);
}

#[test]
fn interrupt_ends_the_run_between_files() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("signal"));
    let (mut p, t) = line(&name, 1 << 20);
    let run = start(&name, dir.path(), &["--every", "1"]);
    publish(&mut p, t, 10);
    until("writing begins", || {
        fs::read_dir(dir.path()).unwrap().count() > 1
    });
    run.signal(Signal::SIGINT);
    let run = run.end();
    assert_eq!(run.code, 130, "{run:?}");
    assert!(run.err.starts_with("tcasm: interrupted"), "{run:?}");
    assert_eq!(
        files(dir.path()),
        expected(&name, &[10]),
        "the file under way is completed"
    );
    Checkpoint::open(dir.path()).unwrap().verify().unwrap();
    publish(&mut p, t, 20);
}

#[test]
fn sigusr1_writes_a_checkpoint_at_once() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("usr1"));
    let (mut p, t) = line(&name, 8);
    let run = start(&name, dir.path(), &["--last"]);
    run.signal(Signal::SIGUSR1);
    for n in [1, 2] {
        publish(&mut p, t, n * 10);
        run.signal(Signal::SIGUSR1);
        until("it is written", || files(dir.path()).len() == n as usize);
    }
    run.signal(Signal::SIGUSR1);
    publish(&mut p, t, 30);
    drop(p);
    assert_eq!(run.end().code, 0);
    let written = files(dir.path());
    assert!(
        written.len() == 3,
        "a version that is written already is not written again: {written:?}"
    );
}

#[test]
fn sigusr1_before_the_first_version_writes_that_one() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("usr1-early"));
    let fast = dir.path().to_str().unwrap();
    let run = Background::start(&["checkpoint", &name, "--fast", fast, "--last"]);
    until("it handles the signal", || {
        catches(run.pid(), Signal::SIGUSR1)
    });
    run.signal(Signal::SIGUSR1);
    let (mut p, t) = line(&name, 8);
    publish(&mut p, t, 10);
    until("it is written", || files(dir.path()).len() == 1);
}

/// Returns true if the process has a handler for `signal`.
fn catches(pid: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
    caught >> (signal as i32 - 1) & 1 == 1
}

#[test]
fn every_seconds_and_max_overhead_limit_the_number_of_files() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("seconds"));
    let (mut p, t) = line(&name, 8);
    let run = start(
        &name,
        dir.path(),
        &["--every-seconds", "0.5", "--max-overhead", "50"],
    );
    let start = Instant::now();
    for n in 1..=30 {
        publish(&mut p, t, n);
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(p);
    // One after each half second, and the last. On a loaded machine some may be missing.
    let most = start.elapsed().as_millis() as usize / 500 + 2;
    assert_eq!(run.end().code, 0);
    let written = files(dir.path()).len();
    assert!((2..=most).contains(&written), "{written} of {most}");
}

#[test]
fn several_regions_are_written_at_once() {
    let (dir, names) = (tempfile::tempdir().unwrap(), [name("one"), name("two")]);
    let mut regions = names.clone().map(|name| line(&name, 100));
    let path = dir.path().to_str().unwrap();
    let all = [
        "checkpoint",
        &names[0],
        &names[1],
        "--fast",
        path,
        "--every",
        "2",
    ];
    let run = Background::start(&all);
    names.iter().for_each(|name| attached(name, run.pid()));
    for version in 1..=4 {
        for (p, t) in &mut regions {
            publish(p, *t, version * 10);
        }
    }
    drop(regions);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    let mut all = [
        expected(&names[0], &[20, 40]),
        expected(&names[1], &[20, 40]),
    ]
    .concat();
    all.sort();
    assert_eq!(files(dir.path()), all);
    bad(&["checkpoint", "a", "a", "--fast", path, "--last"], 2);
}

#[test]
fn signal_ends_the_wait_for_a_region() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("never"));
    let path = dir.path().to_str().unwrap();
    let run = Background::start(&[
        "checkpoint",
        &name,
        "--fast",
        path,
        "--last",
        "--timeout",
        "60",
    ]);
    until("it catches the signal", || {
        catches(run.pid(), Signal::SIGINT)
    });
    run.signal(Signal::SIGINT);
    assert_eq!(run.end().code, 130);
}

#[test]
fn last_version_of_a_killed_producer_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let mut victim = Victim::start("victim");
    let run = start(&victim.name, dir.path(), &["--last"]);
    let mut observer = Observer::attach(&victim.name).unwrap();
    victim.kill();
    let run = run.end();
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.err.contains("died") && run.err.contains(".vtkhdf"),
        "{run:?}"
    );
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    checkpoint.verify().unwrap();
    assert_eq!(checkpoint.stamp(), observer.latest().unwrap().stamp());
}

#[test]
fn folder_that_appears_later_is_used() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("back"));
    let folder = dir.path().join("later");
    let (mut p, t) = line(&name, 8);
    let mut run = start(&name, &folder, &["--every", "1"]);
    publish(&mut p, t, 10);
    publish(&mut p, t, 20);
    // Wait until both have failed: the third must succeed.
    let mut complaints = std::io::BufReader::new(run.child().stderr.take().unwrap());
    let mut complaint = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut complaints, &mut line).unwrap();
        line
    };
    assert!(complaint().contains("trying again"));
    assert!(complaint().contains("version 1  step 10"));
    let second = complaint();
    assert!(
        second.contains("version 2") && second.contains("(2 failed)"),
        "{second}"
    );
    fs::create_dir(&folder).unwrap();
    publish(&mut p, t, 30);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("1 file written") && run.out.contains("(2 failed)"),
        "{run:?}"
    );
    assert_eq!(files(&folder), expected(&name, &[30]));
}

#[test]
fn missing_folder_fails_the_run_at_its_end() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("gone"));
    let run = publish_all(&name, &dir.path().join("no"), &["--every", "2"], 4);
    assert_eq!(run.code, 9, "{run:?}");
    assert!(
        run.err.contains("does not exist") && run.err.contains("(2 failed)"),
        "{run:?}"
    );
    assert!(
        run.err.contains("the last checkpoint could not be written"),
        "{run:?}"
    );
}

#[test]
fn unwritable_folder_is_reported() {
    // Not even root can create files there.
    let run = publish_all(
        &name("readonly"),
        Path::new("/sys/kernel"),
        &["--every", "1"],
        2,
    );
    assert_eq!(run.code, 9, "{run:?}");
    assert!(run.err.contains("not permitted"), "{run:?}");
}

#[test]
fn full_disk_fails_files_but_not_the_run() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("disk"));
    let (mut p, t) = line(&name, 1 << 16);
    // Limit files to 100 KiB: enough for a compressed constant field, but not for noise.
    let mut shell = std::process::Command::new("bash");
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
    let tcasm = command(&[
        "checkpoint",
        &name,
        "--fast",
        dir.path().to_str().unwrap(),
        "--every",
        "1",
    ]);
    shell
        .args(["-c", limited, "bash"])
        .arg(tcasm.get_program())
        .args(tcasm.get_args());
    shell
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = shell.spawn().unwrap();
    attached(&name, child.id());
    publish(&mut p, t, 10);
    let mut random = 1_u64;
    for x in p.view_mut(t).unwrap().iter_mut() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *x = f64::from_bits(random >> 2);
    }
    p.publish(20, 0.0).unwrap();
    publish(&mut p, t, 30);
    drop(p);
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!(run.code, 0, "the last file was written: {run:?}");
    assert!(
        run.err.contains("no room") && run.err.contains("(1 failed)"),
        "{run:?}"
    );
    assert_eq!(files(dir.path()), expected(&name, &[10, 30]));
}

#[test]
fn two_runs_do_not_write_the_same_files() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("busy"));
    let (_p, _) = line(&name, 8);
    let _first = start(&name, dir.path(), &["--last"]);
    let path = dir.path().to_str().unwrap();
    let second = tcasm(&["checkpoint", &name, "--fast", path, "--last"]);
    assert_eq!(second.code, 11, "{second:?}");
    assert!(second.err.contains("another checkpointer"), "{second:?}");
}
