//! The drivers that memory can be registered with.

pub(crate) mod cuda;
pub(crate) mod cuda_context;
pub(crate) mod ibverbs;
pub(crate) mod io_uring;
pub(crate) mod mlock;
pub(crate) mod recording;

use crate::error::RegisterError;
use libloading::Library;
use nix::errno::Errno;
use std::io;
use std::ops::Range;
use thiserror::Error;

/// The reason why a driver cannot be used here.
#[derive(Debug, Error)]
#[error("{driver} cannot be used here: {reason}")]
pub struct Absent {
    /// The library, or the interface of the kernel.
    pub driver: &'static str,
    /// The missing part.
    pub reason: String,
}

impl Absent {
    pub(crate) fn new(driver: &'static str, reason: impl ToString) -> Self {
        Absent {
            driver,
            reason: reason.to_string(),
        }
    }
}

/// Loads a library of a driver, which this package does not link.
#[allow(unsafe_code)]
fn load(driver: &'static str) -> Result<Library, Absent> {
    // SAFETY: these are libraries of drivers, whose initialisers do nothing that a program which
    // links them would not have done at its start.
    unsafe { Library::new(driver) }.map_err(|e| Absent::new(driver, e))
}

/// Returns a function of a library. It must not be called after the library was unloaded.
///
/// # Safety
/// `T` must be the type of the function.
#[allow(unsafe_code)]
unsafe fn function<T: Copy>(
    library: &Library,
    driver: &'static str,
    name: &str,
) -> Result<T, Absent> {
    // SAFETY: the caller vouches for the type.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|f| *f).map_err(|e| Absent::new(driver, e))
}

/// Returns the error for a limit of the system.
fn limit(range: &Range<usize>, limit: &'static str, error: Errno) -> RegisterError {
    RegisterError::Limit {
        addr: range.start,
        len: range.len(),
        limit,
        source: error.into(),
    }
}

/// Returns the error for memory that cannot be registered.
fn refused(range: &Range<usize>, how: &'static str, source: io::Error) -> RegisterError {
    RegisterError::Refused {
        addr: range.start,
        len: range.len(),
        how,
        source,
    }
}
