//! Programs that a test starts. They talk to it in lines, and are killed when the test ends in any
//! way.

use crate::procfs::is_in_state;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A time that is far longer than anything here takes. Only a program that hangs reaches it.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A running program. Dropping this kills it.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    lines: Receiver<String>,
    errors: Arc<Mutex<Vec<String>>>,
}

/// The settings of huge pages in the environment of a program, off and on. Tests of what must
/// always hold run with both.
pub const HUGE_PAGES: [(&str, &str); 2] = [("TCASM_HUGE_PAGES", "0"), ("TCASM_HUGE_PAGES", "1")];

/// The result of waiting for a line of a program.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A line.
    Line(String),
    /// No line yet.
    Nothing,
    /// The program has closed its output.
    Ended,
}

impl Child {
    /// Starts `program`, with sockets in `dir`.
    pub fn start(program: &str, args: &[&str], dir: &Path, env: &[(&str, &str)]) -> Child {
        let mut command = Command::new(program);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
            .env_remove("TCASM_TRACKER")
            .env_remove("TCASM_CAPTURE")
            .env_remove("TCASM_SHARED_BACKING")
            .env_remove("TCASM_HUGE_PAGES")
            .env("TCASM_RUNTIME_DIR", dir);
        let mut process = command
            .envs(env.iter().copied())
            .spawn()
            .expect("program starts");
        let output = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        let stderr = BufReader::new(process.stderr.take().expect("its errors are a pipe"));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = errors.clone();
        // The test runner shows them only if the test fails: some programs are told to panic.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                eprintln!("{line}");
                kept.lock().expect("no thread panics with it").push(line);
            }
        });
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let all = output.lines().map_while(Result::ok);
            all.map(|line| sender.send(line))
                .take_while(Result::is_ok)
                .for_each(drop);
        });
        Child {
            process,
            lines,
            errors,
        }
    }

    /// Returns what it has written to its standard error so far.
    pub fn errors(&self) -> String {
        let errors = self.errors.lock().expect("no thread panics with it");
        errors.join("\n")
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Sends a line to the program. If the program is dead, `receive` reports that.
    pub fn send(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().expect("its input is a pipe");
        let _ = writeln!(input, "{line}");
    }

    /// Closes its standard input.
    pub fn finish(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Returns its next line, at once or within `timeout`.
    pub fn receive(&self, timeout: Duration) -> Received {
        if timeout.is_zero() {
            return match self.lines.try_recv() {
                Ok(line) => Received::Line(line),
                Err(TryRecvError::Empty) => Received::Nothing,
                Err(TryRecvError::Disconnected) => Received::Ended,
            };
        }
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Received::Line(line),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Ended,
        }
    }

    /// Sends it a signal. It is a child that has not been waited for, so no other process has its
    /// id.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("a child can be signalled");
    }

    /// Sends SIGSTOP, and waits until none of its threads runs.
    pub fn stop(&self) {
        self.signal(Signal::SIGSTOP);
        poll_until("it is stopped", || {
            is_in_state(self.pid(), 'T').then_some(())
        });
    }

    /// Sends SIGKILL, and waits until it is dead. Its standard input stays open, because its forked
    /// children may wait for the end of it.
    pub fn kill_alone(&self) {
        self.signal(Signal::SIGKILL);
        poll_until("it is dead", || is_in_state(self.pid(), 'Z').then_some(()));
    }

    /// Sends SIGKILL, and waits until the process is gone.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Waits for a line that begins with `beginning` and returns the rest of it.
    pub fn hear_line(&self, beginning: &str) -> String {
        let mut received = Vec::new();
        poll_until(beginning, || {
            match self.receive(Duration::from_millis(20)) {
                Received::Line(line) => match line.strip_prefix(beginning) {
                    Some(rest) => return Some(rest.to_owned()),
                    None => received.push(line),
                },
                Received::Ended => panic!("ended without {beginning:?}: {received:?}"),
                Received::Nothing => {}
            }
            None
        })
    }

    /// Returns its exit status if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("a child can be waited for")
    }

    /// Waits until it has ended.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        poll_until("the program ends", || self.ended())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the path of a program of this workspace. A test run of the whole workspace builds all of
/// them.
pub fn program(name: &str) -> String {
    let test = std::env::current_exe().expect("a test knows its own path");
    let path = test.parent().and_then(Path::parent);
    let path = path.expect("tests are built into deps").join(name);
    let hint = "run `cargo test --workspace --no-run` first";
    assert!(path.exists(), "{path:?} does not exist: {hint}");
    path.to_str().expect("paths of tests are text").to_owned()
}

/// Calls `look` until it returns something. The test fails after [`DEADLINE`].
#[track_caller]
pub fn poll_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Makes this program die with the test, even if the test is killed and cannot clean up.
pub fn die_with_parent() {
    set_pdeathsig(Signal::SIGKILL).expect("SIGKILL is a signal");
}
