//! The thread of a buffer: it serves the other processes if its process leads, follows the one that
//! leads otherwise, and takes over when that one has gone.

mod sealing;

use crate::claim::{self, Claim};
use crate::error::{HostBufferError, Obstacle, Refusal, short};
use crate::lead::differs;
use crate::leader::{Leader, Seat, Stage};
use crate::link::Link;
use crate::memory::Memory;
use crate::seals::Seals;
use crate::state::{Seal, State};
use crate::wire::{self, Hello, Lost, PROTOCOL, ToLeader, ToMember};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tcasm_core::sys::presence::Presence;

/// How long the thread sleeps if nothing happens.
const IDLE: Duration = Duration::from_secs(60);
/// How long it waits before it tries again what another process was in the way of.
const AGAIN: Duration = Duration::from_millis(10);
/// The most messages of a process that are answered before those of the next one.
const MOST_AT_ONCE: usize = 32;

/// The role of the process among the others.
#[derive(Debug)]
pub(crate) enum Role {
    /// It leads.
    Leader(Leader),
    /// It follows the process at the other end.
    Member(Link),
    /// It looks for the one that leads, or becomes it.
    Seeking,
}

/// The things that a process has when the processes have agreed.
#[derive(Debug)]
pub(crate) struct Obtained {
    pub memory: Memory,
    pub presence: Presence,
    pub role: Role,
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub job: String,
    pub memory: Arc<Memory>,
    pub presence: Presence,
    pub state: Arc<State>,
    /// The program's threads write to the other end when the state has changed.
    pub bell: UnixStream,
    pub seals: Seals,
}

impl Keeper {
    /// Runs until the program drops its buffer.
    pub(crate) fn run(mut self, mut role: Role) {
        while !self.state.stopping() {
            role = match role {
                Role::Leader(leader) => self.lead(leader),
                Role::Member(socket) => self.follow(socket),
                Role::Seeking => self.seek(),
            };
        }
        self.end(role);
    }

    /// Leaves. The last process removes the files.
    fn end(self, role: Role) {
        drop(self.presence);
        match role {
            Role::Leader(leader) => drop(leader),
            Role::Member(_) | Role::Seeking => {
                // The one that led may be gone. If nobody has the buffer any more, this process
                // takes its place for a moment, to remove what it has left.
                drop(Claim::take(&self.job, false));
            }
        }
    }

    /// Looks for the process that leads, or becomes it.
    fn seek(&mut self) -> Role {
        if let Ok(Some(link)) = claim::connect(&self.job) {
            let hello = ToLeader::Hello(Hello {
                protocol: PROTOCOL,
                layout: self.memory.layout().clone(),
                member: true,
            });
            if link.send(&hello, &[]).is_ok() {
                self.ask(&link, self.seals.unfinished());
                return Role::Member(link);
            }
        }
        if let Ok(Some((claim, listener))) = Claim::take(&self.job, true) {
            self.seals.lead();
            return Role::Leader(Leader::new(claim, listener));
        }
        wire::wait_any(&[self.bell.as_fd()], AGAIN);
        self.hear();
        Role::Seeking
    }

