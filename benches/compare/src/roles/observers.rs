//! The observers of a case, as its producer sees them: started, waited for, ended.

use crate::case::Case;
use crate::failure::{Failure, While};
use crate::methods;
use crate::score::Score;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long observers may take for anything.
const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_micros(100);

/// Processes that observe; killed when dropped.
pub struct Observers(Vec<Child>);

impl Observers {
    /// Start as many as the score says, and wait until they have attached. (None where the method makes them itself.)
    pub fn start(case: &Case, score: &Score) -> Result<Self, Failure> {
        let mut this = Observers(Vec::new());
        if !methods::find(&case.method)?.observers_attach() {
            return Ok(this);
        }
        let program = std::env::current_exe().context("finding this program")?;
        for observer in 0..score.observers() {
            let mut command = Command::new(&program);
            command
                .arg("observe")
                .arg(case.path("case.json"))
                .arg(observer.to_string());
            command
                .arg(std::process::id().to_string())
                .stdin(Stdio::null());
            this.0
                .push(command.spawn().context("starting an observer")?);
        }
        this.wait(score, 0, |score, observer| score.is_ready(observer))?;
        Ok(this)
    }

    /// Wait until every observer is through with the version of `step`, or has attached before the first.
    pub fn wait(
        &mut self,
        score: &Score,
        step: u64,
        done: impl Fn(&Score, usize) -> bool,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + TIMEOUT;
        for observer in 0..score.observers() {
            while !done(score, observer) {
                self.check_alive()?;
                if Instant::now() > deadline {
                    return Err(Failure::Late {
                        observer,
                        step,
                        seconds: TIMEOUT.as_secs(),
                    });
                }
                std::thread::sleep(LOOK_EVERY);
            }
        }
        Ok(())
    }

    fn check_alive(&mut self) -> Result<(), Failure> {
        for (observer, child) in self.0.iter_mut().enumerate() {
            if let Some(status) = child.try_wait().context("looking at an observer")? {
                let how = status.to_string();
                return Err(Failure::ObserverEnded { observer, how });
            }
        }
        Ok(())
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
