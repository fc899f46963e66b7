//! Rounds as reductions: `MPI_Iallreduce` with the merging of offers as its operation.
#![allow(unsafe_code)]

use super::comm::{Comm, MpiError, check};
use super::pending::Pending;
use crate::offer::{OFFER_BYTES, OfferBytes, merge_bytes};
use crate::transport::{Suspicion, Transport};
use mpi::ffi::{self, MPI_Datatype, MPI_Op};
use std::ffi::{c_int, c_void};

/// The part of one agent in the rounds of all.
pub struct MpiRounds {
    /// The offer and the result of the round in progress.
    pending: Option<Pending<[Vec<u8>; 2]>>,
    kind: MPI_Datatype,
    merge: MPI_Op,
    comm: Comm,
}

impl MpiRounds {
    /// Connects all agents, which call this together.
    pub(super) fn connect() -> Result<MpiRounds, MpiError> {
        let comm = Comm::of_world()?;
        // SAFETY: MPI predefines these handles.
        let (mut kind, mut op) = unsafe { (ffi::RSMPI_UINT8_T, ffi::RSMPI_MAX) };
        // SAFETY: MPI is initialised. The type of an offer is so many bytes.
        check("define the type of offers", unsafe {
            let bytes = ffi::RSMPI_UINT8_T;
            ffi::MPI_Type_contiguous(OFFER_BYTES as c_int, bytes, &raw mut kind)
        })?;
        // SAFETY: the type was just defined.
        check("define the type of offers", unsafe {
            ffi::MPI_Type_commit(&raw mut kind)
        })?;
        // SAFETY: `merge` has the contract of such functions. It is commutative.
        check("define the merging of offers", unsafe {
            ffi::MPI_Op_create(Some(merge), 1, &raw mut op)
        })?;
        Ok(MpiRounds {
            pending: None,
            kind,
            merge: op,
            comm,
        })
    }
}

impl Transport for MpiRounds {
    fn begin(&mut self, offer: &OfferBytes) -> Result<(), Suspicion> {
        let what = "begin a round";
        let raw = self.comm.callable(what)?;
        let mut buffers = [offer.to_vec(), vec![0; OFFER_BYTES]];
        let (from, to) = (buffers[0].as_ptr().cast(), buffers[1].as_mut_ptr().cast());
        let (kind, op) = (self.kind, self.merge);
        // SAFETY: the call reads one element of the type, an offer, and writes another one. Both
        // are on the heap, and `Pending` keeps them.
        let pending = unsafe {
            Pending::start(what, buffers, |request| {
                ffi::MPI_Iallreduce(from, to, 1, kind, op, raw, request)
            })
        };
        self.pending = Some(pending?);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<OfferBytes>, Suspicion> {
        let Some(mut pending) = self.pending.take() else {
            return Ok(None);
        };
        pending.test(&self.comm)?;
        match pending.finish() {
            Ok([_, result]) => Ok(result.as_slice().try_into().ok()),
            Err(pending) => {
                self.pending = Some(pending);
                Ok(None)
            }
        }
    }
}

/// Merges `count` offers into as many others, as MPI demands of an operation.
unsafe extern "C" fn merge(
    from: *mut c_void,
    into: *mut c_void,
    count: *mut c_int,
    _kind: *mut MPI_Datatype,
) {
    // SAFETY: MPI gives the number of elements, and two arrays of as many elements of the type of
    // offers, which are bytes and need no alignment. It does not use them meanwhile.
    unsafe {
        let count = usize::try_from(*count).unwrap_or(0);
        let (from, into) = (from.cast::<OfferBytes>(), into.cast::<OfferBytes>());
        for i in 0..count {
            merge_bytes(&*from.add(i), &mut *into.add(i));
        }
    }
}

impl Drop for MpiRounds {
    fn drop(&mut self) {
        if self.pending.is_none() && self.comm.callable("free the type of offers").is_ok() {
            // SAFETY: both are our own, and no call uses them.
            unsafe {
                ffi::MPI_Op_free(&raw mut self.merge);
                ffi::MPI_Type_free(&raw mut self.kind);
            }
        }
    }
}
