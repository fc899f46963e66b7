//! Messages from one agent to another, of limited size.
#![allow(unsafe_code)]

use super::comm::{Comm, MpiError, check};
use super::pending::Pending;
use crate::transport::{Message, Post, Suspicion};
use mpi::ffi::{self, MPI_Message, MPI_Status};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// The tag of all messages. Messages of one sender are received in the order in which they were
/// sent.
const TAG: c_int = 0;
/// The most messages that one agent sends at the same time.
const SENDING: usize = 4;

/// The end of one agent.
pub struct MpiPost {
    comm: Comm,
    sending: VecDeque<Pending<Vec<u8>>>,
    /// The message that is being received, and its sender.
    receiving: Option<(Pending<Vec<u8>>, usize)>,
}

impl MpiPost {
    /// Connects all agents, which call this together.
    pub(super) fn connect() -> Result<MpiPost, MpiError> {
        Ok(MpiPost {
            comm: Comm::of_world()?,
            sending: VecDeque::new(),
            receiving: None,
        })
    }

    /// Starts to receive a message if one has arrived.
    fn begin_receiving(&mut self) -> Result<(), MpiError> {
        let what = "receive a message";
        let raw = self.comm.callable(what)?;
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        // SAFETY: MPI predefines this handle.
        let mut message: MPI_Message = unsafe { ffi::RSMPI_MESSAGE_NULL };
        let mut found = 0;
        // SAFETY: the communicator is our own. The results are written to `found`, and if there is
        // a message to `message` and `status`.
        check(what, unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            ffi::MPI_Improbe(
                any,
                TAG,
                raw,
                &raw mut found,
                &raw mut message,
                status.as_mut_ptr(),
            )
        })?;
        if found == 0 {
            return Ok(());
        }
        let mut count = 0;
        // SAFETY: there is a message, so MPI has written the status.
        let status = unsafe { status.assume_init() };
        // SAFETY: the status is that of a message of bytes. The result is written to `count`.
        check(what, unsafe {
            ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut count)
        })?;
        let mut bytes = vec![0u8; usize::try_from(count).unwrap_or(0)];
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: the buffer has as many bytes as the message. It is on the heap, and `Pending`
        // keeps it. Nobody else receives this message.
        let pending = unsafe {
            Pending::start(what, bytes, |request| {
                let kind = ffi::RSMPI_UINT8_T;
                ffi::MPI_Imrecv(to, count, kind, &raw mut message, request)
            })
        };
        let from = usize::try_from(status.MPI_SOURCE).unwrap_or(0);
        self.receiving = Some((pending?, from));
        Ok(())
    }
}

impl Post for MpiPost {
    fn can_send(&mut self) -> Result<bool, Suspicion> {
        while let Some(oldest) = self.sending.front_mut() {
            if !oldest.test(&self.comm)? {
                break;
            }
            self.sending.pop_front();
        }
        Ok(self.sending.len() < SENDING)
    }

    fn all_sent(&mut self) -> Result<bool, Suspicion> {
        self.can_send()?;
        Ok(self.sending.is_empty())
    }

    fn send(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), Suspicion> {
        let what = "send a message";
        let raw = self.comm.callable(what)?;
        let sizes = (c_int::try_from(bytes.len()), c_int::try_from(to));
        let (Ok(count), Ok(to)) = sizes else {
            let why = format!("message of {} bytes is too large", bytes.len());
            return Err(Suspicion { why });
        };
        let from = bytes.as_ptr().cast();
        // SAFETY: the call reads the bytes, which are on the heap, and `Pending` keeps them.
        let pending = unsafe {
            Pending::start(what, bytes, |request| {
                ffi::MPI_Isend(from, count, ffi::RSMPI_UINT8_T, to, TAG, raw, request)
            })
        };
        self.sending.push_back(pending?);
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<Message>, Suspicion> {
        if self.receiving.is_none() {
            self.begin_receiving()?;
        }
        let Some((mut pending, from)) = self.receiving.take() else {
            return Ok(None);
        };
        pending.test(&self.comm)?;
        match pending.finish() {
            Ok(bytes) => Ok(Some(Message { from, bytes })),
            Err(pending) => {
                self.receiving = Some((pending, from));
                Ok(None)
            }
        }
    }
}
