//! The service thread: lets observers in, drops the leases of those that are gone, passes notices on.
//!
//! `publish` meets it in three places that never block: the set of leases (an atomic pointer), the number of subscribers,
//! and an eventfd that only this process has.

use crate::builder::{Access, Builder};
use crate::claim::Claim;
use crate::error::CreateError;
use arc_swap::ArcSwap;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::SigSet;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tcasm_core::layout::LAYOUT_VERSION;
use tcasm_core::lease::Lease;
use tcasm_core::protocol::is_pinned;
use tcasm_core::sabotage::{Guard, off};
use tcasm_core::store::Store;
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;
use tcasm_core::wire::{self, Answer, ObserverRow, Request};

/// Connections that have not greeted after this long are dropped.
const GREETING: Duration = Duration::from_secs(5);
/// Connections that may be about to greet at once.
const MOST_GREETING: usize = 64;
/// Requests that an observer may make in a second; more end its connection.
const REQUESTS_PER_SECOND: u32 = 1000;

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
    subscribers: AtomicUsize,
    wake: EventFd,
    stop: AtomicBool,
}

/// The running service.
#[derive(Debug)]
pub(crate) struct Service {
    hub: Arc<Hub>,
    thread: Option<JoinHandle<()>>,
    pid: u32,
}

impl Service {
    pub(crate) fn start(
        settings: &Builder,
        claim: Claim,
        store: &Store,
    ) -> Result<Self, CreateError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_flags(flags).map_err(|e| CreateError::Thread(e.into()))?;
        let hub = Arc::new(Hub {
            attached: ArcSwap::default(),
            subscribers: AtomicUsize::new(0),
            wake,
            stop: AtomicBool::new(false),
        });
        let server = Server {
            hub: hub.clone(),
            claim,
            objects: store.read_only().map_err(CreateError::Thread)?,
            access: settings.access.clone(),
            max_observers: settings.max_observers,
            connections: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name("tcasm-service".into())
            .spawn(move || server.run())
            .map_err(CreateError::Thread)?;
        Ok(Service {
            hub,
            thread: Some(thread),
            pid: std::process::id(),
        })
    }

    /// Whether any lease names version `n`.
    pub(crate) fn pinned(&self, n: u64) -> bool {
        self.hub
            .attached
            .load()
            .iter()
            .any(|a| is_pinned(a.lease.pins(), n))
    }

    /// Observers attached now.
    pub(crate) fn observers(&self) -> usize {
        self.hub.attached.load().len()
    }

    /// Have the service thread tell subscribers. One system call at most, on a descriptor that nobody else has: it cannot
    /// block, and notices may run together.
    pub(crate) fn notify(&self) {
        if self.hub.subscribers.load(Ordering::Relaxed) != 0 {
            let _ = self.hub.wake.write(1);
        }
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
        ousted
    }

    /// End the thread and give the name up.
    pub(crate) fn stop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        // A forked child has no such thread to wait for.
        if std::process::id() != self.pid {
            return;
        }
        self.hub.stop.store(true, Ordering::Release);
        let _ = self.hub.wake.write(1);
        let _ = thread.join();
    }
}

/// One connection: greeted or not yet.
struct Connection {
    socket: OwnedFd,
    peer: Peer,
    since: Instant,
    attached: Option<Arc<Attached>>,
    subscribed: bool,
    requests: (Instant, u32),
}

/// The state of the service thread.
struct Server {
    hub: Arc<Hub>,
    claim: Claim,
    objects: Vec<OwnedFd>,
    access: Access,
    max_observers: usize,
    connections: Vec<Connection>,
}

impl Server {
    fn run(mut self) {
        // Signals are the simulation's: its handlers run on its own threads.
        let _ = SigSet::all().thread_block();
        while !self.hub.stop.load(Ordering::Acquire) {
            let ready = self.wait();
            if ready.is_empty() {
                self.drop_silent();
                continue;
            }
            // From the back, so that dropping a connection moves none that is still to come.
            for i in ready.into_iter().rev() {
                match i {
                    0 => self.pass_notices(),
                    1 => self.accept(),
                    _ => self.serve(i - 2),
                }
            }
            self.drop_silent();
        }
    }

