//! The child process that runs the simulation of the demo.

use crate::failure::{Code, Failure};
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tcasm_observer::{lock_path, socket_path};

/// The time that the simulation gets to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(2);

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

    /// Ends the simulation, if it still runs (by dropping `self`).
    pub fn end(self) {}
}

impl Drop for Simulation {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The process was killed, so it could not remove its socket and its lock file.
        let socket = socket_path(&self.name);
        let _ = std::fs::remove_file(lock_path(&socket));
        let _ = std::fs::remove_file(socket);
    }
}
