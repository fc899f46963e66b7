//! The main loop of the service thread: it accepts connections, greets and serves clients, and
//! hangs up. Each message of a client is read once and checked (I8).

use super::hub::{Attached, Hub};
use super::parting::Parting;
use crate::access::Access;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tcasm_core::format::bell::Bell;
use tcasm_core::format::layout::LAYOUT_VERSION;
use tcasm_core::format::lease::Lease;
use tcasm_core::format::wire::{self, Answer, ObserverRow, Request};
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;
use tcasm_core::testing::sabotage::{Guard, off};

/// The time after which a connection that has not greeted is dropped.
const GREETING: Duration = Duration::from_secs(5);
/// The most connections that have not greeted yet.
const MOST_GREETING: usize = 64;
/// How soon closing the waiting connections is tried again, in milliseconds.
const BEHIND: u16 = 20;
/// The most requests that an observer may make in a second. More requests end its connection.
const REQUESTS_PER_SECOND: u32 = 1000;

/// A connection, greeted or not yet.
pub(super) struct Connection {
    socket: OwnedFd,
    peer: Peer,
    since: Instant,
    attached: Option<Arc<Attached>>,
    subscribed: bool,
    /// True if the client was told to leave. Nothing that it sends is read any more.
    dismissed: bool,
    requests: (Instant, u32),
}

impl Connection {
    /// Returns true if the client has not closed the connection, and its process lives.
    fn is_there(&self) -> bool {
        !socket::hung_up(&self.socket) && self.peer.alive()
    }

    /// Returns the events to wait for. The end of the connection is always reported.
    fn events(&self) -> PollFlags {
        match self.dismissed {
            true => PollFlags::empty(),
            false => PollFlags::POLLIN,
        }
    }
}

/// The state of the service thread.
pub(super) struct Server {
    pub(super) hub: Arc<Hub>,
    pub(super) listener: OwnedFd,
    pub(super) parting: Parting,
    pub(super) objects: Vec<OwnedFd>,
    /// Wakes threads that wait for an event. `None` for objects of a dead producer, which has no
    /// more events.
    pub(super) bell: Option<Bell>,
    pub(super) access: Access,
    pub(super) max_observers: usize,
    pub(super) connections: Vec<Connection>,
}

impl Server {
    /// Serves until the thread must stop. Returns the connections that could not be closed without
    /// blocking.
    pub(super) fn run(mut self) -> Parting {
        while !self.hub.stop.load(Ordering::Acquire) {
            let ready = self.wait();
            // In descending order, so that removing a connection moves none that is still to be
            // served.
            for i in ready.into_iter().rev() {
                match i {
                    0 => self.pass_notices(),
                    1 => self.accept(),
                    _ => self.serve(i - 2),
                }
            }
            self.drop_silent();
            self.parting.go_on();
        }
        self.end()
    }

    /// Wakes all waiting threads, because the stream has ended, and closes all connections.
    fn end(mut self) -> Parting {
        self.ring();
        for c in self.connections {
            self.parting.close(c.socket);
        }
        // Connections that were not accepted are closed with the listener.
        self.parting.close(self.listener);
        self.parting
    }

