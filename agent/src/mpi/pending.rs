//! A call of MPI that is not complete, with the buffers that MPI uses until it is.
#![allow(unsafe_code)]

use super::comm::{Comm, MpiError, check};
use mpi::ffi::{self, MPI_Request};
use std::ffi::c_int;
use std::mem::ManuallyDrop;

/// How often one look tests whether a call is complete. Each test lets MPI do a part of what is
/// left to do, and Open MPI looks at its sockets in each eighth test only.
const TESTS: usize = 8;

/// A call in progress. If it is dropped before it is complete, its buffers are never released,
/// because MPI may still use them.
pub(super) struct Pending<B> {
    request: MPI_Request,
    what: &'static str,
    buffers: ManuallyDrop<B>,
    complete: bool,
}

impl<B> Pending<B> {
    /// Starts a call that uses memory which `buffers` own, and which does not move with them.
    ///
    /// # Safety
    ///
    /// `start` starts a call of MPI with the request that it gets, and returns its error code. The
    /// call reads and writes no memory but that of `buffers`.
    pub(super) unsafe fn start(
        what: &'static str,
        buffers: B,
        start: impl FnOnce(*mut MPI_Request) -> c_int,
    ) -> Result<Pending<B>, MpiError> {
        // SAFETY: MPI predefines this handle.
        let request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let mut pending = Pending {
            request,
            what,
            buffers: ManuallyDrop::new(buffers),
            complete: false,
        };
        check(what, start(&raw mut pending.request))?;
        Ok(pending)
    }

    /// Returns true if the call is complete. Waits for nothing.
    pub(super) fn test(&mut self, comm: &Comm) -> Result<bool, MpiError> {
        comm.callable(self.what)?;
        for _ in 0..TESTS {
            if self.complete {
                break;
            }
            let mut done = 0;
            // SAFETY: the request was started and is not complete. MPI accepts a predefined handle
            // in place of a status, and writes to `done`.
            check(self.what, unsafe {
                ffi::MPI_Test(
                    &raw mut self.request,
                    &raw mut done,
                    ffi::RSMPI_STATUS_IGNORE,
                )
            })?;
            self.complete = done != 0;
        }
        Ok(self.complete)
    }

    /// Returns the buffers if the call is complete, else itself.
    pub(super) fn finish(mut self) -> Result<B, Self> {
        match self.complete {
            // SAFETY: the buffers are taken once: `drop` leaves them alone, as the call is not
            // complete for it any more.
            true => Ok(unsafe {
                self.complete = false;
                ManuallyDrop::take(&mut self.buffers)
            }),
            false => Err(self),
        }
    }
}

impl<B> Drop for Pending<B> {
    fn drop(&mut self) {
        if self.complete {
            // SAFETY: MPI is done with the buffers, and `finish` has not taken them.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}
