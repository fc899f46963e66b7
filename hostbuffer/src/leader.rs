//! The process that leads the processes of a host: it accepts them, and speaks with all of them.

use crate::claim::Claim;
use crate::error::{HostBufferError, Obstacle, short};
use crate::link::Link;
use crate::wire::{self, Hello, Lost, ToLeader, ToMember};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};
use tcasm_core::sys::socket;

/// The largest number of processes that have connected and have not said anything yet.
const MOST_NEW: usize = 256;

/// How long such a process may be silent. A process that takes longer connects again.
const GREETING: Duration = Duration::from_secs(10);

/// The most characters of an error that is told to another process, so that it fits into a message.
const LONGEST_TEXT: usize = 4000;

/// How far a process has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It does not have the buffer yet.
    Joining,
    /// It has the buffer.
    Member,
}

/// A connected process.
#[derive(Debug)]
pub(crate) struct Seat {
    pub link: Link,
    pub stage: Stage,
    /// When it connected.
    came: Instant,
    /// The sections that the process was told to seal, and has not sealed yet.
    pub pending: Vec<usize>,
}

impl Seat {
    fn new(socket: OwnedFd) -> Option<Self> {
        let link = Link::new(socket).ok()?;
        let own = nix::unistd::getuid().as_raw();
        (link.uid() == own).then_some(Seat {
            link,
            stage: Stage::Joining,
            came: Instant::now(),
            pending: Vec::new(),
        })
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> i32 {
        self.link.pid()
    }

    /// Sends a message without descriptors.
    pub(crate) fn tell(&self, message: &ToMember) -> Result<(), Lost> {
        self.link.send(message, &[])
    }

    /// Tells the process that it does not get the buffer.
    pub(crate) fn refuse(&self, error: &HostBufferError) {
        let (refusals, text) = match error {
            HostBufferError::Refused { refusals } => (refusals.clone(), String::new()),
            other => (Vec::new(), short(other, LONGEST_TEXT)),
        };
        let _ = self.tell(&ToMember::Refuse { refusals, text });
    }
}

/// The process that leads, with all others of the host that are connected.
#[derive(Debug)]
pub(crate) struct Leader {
    /// Dropping it gives up the right to lead.
    _claim: Claim,
    listener: OwnedFd,
    newcomers: Vec<Seat>,
    pub seats: Vec<Seat>,
}

impl Drop for Leader {
    fn drop(&mut self) {
        // Forked children may hold the listener open. A process that has connected and was not
        // accepted must not wait for them.
        socket::hang_up(&self.listener);
        while let Ok(socket) = socket::accept(&self.listener) {
            socket::hang_up(&socket);
        }
    }
}

impl Leader {
    /// Begins to lead with no other process.
    pub(crate) fn new(claim: Claim, listener: OwnedFd) -> Self {
        Leader {
            _claim: claim,
            listener,
            newcomers: Vec::new(),
            seats: Vec::new(),
        }
    }

    /// Waits until something has happened at a socket, or at `bell`.
    pub(crate) fn wait(&self, bell: Option<BorrowedFd<'_>>, timeout: Duration) {
        // A listener that nobody accepts from would end each wait at once.
        let listener = (self.newcomers.len() < MOST_NEW).then(|| self.listener.as_fd());
        let mut fds: Vec<BorrowedFd<'_>> = listener.into_iter().chain(bell).collect();
        let seats = self.newcomers.iter().chain(&self.seats);
        fds.extend(seats.flat_map(|seat| seat.link.fds()));
        let first = self.newcomers.iter().map(|seat| seat.came + GREETING).min();
        let left = first.map(|end| end.saturating_duration_since(Instant::now()));
        wire::wait_any(&fds, left.map_or(timeout, |left| left.min(timeout)));
    }

    /// Returns the processes that have introduced themselves since the last call. Does not wait.
    pub(crate) fn arrivals(&mut self) -> Vec<(Seat, Hello)> {
        self.accept();
        let mut arrived = Vec::new();
        for seat in std::mem::take(&mut self.newcomers) {
            match seat.link.try_receive() {
                Ok(None) if seat.came.elapsed() < GREETING => self.newcomers.push(seat),
                Ok(None) => {}
                Ok(Some(ToLeader::Hello(hello))) => arrived.push((seat, hello)),
                Ok(Some(_)) | Err(_) => {}
            }
        }
        arrived
    }

    fn accept(&mut self) {
        // Programs of other users are not kept, however many come.
        for _ in self.newcomers.len()..MOST_NEW {
            match socket::accept(&self.listener) {
                Ok(socket) => self.newcomers.extend(Seat::new(socket)),
                Err(Errno::EAGAIN) => return,
                Err(_) => {
                    // There may be no descriptor left. The process that waits tries again.
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    /// Sends a message with descriptors to all processes.
    pub(crate) fn tell_all(
        &self,
        message: &ToMember,
        fds: &[RawFd],
        step: &'static str,
    ) -> Result<(), HostBufferError> {
        self.seats.iter().try_for_each(|seat| {
            let sent = seat.link.send(message, fds);
            sent.map_err(|lost| lost_at(seat.pid(), &lost, step))
        })
    }

    /// Waits for the answers of all processes. Returns what is in the way, with the process.
    pub(crate) fn answers(
        &self,
        step: &'static str,
        until: Instant,
    ) -> Result<Vec<(i32, Obstacle)>, HostBufferError> {
        let mut against = Vec::new();
        for seat in &self.seats {
            let answer = seat.link.receive(until);
            match answer.map_err(|lost| lost_at(seat.pid(), &lost, step))? {
                ToLeader::Reserved { refusal } | ToLeader::Mapped { refusal } => {
                    against.extend(refusal.map(|why| (seat.pid(), why)));
                }
                _ => return Err(lost_at(seat.pid(), &Lost::Gone, step)),
            }
        }
        Ok(against)
    }
}

/// Returns the error of a process that does not answer.
pub(crate) fn lost_at(pid: i32, lost: &Lost, step: &'static str) -> HostBufferError {
    match lost {
        Lost::Gone => HostBufferError::Died { pid, step },
        Lost::Late => HostBufferError::Silent { pid, step },
    }
}
