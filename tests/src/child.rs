//! Programs that a test starts: talked to in lines, killed when the test is over, however it ends.

use crate::procfs::is_in_state;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Far more than anything here takes: only what hangs reaches it.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A running program. Dropped: killed.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    lines: Receiver<String>,
}

/// What a program has said.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// A line.
    Line(String),
    /// Nothing (yet).
    Nothing,
    /// Nothing, and it will not any more.
    Ended,
}

impl Child {
    /// Start `program`, with sockets in `dir`.
    pub fn start(program: &str, args: &[&str], dir: &Path, env: &[(&str, &str)]) -> Child {
        let mut command = Command::new(program);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
            .env_remove("TCASM_TRACKER")
            .env_remove("TCASM_CAPTURE")
            .env_remove("TCASM_SHARED_BACKING")
            .env("TCASM_RUNTIME_DIR", dir);
        let mut process = command
            .envs(env.iter().copied())
            .spawn()
            .expect("program starts");
        let output = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let all = output.lines().map_while(Result::ok);
            all.map(|line| sender.send(line))
                .take_while(Result::is_ok)
                .for_each(drop);
        });
        Child { process, lines }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Say a line to it. That it is dead shows in what it says.
    pub fn tell(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().expect("its input is a pipe");
        let _ = writeln!(input, "{line}");
    }

    /// Tell it that no more lines will come.
    pub fn finish(&mut self) {
        drop(self.process.stdin.take());
    }

    /// What it says next, at once or within `timeout`.
    pub fn hear(&self, timeout: Duration) -> Said {
        if timeout.is_zero() {
            return match self.lines.try_recv() {
                Ok(line) => Said::Line(line),
                Err(TryRecvError::Empty) => Said::Nothing,
                Err(TryRecvError::Disconnected) => Said::Ended,
            };
        }
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Said::Line(line),
            Err(RecvTimeoutError::Timeout) => Said::Nothing,
            Err(RecvTimeoutError::Disconnected) => Said::Ended,
        }
    }

    /// Send it a signal. It is our child and not waited for, so its id cannot be another's.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("a child can be signalled");
    }

    /// SIGSTOP, and wait until no thread of it runs.
    pub fn stop(&self) {
        self.signal(Signal::SIGSTOP);
        poll_until("it is stopped", || {
            is_in_state(self.pid(), 'T').then_some(())
        });
    }

    /// SIGKILL, and wait until it is dead. Its standard input stays open: forked children of it may wait for its end.
    pub fn kill_alone(&self) {
        self.signal(Signal::SIGKILL);
        poll_until("it is dead", || is_in_state(self.pid(), 'Z').then_some(()));
    }

    /// SIGKILL, and wait until it is gone.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Hear lines until one begins so; the rest of it.
    pub fn hear_line(&self, beginning: &str) -> String {
        let mut heard = Vec::new();
        poll_until(beginning, || {
            match self.hear(Duration::from_millis(20)) {
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

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().expect("a child can be waited for")
    }

    /// Wait until it has ended.
    pub fn wait(&mut self) -> ExitStatus {
        poll_until("the program ends", || self.ended())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The path of a program of this workspace, which `cargo build --workspace --bins` has built.
pub fn program(name: &str) -> String {
    let test = std::env::current_exe().expect("a test knows its own path");
    let path = test.parent().and_then(Path::parent);
    let path = path.expect("tests are built into deps").join(name);
    let hint = "run `cargo build --workspace --bins` first";
    assert!(path.exists(), "{path:?} is not there: {hint}");
    path.to_str().expect("paths of tests are text").to_owned()
}

/// Look again and again until there is something; after [`DEADLINE`] the test fails.
pub fn poll_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "after {DEADLINE:?} still not: {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// For the programs: die when the test does, also when it is killed and cannot clean up.
pub fn die_with_parent() {
    set_pdeathsig(Signal::SIGKILL).expect("SIGKILL is a signal");
}
