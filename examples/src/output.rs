//! Lines that the programs print, also when nobody reads them any more (`hello_observer | head`).

use nix::sys::signal::{SigHandler, Signal, signal};
use std::fmt::Display;
use std::io::{Write, stdout};

/// Makes this program end without a message when the reader of its output closes the pipe, as other
/// Unix programs do. (Rust ignores the signal that ends them, so `println!` would panic.)
///
/// This is for programs that only show something. A simulation goes on without a reader: see
/// [`say`].
pub fn end_with_reader() {
    // SAFETY: the default action of a signal runs no code of this program.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}

/// Prints a line. Ignores errors, because a simulation must continue even if nobody reads its
/// output any more.
pub fn say(line: impl Display) {
    let _ = writeln!(stdout(), "{line}");
}
