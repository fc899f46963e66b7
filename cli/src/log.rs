//! What is logged goes to standard error; while a command has the terminal for itself, it is held back.

use crate::plain;
use std::io::{self, IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing_subscriber::EnvFilter;

/// More is not held back, but dropped: what comes first tells most.
const MOST: usize = 64 << 10;

/// What is held back, while something is.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// `TCASM_LOG` says what is logged, as `RUST_LOG` does for others; warnings unless set.
pub fn to_stderr() {
    let filter = EnvFilter::try_from_env("TCASM_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Line)
        // Escape sequences of our own could not be told from those of others.
        .with_ansi(false)
        .init();
}

/// Hold back what would be written to a terminal.
pub fn hold() {
    if stderr().is_terminal() {
        *held() = Some(Vec::new());
    }
}

/// Write what was held back, and hold back no more.
pub fn release() {
    let held = held().take();
    let _ = stderr().write_all(&held.unwrap_or_default());
}

fn held() -> MutexGuard<'static, Option<Vec<u8>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where lines are written to.
struct Line;

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Each event comes as a whole, with the end of its line.
        let text = String::from_utf8_lossy(bytes);
        let text = plain::line(text.trim_end_matches('\n'));
        match &mut *held() {
            Some(held) if held.len() < MOST => held.extend(text.as_bytes()),
            Some(_) => {}
            None => stderr().write_all(text.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        stderr().flush()
    }
}
