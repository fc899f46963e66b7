//! The service thread of an owner: accepts peers, and answers one message of each in turn.

use crate::beacon::Beacon;
use crate::listener::Allowed;
use crate::session::Session;
use crate::table::Table;
use crate::wire::{REQUEST_BYTES, Request, Status};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tcasm_core::sys::closer::{self, Untrusted};
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;

/// The largest number of admitted connections.
const MOST: usize = 64;
/// The largest number of them of one process.
const MOST_OF_PROCESS: usize = 16;
/// The number of further connections, which are told why they are refused.
const REFUSED: usize = 16;
/// The time in which a peer must greet.
const GREETING: Duration = Duration::from_secs(5);

/// What the owner and its thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) table: Table,
    pub(crate) wake: EventFd,
    pub(crate) stop: AtomicBool,
}

#[derive(Debug)]
struct Connection {
    socket: Untrusted<OwnedFd>,
    pid: i32,
    since: Instant,
    session: Session,
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) listener: OwnedFd,
    pub(crate) shared: Arc<Shared>,
    pub(crate) allowed: Allowed,
    pub(crate) beacon: Beacon,
    connections: Vec<Connection>,
    next: u64,
}

impl Server {
    pub(crate) fn new(
        listener: OwnedFd,
        shared: Arc<Shared>,
        allowed: Allowed,
        beacon: Beacon,
    ) -> Self {
        Server {
            listener,
            shared,
            allowed,
            beacon,
            connections: Vec::new(),
            next: 0,
        }
    }

    /// Serves until it is told to stop.
    pub(crate) fn run(mut self) {
        while !self.shared.stop.load(Ordering::Acquire) {
            let ready = self.wait();
            // From the last to the first: what is removed is replaced by one that had its turn.
            for i in (0..self.connections.len()).rev() {
                if !self.serve(i, ready.get(i + 2) == Some(&true)) {
                    self.connections
                        .swap_remove(i)
                        .session
                        .leave(&self.shared.table);
                }
            }
            if ready.get(1) == Some(&true) {
                self.accept();
            }
        }
        for connection in &mut self.connections {
            connection.session.leave(&self.shared.table);
        }
    }

    /// Waits for something to do. Returns what is ready: the wake, the listener, the connections.
    fn wait(&self) -> Vec<bool> {
        let accepts = self.connections.len() < MOST + REFUSED && closer::has_room();
        let waits = !accepts || self.connections.iter().any(|c| !c.session.greeted());
        let timeout = match waits {
            true => PollTimeout::from(1000u16),
            false => PollTimeout::NONE,
        };
        let input = PollFlags::POLLIN;
        let listens = if accepts { input } else { PollFlags::empty() };
        let mut fds = vec![
            PollFd::new(self.shared.wake.as_fd(), input),
            PollFd::new(self.listener.as_fd(), listens),
        ];
        let sockets = self.connections.iter();
        fds.extend(sockets.map(|c| PollFd::new(c.socket.as_fd(), input)));
        match poll(&mut fds, timeout) {
            Ok(_) => fds.iter().map(|fd| fd.any() == Some(true)).collect(),
            Err(error) => {
                // Without room for descriptors, do not try all the time.
                if error != Errno::EINTR {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Vec::new()
            }
        }
    }

    /// Answers a message of a connection. Returns false if the connection must end.
    fn serve(&mut self, i: usize, ready: bool) -> bool {
        let connection = &mut self.connections[i];
        if !ready {
            return connection.session.greeted() || connection.since.elapsed() < GREETING;
        }
        let mut message = [0; REQUEST_BYTES];
        let n = match socket::receive_plain(&connection.socket, &mut message) {
            Err(Errno::EAGAIN | Errno::EINTR) => return true,
            Ok(n) => n,
            Err(_) => return false,
        };
        let Some(request) = Request::decode(&message[..n]) else {
            return false;
        };
        let beacon = self.beacon.words();
        let session = &mut connection.session;
        let Some(answer) = session.answer(request, &self.shared.table, beacon) else {
            return false;
        };
        let files: Vec<_> = answer.file.iter().map(AsRawFd::as_raw_fd).collect();
        let sent = socket::send(&connection.socket, &answer.reply.encode(), &files);
        // A peer that does not read its answers is not served.
        sent.is_ok() && session.greeted()
    }

    fn accept(&mut self) {
        let Ok(socket) = socket::accept(&self.listener) else {
            return;
        };
        let peer = Peer::of(&socket);
        let socket = Untrusted::new(socket);
        let Ok(peer) = peer else {
            return;
        };
        let same = |c: &&Connection| c.pid == peer.pid;
        let verdict = if !self.allowed.admits(peer.uid) {
            Status::NotAllowed
        } else if self.connections.len() >= MOST
            || self.connections.iter().filter(same).count() >= MOST_OF_PROCESS
        {
            Status::Full
        } else {
            Status::Done
        };
        self.next += 1;
        self.connections.push(Connection {
            socket,
            pid: peer.pid,
            since: Instant::now(),
            session: Session::new(self.next, verdict),
        });
    }
}
