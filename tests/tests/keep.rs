//! `tcasm keep`: what a killed simulation leaves in memory is there for its next start, and let go of when that has begun.

use ndarray::Array2;
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tcasm_examples::plate;
use tcasm_observer::{Observer, kept_path};
use tcasm_producer::Producer;
use tcasm_restart::{Restore, RestoreError};
use tcasm_tests::child::{Child, DEADLINE, Said, poll_until};
use tcasm_tests::{PublishVisible, name, runtime_dir};

const SIDE: usize = 64;

fn program(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join(name);
    let hint = "run `cargo build --workspace --bins` first";
    assert!(path.exists(), "{path:?} is not there: {hint}");
    path.to_str().unwrap().to_owned()
}

fn start(program_name: &str, args: &[&str]) -> Child {
    runtime_dir();
    let dir = tcasm_observer::runtime_dir();
    Child::start(&program(program_name), args, &dir, &[])
}

/// Hear lines until one begins so; its rest.
fn hear(child: &Child, beginning: &str) -> String {
    let mut heard = Vec::new();
    poll_until(beginning, || {
        match child.hear(Duration::from_millis(20)) {
            Said::Line(line) => match line.strip_prefix(beginning) {
                Some(rest) => return Some(rest.to_owned()),
                None => heard.push(line),
            },
            Said::Ended => panic!("ended without {beginning:?}: {heard:?}"),
            Said::Nothing => {}
        }
        None
    })
}

fn keep(name: &str, args: &[&str]) -> Child {
    start("tcasm", &[&["keep", name], args].concat())
}

fn plate_run(name: &str) -> Child {
    let side = SIDE.to_string();
    let args = ["--name", name, "--size", &side, "--steps", "100000000"];
    start("checkpoint_restart", &args)
}

/// The number behind `what` in a line of `tcasm keep`, the last one in it.
fn number(line: &str, what: &str) -> u64 {
    let rest = line.rsplit(what).next().unwrap();
    let digits = rest.trim_start().split([' ', ',']).next().unwrap();
    digits.parse().unwrap_or_else(|_| panic!("{line}"))
}

/// The undisturbed run.
struct Reference {
    t: Array2<f64>,
    step: u64,
}

impl Reference {
    fn new() -> Self {
        let mut t = Array2::zeros([SIDE, SIDE]);
        plate::initialise(t.view_mut());
        Reference { t, step: 0 }
    }

