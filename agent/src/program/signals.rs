//! Signals that end the agents.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// SIGTERM and SIGINT, which no longer end the process by themselves.
pub(super) struct Signals {
    came: Arc<AtomicBool>,
}

impl Signals {
    /// Begins to catch both. If that fails, they end the process as usual.
    pub(super) fn catch() -> Signals {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            let _ = signal_hook::flag::register(signal, came.clone());
        }
        Signals { came }
    }

    /// Returns true if one has come.
    pub(super) fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}
