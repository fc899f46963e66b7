//! The service thread: lets observers in, drops the leases of those that are gone, passes notices on.
//!
//! `publish` meets it in two places that never block: the set of leases (an atomic pointer), and an eventfd that only this
//! process has.

mod parting;
mod server;

use crate::builder::Access;
use crate::claim::Claim;
use crate::error::CreateError;
use arc_swap::ArcSwap;
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
use tcasm_core::bell::Bell;
use tcasm_core::lease::Lease;
use tcasm_core::protocol::is_pinned;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::thread;

/// How long the end of the service thread is waited for. It takes microseconds, unless something holds the thread up that
/// nobody has thought of; the simulation goes on then.
const PATIENCE: Duration = Duration::from_secs(2);

/// An attached observer, as `publish` sees it.
#[derive(Debug)]
struct Attached {
    pid: i32,
    uid: u32,
    lease: Lease,
}

/// What the producer's thread and the service thread share.
#[derive(Debug)]
struct Hub {
    attached: ArcSwap<Vec<Arc<Attached>>>,
    wake: EventFd,
    stop: AtomicBool,
}

impl Hub {
    fn pinned(&self, n: u64) -> bool {
        let attached = self.attached.load();
        attached.iter().any(|a| is_pinned(a.lease.pins(), n))
    }
}

/// The running service.
#[derive(Debug)]
pub(crate) struct Service {
    hub: Arc<Hub>,
    thread: Option<JoinHandle<()>>,
    /// What the thread says at its end: whether nothing is left that might block.
    end: Mutex<Receiver<bool>>,
    /// The name, until the service has stopped.
    claim: Option<Claim>,
    process: Process,
}

impl Service {
    /// Serves `objects`, read-only descriptors of an index and its planes, to whoever may have them and connects to
    /// the socket of `claim`.
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

    /// Whether any lease names version `n`.
    pub(crate) fn pinned(&self, n: u64) -> bool {
        self.hub.pinned(n)
    }

    /// The same question, for another thread.
    pub(crate) fn pins(&self) -> impl Fn(u64) -> bool + Send + 'static {
        let hub = self.hub.clone();
        move |n| hub.pinned(n)
    }

    /// Observers attached now.
    pub(crate) fn observers(&self) -> usize {
        self.hub.attached.load().len()
    }

    /// What has the service thread wake those who wait, and tell subscribers. One system call at most, on a descriptor that
    /// nobody else has: it cannot block, takes no longer for many who wait, and notices may run together.
    pub(crate) fn notifier(&self) -> Arc<dyn Fn() + Send + Sync> {
        let hub = self.hub.clone();
        Arc::new(move || {
            if !hub.attached.load().is_empty() {
                let _ = hub.wake.write(1);
            }
            tcasm_core::fault::pass("notified");
        })
    }

    /// Revoke the leases of process `pid`.
    pub(crate) fn oust(&self, pid: i32) -> usize {
        let mut ousted = 0;
        self.hub.attached.rcu(|list| {
            let (out, stay): (Vec<_>, Vec<_>) = list.iter().cloned().partition(|a| a.pid == pid);
            // Told before the pins stop counting: who checks after reading can never have been wrong unawares.
            out.iter().for_each(|a| a.lease.revoke());
            ousted = out.len();
            stay
        });
        // They may be waiting, and nobody is told of later versions for their sake.
        let _ = self.hub.wake.write(1);
        ousted
    }

    /// End the thread and give the name up.
    pub(crate) fn stop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        if !self.process.is_current() {
            // A forked child has no such thread: its id may be that of one of the child's own by now, which must be
            // neither waited for nor detached.
            return std::mem::forget(thread);
        }
        self.hub.stop.store(true, Ordering::Release);
        let _ = self.hub.wake.write(1);
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        match end.recv_timeout(PATIENCE) {
            Ok(true) => drop(thread.join()),
            // It closes what is left by itself.
            Ok(false) => {}
            Err(_) => tracing::warn!("the service thread has not ended within {PATIENCE:?}"),
        }
        self.claim = None;
    }
}

/// Starts the thread. Signals are the simulation's: its handlers run on its own threads.
fn start(server: Server) -> io::Result<(JoinHandle<()>, Receiver<bool>)> {
    let (said, end) = channel();
    let named = Builder::new().name("tcasm-service".into());
    let thread = thread::spawn(named, move || {
        let left = server.run();
        let _ = said.send(!left.is_behind());
        drop(left);
    })?;
    Ok((thread, end))
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}
