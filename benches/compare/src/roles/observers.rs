//! The observer processes of a case. The producer starts them, waits for them, and ends them.

use crate::case::Case;
use crate::failure::{Failure, While};
use crate::methods;
use crate::score::Score;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time that the producer waits for an observer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two checks of an observer's progress.
const CHECK_INTERVAL: Duration = Duration::from_micros(100);

/// The observer processes. They are killed when this value is dropped.
pub struct Observers(Vec<Child>);

impl Observers {
    /// Starts as many observers as the score says, and waits until they have attached. Starts none
    /// if the method creates its observers itself.
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

    /// Waits until `done` is true for every observer. `step` is the step that an error names.
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
                std::thread::sleep(CHECK_INTERVAL);
            }
        }
        Ok(())
    }

    fn check_alive(&mut self) -> Result<(), Failure> {
        for (observer, child) in self.0.iter_mut().enumerate() {
            if let Some(status) = child
                .try_wait()
                .context("checking whether an observer still runs")?
            {
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
