//! Helpers for the tests: running the command, and producers that can be killed.

use ndarray::Ix1;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tcasm_core::place::socket_path;
use tcasm_producer::{Field, Producer};
pub use tcasm_tests::{name, runtime_dir};

/// Returns the command with these arguments, not started yet.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcasm"));
    command.args(args).env("TCASM_RUNTIME_DIR", runtime_dir());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The result of a run of the command.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub bytes: Vec<u8>,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let signal = output.status.signal();
        Run {
            code: output
                .status
                .code()
                .unwrap_or_else(|| -signal.expect("a code or a signal")),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            bytes: output.stdout,
        }
    }
}

/// Runs the command and waits for its end.
pub fn tcasm(args: &[&str]) -> Run {
    command(args).output().unwrap().into()
}

/// Runs the command, which must succeed and print nothing on standard error.
pub fn good(args: &[&str]) -> Run {
    let run = tcasm(args);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
    run
}

/// Runs the command, which must end with `code` and an error message. Returns the message.
pub fn bad(args: &[&str], code: i32) -> String {
    let run = tcasm(args);
    assert_eq!(run.code, code, "{args:?}: {run:?}");
    assert!(run.err.starts_with("tcasm: "), "{args:?}: {run:?}");
    run.err
}

/// Runs the command and parses its output as JSON.
pub fn json(args: &[&str]) -> serde_json::Value {
    let run = good(args);
    serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

/// Returns a Python with VTK and h5py. Without it tests fail, because nothing else checks
/// that other programs can read the files.
pub fn python(script: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.unwrap().success(), "ci/python-env.sh has failed");
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

/// Waits until `done` returns true; panics after 30 seconds.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the names of the files in `dir`, sorted.
pub fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Creates a region with one field `t` of `n` numbers. It keeps up to 60 versions.
pub fn line(name: &str, n: usize) -> (Producer, Field<f64, Ix1>) {
    let builder = Producer::builder(name)
        .capacity(n * 8)
        .versions(64)
        .history(60);
    let mut producer = builder.create().unwrap();
    let field = producer.field::<f64, _>("t", [n]).unit("K").add().unwrap();
    (producer, field)
}

/// Publishes a version of step `step`, all values of which are `step`.
pub fn publish(producer: &mut Producer, field: Field<f64, Ix1>, step: u64) {
    producer.view_mut(field).unwrap().fill(step as f64);
    producer.publish(step, step as f64 / 100.0).unwrap();
}

/// A producer in a process of its own, which has published a version. It is killed when this value
/// is dropped.
pub struct Victim {
    pub child: Child,
    pub name: String,
}

impl Victim {
    pub fn start(stem: &str) -> Victim {
        let name = name(stem);
        let child = Victim::spawn(&name);
        Victim { child, name }
    }

    /// Starts the producer again after it was killed.
    pub fn restart(&mut self) {
        self.child = Victim::spawn(&self.name);
    }

    fn spawn(name: &str) -> Child {
        let mut command = command(&["demo-producer", name, "--steps", "1000000", "--pause", "5"]);
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        until("the victim publishes", || {
            tcasm(&["stats", name, "height"]).code == 0
        });
        child
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(socket_path(&self.name));
    }
}

/// A command that runs in the background. It is killed when this value is dropped.
pub struct Background(Option<Child>);

impl Background {
    pub fn start(args: &[&str]) -> Background {
        Background::from(command(args))
    }

    /// Starts another command. Its output and its errors are read.
    pub fn from(mut command: Command) -> Background {
        command.env("TCASM_RUNTIME_DIR", runtime_dir());
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Background(Some(command.spawn().unwrap()))
    }

    /// Starts another command with a pipe for its input. Its standard error stays as `command` set
    /// it.
    pub fn interactive(mut command: Command) -> Background {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Background(Some(command.spawn().unwrap()))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid() as i32), signal).unwrap();
    }

    /// Reads standard output up to and including the next newline.
    pub fn read_line(&mut self) -> String {
        line_of(self.child().stdout.as_mut().unwrap())
    }

    /// Reads standard error up to and including the next newline.
    pub fn read_error_line(&mut self) -> String {
        line_of(self.child().stderr.as_mut().unwrap())
    }

    /// Waits until the command ends.
    pub fn end(mut self) -> Run {
        self.0.take().unwrap().wait_with_output().unwrap().into()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Reads up to and including the next newline, and nothing after it.
fn line_of(from: &mut impl Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') && from.read(&mut byte).unwrap() == 1 {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}
