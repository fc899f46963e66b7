//! A connection with another process of the host, and the life of that process.
//!
//! The end of a connection does not prove that the process has ended, and an open one does not
//! prove that it lives: its forked children have the socket too. So the kernel is asked for the
//! process itself.

use crate::wire::{self, Lost};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Instant;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;

/// A connected process. Dropping this ends the connection, even if forked children hold it open.
#[derive(Debug)]
pub(crate) struct Link {
    socket: OwnedFd,
    peer: Peer,
    process: Process,
}

impl Drop for Link {
    fn drop(&mut self) {
        // A forked child must not end the connection of its parent.
        if self.process.is_current() {
            socket::hang_up(&self.socket);
        }
    }
}

impl Link {
    /// Takes a connected socket. Fails if the kernel does not say which process is at its other
    /// end.
    pub(crate) fn new(socket: OwnedFd) -> nix::Result<Self> {
        let peer = Peer::of(&socket)?;
        Ok(Link {
            socket,
            peer,
            process: Process::current(),
        })
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> i32 {
        self.peer.pid
    }

    /// Returns the user of the process.
    pub(crate) fn uid(&self) -> u32 {
        self.peer.uid
    }

    /// Returns what can be read when the process has sent something, or is gone.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.socket.as_fd()).chain(self.peer.handle())
    }

    /// Returns false if the process has ended, or has closed the connection.
    pub(crate) fn is_there(&self) -> bool {
        self.peer.alive() && !socket::hung_up(&self.socket)
    }

    /// Returns false if the process has ended. Its forked children may hold the connection open.
    pub(crate) fn is_alive(&self) -> bool {
        self.peer.alive()
    }

    /// Sends a message with descriptors, at once or not at all.
    pub(crate) fn send(&self, message: &impl Serialize, fds: &[RawFd]) -> Result<(), Lost> {
        wire::send(&self.socket, message, fds)
    }

    /// Returns the next message, or `None` if none waits. It must have no descriptors.
    pub(crate) fn try_receive<M: DeserializeOwned>(&self) -> Result<Option<M>, Lost> {
        self.unless_dead(wire::try_receive)
    }

    /// Returns the next message with its descriptors, or `None` if none waits.
    pub(crate) fn try_receive_with<M: DeserializeOwned>(
        &self,
    ) -> Result<Option<(M, Vec<OwnedFd>)>, Lost> {
        self.unless_dead(wire::try_receive_with)
    }

    /// Waits for a message without descriptors.
    pub(crate) fn receive<M: DeserializeOwned>(&self, until: Instant) -> Result<M, Lost> {
        self.wait_for(until, || self.try_receive())
    }

    /// Waits for a message with its descriptors.
    pub(crate) fn receive_with<M: DeserializeOwned>(
        &self,
        until: Instant,
    ) -> Result<(M, Vec<OwnedFd>), Lost> {
        self.wait_for(until, || self.try_receive_with())
    }

    /// Returns what `receive` finds. If it finds nothing, the process must be alive.
    fn unless_dead<T>(
        &self,
        receive: impl FnOnce(&OwnedFd) -> Result<Option<T>, Lost>,
    ) -> Result<Option<T>, Lost> {
        // This comes first: what a process sends before it ends is there when it has ended.
        let alive = self.peer.alive();
        match receive(&self.socket)? {
            None if !alive => Err(Lost::Gone),
            received => Ok(received),
        }
    }

    fn wait_for<T>(
        &self,
        until: Instant,
        mut receive: impl FnMut() -> Result<Option<T>, Lost>,
    ) -> Result<T, Lost> {
        loop {
            if let Some(message) = receive()? {
                return Ok(message);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Lost::Late);
            }
            let fds: Vec<BorrowedFd<'_>> = self.fds().collect();
            wire::wait_any(&fds, left);
        }
    }
}