    /// Whether `t` is what is computed undisturbed until `step`, bit by bit.
    fn check(&mut self, step: u64, t: ndarray::ArrayView2<'_, f64>) {
        assert!(step >= self.step, "{step} comes before {}", self.step);
        (self.step + 1..=step).for_each(|n| plate::step(self.t.view_mut(), n));
        self.step = step;
        assert!(
            t.iter()
                .zip(&self.t)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
}

/// Objects of regions that process `pid` has open, or mapped.
fn objects(pid: i32) -> usize {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    let targets = fds.filter_map(target);
    targets
        .filter(|t| t.to_string_lossy().starts_with("/memfd:tcasm-"))
        .count()
}

#[test]
fn whenever_a_simulation_is_killed_its_next_start_goes_on_from_memory_with_the_same_bits() {
    let name = name("plate");
    let mut simulation = plate_run(&name);
    assert_eq!(hear(&simulation, "begins"), "");
    let keeper = keep(&name, &[]);
    hear(&keeper, "attached to");
    let mut reference = Reference::new();
    for round in 0..12u64 {
        std::thread::sleep(Duration::from_micros(round * 3_700));
        let mut observer = Observer::attach(&name).unwrap();
        let reached = observer.wait_newer(DEADLINE).unwrap().step();
        drop(observer);
        simulation.kill();
        let held = hear(&keeper, &format!("{name} has died; held: "));
        let step = number(&held, "step");
        assert!(step >= reached, "{held}, but step {reached} was seen");
        // Others can look at it, too.
        let version = tcasm_restart::kept(&name).unwrap();
        let view = version.view().unwrap();
        let t = view.array::<f64>("t").unwrap();
        reference.check(step, t.into_dimensionality().unwrap());
        simulation = plate_run(&name);
        let from = hear(&simulation, "goes on from step ");
        assert_eq!(number(&format!("step {from}"), "step"), step);
        hear(&keeper, &format!("{name} goes on with version "));
    }
    assert!(reference.step > 100, "the run has come forward");
}

#[test]
fn what_is_held_is_let_go_of_when_the_next_producer_has_published_and_not_before() {
    let name = name("held");
    let mut simulation = plate_run(&name);
    hear(&simulation, "begins");
    let mut keeper = keep(&name, &["--versions", "3"]);
    hear(&keeper, "attached to");
    let mut observer = Observer::attach(&name).unwrap();
    let first = observer.wait_newer(DEADLINE).unwrap().number();
    poll_until("some versions are there", || {
        (observer.wait_newer(DEADLINE).unwrap().number() > first + 5).then_some(())
    });
    drop(observer);
    simulation.kill();
    let held = hear(&keeper, &format!("{name} has died; held: "));
    assert_eq!(held.matches("version").count(), 3, "{held}");
    let mut kept = Observer::attach_kept(&name).unwrap();
    for text in held.split(", ") {
        let version = kept.version(number(text, "version")).unwrap();
        assert_eq!(version.step(), number(text, "step"));
        let view = version.view().unwrap();
        let t = view.array::<f64>("t").unwrap();
        Reference::new().check(version.step(), t.into_dimensionality().unwrap());
    }
    drop(kept);
    // One that dies before its first version changes nothing.
    let idle = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    hear(&keeper, "attached to");
    drop(idle);
    hear(
        &keeper,
        &format!("{name} is gone, and had published nothing"),
    );
    let with_one = objects(keeper.pid());
    let version = number(&held, "version");
    let restored = Producer::restore_kept(&name).unwrap();
    assert_eq!(
        (restored.stamp.version, restored.from),
        (version, kept_path(&name))
    );
    let mut producer = restored.producer;
    hear(&keeper, "attached to");
    assert!(
        Observer::attach_kept(&name).is_ok(),
        "not before it has published"
    );
    let next = producer
        .publish_visible(restored.stamp.step + 1, 0.0)
        .unwrap();
    assert_eq!(next.version(), Some(version + 1));
    hear(
        &keeper,
        &format!("{name} goes on with version {}", version + 1),
    );
    let error = Producer::restore_kept(&name).unwrap_err();
    assert!(matches!(error, RestoreError::NotKept { .. }), "{error}");
    poll_until("the old objects are closed", || {
        (objects(keeper.pid()) <= with_one).then_some(())
    });
    keeper.signal(Signal::SIGTERM);
    assert_eq!(keeper.wait().code(), Some(0));
    // An observer that goes is nothing to the producer.
    producer
        .publish_visible(restored.stamp.step + 2, 0.0)
        .unwrap();
}

#[test]
fn what_a_simulation_that_has_ended_leaves_is_held_too_and_can_be_written_to_a_file() {
    let name = name("ended");
    let mut producer = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let t = producer.field::<f64, _>("t", [1000]).add().unwrap();
    producer.view_mut(t).unwrap().fill(4.5);
    let keeper = keep(&name, &[]);
    hear(&keeper, "attached to");
    producer.publish_visible(9, 0.9).unwrap();
    drop(producer);
    let held = hear(&keeper, &format!("{name} has ended; held: "));
    assert_eq!(held, "version 1  step 9  t = 0.9");
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("left.vtkhdf");
    let out = ["restore", "--kept", &name, "--out", file.to_str().unwrap()];
    let mut restore = start("tcasm", &out);
    assert_eq!(restore.wait().code(), Some(0));
    let checkpoint = tcasm_checkpoint::Checkpoint::open(&file).unwrap();
    let mut values = Array2::zeros([1, 1000])
        .remove_axis(ndarray::Axis(0))
        .into_dyn();
    checkpoint
        .read_array::<f64>("t", values.view_mut())
        .unwrap();
    assert!(values.iter().all(|v| *v == 4.5) && checkpoint.stamp().step == 9);
    // It is listed for what it is.
    let ls = start("tcasm", &["ls"]);
    assert!(hear(&ls, &name).contains("kept"));
}

#[test]
fn a_second_keeper_says_so_and_leaves_the_first_alone() {
    let name = name("twice");
    let mut simulation = plate_run(&name);
    hear(&simulation, "begins");
    let first = keep(&name, &[]);
    hear(&first, "attached to");
    let mut observer = Observer::attach(&name).unwrap();
    observer.wait_newer(DEADLINE).unwrap();
    simulation.kill();
    hear(&first, &format!("{name} has died; held: "));
    let mut simulation = plate_run(&name);
    hear(&simulation, "goes on from step ");
    hear(&first, &format!("{name} goes on with "));
    let mut second = keep(&name, &[]);
    hear(&second, "attached to");
    simulation.kill();
    // Whichever comes second cannot serve; the other can.
    let of_first = first.hear(DEADLINE);
    let of_second = second.hear(DEADLINE);
    let holds = |said: &Said| matches!(said, Said::Line(l) if l.contains("held: "));
    assert!(
        holds(&of_first) != holds(&of_second),
        "{of_first:?} {of_second:?}"
    );
    if !holds(&of_second) {
        assert_eq!(second.wait().code(), Some(1));
    }
    assert!(Producer::restore_kept(&name).is_ok());
}
