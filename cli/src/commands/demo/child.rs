//! The child process that runs the simulation of the demo.

use crate::failure::{Code, Failure};
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tcasm_observer::AttachError::{Dead, Ended, NotFound};
use tcasm_observer::{Observer, lock_path, socket_path};

/// The time that the simulation gets to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// The time between checks that the simulation still runs, while it has no region yet.
const CHECK: Duration = Duration::from_millis(100);

/// A running simulation. It ends when its standard input ends, so also when this process is killed.
pub struct Simulation {
    child: Child,
    name: String,
}

impl Simulation {
    pub fn start(name: &str, steps: u64, pause: u64) -> Result<Self, Failure> {
        let spawn = || -> io::Result<Child> {
            Command::new(std::env::current_exe()?)
                .args(["demo-producer", name])
                .args(["--steps", &steps.to_string()])
                .args(["--pause", &pause.to_string()])
                .stdin(Stdio::piped())
                .spawn()
        };
        let child = spawn().map_err(|error| {
            Failure::new(Code::Other, format!("cannot start the simulation: {error}"))
        })?;
        let name = name.to_owned();
        Ok(Simulation { child, name })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Attaches to the simulation as soon as it has a region, for which this waits up to `timeout`.
    /// Fails early if the simulation ends without one.
    pub fn attach(&mut self, timeout: Duration) -> Result<Observer, Failure> {
        let deadline = Instant::now() + timeout;
        loop {
            // Checked first: a simulation that ends later may still have created its region.
            let ended = self.child.try_wait().ok().flatten();
            let attached = Observer::attach_wait(&self.name, CHECK);
            let missing = matches!(attached, Err(NotFound { .. } | Dead { .. } | Ended { .. }));
            match ended {
                Some(status) if missing => {
                    return Err(failed(status, "ended before it had a region"));
                }
                None if missing && Instant::now() < deadline => {}
                _ => return attached.map_err(Failure::from),
            }
        }
    }

    /// Ends the simulation, if it still runs. Fails if it has failed.
    pub fn end(mut self) -> Result<(), Failure> {
        match self.stop() {
            Some(status) if !status.success() => Err(failed(status, "failed")),
            _ => Ok(()),
        }
    }

    /// Lets the simulation end, and returns its exit status. If it does not end, kills it, and
    /// returns `None`.
    fn stop(&mut self) -> Option<ExitStatus> {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                ended => return ended.ok().flatten(),
            }
        }
        self.kill();
        None
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The process was killed, so it could not remove its socket and its lock file.
        let socket = socket_path(&self.name);
        let _ = std::fs::remove_file(lock_path(&socket));
        let _ = std::fs::remove_file(socket);
    }
}

/// Returns the failure of a simulation that has ended; `how` is said of it. If it has printed the
/// reason, the failure has no message.
fn failed(status: ExitStatus, how: &str) -> Failure {
    let message = match status.code() {
        Some(code) if code != 0 => String::new(),
        _ => format!("the simulation {how} ({status})"),
    };
    Failure::new(Code::Other, message)
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.stop();
    }
}
