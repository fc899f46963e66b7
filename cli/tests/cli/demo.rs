//! Tests of `demo`.

use crate::common::{Background, Run, command, runtime_dir};
use nix::sys::signal::Signal;
use std::fs;
use tcasm_checkpoint::Checkpoint;

#[test]
fn demo_runs_by_itself_and_keeps_the_checkpoint_in_dir() {
    let (dir, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = command(&["demo", "--dir", dir.path().to_str().unwrap()]);
    let output = command.env("TMPDIR", temporary.path()).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), output.stderr),
        (Some(0), Vec::new()),
        "{out}"
    );
    assert_eq!(
        out.lines().filter(|l| l.starts_with("step ")).count(),
        6,
        "{out}"
    );
    assert!(out.contains("300 versions were published"), "{out}");
    assert_eq!(Checkpoint::open(dir.path()).unwrap().stamp().step, 200);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn demo_whose_simulation_cannot_start_prints_one_error() {
    let mut command = command(&["demo"]);
    let output = command.env("TCASM_HUGE_PAGES", "2").output().unwrap();
    let run = Run::from(output);
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    assert!(run.err.starts_with("tcasm: TCASM_HUGE_PAGES="), "{run:?}");
    assert_eq!(run.err.lines().count(), 1, "{run:?}");
}

#[test]
fn demo_fails_if_its_simulation_fails_while_it_watches() {
    let mut command = command(&["demo"]);
    command.env("TCASM_FAULT", "panic@harvested:100");
    let run = Run::from(command.output().unwrap());
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.starts_with("Process "), "it was watched: {run:?}");
    assert!(!run.out.contains("were published"), "{run:?}");
    assert!(run.err.contains("panic at \"harvested\""), "{run:?}");
}

#[test]
fn interrupted_demo_leaves_nothing_behind() {
    let mut demo = Background::start(&["demo"]);
    let first = demo.read_line();
    assert!(first.starts_with("Process "), "{first}");
    let child = first.split(' ').nth(1).unwrap().to_owned();
    let socket = runtime_dir().join(format!("demo-{}.sock", demo.pid()));
    assert!(socket.exists());
    demo.signal(Signal::SIGINT);
    let run = demo.end();
    assert_eq!(run.code, 130, "{run:?}");
    assert!(!socket.exists());
    assert!(
        !fs::exists(format!("/proc/{child}")).unwrap(),
        "the simulation has ended"
    );
}
