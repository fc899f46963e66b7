//! The service thread: lets observers attach, drops the leases of those that are gone, and sends
//! notices.
//!
//! `publish` shares two things with it, and neither blocks: the set of leases (an atomic pointer),
//! and an eventfd that only this process has.

mod hub;
mod parting;
mod server;

use crate::access::Access;
use crate::claim::Claim;
use crate::error::CreateError;
use arc_swap::ArcSwap;
use hub::{Attached, Hub};
use nix::sys::eventfd::{EfdFlags, EventFd};
use parting::Parting;
use server::Server;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tcasm_core::format::bell::Bell;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::thread;

/// How long the producer waits for the service thread to end. That takes microseconds unless
/// something unforeseen delays the thread. After this time the simulation continues.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The running service.
#[derive(Debug)]
pub(crate) struct Service {
    hub: Arc<Hub>,
    thread: Option<JoinHandle<()>>,
    /// Receives a value when the thread ends: true if no connection is left whose closing might
    /// block.
    end: Mutex<Receiver<bool>>,
    /// The claim of the name, until the service has stopped.
    claim: Option<Claim>,
    process: Process,
}

impl Service {
    /// Serves `objects`, read-only descriptors of an index and its planes, at the socket of
    /// `claim`. `access` says which users may attach.
    pub(crate) fn start(
        (claim, listener): (Claim, OwnedFd),
        objects: Vec<OwnedFd>,
        access: Access,
        max_observers: usize,
    ) -> Result<Self, CreateError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_flags(flags).map_err(|e| CreateError::Thread(e.into()))?;
        let hub = Arc::new(Hub {
            attached: ArcSwap::default(),
            wake,
            stop: AtomicBool::new(false),
        });
        let bell = objects.first().map(|index| Bell::of(index.as_fd()));
        let bell = bell.transpose().map_err(io::Error::other);
        let server = Server {
            hub: hub.clone(),
            parting: Parting::new(&listener),
            listener,
            bell: bell.map_err(CreateError::Thread)?,
            objects,
            access,
            max_observers,
            connections: Vec::new(),
        };
        let (thread, end) = start(server).map_err(CreateError::Thread)?;
        Ok(Service {
            hub,
            thread: Some(thread),
            end: Mutex::new(end),
            claim: Some(claim),
            process: Process::current(),
        })
    }

    /// Returns true if any lease names version `n`.
    pub(crate) fn pinned(&self, n: u64) -> bool {
        self.hub.pinned(n)
    }

    /// Returns a function that does the same as [`Service::pinned`], for another thread.
    pub(crate) fn pins(&self) -> impl Fn(u64) -> bool + Send + 'static {
        let hub = self.hub.clone();
        move |n| hub.pinned(n)
    }

    /// Returns how many observers are attached now.
    pub(crate) fn observers(&self) -> usize {
        self.hub.attached.load().len()
    }

    /// Returns a function that makes the service thread wake all waiting threads and notify
    /// subscribers. It makes at most one system call, on a descriptor that no other process has. So
    /// it cannot block, and it takes no longer when many threads wait. Several notices may become
    /// one.
    pub(crate) fn notifier(&self) -> Arc<dyn Fn() + Send + Sync> {
        let hub = self.hub.clone();
        Arc::new(move || {
            if !hub.attached.load().is_empty() {
                let _ = hub.wake.write(1);
            }
            tcasm_core::testing::fault::pass("notified");
        })
    }

    /// Revokes the leases of process `pid` that stand. Returns how many there were. Their pins go
    /// on counting until the observers have left.
    pub(crate) fn revoke(&self, pid: i32) -> usize {
        let attached = self.hub.attached.load();
        let stands = |a: &&Arc<Attached>| a.pid == pid && !a.lease.revoked();
        let revoked = attached.iter().filter(stands);
        let revoked = revoked.inspect(|a| a.lease.revoke()).count();
        // The observers may be waiting.
        let _ = self.hub.wake.write(1);
        revoked
    }

    /// Ends the thread and gives the name up.
    pub(crate) fn stop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        if !self.process.is_current() {
            // A forked child has no such thread. The thread id may be that of one of the child's
            // own threads by now, which must be neither waited for nor detached.
            return std::mem::forget(thread);
        }
        self.hub.stop.store(true, Ordering::Release);
        let _ = self.hub.wake.write(1);
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        match end.recv_timeout(END_TIMEOUT) {
            Ok(true) => drop(thread.join()),
            // The thread closes the connections that are left by itself.
            Ok(false) => {}
            Err(_) => log::warn!("the service thread has not ended within {END_TIMEOUT:?}"),
        }
        self.claim = None;
    }
}

/// Starts the thread. It handles no signals: the handlers of the simulation run on its own threads.
fn start(server: Server) -> io::Result<(JoinHandle<()>, Receiver<bool>)> {
    let (ended, end) = channel();
    let named = Builder::new().name("tcasm-service".into());
    let thread = thread::spawn(named, move || {
        let left = server.run();
        let _ = ended.send(!left.is_behind());
        drop(left);
    })?;
    Ok((thread, end))
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}
