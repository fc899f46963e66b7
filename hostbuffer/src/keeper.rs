//! The thread of a buffer: it serves the other processes if its process leads, follows the one that
//! leads otherwise, and takes over when that one has gone.

use crate::claim::{self, Claim};
use crate::error::{HostBufferError, Refusal, short};
use crate::lead::differs;
use crate::leader::{Leader, Seat, Stage};
use crate::memory::Memory;
use crate::state::{Seal, State};
use crate::wire::{self, Hello, Lost, PROTOCOL, ToLeader, ToMember};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::sys::presence::Presence;
use tcasm_core::testing::fault;

/// How long the thread sleeps if nothing happens.
const IDLE: Duration = Duration::from_secs(60);
/// How long it waits before it tries again what another process was in the way of.
const AGAIN: Duration = Duration::from_millis(10);
/// The most messages of a process that are answered before those of the next one.
const MOST_AT_ONCE: usize = 32;

/// What the process does for the others.
#[derive(Debug)]
pub(crate) enum Role {
    /// It leads.
    Leader(Leader),
    /// It follows the process at the other end.
    Member(OwnedFd),
    /// It looks for the one that leads, or becomes it.
    Seeking,
}

/// What a process has when the processes have agreed.
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
    /// The sections that are being sealed, if this process leads.
    pub sealing: BTreeSet<usize>,
    /// The sections that this process can no longer write.
    pub closed: BTreeSet<usize>,
    /// The sections that other processes have asked to seal, until that begins.
    pub asked: BTreeSet<usize>,
    /// The sections that a process could not make read-only, with its reason, until all know it.
    pub failed: Vec<(usize, String)>,
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
        if let Ok(Some(socket)) = claim::connect(&self.job) {
            let hello = ToLeader::Hello(Hello {
                protocol: PROTOCOL,
                layout: self.memory.layout().clone(),
                member: true,
            });
            if wire::send(&socket, &hello, &[]).is_ok() {
                self.ask(&socket);
                return Role::Member(socket);
            }
        }
        if let Ok(Some((claim, listener))) = Claim::take(&self.job, true) {
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

    /// Asks the process that leads for what this process wants to seal.
    fn ask(&self, socket: &OwnedFd) {
        for section in self.state.wanted() {
            let _ = wire::send(socket, &ToLeader::Seal { section }, &[]);
        }
    }

    /// Follows the process at the other end of `socket`.
    fn follow(&mut self, socket: OwnedFd) -> Role {
        wire::wait_any(&[socket.as_fd(), self.bell.as_fd()], IDLE);
        self.hear();
        self.ask(&socket);
        loop {
            match wire::try_receive_with::<ToMember>(&socket) {
                Ok(None) => return Role::Member(socket),
                Ok(Some((message, _))) => self.obey(&socket, message),
                Err(Lost::Gone | Lost::Late) => return Role::Seeking,
            }
        }
    }

    fn obey(&mut self, socket: &OwnedFd, message: ToMember) {
        match message {
            ToMember::Sealing { section } => {
                let refusal = self.close(section).err().map(|e| e.to_string());
                let _ = wire::send(socket, &ToLeader::SealedHere { section, refusal }, &[]);
            }
            ToMember::Sealed { section } => self.state.set(section, Seal::Sealed),
            ToMember::NotSealed { section, why } => self.state.set(section, Seal::Failed(why)),
            // These are for processes that do not have the buffer yet.
            ToMember::Propose { .. }
            | ToMember::Commit
            | ToMember::Go
            | ToMember::Refuse { .. } => {}
        }
    }

    /// Makes a section read-only in this process, once.
    fn close(&mut self, section: usize) -> Result<(), HostBufferError> {
        let known = section < self.memory.layout().sections.len();
        if known && !self.closed.contains(&section) {
            self.memory.map_read_only(section)?;
            self.closed.insert(section);
        }
        Ok(())
    }

    /// Serves the other processes until the program stops.
    fn lead(&mut self, mut leader: Leader) -> Role {
        for (seat, hello) in leader.arrivals() {
            leader.seats.extend(self.admit(seat, &hello));
        }
        leader.seats.retain_mut(|seat| self.serve(seat).is_ok());
        for (section, why) in std::mem::take(&mut self.failed) {
            self.give_up(&leader, section, why);
        }
        self.asked.extend(self.state.wanted());
        for section in std::mem::take(&mut self.asked) {
            self.begin_seal(&mut leader, section);
        }
        for section in self.sealing.clone() {
            self.try_seal(&leader, section);
        }
        // A process that leads from now on has looked at what others left undone before it waits.
        let idle = if self.sealing.is_empty() { IDLE } else { AGAIN };
        leader.wait(Some(self.bell.as_fd()), idle);
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
            } else if self.sealing.contains(&section) {
                let _ = seat.tell(&ToMember::Sealing { section });
                seat.pending.push(section);
            }
        }
    }

    /// Answers what a process has sent. An error means that it is no longer served.
    fn serve(&mut self, seat: &mut Seat) -> Result<(), Lost> {
        // A process that never stops to send must not keep the others waiting.
        for _ in 0..MOST_AT_ONCE {
            let Some(message) = wire::try_receive(&seat.socket)? else {
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
                        refusal.map(|why| format!("process {}: {}", seat.pid, short(why, 500)));
                    self.failed.extend(why.map(|why| (section, why)));
                }
                _ => return Err(Lost::Gone),
            }
        }
        Ok(())
    }

    /// Refuses a process that cannot attach. This changes nothing for the others.
    fn unless(&self, seat: &Seat, refusal: Option<String>) -> Result<(), Lost> {
        let Some(why) = refusal else {
            return Ok(());
        };
        let refusals = vec![Refusal::of(seat.pid, self.memory.base(), why)];
        seat.refuse(&HostBufferError::Refused { refusals });
        Err(Lost::Gone)
    }

    fn hand_over(&self, seat: &Seat) -> Result<(), Lost> {
        let owned = self.memory.descriptors().map_err(|_| Lost::Gone)?;
        let fds: Vec<RawFd> = owned.iter().map(AsRawFd::as_raw_fd).collect();
        wire::send(&seat.socket, &ToMember::Commit, &fds)
    }

    /// Notes that a process wants to seal a section.
    fn asked_by(&mut self, seat: &Seat, section: usize) -> Result<(), Lost> {
        if section >= self.memory.layout().sections.len() {
            return Err(Lost::Gone);
        }
        if self.memory.is_sealed(section) {
            return seat.tell(&ToMember::Sealed { section });
        }
        self.asked.insert(section);
        Ok(())
    }

    /// Makes a section read-only here, and tells all others to do so.
    fn begin_seal(&mut self, leader: &mut Leader, section: usize) {
        if self.sealing.contains(&section) {
            return;
        }
        self.sealing.insert(section);
        if let Err(error) = self.close(section) {
            self.give_up(leader, section, error.to_string());
            return;
        }
        fault::pass("sealing");
        let members = leader
            .seats
            .iter_mut()
            .filter(|seat| seat.stage == Stage::Member);
        for seat in members {
            let _ = seat.tell(&ToMember::Sealing { section });
            seat.pending.push(section);
        }
    }

    /// Seals a section if no process can write it any more.
    fn try_seal(&mut self, leader: &Leader, section: usize) {
        if leader
            .seats
            .iter()
            .any(|seat| seat.pending.contains(&section))
        {
            return;
        }
        // Another process may be mapping the section at this moment, or a device may use it.
        match self.memory.seal(section) {
            Ok(false) => {}
            Ok(true) => {
                tell(leader, &ToMember::Sealed { section });
                self.state.set(section, Seal::Sealed);
                self.sealing.remove(&section);
            }
            Err(error) => self.give_up(leader, section, error.to_string()),
        }
    }

    /// Stops to seal a section, and tells all who wait for it.
    fn give_up(&mut self, leader: &Leader, section: usize, why: String) {
        if self.sealing.remove(&section) {
            self.state.set(section, Seal::Failed(why.clone()));
            tell(leader, &ToMember::NotSealed { section, why });
        }
    }
}

/// Tells all members.
fn tell(leader: &Leader, message: &ToMember) {
    let members = leader
        .seats
        .iter()
        .filter(|seat| seat.stage == Stage::Member);
    members.for_each(|seat| drop(seat.tell(message)));
}
