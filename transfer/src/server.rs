//! The service thread of an owner: accepts peers, and answers one message of each in turn.

use crate::beacon::Beacon;
use crate::listener::Allowed;
use crate::session::{Answer, Session};
use crate::table::Table;
use crate::wire::{REQUEST_BYTES, Request, Status};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use nix::unistd::geteuid;
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
/// The largest number of them of other users together.
const MOST_OF_OTHERS: usize = 32;
/// The number of further connections, which are told why they are refused.
const REFUSED: usize = 16;
/// The time in which a peer must greet.
const GREETING: Duration = Duration::from_secs(5);

/// The state that the owner and its thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) table: Table,
    pub(crate) wake: EventFd,
    pub(crate) stop: AtomicBool,
}

#[derive(Debug)]
struct Connection {
    socket: Untrusted<OwnedFd>,
    peer: Peer,
    since: Instant,
    session: Session,
    /// True if the peer may not have read an answer with a descriptor.
    lent: bool,
}

/// The operations that a connection is ready for.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    input: bool,
    /// The process of the peer has ended. Its forked children may still have the socket.
    ended: bool,
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
    /// True if the last connection could not be accepted, for lack of descriptors or memory.
    starved: bool,
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
            starved: false,
        }
    }

    /// Serves until it is told to stop.
    pub(crate) fn run(mut self) {
        while !self.shared.stop.load(Ordering::Acquire) {
            let (accepts, ready) = self.wait();
            // From the last to the first: what is removed is replaced by one that had its turn.
            for (i, ready) in ready.into_iter().enumerate().rev() {
                if !self.serve(i, ready) {
                    let connection = self.connections.swap_remove(i);
                    socket::hang_up(&connection.socket);
                    connection.session.leave(&self.shared.table);
                }
            }
            if accepts {
                self.accept();
            }
        }
        for connection in self.connections {
            // At once: the socket is closed by another thread, later. From here on, no peer takes
            // what it reads for good.
            socket::hang_up(&connection.socket);
            connection.session.abandon();
        }
    }

    /// Waits for something to do. Returns whether a peer wants to connect, and what the connections
    /// are ready for.
    fn wait(&mut self) -> (bool, Vec<Ready>) {
        let starved = std::mem::take(&mut self.starved);
        let room = self.connections.len() < MOST + REFUSED && closer::has_room();
        let accepts = room && !starved;
        let waits = !accepts || self.connections.iter().any(|c| !c.session.greeted());
        let timeout = match waits {
            true if starved => PollTimeout::from(50u16),
            true => PollTimeout::from(1000u16),
            false => PollTimeout::NONE,
        };
        let input = PollFlags::POLLIN;
        let listens = if accepts { input } else { PollFlags::empty() };
        let mut fds = vec![
            PollFd::new(self.shared.wake.as_fd(), input),
            PollFd::new(self.listener.as_fd(), listens),
        ];
        fds.extend(self.connections.iter().flat_map(Connection::waits));
        if let Err(error) = poll(&mut fds, timeout) {
            // Without room for descriptors, do not try all the time.
            if error != Errno::EINTR {
                std::thread::sleep(Duration::from_millis(10));
            }
            return (false, Vec::new());
        }
        let set = |fd: &PollFd<'_>| fd.any() == Some(true);
        let ready = fds[2..].chunks_exact(2).map(|pair| Ready {
            input: set(&pair[0]),
            ended: set(&pair[1]),
        });
        (set(&fds[1]), ready.collect())
    }

    /// Answers a message of a connection. Returns false if the connection must end.
    fn serve(&mut self, i: usize, ready: Ready) -> bool {
        let connection = &mut self.connections[i];
        if !ready.input {
            let patient = connection.since.elapsed() < GREETING;
            return !ready.ended && (connection.session.greeted() || patient);
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
        match connection
            .session
            .answer(request, &self.shared.table, beacon)
        {
            // A peer that does not read its answers is not served.
            Some(answer) => connection.send(answer) && connection.session.greeted(),
            None => false,
        }
    }

    fn accept(&mut self) {
        let socket = match socket::accept(&self.listener) {
            Ok(socket) => socket,
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => return,
            Err(_) => return self.starved = true,
        };
        let peer = Peer::of(&socket);
        let socket = Untrusted::new(socket);
        let Ok(peer) = peer else {
            return;
        };
        self.next += 1;
        let session = Session::new(self.next, self.verdict(&peer), trusted(&peer));
        self.connections.push(Connection {
            socket,
            peer,
            since: Instant::now(),
            session,
            lent: false,
        });
    }

    /// Returns whether a peer is admitted.
    fn verdict(&self, peer: &Peer) -> Status {
        let count = |of: &dyn Fn(&Peer) -> bool| {
            let all = self.connections.iter();
            all.filter(|connection| of(&connection.peer)).count()
        };
        let full = self.connections.len() >= MOST
            || count(&|other| other.pid == peer.pid) >= MOST_OF_PROCESS
            || !trusted(peer) && count(&|other| !trusted(other)) >= MOST_OF_OTHERS;
        match self.allowed.admits(peer.uid) {
            false => Status::NotAllowed,
            true if full => Status::Full,
            true => Status::Done,
        }
    }
}

impl Connection {
    /// Sends an answer. Returns false if the peer does not take it.
    ///
    /// A connection has at most one descriptor on its way. A user may have few of them on the way
    /// in all, so a peer that reads none could keep all other programs of the user from sending.
    fn send(&mut self, mut answer: Answer) -> bool {
        self.lent = self.lent && socket::has_unread(&self.socket);
        if answer.file.is_some() && self.lent {
            answer = Answer::refused(Status::Unread);
        }
        self.lent |= answer.file.is_some();
        let send = |answer: &Answer| {
            let files: Vec<_> = answer.file.iter().map(AsRawFd::as_raw_fd).collect();
            socket::send(&self.socket, &answer.reply.encode(), &files)
        };
        match send(&answer) {
            // Other programs of the user have too many on the way.
            Err(Errno::ETOOMANYREFS) => send(&Answer::refused(Status::Failed)).is_ok(),
            sent => sent.is_ok(),
        }
    }

    /// Returns what to wait for: a message, and the end of the process.
    fn waits(&self) -> [PollFd<'_>; 2] {
        let (socket, input) = (self.socket.as_fd(), PollFlags::POLLIN);
        let ended = match self.peer.handle() {
            Some(handle) => PollFd::new(handle, input),
            None => PollFd::new(socket, PollFlags::empty()),
        };
        [PollFd::new(socket, input), ended]
    }
}

/// Returns true if a peer is of the same user. Others are not told addresses, which would help to
/// attack this process.
fn trusted(peer: &Peer) -> bool {
    peer.uid == geteuid().as_raw()
}
