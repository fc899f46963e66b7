//! The log, on standard error: events of `tracing`, and records of `log`, which the producer
//! writes. While a command uses the whole terminal, lines of the log are held back.

use crate::plain;
use std::io::{self, IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing_subscriber::EnvFilter;

/// Bytes that are held back at most. Later lines are dropped, because the first ones tell most.
const MOST: usize = 64 << 10;

/// The lines that are held back. `None` if lines are written at once.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Starts logging to standard error. `TCASM_LOG` selects what is logged, in the syntax of
/// `RUST_LOG`; the default is warnings.
pub fn to_stderr() {
    let filter = EnvFilter::try_from_env("TCASM_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Line)
        // `Line` escapes control characters, ours too: it cannot tell them from those in the text.
        .with_ansi(false)
        .init();
}

/// Begins to hold back lines, if standard error is a terminal.
pub fn hold() {
    if stderr().is_terminal() {
        *held() = Some(Vec::new());
    }
}

/// Writes the lines that were held back, and stops holding back.
pub fn release() {
    let held = held().take();
    let _ = stderr().write_all(&held.unwrap_or_default());
}

fn held() -> MutexGuard<'static, Option<Vec<u8>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines of the log to standard error, or holds them back.
struct Line;

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The subscriber writes each event in one call, with the newline at its end.
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

#[cfg(test)]
mod tests {
    use ::log::{Level, log_enabled};

    #[test]
    fn warnings_of_the_producer_are_logged() {
        super::to_stderr();
        assert!(log_enabled!(target: "tcasm_producer::publish", Level::Warn));
    }
}
