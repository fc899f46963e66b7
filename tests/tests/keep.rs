//! `tcasm keep` keeps the versions of a killed simulation in memory for its next start, and
//! releases them once that has published.

use ndarray::Array2;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_checkpoint::Checkpoint;
use tcasm_examples::plate;
use tcasm_observer::{Observer, ObserverRow, kept_path, socket_path};
use tcasm_producer::Producer;
use tcasm_restart::{Restore, RestoreError};
use tcasm_tests::child::{Child, DEADLINE, poll_until, program};
use tcasm_tests::{PublishVisible, name, runtime_dir};

const SIDE: usize = 64;

fn start(program_name: &str, args: &[&str]) -> Child {
    runtime_dir();
    let dir = tcasm_observer::runtime_dir();
    Child::start(&program(program_name), args, &dir, &[])
}

fn keep(name: &str, args: &[&str]) -> Child {
    start("tcasm", &[&["keep", name], args].concat())
}

fn plate_run(name: &str) -> Child {
    let side = SIDE.to_string();
    let args = ["--name", name, "--size", &side, "--steps", "100000000"];
    start("checkpoint_restart", &args)
}

/// Returns the number after the last `what` in a line of `tcasm keep`.
fn number(line: &str, what: &str) -> u64 {
    let rest = line.rsplit(what).next().unwrap();
    let digits = rest.trim_start().split([' ', ',']).next().unwrap();
    digits.parse().unwrap_or_else(|_| panic!("{line}"))
}

/// An undisturbed run, computed here.
struct Reference {
    t: Array2<f64>,
    step: u64,
}

impl Reference {
    fn new(side: usize) -> Self {
        let mut t = Array2::zeros([side, side]);
        plate::initialise(t.view_mut());
        Reference { t, step: 0 }
    }

