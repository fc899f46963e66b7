//! Tests that run the programs: the simulations compute the same results, and their sources differ
//! in few lines.

use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tcasm_checkpoint::{Checkpointer, Options, Snapshot};
use tcasm_examples::{GrayScott, Params};
use tcasm_observer::{DType, FieldDesc, FieldTable, Stamp};

/// A runtime folder, which is removed at the end of the test.
struct RuntimeDir(PathBuf);

impl RuntimeDir {
    fn new(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tcasm-{test}-{}", std::process::id()));
        std::fs::create_dir(&dir).expect("a new folder");
        RuntimeDir(dir)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("TCASM_RUNTIME_DIR", &self.0);
        command
    }
}

impl Drop for RuntimeDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The modes of capture. (In a build with debug assertions, a cell that a step does not write to an
/// array that is handed over is NaN.)
const CAPTURE: [[&str; 2]; 2] = [["--capture", "hand-over"], ["--capture", "copy"]];

/// Runs a program and returns the steps that it prints, with the checksums of its fields.
fn checksums(command: &mut Command) -> Vec<(String, String)> {
    let run = command.args(["--size", "20", "--steps", "50", "--publish-every", "7"]);
    let output = run.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    let parts = |line: &str| {
        let step = line.split_whitespace().nth(1)?.to_owned();
        Some((step, line.split_once("checksum")?.1.to_owned()))
    };
    text.lines().filter_map(parts).collect()
}

#[test]
fn simulation_computes_the_same_in_a_region_and_in_ordinary_memory() {
    let runtime = RuntimeDir::new("same");
    let plain = checksums(&mut runtime.command(env!("CARGO_BIN_EXE_gray_scott_plain")));
    assert_eq!(plain.len(), 8, "{plain:?}");
    for capture in CAPTURE {
        let mut observed = runtime.command(env!("CARGO_BIN_EXE_gray_scott"));
        assert_eq!(plain, checksums(observed.args(capture)), "{capture:?}");
    }
}

#[test]
fn simulation_continues_from_a_checkpoint_with_the_same_bits() {
    let runtime = RuntimeDir::new("restart");
    let checkpoints = runtime.0.join("checkpoints");
    std::fs::create_dir(&checkpoints).expect("a new folder");
    write_checkpoint(&checkpoints, 20, 25);

    let plain = checksums(&mut runtime.command(env!("CARGO_BIN_EXE_gray_scott_plain")));
    for capture in CAPTURE {
        let mut continued = runtime.command(env!("CARGO_BIN_EXE_gray_scott"));
        let continued = continued.args(capture).arg("--restart").arg(&checkpoints);
        let continued = checksums(continued);
        assert_eq!(continued[0].0, "28");
        assert_eq!(plain[3..], continued, "{capture:?}");
    }
}

/// Computes `steps` steps on a grid of `size` in this process, and writes a checkpoint of the last.
fn write_checkpoint(dir: &Path, size: usize, steps: u64) {
    let solver = GrayScott::new(Params::default());
    let mut arrays = [(); 4].map(|()| ndarray::Array3::<f64>::zeros([size; 3]));
    let [u, v, ..] = &mut arrays;
    solver.initialise(u.view_mut(), v.view_mut());
    for step in 1..=steps {
        let [u, v, u_next, v_next] = &mut arrays;
        solver.step(
            u.view(),
            v.view(),
            u_next.view_mut(),
            v_next.view_mut(),
            step,
        );
        arrays.rotate_left(2);
    }
    let bytes = |a: &ndarray::Array3<f64>| a.iter().flat_map(|x| x.to_le_bytes()).collect();
    let [u, v]: [Vec<u8>; 2] = [bytes(&arrays[0]), bytes(&arrays[1])];
    let fields = ["u", "v"].map(|name| FieldDesc::new(name, DType::F64, &[size; 3]));
    let table = FieldTable {
        fields: fields.into(),
        ..FieldTable::default()
    };
    let stamp = Stamp {
        version: 1,
        step: steps,
        time: solver.time(steps),
    };
    let of = |field: &FieldDesc| if field.name == "u" { &u[..] } else { &v[..] };
    let snapshot = Snapshot::new("gray_scott", stamp, &table, of);
    let written = Checkpointer::new(dir, "gray_scott", Options::default())
        .and_then(|mut checkpointer| checkpointer.write(&snapshot));
    written.expect("the checkpoint is written");
}

#[test]
fn simulation_in_a_region_differs_by_fewer_than_30_lines() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [plain, observed] =
        ["gray_scott_plain", "gray_scott"].map(|name| examples.join(name).join("main.rs"));
    let diff = Command::new("diff").arg(plain).arg(observed).output();
    let diff = String::from_utf8(diff.expect("diff starts").stdout).expect("text");
    let lines = diff.lines().filter(|l| l.starts_with(['<', '>'])).count();
    assert!((1..30).contains(&lines), "{lines} lines differ:\n{diff}");
}

