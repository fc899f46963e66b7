//! Messages for the user, on standard error.

use std::fmt::Display;
use std::os::fd::BorrowedFd;
use tcasm_core::sys::thread::without_pipe_signal;

/// Prints one line. It is a single system call, so lines of several threads do not mix, and nothing
/// is kept in a buffer that a forked child would print again.
pub fn say(text: impl Display) {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    let text: String = text.to_string().chars().map(escaped).collect();
    let line = format!("tcasm: {text}\n");
    // Where nobody reads standard error, the message is lost. The program must go on.
    let _ = without_pipe_signal(|| Ok(nix::unistd::write(standard_error(), line.as_bytes())?));
}

/// Returns the descriptor of standard error, which may be closed.
#[allow(unsafe_code)]
fn standard_error() -> BorrowedFd<'static> {
    // SAFETY: writing is all that is done with it. If the program has closed it, that is an error.
    unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) }
}
