//! Noticing that the other machine, or the network between, is gone.

use nix::libc::{EHOSTUNREACH, ENETUNREACH, ETIMEDOUT};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{
    KeepAlive, TcpKeepCount, TcpKeepIdle, TcpKeepInterval, TcpUserTimeout,
};
use std::io;
use std::net::TcpStream;

/// Seconds of silence before the kernel asks the other end for a sign of life, and between two
/// questions.
const INTERVAL: u32 = 5;
/// The number of questions without an answer after which the connection is lost.
const QUESTIONS: u32 = 3;
/// The seconds after which a connection is lost whose other end is silent or confirms nothing.
const LOST: u32 = INTERVAL * (QUESTIONS + 1);

/// Makes the kernel notice a lost connection within [`LOST`] seconds. A machine without power, or
/// whose link is down, does not close its connections.
pub(super) fn notice(stream: &TcpStream) -> io::Result<()> {
    setsockopt(stream, KeepAlive, &true)?;
    setsockopt(stream, TcpKeepIdle, &INTERVAL)?;
    setsockopt(stream, TcpKeepInterval, &INTERVAL)?;
    setsockopt(stream, TcpKeepCount, &QUESTIONS)?;
    // While sent bytes are not confirmed, the kernel repeats them, and asks no questions.
    setsockopt(stream, TcpUserTimeout, &(LOST * 1000))?;
    Ok(())
}

/// Returns the error of a lost connection in words, and other errors as they are.
pub(super) fn explained(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(ETIMEDOUT | EHOSTUNREACH | ENETUNREACH) => io::Error::new(
            io::ErrorKind::ConnectionAborted,
            format!(
                "the connection is lost: the other machine or the network is down, or silent for \
                 {LOST} s ({error})"
            ),
        ),
        _ => error,
    }
}
