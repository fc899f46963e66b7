//! Signals: end, end well, write now.

use crate::exit::{Code, Failure};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, iterator};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// How long at most until a signal is noticed.
pub const LOOK: Duration = Duration::from_millis(100);

/// What has come so far.
#[derive(Debug, Default)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    finish: Arc<AtomicBool>,
    /// The second one to end does not wait.
    again: Arc<AtomicBool>,
    now: Arc<AtomicUsize>,
}

impl Signals {
    /// Take note of signals from now on. The second one that is to end the program ends it at once.
    pub fn catch() -> Result<Self, Failure> {
        let signals = Signals::default();
        let register = || -> io::Result<()> {
            for (signal, own) in [(SIGINT, &signals.stop), (SIGTERM, &signals.finish)] {
                let code = Code::Interrupted as i32;
                flag::register_conditional_shutdown(signal, code, signals.again.clone())?;
                flag::register(signal, signals.again.clone())?;
                flag::register(signal, own.clone())?;
            }
            let (mut asked, now) = (iterator::Signals::new([SIGUSR1])?, signals.now.clone());
            // Ends with the process.
            let count = move || {
                for _ in asked.forever() {
                    now.fetch_add(1, Relaxed);
                }
            };
            std::thread::Builder::new().spawn(count).map(drop)
        };
        register().map_err(|e| Failure::new(Code::Other, format!("no signals: {e}")))?;
        Ok(signals)
    }

    /// End now.
    pub fn stop(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Write a last one, and end.
    pub fn finish(&self) -> bool {
        self.finish.load(Relaxed)
    }

    /// How often a checkpoint was asked for.
    pub fn asked(&self) -> usize {
        self.now.load(Relaxed)
    }

    /// End, one way or the other.
    pub fn end(&self) -> bool {
        self.stop() || self.finish()
    }
}