/// The programs in other languages print the same number: ci/bindings-c.sh compares them.
#[test]
fn heat_is_the_same_in_a_region_and_in_ordinary_memory() {
    let runtime = RuntimeDir::new("heat");
    let printed = |program: &str| {
        let output = runtime.command(program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse::<f64>()
            .unwrap()
    };
    let plain = printed(env!("CARGO_BIN_EXE_heat_plain"));
    assert_eq!(printed(env!("CARGO_BIN_EXE_heat")), plain);
    assert!((0.0..100.0).contains(&plain) && plain > 1.0, "{plain}");
}

#[test]
fn hello_observer_reads_steps_of_the_hello_producer() {
    let runtime = RuntimeDir::new("hello");
    let mut producer = runtime.command(env!("CARGO_BIN_EXE_hello_producer"));
    let mut producer = producer.spawn().expect("the producer starts");
    let lines = (0..50).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let lines = first_lines(runtime.command(env!("CARGO_BIN_EXE_hello_observer")), 3);
        (lines.len() == 3).then_some(lines)
    });
    producer.kill().expect("it was running");
    producer.wait().expect("it has ended");
    for line in lines.expect("the observer attaches within 5 seconds") {
        let (step, values) = line
            .strip_prefix("step ")
            .and_then(|l| l.split_once(": "))
            .unwrap();
        assert_eq!(values, format!("[{}]", [step; 8].join(", ")));
    }
}

/// Returns the first `n` lines of the output of `command`, and kills it.
fn first_lines(mut command: Command, n: usize) -> Vec<String> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let lines = output.lines().take(n).collect::<Result<_, _>>();
    let _ = child.kill();
    child.wait().expect("it has ended");
    lines.expect("text")
}

#[test]
fn observer_ends_quietly_with_the_reader_of_its_output() {
    let runtime = RuntimeDir::new("reader");
    let mut producer = runtime.command(env!("CARGO_BIN_EXE_hello_producer"));
    let mut producer = producer.spawn().expect("the producer starts");
    let end = (0..50).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        after_first_line(runtime.command(env!("CARGO_BIN_EXE_hello_observer")))
    });
    producer.kill().expect("it was running");
    producer.wait().expect("it has ended");
    let end = end.expect("the observer attaches within 5 seconds");
    assert_eq!(end.status.signal(), Some(Signal::SIGPIPE as i32), "{end:?}");
    assert_eq!(end.stderr, b"", "{end:?}");
}

/// Reads the first line of the output of `command`, closes the output, and waits for the end.
/// Returns `None` if there is no line.
fn after_first_line(mut command: Command) -> Option<Output> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    let read = output.read_line(&mut line).expect("text");
    drop(output);
    let end = child.wait_with_output().expect("it has ended");
    (read > 0).then_some(end)
}

#[test]
fn simulation_goes_on_without_a_reader_of_its_output() {
    let runtime = RuntimeDir::new("unread");
    let short = ["--size", "8", "--steps", "40", "--publish-every", "20"];
    for program in [
        env!("CARGO_BIN_EXE_gray_scott"),
        env!("CARGO_BIN_EXE_gray_scott_plain"),
        env!("CARGO_BIN_EXE_checkpoint_restart"),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = runtime.command(program);
        let end = command.args(short).stdout(writer).output();
        let end = end.expect("the program starts");
        assert!(end.status.success(), "{program}: {end:?}");
        assert_eq!(end.stderr, b"", "{program}: {end:?}");
    }
}
