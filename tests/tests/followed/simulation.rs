//! A simulation that stands still until its lines are read, so that other programs can attach in
//! time, however fast it is.

use crate::text;
use nix::fcntl::{FcntlArg, fcntl};
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::path::Path;
use std::process::{Child, Command};
use tcasm_observer::Observer;
use tcasm_tests::child::{poll_until, program};
use tcasm_tests::runtime_dir;

/// A running simulation. Dropping this kills it.
pub struct Simulation {
    process: Child,
    output: BufReader<PipeReader>,
    /// The region.
    pub name: String,
}

impl Simulation {
    /// Starts an example, which publishes the region `name` and writes the file `dump` in `dir`.
    /// Returns when there is a version. The example waits as soon as the pipe of its output is
    /// full, which has room for fewer than a thousand lines.
    pub fn start(example: &str, name: &str, dir: &Path, args: &[&str]) -> Self {
        runtime_dir();
        let dump = dir.join("dump");
        let (output, input) = std::io::pipe().expect("a pipe");
        fcntl(&input, FcntlArg::F_SETPIPE_SZ(4096)).expect("a small pipe");
        let mut command = Command::new(program(example));
        command
            .args(["--name", name, "--dump", text(&dump)])
            .args(args)
            .env("TCASM_RUNTIME_DIR", tcasm_observer::runtime_dir())
            .stdout(input);
        let process = command.spawn().expect("the example starts");
        // The command has the other end of the pipe, too.
        drop(command);
        let simulation = Simulation {
            process,
            output: BufReader::new(output),
            name: name.to_owned(),
        };
        poll_until("there is a version", || {
            let mut observer = Observer::attach(name).ok()?;
            observer.latest().ok().map(drop)
        });
        simulation
    }

    /// Lets the simulation run to its end, and returns its lines.
    pub fn finish(mut self) -> Vec<String> {
        let lines = self.output.by_ref().lines();
        let lines: Vec<String> = lines.collect::<Result<_, _>>().expect("text");
        let status = self.process.wait().expect("it has ended");
        assert!(status.success(), "{status}: {lines:?}");
        lines
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