    /// Wait for something to do: 0 the eventfd, 1 the listener, from 2 on the connections.
    fn wait(&self) -> Vec<usize> {
        let mut fds = vec![
            PollFd::new(self.hub.wake.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.claim.listener.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(
            self.connections
                .iter()
                .map(|c| PollFd::new(c.socket.as_fd(), PollFlags::POLLIN)),
        );
        let greeting = self.connections.iter().any(|c| c.attached.is_none());
        let timeout = if greeting {
            PollTimeout::from(1000u16)
        } else {
            PollTimeout::NONE
        };
        match poll(&mut fds, timeout) {
            Ok(_) => (0..fds.len())
                .filter(|i| fds[*i].any().unwrap_or(false))
                .collect(),
            Err(_) => Vec::new(),
        }
    }

    fn pass_notices(&mut self) {
        let _ = self.hub.wake.read();
        let notice = wire::NOTICE.to_le_bytes();
        for c in self.connections.iter().filter(|c| c.subscribed) {
            // An observer whose socket is full has notices enough to wake up for.
            let _ = socket::send(&c.socket, &notice, &[]);
        }
    }

    fn accept(&mut self) {
        let stream = match socket::accept(&self.claim.listener) {
            Ok(stream) => stream,
            Err(Errno::EMFILE | Errno::ENFILE) => {
                // The simulation is out of descriptors: leave some time for them to come back, and do not spin.
                std::thread::sleep(Duration::from_millis(100));
                return;
            }
            Err(_) => return,
        };
        let Ok(peer) = Peer::of(&stream) else { return };
        if self.connections.len() >= self.max_observers {
            let _ = socket::send(&stream, &wire::answer(Answer::Full), &[]);
            return;
        }
        let now = Instant::now();
        let requests = (now, 0);
        self.connections.push(Connection {
            socket: stream,
            peer,
            since: now,
            attached: None,
            subscribed: false,
            requests,
        });
    }

    /// Drop connections that have not greeted in time, and the oldest of too many. They take no observer's place.
    fn drop_silent(&mut self) {
        let greeting = self.connections.iter().filter(|c| c.attached.is_none());
        let mut excess = greeting.count().saturating_sub(MOST_GREETING);
        self.connections.retain(|c| {
            let too_many = c.attached.is_none() && excess > 0;
            excess -= usize::from(too_many);
            c.attached.is_some() || !too_many && c.since.elapsed() < GREETING
        });
    }

    /// Take one message of connection `i`; whatever is not understood ends it (I8).
    fn serve(&mut self, i: usize) {
        let mut buffer = [0; wire::REQUEST_BYTES];
        let message = match socket::receive(&self.connections[i].socket, &mut buffer) {
            Ok((0, _)) => None,
            // Descriptors that came along are closed again, unread.
            Ok((n, _)) => Some(&buffer[..n]),
            Err(Errno::EAGAIN | Errno::EINTR) => return,
            Err(_) => None,
        };
        let stays = match message {
            None => false,
            Some(message) if self.connections[i].attached.is_none() => self.greet(i, message),
            Some(message) => self.request(i, message),
        };
        if !stays {
            self.hang_up(i);
        }
    }

    /// Answer a greeting; false ends the connection.
    fn greet(&mut self, i: usize, message: &[u8]) -> bool {
        let own = nix::unistd::getuid().as_raw();
        let c = &self.connections[i];
        let refusal = match wire::hello_version(message) {
            None if !off(Guard::CheckMessages) => return false,
            Some(version) if version != LAYOUT_VERSION => Some(Answer::OtherLayout),
            _ if !self.access.allows(c.peer.uid, own) => Some(Answer::NotAllowed),
            _ if self.observers() >= self.max_observers => Some(Answer::Full),
            _ => None,
        };
        if let Some(answer) = refusal {
            let _ = socket::send(&c.socket, &wire::answer(answer), &[]);
            return false;
        }
        self.attach(i).is_some()
    }

    fn observers(&self) -> usize {
        let attached = self.connections.iter().filter(|c| c.attached.is_some());
        attached.count()
    }

    /// Make a lease, count it, and only then hand it out: reclaim must see it before its first pin.
    fn attach(&mut self, i: usize) -> Option<()> {
        let c = &mut self.connections[i];
        let Ok((lease, object)) = Lease::create() else {
            let _ = socket::send(&c.socket, &wire::answer(Answer::Failed), &[]);
            return None;
        };
        let attached = Arc::new(Attached {
            pid: c.peer.pid,
            uid: c.peer.uid,
            lease,
        });
        c.attached = Some(attached.clone());
        self.hub.attached.rcu(|list| {
            let mut list = Vec::clone(list);
            list.push(attached.clone());
            list
        });
        let fds: Vec<_> = [object.as_fd().as_raw_fd()]
            .into_iter()
            .chain(self.objects.iter().map(AsRawFd::as_raw_fd))
            .collect();
        socket::send(&c.socket, &wire::answer(Answer::Welcome), &fds).ok()
    }

    /// Serve a request; false ends the connection.
    fn request(&mut self, i: usize, message: &[u8]) -> bool {
        let c = &mut self.connections[i];
        if c.requests.0.elapsed() > Duration::from_secs(1) {
            c.requests = (Instant::now(), 0);
        }
        c.requests.1 += 1;
        if c.requests.1 > REQUESTS_PER_SECOND && !off(Guard::CheckMessages) {
            return false;
        }
        match Request::decode(message) {
            Some(Request::Subscribe) => self.subscribe(i, true),
            Some(Request::Unsubscribe) => self.subscribe(i, false),
            Some(Request::Observers) => {
                let rows = self.rows();
                let _ = socket::send(&self.connections[i].socket, &wire::encode_rows(&rows), &[]);
            }
            None => return false,
        }
        true
    }

    fn subscribe(&mut self, i: usize, on: bool) {
        self.connections[i].subscribed = on;
        let n = self.connections.iter().filter(|c| c.subscribed).count();
        self.hub.subscribers.store(n, Ordering::Relaxed);
    }

    fn rows(&self) -> Vec<ObserverRow> {
        let row = |a: &Arc<Attached>| ObserverRow {
            pid: a.pid as u64,
            uid: a.uid.into(),
            pinned: a.lease.pinned(),
        };
        self.hub.attached.load().iter().map(row).collect()
    }

    /// The observer is gone: its pins no longer count.
    fn hang_up(&mut self, i: usize) {
        let gone = self.connections.remove(i);
        if let Some(attached) = gone.attached {
            self.hub.attached.rcu(|list| {
                let mut list = Vec::clone(list);
                list.retain(|a| !Arc::ptr_eq(a, &attached));
                list
            });
        }
        let n = self.connections.iter().filter(|c| c.subscribed).count();
        self.hub.subscribers.store(n, Ordering::Relaxed);
    }
}
