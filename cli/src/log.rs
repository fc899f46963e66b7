//! What is logged goes to standard error; while a command has the terminal for itself, it is held back.

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
    let colours = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Line)
        .with_ansi(colours && stderr().is_terminal())
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
        match &mut *held() {
            Some(held) if held.len() < MOST => held.extend(bytes),
            Some(_) => {}
            None => return stderr().write(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        stderr().flush()
    }
}
