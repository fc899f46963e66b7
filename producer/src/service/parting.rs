//! Parting from connections: none is closed where closing it could block.
//!
//! From Linux 6.16 on the kernel refuses descriptors for these sockets, and a close is only a close. Elsewhere a client may
//! have sent descriptors whose last close blocks, so each connection is closed on a thread of its own, of which there are a few.
//! While these are all stuck, connections wait here to be closed, and nobody is let in. So what can
//! pile up is bounded by the connections that were there. The price is that whoever may attach can keep others
//! from attaching; it could do that by taking all places, too.

use std::os::fd::OwnedFd;
use tcasm_core::sys::closer::drop_elsewhere;
use tcasm_core::sys::socket;

/// How connections are closed, and those that wait for it.
#[derive(Debug)]
pub(super) struct Parting {
    plain: bool,
    waiting: Vec<OwnedFd>,
}

impl Parting {
    /// For the connections that `listener` accepts.
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

    /// Closes connections that wait, as many as can be.
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
