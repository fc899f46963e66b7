//! Attaching to a buffer, as a process that does not lead.

use crate::claim;
use crate::error::{HostBufferError, Obstacle, Refusal};
use crate::lead::Wish;
use crate::leader::lost_at;
use crate::link::Link;
use crate::memory::{self, Memory};
use crate::space::Space;
use crate::wire::{Hello, Lost, PROTOCOL, ToLeader, ToMember};
use std::os::fd::OwnedFd;
use tcasm_core::sys::presence::Presence;

const STEP: &str = "this process waited for the one that leads";

/// A process that is about to attach.
struct Joining<'a> {
    link: &'a Link,
    wish: &'a Wish,
    /// The reservation at the proposed address.
    reserved: Option<Space>,
    /// The memory that is mapped, and not ours yet.
    mapped: Option<(Memory, Presence)>,
}

/// Does what the process that leads says, until this process has the buffer. Returns `None` if the
/// other process has died: then somebody else leads.
pub(crate) fn join(
    link: &Link,
    wish: &Wish,
) -> Result<Option<(Memory, Presence)>, HostBufferError> {
    let hello = Hello {
        protocol: PROTOCOL,
        layout: wish.layout.clone(),
        member: false,
    };
    if link.send(&ToLeader::Hello(hello), &[]).is_err() {
        return Ok(None);
    }
    let mut joining = Joining {
        link,
        wish,
        reserved: None,
        mapped: None,
    };
    loop {
        let (message, fds) = match link.receive_with(wish.until) {
            Ok(received) => received,
            Err(Lost::Gone) => return Ok(None),
            Err(Lost::Late) => return Err(lost_at(link.pid(), &Lost::Late, STEP)),
        };
        match message {
            ToMember::Propose { base } => joining.reserve(base),
            ToMember::Commit => joining.map(fds),
            ToMember::Go => return Ok(joining.mapped),
            ToMember::Refuse { refusals, text } => {
                return Err(refused(link.pid(), refusals, text));
            }
            // Sections are sealed by processes that have the buffer.
            ToMember::Sealing { .. } | ToMember::Sealed { .. } | ToMember::NotSealed { .. } => {}
        }
    }
}

fn refused(pid: i32, refusals: Vec<Refusal>, why: String) -> HostBufferError {
    match refusals.is_empty() {
        true => HostBufferError::Leader { pid, why },
        false => HostBufferError::Refused { refusals },
    }
}

impl Joining<'_> {
    fn reserve(&mut self, base: u64) {
        // An earlier proposal was refused somewhere. What is reserved there must not be in the way.
        self.reserved = None;
        let refusal = match Space::reserve(base, &self.wish.layout) {
            Ok(space) => {
                self.reserved = Some(space);
                None
            }
            Err(obstacle) => Some(obstacle),
        };
        self.answer(&ToLeader::Reserved { refusal });
    }

    fn map(&mut self, fds: Vec<OwnedFd>) {
        let mapped = self.mapped_from(fds);
        let refusal = mapped.as_ref().err().map(Obstacle::here);
        self.mapped = mapped.ok();
        self.answer(&ToLeader::Mapped { refusal });
    }

    fn mapped_from(&mut self, fds: Vec<OwnedFd>) -> Result<(Memory, Presence), HostBufferError> {
        let layout = &self.wish.layout;
        let objects = memory::received(fds, layout)?;
        let space = self.reserved.take();
        let space = space.ok_or(HostBufferError::NoAnswer { step: STEP })?;
        let memory = Memory::map(space, layout.clone(), objects)?;
        let presence = claim::enter(&self.wish.job)?;
        Ok((memory, presence))
    }

    fn answer(&self, message: &ToLeader) {
        // If the other process has died, the next receive says so.
        let _ = self.link.send(message, &[]);
    }
}
