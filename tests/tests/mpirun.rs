//! Ranks that a real `mpirun` starts find their places in the environment.

use nix::sys::signal::Signal;
use tcasm_observer::{GroupObserver, GroupVersion};
use tcasm_tests::child::{Child, DEADLINE, Received};
use tcasm_tests::ranks::block_value;
use tcasm_tests::{name, runtime_dir};

const BLOCK: &str = env!("CARGO_BIN_EXE_block");
const RANKS: usize = 3;
const LENGTH: usize = 1000;

/// Starts a job, and waits until all ranks have published all steps.
fn start(group: &str, steps: u64) -> Child {
    let ranks = RANKS.to_string();
    let options = ["--allow-run-as-root", "--oversubscribe", "-n", &ranks];
    let (length, steps) = (LENGTH.to_string(), steps.to_string());
    let program = [BLOCK, "env", group, &length, &steps];
    let job = Child::start(
        "mpirun",
        &[&options[..], &program].concat(),
        runtime_dir(),
        &[],
    );
    let mut lines: Vec<String> = (0..RANKS)
        .map(|_| match job.receive(DEADLINE) {
            Received::Line(line) => line,
            other => panic!("{other:?}"),
        })
        .collect();
    lines.sort();
    assert_eq!(lines, ["ok 0 of 3", "ok 1 of 3", "ok 2 of 3"]);
    job
}

fn check(version: &GroupVersion) {
    assert_eq!(
        (version.ranks(), version.members().len()),
        (RANKS as u32, RANKS)
    );
    let owner = |i: usize| (0..RANKS).find(|r| i < LENGTH * (r + 1) / RANKS).unwrap() as u32;
    let expected = (0..LENGTH).map(|i| block_value(owner(i), version.step(), i, 0));
    let array = version.array::<u64>("u").unwrap();
    assert_eq!(Vec::from_iter(array), Vec::from_iter(expected));
}

#[test]
fn job_of_mpirun_is_a_group_and_each_start_another_run() {
    let group = name("mpirun");
    let mut job = start(&group, 5);
    let mut observer = GroupObserver::attach(&group).unwrap();
    let first = observer.wait_newer(DEADLINE).unwrap();
    assert_eq!(first.step(), 5);
    assert!(!first.run().is_empty());
    check(&first);
    job.signal(Signal::SIGTERM);
    job.wait();
    let _job = start(&group, 3);
    // An earlier step of another run is newer.
    let second = observer.wait_newer(DEADLINE).unwrap();
    assert_eq!(second.step(), 3);
    assert_ne!(second.run(), first.run());
    check(&second);
    check(&first);
}