    /// Checks that `t` equals the undisturbed run at `step`, bit by bit.
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

/// Returns the number of objects of regions that process `pid` has open.
fn objects(pid: i32) -> usize {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
    let targets = fds.filter_map(target);
    targets
        .filter(|t| t.to_string_lossy().starts_with("/memfd:tcasm-"))
        .count()
}

#[test]
fn killed_simulation_continues_from_kept_memory_with_the_same_bits() {
    let name = name("plate");
    let mut simulation = plate_run(&name);
    assert_eq!(simulation.hear_line("begins"), "");
    let holder = keep(&name, &[]);
    holder.hear_line("attached to");
    let mut reference = Reference::new(SIDE);
    for round in 0..12u64 {
        std::thread::sleep(Duration::from_micros(round * 3_700));
        let mut observer = Observer::attach(&name).unwrap();
        let reached = observer.wait_newer(DEADLINE).unwrap().step();
        drop(observer);
        simulation.kill();
        let held = holder.hear_line(&format!("{name} has died; held: "));
        let step = number(&held, "step");
        assert!(step >= reached, "{held}, but step {reached} was seen");
        // Other programs can read the kept version too.
        let version = tcasm_restart::kept(&name).unwrap();
        let view = version.view().unwrap();
        let t = view.array::<f64>("t").unwrap();
        reference.check(step, t.into_dimensionality().unwrap());
        simulation = plate_run(&name);
        let from = simulation.hear_line("goes on from step ");
        assert_eq!(number(&format!("step {from}"), "step"), step);
        holder.hear_line(&format!("{name} goes on with version "));
    }
    assert!(reference.step > 100, "the run has made progress");
}

#[test]
fn kept_versions_are_released_when_the_next_producer_has_published_and_not_before() {
    let name = name("held");
    let mut simulation = plate_run(&name);
    simulation.hear_line("begins");
    let mut holder = keep(&name, &["--versions", "3"]);
    holder.hear_line("attached to");
    let mut observer = Observer::attach(&name).unwrap();
    let pinned = |row: &ObserverRow| (row.pid == holder.pid() as u64).then_some(row.pinned.len());
    poll_until("three versions are held", || {
        let rows = observer.observers().unwrap();
        (rows.iter().find_map(pinned) >= Some(3)).then_some(())
    });
    drop(observer);
    simulation.kill();
    let held = holder.hear_line(&format!("{name} has died; held: "));
    assert_eq!(held.matches("version").count(), 3, "{held}");
    let mut kept = Observer::attach_kept(&name).unwrap();
    // The process that serves it is not the producer, whose process ids the rows would have.
    let rows = kept.observers().unwrap();
    assert_eq!(kept.program(&rows[0]), None);
    for text in held.split(", ") {
        let version = kept.version(number(text, "version")).unwrap();
        assert_eq!(version.step(), number(text, "step"));
        let view = version.view().unwrap();
        let t = view.array::<f64>("t").unwrap();
        Reference::new(SIDE).check(version.step(), t.into_dimensionality().unwrap());
    }
    drop(kept);
    // A producer that dies before its first version changes nothing.
    let idle = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    holder.hear_line("attached to");
    drop(idle);
    holder.hear_line(&format!("{name} is gone, and had published nothing"));
    let with_one = objects(holder.pid());
    let version = number(&held, "version");
    let restored = Producer::restore_kept(&name).unwrap();
    assert_eq!(
        (restored.stamp.version, restored.from),
        (version, kept_path(&name))
    );
    let mut producer = restored.producer;
    holder.hear_line("attached to");
    assert!(
        Observer::attach_kept(&name).is_ok(),
        "kept versions must stay until it has published"
    );
    let next = producer
        .publish_visible(restored.stamp.step + 1, 0.0)
        .unwrap();
    assert_eq!(next.version(), Some(version + 1));
    holder.hear_line(&format!("{name} goes on with version {}", version + 1));
    let error = Producer::restore_kept(&name).unwrap_err();
    assert!(matches!(error, RestoreError::Runs { .. }), "{error}");
    poll_until("the old objects are closed", || {
        (objects(holder.pid()) <= with_one).then_some(())
    });
    holder.signal(Signal::SIGTERM);
    assert_eq!(holder.wait().code(), Some(0));
    // The producer is not affected when an observer detaches.
    producer
        .publish_visible(restored.stamp.step + 2, 0.0)
        .unwrap();
}

#[test]
fn versions_of_an_ended_simulation_are_kept_with_after_end_and_can_be_written_to_a_file() {
    let name = name("ended");
    let mut producer = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let t = producer.field::<f64, _>("t", [1000]).add().unwrap();
    producer.view_mut(t).unwrap().fill(4.5);
    let holder = keep(&name, &["--after-end"]);
    holder.hear_line("attached to");
    producer.publish_visible(9, 0.9).unwrap();
    drop(producer);
    let held = holder.hear_line(&format!("{name} has ended; held: "));
    assert_eq!(held, "version 1  step 9  t = 0.9");
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("left.vtkhdf");
    let out = ["restore", "--kept", &name, "--out", file.to_str().unwrap()];
    let mut restore = start("tcasm", &out);
    assert_eq!(restore.wait().code(), Some(0));
    assert_eq!(start("tcasm", &out).wait().code(), Some(9), "it exists");
    let checkpoint = Checkpoint::open(&file).unwrap();
    let mut values = Array2::zeros([1, 1000])
        .remove_axis(ndarray::Axis(0))
        .into_dyn();
    checkpoint
        .read_array::<f64>("t", values.view_mut())
        .unwrap();
    assert!(values.iter().all(|v| *v == 4.5) && checkpoint.stamp().step == 9);
    // `tcasm ls` lists it as kept.
    let ls = start("tcasm", &["ls"]);
    assert!(ls.hear_line(&name).contains("kept"));
}

/// Publishes a version of a plate as a simulation that then ends normally.
fn complete_run(name: &str, holder: &Child) {
    let mut producer = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let t = producer.field::<f64, _>("t", [SIDE, SIDE]).add().unwrap();
    producer.view_mut(t).unwrap().fill(1.0);
    holder.hear_line("attached to");
    producer.publish_visible(100_000_000, 1.0).unwrap();
}

#[test]
fn simulation_that_has_ended_normally_is_not_held_and_its_next_start_begins_anew() {
    let name = name("complete");
    let holder = keep(&name, &[]);
    complete_run(&name, &holder);
    // At once: the holder may not have noticed the end yet.
    let error = Producer::restore_kept(&name).unwrap_err();
    assert!(matches!(error, RestoreError::NotKept { .. }), "{error}");
    holder.hear_line(&format!("{name} has ended; nothing is held"));
    let files = [socket_path(&name), kept_path(&name)].map(|path| path.exists());
    assert_eq!(files, [false; 2]);
    poll_until("its objects are closed", || {
        (objects(holder.pid()) == 0).then_some(())
    });

    complete_run(&name, &holder);
    let mut simulation = plate_run(&name);
    simulation.hear_line("begins");
    holder.hear_line(&format!("{name} has ended; nothing is held"));
    // The holder still holds what the next crash leaves.
    holder.hear_line("attached to");
    let mut observer = Observer::attach(&name).unwrap();
    observer.wait_newer(DEADLINE).unwrap();
    drop(observer);
    simulation.kill();
    holder.hear_line(&format!("{name} has died; held: "));
    plate_run(&name).hear_line("goes on from step ");
}

#[test]
fn several_regions_are_held_at_once() {
    let names = [name("first"), name("second")];
    let holder = start("tcasm", &["keep", &names[0], &names[1]]);
    let simulations = names.each_ref().map(|name| {
        let simulation = plate_run(name);
        holder.hear_line(&format!("attached to {name}, process "));
        let mut observer = Observer::attach(name).unwrap();
        observer.wait_newer(DEADLINE).unwrap();
        simulation
    });
    for (name, mut simulation) in names.iter().zip(simulations) {
        simulation.kill();
        holder.hear_line(&format!("{name} has died; held: "));
    }
    for name in &names {
        plate_run(name).hear_line("goes on from step ");
    }
    let mut twice = start("tcasm", &["keep", &names[0], &names[0]]);
    assert_eq!(twice.wait().code(), Some(2));
}

#[test]
fn large_field_is_restored_by_several_threads_byte_for_byte() {
    let name = name("large");
    let words = 5 * (1 << 20) + 77;
    let builder = Producer::builder(&name).capacity(words * 8);
    let mut producer = builder.create().unwrap();
    let a = producer.field::<u64, _>("a", [words]).add().unwrap();
    let mut view = producer.view_mut(a).unwrap();
    view.iter_mut().zip(1..).for_each(|(word, n)| *word = n);
    let holder = keep(&name, &["--after-end"]);
    holder.hear_line("attached to");
    producer.publish_visible(1, 0.0).unwrap();
    drop(producer);
    holder.hear_line(&format!("{name} has ended; held: "));
    let producer = Producer::restore_kept(&name).unwrap().producer;
    let a = producer.handle::<u64, ndarray::Ix1>("a").unwrap();
    let view = producer.view(a).unwrap();
    assert!(view.len() == words && view.iter().zip(1..).all(|(word, n)| *word == n));
}

#[test]
fn second_keep_of_a_region_fails_and_does_not_disturb_the_first() {
    let name = name("twice");
    let mut simulation = plate_run(&name);
    simulation.hear_line("begins");
    let first = keep(&name, &[]);
    first.hear_line("attached to");
    let mut observer = Observer::attach(&name).unwrap();
    observer.wait_newer(DEADLINE).unwrap();
    simulation.kill();
    first.hear_line(&format!("{name} has died; held: "));
    let mut simulation = plate_run(&name);
    simulation.hear_line("goes on from step ");
    first.hear_line(&format!("{name} goes on with "));
    let mut second = keep(&name, &[]);
    assert_eq!(second.wait().code(), Some(1));
    let error = Producer::restore_kept(&name).unwrap_err();
    assert!(matches!(error, RestoreError::Runs { .. }), "{error}");
    simulation.kill();
    assert!(Producer::restore_kept(&name).is_ok(), "at once");
}

/// Returns the process id of the simulation once it has reached `step`.
fn pid_at(name: &str, step: u64) -> i32 {
    let mut observer = Observer::attach_wait(name, DEADLINE).unwrap();
    while observer.wait_newer(DEADLINE).unwrap().step() < step {}
    observer.info().unwrap().pid as i32
}

/// A job that ends what it has started, even when the test fails.
struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        if self.0.ended().is_none() {
            self.0.signal(Signal::SIGTERM);
            self.0.wait();
        }
    }
}

