//! Exchanges: each agent gives bytes, and gets those of all, by `MPI_Iallgather` of the lengths and
//! `MPI_Iallgatherv` of the bytes.
#![allow(unsafe_code)]

use super::comm::{Comm, MpiError};
use super::pending::Pending;
use crate::transport::{Exchange, Suspicion};
use mpi::ffi;
use std::ffi::c_int;

/// The part of one agent in the exchanges of all.
pub struct MpiExchange {
    comm: Comm,
    state: State,
}

/// Own and all lengths.
type Lengths = (Vec<c_int>, Vec<c_int>);

/// The buffers of the second call.
struct Bytes {
    mine: Vec<u8>,
    all: Vec<u8>,
    lengths: Vec<c_int>,
    starts: Vec<c_int>,
}

enum State {
    Idle,
    Lengths(Pending<Lengths>, Vec<u8>),
    Bytes(Pending<Bytes>),
}

impl MpiExchange {
    /// Connects all agents, which call this together.
    pub(super) fn connect() -> Result<MpiExchange, MpiError> {
        Ok(MpiExchange {
            comm: Comm::of_world()?,
            state: State::Idle,
        })
    }

    fn begin_lengths(&self, mine: c_int) -> Result<Pending<Lengths>, MpiError> {
        let what = "exchange lengths";
        let raw = self.comm.callable(what)?;
        let mut buffers = (vec![mine], vec![0; self.comm.size()?]);
        let (from, to) = (buffers.0.as_ptr().cast(), buffers.1.as_mut_ptr().cast());
        // SAFETY: the communicator has as many agents as the result has elements. Each gives and
        // gets one number. The numbers are on the heap, and `Pending` keeps them.
        unsafe {
            Pending::start(what, buffers, |request| {
                let kind = ffi::RSMPI_INT32_T;
                ffi::MPI_Iallgather(from, 1, kind, to, 1, kind, raw, request)
            })
        }
    }

    fn begin_bytes(&self, mine: Vec<u8>, lengths: Vec<c_int>) -> Result<Pending<Bytes>, MpiError> {
        let what = "exchange bytes";
        let raw = self.comm.callable(what)?;
        let total: i64 = lengths.iter().map(|n| i64::from(*n)).sum();
        let sound = lengths.iter().all(|n| *n >= 0);
        let total = c_int::try_from(total).ok().filter(|_| sound);
        let total = total.ok_or_else(|| MpiError {
            what: what.to_owned(),
            why: "the tables of all agents are larger than 2 GiB".to_owned(),
        })?;
        let starts = lengths
            .iter()
            .scan(0, |at, n| Some(std::mem::replace(at, *at + n)));
        let mut buffers = Bytes {
            starts: starts.collect(),
            mine,
            all: vec![0; total as usize],
            lengths,
        };
        let (from, to) = (
            buffers.mine.as_ptr().cast(),
            buffers.all.as_mut_ptr().cast(),
        );
        let (counts, starts) = (buffers.lengths.as_ptr(), buffers.starts.as_ptr());
        let count = buffers.mine.len() as c_int;
        // SAFETY: each agent gives as many bytes as it has said, and the result has room for the
        // sum. All buffers are on the heap, and `Pending` keeps them.
        unsafe {
            Pending::start(what, buffers, |request| {
                let kind = ffi::RSMPI_UINT8_T;
                ffi::MPI_Iallgatherv(from, count, kind, to, counts, starts, kind, raw, request)
            })
        }
    }
}

impl Exchange for MpiExchange {
    fn begin(&mut self, mine: Vec<u8>) -> Result<(), Suspicion> {
        // Bytes that are too many have the length -1, which all agents see.
        let length = c_int::try_from(mine.len()).unwrap_or(-1);
        self.state = State::Lengths(self.begin_lengths(length)?, mine);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Vec<Vec<u8>>>, Suspicion> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Ok(None),
            State::Lengths(mut pending, mine) => {
                pending.test(&self.comm)?;
                self.state = match pending.finish() {
                    Ok((_, lengths)) => State::Bytes(self.begin_bytes(mine, lengths)?),
                    Err(pending) => State::Lengths(pending, mine),
                };
                Ok(None)
            }
            State::Bytes(mut pending) => {
                pending.test(&self.comm)?;
                match pending.finish() {
                    Ok(bytes) => Ok(Some(bytes.parts())),
                    Err(pending) => {
                        self.state = State::Bytes(pending);
                        Ok(None)
                    }
                }
            }
        }
    }
}

impl Bytes {
    fn parts(&self) -> Vec<Vec<u8>> {
        let mut rest = &self.all[..];
        let lengths = self.lengths.iter();
        lengths
            .map(|n| {
                let (part, after) = rest.split_at((*n).max(0) as usize);
                rest = after;
                part.to_vec()
            })
            .collect()
    }
}
