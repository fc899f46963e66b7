//! The process whose memory is declared.

use crate::beacon::Beacon;
use crate::cookie::Cookie;
use crate::declaration::Declaration;
use crate::error::{DeclareError, OwnerError};
use crate::listener::{Allowed, listen};
use crate::server::{Server, Shared};
use crate::table::Table;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::thread;

/// Declares memory, and serves peers from a thread of its own. Dropping this ends all connections.
/// It does not wait for copies that peers do themselves: revoke the cookies for that. Shared memory
/// and versions that are being copied then stay mapped for ever.
#[derive(Debug)]
pub struct Owner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    address: PathBuf,
    process: Process,
}

impl Owner {
    /// Begins to serve the peers that are allowed.
    pub fn create(allowed: Allowed) -> Result<Self, OwnerError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_flags(flags).map_err(|e| OwnerError::Thread(e.into()))?;
        let shared = Arc::new(Shared {
            table: Table::default(),
            wake,
            stop: AtomicBool::new(false),
        });
        let beacon = Beacon::new().map_err(OwnerError::Thread)?;
        let (listener, address) = listen(&allowed)?;
        let server = Server::new(listener, shared.clone(), allowed, beacon);
        let mut owner = Owner {
            shared,
            thread: None,
            address,
            process: Process::current(),
        };
        // If this fails, dropping the owner removes the socket.
        owner.thread = Some(start(server).map_err(OwnerError::Thread)?);
        Ok(owner)
    }

    /// Returns where peers find this owner. Send it to them with the cookie.
    pub fn address(&self) -> &Path {
        &self.address
    }

    /// Returns the cookie of a new declaration.
    pub fn declare(&self, declaration: Declaration) -> Result<Cookie, DeclareError> {
        if !self.process.is_current() {
            return Err(DeclareError::Forked);
        }
        self.shared.table.declare(declaration)
    }

    /// Makes a cookie stand for a newer version ([`Declaration::version`]). Peers that are reading
    /// the old one read it to its end.
    pub fn set_version(&self, cookie: Cookie, version: Declaration) -> Result<(), DeclareError> {
        if !self.process.is_current() {
            return Err(DeclareError::Forked);
        }
        self.shared.table.set_version(cookie, version)
    }

    /// Ends a cookie, and waits until no transfer uses it. Returns true if this is so, and if the
    /// cookie had ended before. Returns false if transfers still run after `patience`: then call
    /// this again before the memory is used for anything else. In a forked child this returns
    /// false: peers use the memory of its parent.
    #[must_use = "if transfers still run, the memory must be left alone"]
    pub fn revoke(&self, cookie: Cookie, patience: Duration) -> bool {
        self.process.is_current() && self.shared.table.revoke(cookie, patience)
    }

    /// Returns how many declarations there are. Those that were revoked count as long as transfers
    /// use them.
    pub fn declarations(&self) -> usize {
        match self.process.is_current() {
            true => self.shared.table.len(),
            false => 0,
        }
    }
}

fn start(server: Server) -> io::Result<JoinHandle<()>> {
    let named = Builder::new().name("tcasm-transfer".into());
    thread::spawn(named, move || server.run())
}

impl Drop for Owner {
    fn drop(&mut self) {
        let thread = self.thread.take();
        if !self.process.is_current() {
            // A forked child has no such thread, and the socket is that of its parent.
            return std::mem::forget(thread);
        }
        self.shared.stop.store(true, Ordering::Release);
        let _ = self.shared.wake.write(1);
        // The thread itself drops the owner if it drops the bytes of a version that keep the owner.
        if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.address);
    }
}
