//! A communicator, and the errors of MPI as values.
#![allow(unsafe_code)]

use crate::transport::Suspicion;
use mpi::ffi::{self, MPI_Comm};
use std::ffi::c_int;
use std::ptr;
use std::thread::ThreadId;
use thiserror::Error;

/// A call of MPI has failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("MPI cannot {what}: {why}")]
pub struct MpiError {
    /// The purpose of the call.
    pub what: String,
    /// The error as MPI describes it.
    pub why: String,
}

impl From<MpiError> for Suspicion {
    fn from(error: MpiError) -> Self {
        let why = error.to_string();
        Suspicion { why }
    }
}

/// A communicator of our own, whose calls return errors. It is never freed: that is a call of all
/// agents together, and an agent that ends because another one is lost would wait for it, or be
/// aborted.
#[derive(Debug)]
pub(super) struct Comm {
    raw: MPI_Comm,
    thread: ThreadId,
}

impl Comm {
    /// Duplicates the communicator of all agents. All agents call this together.
    pub(super) fn of_world() -> Result<Comm, MpiError> {
        let thread = std::thread::current().id();
        // SAFETY: MPI is initialised (see `Job`), so it has the communicator of all processes. The
        // result is written to `raw`.
        let mut comm = unsafe {
            let raw = ffi::RSMPI_COMM_WORLD;
            Comm { raw, thread }
        };
        let world = comm.raw;
        // SAFETY: as above.
        check("duplicate the communicator", unsafe {
            ffi::MPI_Comm_dup(world, &raw mut comm.raw)
        })?;
        // SAFETY: the communicator is our own, and MPI predefines the handler.
        check("set the error handler", unsafe {
            ffi::MPI_Comm_set_errhandler(comm.raw, ffi::RSMPI_ERRORS_RETURN)
        })?;
        Ok(comm)
    }

    /// Returns the handle, if MPI may be called here and now.
    pub(super) fn callable(&self, what: &str) -> Result<MPI_Comm, MpiError> {
        let error = |why: &str| MpiError {
            what: what.to_owned(),
            why: why.to_owned(),
        };
        let mut finalized = 0;
        // SAFETY: this function may be called at any time. It writes to `finalized`.
        unsafe { ffi::MPI_Finalized(&raw mut finalized) };
        if finalized != 0 {
            return Err(error("it has been finalised"));
        }
        match std::thread::current().id() == self.thread {
            true => Ok(self.raw),
            false => Err(error("it was initialised by another thread")),
        }
    }

    /// Returns the number of this process among the agents.
    pub(super) fn rank(&self) -> Result<usize, MpiError> {
        let raw = self.callable("find the rank")?;
        let mut rank = 0;
        // SAFETY: the communicator is our own. The result is written to `rank`.
        check("find the rank", unsafe {
            ffi::MPI_Comm_rank(raw, &raw mut rank)
        })?;
        Ok(usize::try_from(rank).unwrap_or(0))
    }

    /// Returns the number of agents.
    pub(super) fn size(&self) -> Result<usize, MpiError> {
        let raw = self.callable("count the agents")?;
        let mut size = 0;
        // SAFETY: the communicator is our own. The result is written to `size`.
        check("count the agents", unsafe {
            ffi::MPI_Comm_size(raw, &raw mut size)
        })?;
        Ok(usize::try_from(size).unwrap_or(0))
    }
}

/// Returns an error of MPI as a value.
pub(super) fn check(what: &str, code: c_int) -> Result<(), MpiError> {
    if code == 0 {
        return Ok(());
    }
    let (mut text, mut len) = ([0u8; ffi::MPI_MAX_ERROR_STRING as usize], 0);
    // SAFETY: the buffer is as long as MPI demands. The length is written to `len`.
    unsafe { ffi::MPI_Error_string(code, ptr::from_mut(&mut text).cast(), &raw mut len) };
    let text = &text[..usize::try_from(len).unwrap_or(0).min(text.len())];
    Err(MpiError {
        what: what.to_owned(),
        why: String::from_utf8_lossy(text).into_owned(),
    })
}