    /// Empties the bell.
    fn hear(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.bell.read(&mut bytes), Ok(n) if n > 0) {}
    }

    /// Asks the process that leads to seal sections, and those that this process wants to seal.
    fn ask(&self, link: &Link, sections: Vec<usize>) {
        for section in sections.into_iter().chain(self.state.wanted()) {
            let _ = link.send(&ToLeader::Seal { section }, &[]);
        }
    }

    /// Follows another process.
    fn follow(&mut self, link: Link) -> Role {
        let bell = self.bell.as_fd();
        let fds: Vec<BorrowedFd<'_>> = link.fds().chain([bell]).collect();
        wire::wait_any(&fds, IDLE);
        self.hear();
        self.ask(&link, Vec::new());
        loop {
            match link.try_receive_with::<ToMember>() {
                Ok(None) => return Role::Member(link),
                Ok(Some((message, _))) => self.obey(&link, message),
                Err(Lost::Gone | Lost::Late) => return Role::Seeking,
            }
        }
    }

    fn obey(&mut self, link: &Link, message: ToMember) {
        match message {
            ToMember::Sealing { section } => {
                let refusal = self.close(section).err().map(|e| e.to_string());
                let _ = link.send(&ToLeader::SealedHere { section, refusal }, &[]);
            }
            ToMember::Sealed { section } => self.end_seal(section, Seal::Sealed),
            ToMember::NotSealed { section, why } => self.end_seal(section, Seal::Failed(why)),
            // These are for processes that do not have the buffer yet.
            ToMember::Propose { .. }
            | ToMember::Commit
            | ToMember::Go
            | ToMember::Refuse { .. } => {}
        }
    }

    /// Serves the other processes until the program stops.
    fn lead(&mut self, mut leader: Leader) -> Role {
        for (seat, hello) in leader.arrivals() {
            leader.seats.extend(self.admit(seat, &hello));
        }
        leader.seats.retain_mut(|seat| self.serve(seat).is_ok());
        self.seal_all(&mut leader);
        let pause = self.seals.pause(Instant::now());
        // A process that leads from now on has looked at what others left undone before it waits.
        leader.wait(Some(self.bell.as_fd()), pause.min(IDLE));
        self.hear();
        Role::Leader(leader)
    }

    /// Lets a process in that comes when the buffer exists.
    fn admit(&self, mut seat: Seat, hello: &Hello) -> Option<Seat> {
        if hello.protocol != PROTOCOL || hello.layout != *self.memory.layout() {
            seat.refuse(&differs());
            return None;
        }
        if hello.member {
            self.welcome(&mut seat);
        } else {
            let base = self.memory.base();
            seat.tell(&ToMember::Propose { base }).ok()?;
        }
        Some(seat)
    }

    /// Makes a process a member, and tells it which sections are sealed or being sealed.
    fn welcome(&self, seat: &mut Seat) {
        seat.stage = Stage::Member;
        let _ = seat.tell(&ToMember::Go);
        for section in 0..self.memory.layout().sections.len() {
            if self.memory.is_sealed(section) {
                let _ = seat.tell(&ToMember::Sealed { section });
            } else if self.seals.is_begun(section) {
                let _ = seat.tell(&ToMember::Sealing { section });
                seat.pending.push(section);
            }
        }
    }

    /// Answers what a process has sent. An error means that it is no longer served.
    fn serve(&mut self, seat: &mut Seat) -> Result<(), Lost> {
        // A process that never stops to send must not keep the others waiting.
        for _ in 0..MOST_AT_ONCE {
            let Some(message) = seat.link.try_receive()? else {
                break;
            };
            match (seat.stage, message) {
                (Stage::Joining, ToLeader::Reserved { refusal }) => {
                    self.unless(seat, refusal)?;
                    self.hand_over(seat)?;
                }
                (Stage::Joining, ToLeader::Mapped { refusal }) => {
                    self.unless(seat, refusal)?;
                    self.welcome(seat);
                }
                (Stage::Member, ToLeader::Seal { section }) => self.asked_by(seat, section)?,
                (Stage::Member, ToLeader::SealedHere { section, refusal }) => {
                    seat.pending.retain(|pending| *pending != section);
                    let why =
                        refusal.map(|why| format!("process {}: {}", seat.pid(), short(why, 500)));
                    self.seals.failed.extend(why.map(|why| (section, why)));
                }
                _ => return Err(Lost::Gone),
            }
        }
        Ok(())
    }

    /// Refuses a process that cannot attach. This changes nothing for the others.
    fn unless(&self, seat: &Seat, refusal: Option<Obstacle>) -> Result<(), Lost> {
        let Some(why) = refusal else {
            return Ok(());
        };
        let refusals = vec![Refusal::of(seat.pid(), self.memory.base(), why)];
        seat.refuse(&HostBufferError::Refused { refusals });
        Err(Lost::Gone)
    }

    fn hand_over(&self, seat: &Seat) -> Result<(), Lost> {
        let owned = self.memory.descriptors().map_err(|_| Lost::Gone)?;
        let fds: Vec<RawFd> = owned.iter().map(AsRawFd::as_raw_fd).collect();
        seat.link.send(&ToMember::Commit, &fds)
    }
}
