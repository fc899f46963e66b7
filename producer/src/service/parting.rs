//! Closes connections without blocking the service thread.
//!
//! From Linux 6.16 on the kernel refuses descriptors that are sent to these sockets, so closing a
//! connection cannot block. On older kernels a client may have sent descriptors whose last close
//! blocks. So each connection is closed on a thread of its own, of which there are a few. While all
//! of these are stuck, ended connections wait here, and no connection is accepted. So the number of
//! waiting connections is bounded. The price is that a process that may attach can keep others from
//! attaching. It could also do that by taking all places.

use std::os::fd::OwnedFd;
use tcasm_core::sys::closer::drop_elsewhere;
use tcasm_core::sys::socket;

/// The way in which connections are closed, and those that wait for it.
#[derive(Debug)]
pub(super) struct Parting {
    /// True if the kernel refuses descriptors, so that closing a connection cannot block.
    /// True if the kernel refuses descriptors, so that closing a connection cannot block.
    plain: bool,
    waiting: Vec<OwnedFd>,
}

impl Parting {
    /// Returns the state for the connections that `listener` accepts.
    pub(super) fn new(listener: &OwnedFd) -> Self {
        Parting {
            plain: socket::refuse_descriptors(listener).is_ok(),
            waiting: Vec::new(),
        }
    }

    /// Ends a connection. The other end sees that at once.
    pub(super) fn close(&mut self, connection: OwnedFd) {
        if self.plain {
            return drop(connection);
        }
        socket::hang_up(&connection);
        self.waiting.push(connection);
        self.go_on();
    }

    /// Closes as many waiting connections as possible.
    pub(super) fn go_on(&mut self) {
        while let Some(connection) = self.waiting.pop() {
            if let Err(back) = drop_elsewhere(connection) {
                return self.waiting.push(back);
            }
        }
    }

    /// Returns true if connections wait to be closed.
    pub(super) fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }
}
