//! Handles the signals of `checkpoint`, `keep`, `export --follow` and `view`: SIGINT ends the
//! program, SIGTERM writes the newest version first, SIGUSR1 writes it now. Commands that write
//! nothing end on both SIGINT and SIGTERM.

use crate::failure::{Code, Failure};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, iterator};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// The signals that have arrived so far.
#[derive(Debug, Default)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    finish: Arc<AtomicBool>,
    /// Set by the first SIGINT or SIGTERM. The next one ends the program at once.
    again: Arc<AtomicBool>,
    now: Arc<AtomicUsize>,
}

impl Signals {
    /// Begins to record signals. The second SIGINT or SIGTERM ends the program at once.
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
            // This thread runs until the process ends.
            let count = move || {
                for _ in asked.forever() {
                    now.fetch_add(1, Relaxed);
                }
            };
            std::thread::Builder::new().spawn(count).map(drop)
        };
        register().map_err(|e| Failure::new(Code::Other, format!("cannot handle signals: {e}")))?;
        Ok(signals)
    }

    /// Returns true if SIGINT has arrived: end without another write.
    pub fn stop(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Returns true if SIGTERM has arrived: write a last version and end.
    pub fn finish(&self) -> bool {
        self.finish.load(Relaxed)
    }

    /// Returns how often SIGUSR1 has arrived: each one requests a checkpoint.
    #[cfg(feature = "files")]
    pub fn asked(&self) -> usize {
        self.now.load(Relaxed)
    }

    /// Returns true if SIGINT or SIGTERM has arrived.
    pub fn end(&self) -> bool {
        self.stop() || self.finish()
    }
}