/// Starts the batch script, with its folders in `site`.
fn job(site: &Path, steps: u64) -> Job {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/checkpoint_restart/job.sh");
    let [fast, slow] = ["fast", "slow"].map(|dir| site.join(dir).display().to_string());
    let programs = PathBuf::from(program("tcasm"));
    let programs = programs.parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let env = [
        ("FAST", fast.as_str()),
        ("SLOW", &slow),
        ("STEPS", &steps.to_string()),
        ("CRASHES", "1"),
        ("SECONDS_BETWEEN", "0.1"),
        ("PATH", &path),
    ];
    runtime_dir();
    let sockets = tcasm_observer::runtime_dir();
    Job(Child::start(
        "bash",
        &[script.to_str().unwrap()],
        &sockets,
        &env,
    ))
}

#[test]
fn batch_script_completes_a_run_through_a_crash_and_a_time_limit() {
    let site = tempfile::TempDir::new().unwrap();
    let mut first = job(site.path(), 100_000_000);
    first.0.hear_line("begins");
    let pid = Pid::from_raw(pid_at("plate", 200));
    kill(pid, Signal::SIGKILL).unwrap();
    let from = first.0.hear_line("goes on from step ");
    assert!(from.contains("plate.kept"), "{from}");
    pid_at("plate", number(&format!("step {from}"), "step") + 200);
    // This is what a time limit does.
    first.0.signal(Signal::SIGTERM);
    assert_eq!(first.0.wait().code(), Some(0));
    let newest = || Checkpoint::restart(&[site.path().join("slow")], None).unwrap();
    let last = newest().stamp().step;
    let mut second = job(site.path(), last + 300);
    let from = second.0.hear_line("goes on from step ");
    assert_eq!(number(&format!("step {from}"), "step"), last, "{from}");
    second
        .0
        .hear_line(&format!("ended with step {}", last + 300));
    assert_eq!(second.0.wait().code(), Some(0));
    let (end, side) = (newest(), 256);
    assert_eq!(end.stamp().step, last + 300);
    let mut t = Array2::zeros([side, side]);
    end.read_array("t", t.view_mut().into_dyn()).unwrap();
    Reference::new(side).check(end.stamp().step, t.view());
}
