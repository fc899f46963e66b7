//! Calls that wait and cannot be cut into slices: they run on a thread of their own.

use crate::errors;
use crate::wait::{Limit, in_slices};
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use tcasm_core::sys::thread;

/// Calls `call` on another thread, without the interpreter's lock, and returns its result. A signal
/// whose handler raises ends the wait with that exception. Then the call goes on, and its result is
/// dropped.
pub fn in_background<T: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let named = Builder::new().name("tcasm-python".into());
    let started = thread::spawn(named, move || {
        // If nobody waits any more, the result is dropped here.
        let _ = sender.send(call());
    });
    started.map_err(errors::other)?;
    let look = move |slice| receiver.recv_timeout(slice);
    let running = |found: &Result<T, _>| matches!(found, Err(RecvTimeoutError::Timeout));
    let found = in_slices(py, &Limit::new(None), look, running)?;
    found.map_err(|_| errors::other("the call has panicked"))
}