    /// Waits for something to do. Returns 0 for the eventfd, 1 for the listener, and 2 and more for
    /// the connections. A connection is also ready when the process at its other end is dead,
    /// because a forked child of that process may hold the socket for ever.
    fn wait(&self) -> Vec<usize> {
        let accepting = match self.parting.is_behind() {
            true => PollFlags::empty(),
            false => PollFlags::POLLIN,
        };
        let mut fds = vec![
            PollFd::new(self.hub.wake.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), accepting),
        ];
        let count = fds.len() + self.connections.len();
        let connections = self.connections.iter();
        fds.extend(connections.map(|c| PollFd::new(c.socket.as_fd(), c.events())));
        let (owners, handles): (Vec<_>, Vec<_>) = (2..)
            .zip(&self.connections)
            .filter_map(|(i, c)| Some((i, c.peer.handle()?)))
            .unzip();
        fds.extend(
            handles
                .into_iter()
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN)),
        );
        let greeting = self.connections.iter().any(|c| c.attached.is_none());
        let timeout = match (self.parting.is_behind(), greeting) {
            (true, _) => PollTimeout::from(BEHIND),
            (_, true) => PollTimeout::from(1000u16),
            _ => PollTimeout::NONE,
        };
        match poll(&mut fds, timeout) {
            Ok(_) => {
                let ready = |i: &usize| fds[*i].any().unwrap_or(false);
                let dead = |i: usize| ready(&(count + i)).then(|| owners[i]);
                let mut ready: Vec<_> = (0..count).filter(ready).collect();
                ready.extend((0..owners.len()).filter_map(dead));
                ready.sort_unstable();
                ready.dedup();
                ready
            }
            Err(Errno::EINTR) => Vec::new(),
            Err(_) => {
                // There is no memory, or more descriptors are open than are allowed. Pause, so that
                // the loop does not spin meanwhile.
                std::thread::sleep(Duration::from_millis(100));
                Vec::new()
            }
        }
    }

    /// Wakes all threads that wait for an event, in any process. Any process with a descriptor of
    /// the index can wait, with any number of threads, so `publish` does not do this (I5).
    fn ring(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    fn pass_notices(&mut self) {
        let _ = self.hub.wake.read();
        self.ring();
        let notice = wire::notice();
        for c in self
            .connections
            .iter()
            .filter(|c| c.subscribed && !c.dismissed)
        {
            // If the socket of an observer is full, the observer has enough notices to wake up.
            let _ = socket::send(&c.socket, &notice, &[]);
        }
    }

    fn accept(&mut self) {
        let stream = match socket::accept(&self.listener) {
            Ok(stream) => stream,
            Err(Errno::EMFILE | Errno::ENFILE) => {
                // The simulation is out of descriptors. Pause until some are free again, so that
                // the loop does not spin.
                std::thread::sleep(Duration::from_millis(100));
                return;
            }
            Err(_) => return,
        };
        let peer = match Peer::of(&stream) {
            Ok(peer) if peer.alive() => peer,
            _ => return self.parting.close(stream),
        };
        let now = Instant::now();
        let requests = (now, 0);
        self.connections.push(Connection {
            socket: stream,
            peer,
            since: now,
            attached: None,
            subscribed: false,
            dismissed: false,
            requests,
        });
    }

    /// Drops connections that have not greeted in time, and the oldest ones if there are too many.
    /// They take no place of an observer.
    fn drop_silent(&mut self) {
        let greeting = self.connections.iter().filter(|c| c.attached.is_none());
        let mut excess = greeting.count().saturating_sub(MOST_GREETING);
        let gone = self.connections.extract_if(.., |c| {
            let too_many = c.attached.is_none() && excess > 0;
            excess -= usize::from(too_many);
            c.attached.is_none() && (too_many || c.since.elapsed() >= GREETING)
        });
        gone.for_each(|c| self.parting.close(c.socket));
    }

    /// Takes one message of connection `i`. A message that is not valid ends the connection (I8).
    fn serve(&mut self, i: usize) {
        if self.connections[i].dismissed {
            return self.dismiss(i);
        }
        let mut buffer = [0; wire::REQUEST_BYTES];
        let message = match socket::receive_plain(&self.connections[i].socket, &mut buffer) {
            Ok(0) => None,
            Ok(n) => Some(&buffer[..n]),
            Err(Errno::EAGAIN | Errno::EINTR) if self.connections[i].peer.alive() => return,
            Err(_) => None,
        };
        let stays = match message {
            None => false,
            Some(message) if self.connections[i].attached.is_none() => self.greet(i, message),
            Some(message) => self.request(i, message),
        };
        if !stays {
            self.dismiss(i);
        }
    }

    /// Answers a greeting. Returns false if the connection must end.
    fn greet(&mut self, i: usize, message: &[u8]) -> bool {
        let own = nix::unistd::getuid().as_raw();
        let c = &self.connections[i];
        let refusal = match wire::hello_version(message) {
            None if !off(Guard::CheckMessages) => return false,
            Some(version) if version != LAYOUT_VERSION => Some(Answer::OtherLayout),
            _ if !self.access.allows(c.peer.uid, own) => Some(Answer::NotAllowed),
            _ if self.hub.attached.load().len() >= self.max_observers => Some(Answer::Full),
            _ => None,
        };
        if let Some(answer) = refusal {
            let _ = socket::send(&c.socket, &wire::answer(answer), &[]);
            return false;
        }
        self.attach(i).is_some()
    }

    /// Creates a lease, adds it to the set, and only then sends it: reclaim must see the lease
    /// before its first pin.
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

    /// Serves a request. Returns false if the connection must end.
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
        let c = &mut self.connections[i];
        c.subscribed = on;
        if on {
            // Earlier events have no other notice. A full socket is readable without it.
            let _ = socket::send(&c.socket, &wire::notice(), &[]);
        }
    }

    fn rows(&self) -> Vec<ObserverRow> {
        let row = |a: &Arc<Attached>| ObserverRow {
            pid: a.pid as u64,
            uid: a.uid.into(),
            pinned: a.lease.pinned(),
        };
        self.hub.attached.load().iter().map(row).collect()
    }

    /// Ends connection `i`. An observer that is still there may have versions mapped, so its pins
    /// go on counting: it is told to leave, and the connection stays until it has left or its
    /// process has ended.
    fn dismiss(&mut self, i: usize) {
        let c = &mut self.connections[i];
        match &c.attached {
            Some(attached) if c.is_there() => {
                attached.lease.revoke();
                socket::end_sending(&c.socket);
                c.dismissed = true;
            }
            _ => self.hang_up(i),
        }
    }

    /// Closes connection `i`. If an observer was attached, its pins no longer count.
    fn hang_up(&mut self, i: usize) {
        let gone = self.connections.remove(i);
        if let Some(attached) = gone.attached {
            self.hub.attached.rcu(|list| {
                let mut list = Vec::clone(list);
                list.retain(|a| !Arc::ptr_eq(a, &attached));
                list
            });
        }
        self.parting.close(gone.socket);
    }
}
