//! Runs cases one after the other.
//!
//! Each case has processes and a folder of its own. When the case ends, its processes are ended and
//! its folder is removed.

use crate::case::Case;
use crate::failure::{Failure, While};
use crate::methods;
use crate::row::Row;
use crate::user::User;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The result that a producer prints at its end, as JSON on its standard output.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T = Row> {
    /// The case was measured.
    Row(T),
    /// The case cannot be run on this machine, for the reason given.
    Unavailable(String),
    /// The case failed with the message given.
    Failed(String),
}

/// A flag that is set when a signal asks the program to end.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Registers handlers for SIGINT, SIGTERM and SIGHUP, which set the flag.
    pub fn listen() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGHUP,
        ] {
            signal_hook::flag::register(signal, flag.clone()).context("listening to signals")?;
        }
        Ok(Interrupt(flag))
    }

    /// Returns true if one of these signals has arrived.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs cases in a folder in memory.
pub struct Runner {
    dir: TempDir,
    interrupt: Interrupt,
    timeout: Duration,
    cases: usize,
    user: User,
}

const PREFIX: &str = "tcasm-compare-";

impl Runner {
    /// Creates a runner with a folder in memory. Removes files that killed runners have left.
    pub fn new(interrupt: Interrupt, timeout: Duration) -> Result<Self, Failure> {
        let root = match Path::new("/dev/shm").is_dir() {
            true => PathBuf::from("/dev/shm"),
            false => std::env::temp_dir(),
        };
        sweep(&root);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(&root);
        Ok(Runner {
            dir: dir.context(format!("making a folder in {root:?}"))?,
            interrupt,
            timeout,
            cases: 0,
            user: User::current(),
        })
    }

    /// Makes all processes of cases run as `user`.
    pub fn with_user(mut self, user: User) -> Result<Self, Failure> {
        user.prepare(self.dir.path())?;
        self.user = user;
        Ok(self)
    }

    /// Runs one case. Returns `Ok(Err(reason))` if it cannot be run on this machine.
    pub fn run(&mut self, case: &Case) -> Result<Result<Row, String>, Failure> {
        self.run_as(case, |_| {})
    }

    /// Runs one case like [`Runner::run`], where the producer reports values of another kind.
    /// `prepare` completes the command that starts the producer.
    pub fn run_as<T: DeserializeOwned>(
        &mut self,
        case: &Case,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Result<T, String>, Failure> {
        let method = methods::find(&case.method)?;
        self.cases += 1;
        let mut case = case.clone();
        case.dir = self.dir.path().join(self.cases.to_string());
        if let Some(obstacle) = method.obstacle(&case).or_else(|| no_memory(method, &case)) {
            return Ok(Err(obstacle));
        }
        std::fs::create_dir(&case.dir).context("making the folder of a case")?;
        let outcome = method
            .command(&case)
            .and_then(|command| self.run_in_folder(&case, command, prepare));
        method.clean_up(&case);
        let _ = std::fs::remove_dir_all(&case.dir);
        match outcome? {
            Outcome::Row(row) => Ok(Ok(row)),
            Outcome::Unavailable(reason) => Ok(Err(reason)),
            Outcome::Failed(reason) => Err(Failure::ProducerFailed(reason)),
        }
    }

    fn run_in_folder<T: DeserializeOwned>(
        &self,
        case: &Case,
        mut command: Command,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Outcome<T>, Failure> {
        let path = case.path("case.json");
        let text = serde_json::to_vec(case).map_err(|source| Failure::Json {
            what: "a case",
            source,
        })?;
        std::fs::write(&path, text).context("writing the case")?;
        command
            .env("TCASM_RUNTIME_DIR", &case.dir)
            .env_remove("TCASM_TRACKER")
            .env_remove("TCASM_CAPTURE")
            .env_remove("TCASM_SHARED_BACKING")
            .env_remove("TCASM_HUGE_PAGES");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        prepare(&mut command);
        self.user.lend(&mut command, &case.dir)?;
        let mut child = Killed(command.spawn().context("starting a producer")?);
        let status = self.wait(&mut child.0)?;
        let mut output = String::new();
        if let Some(mut out) = child.0.stdout.take() {
            out.read_to_string(&mut output)
                .context("reading from the producer")?;
        }
        let last = output.lines().last().unwrap_or_default();
        serde_json::from_str(last).map_err(|_| Failure::ProducerEnded(status))
    }

    fn wait(&self, child: &mut Child) -> Result<String, Failure> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(status) = child.try_wait().context("waiting for the producer")? {
                return Ok(status.to_string());
            }
            if self.interrupt.came() {
                return Err(Failure::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(Failure::Timeout(self.timeout.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

/// Returns a message if the case needs more memory than is available.
fn no_memory(method: &dyn methods::Method, case: &Case) -> Option<String> {
    let needed = method.needed_bytes(case) >> 20;
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? >> 10;
    let message =
        || format!("needs about {needed} MiB of memory, but only {available} MiB are available");
    (needed > available).then(message)
}

/// A child process that is killed when this value is dropped. The process's own children die with
/// it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Removes the folders of runners that no longer run, and other files that have their prefix.
fn sweep(root: &Path) {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of = name.find(PREFIX).map(|at| &name[at + PREFIX.len()..]);
        let process = of
            .and_then(|rest| rest.split('-').next())
            .and_then(|n| n.parse::<u32>().ok());
        if process.is_some_and(|p| !Path::new(&format!("/proc/{p}")).exists()) {
            let path = entry.path();
            let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        }
    }
}
