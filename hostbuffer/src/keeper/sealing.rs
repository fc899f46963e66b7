//! Sealing sections: all processes make a section read-only, and then the kernel seals it.

use super::Keeper;
use crate::error::HostBufferError;
use crate::leader::{Leader, Seat, Stage};
use crate::seals::{PATIENCE, Turn};
use crate::state::Seal;
use crate::wire::{Lost, ToMember};
use std::time::Instant;
use tcasm_core::testing::fault;

impl Keeper {
    /// Makes a section read-only in this process, once, because it is being sealed.
    pub(super) fn close(&mut self, section: usize) -> Result<(), HostBufferError> {
        if section >= self.memory.layout().sections.len() {
            return Ok(());
        }
        self.seals.begin(section, Instant::now());
        if !self.seals.closed.contains(&section) {
            self.memory.map_read_only(section)?;
            self.seals.closed.insert(section);
        }
        Ok(())
    }

    /// Tells the threads of this process how the sealing of a section has ended.
    pub(super) fn end_seal(&mut self, section: usize, seal: Seal) {
        self.seals.end(section);
        self.state.set(section, seal);
    }

    /// Notes that a process wants to seal a section.
    pub(super) fn asked_by(&mut self, seat: &Seat, section: usize) -> Result<(), Lost> {
        if section >= self.memory.layout().sections.len() {
            return Err(Lost::Gone);
        }
        if self.memory.is_sealed(section) {
            return seat.tell(&ToMember::Sealed { section });
        }
        self.seals.asked.insert(section);
        Ok(())
    }

    /// Does what is to be done for the sections that are being sealed, as the process that leads.
    pub(super) fn seal_all(&mut self, leader: &mut Leader) {
        for (section, why) in std::mem::take(&mut self.seals.failed) {
            self.give_up(leader, section, why);
        }
        let mut asked = std::mem::take(&mut self.seals.asked);
        asked.extend(self.state.wanted());
        for section in asked {
            self.begin_seal(leader, section);
        }
        for section in self.seals.unfinished() {
            self.try_seal(leader, section);
        }
    }

    /// Makes a section read-only here, and tells all others to do so.
    fn begin_seal(&mut self, leader: &mut Leader, section: usize) {
        if self.seals.is_begun(section) {
            return;
        }
        if let Err(error) = self.close(section) {
            self.give_up(leader, section, error.to_string());
            return;
        }
        fault::pass("sealing");
        for seat in leader.seats.iter_mut().filter(|seat| is_member(seat)) {
            let _ = seat.tell(&ToMember::Sealing { section });
            seat.pending.push(section);
        }
        fault::pass("closing");
    }

    /// Seals a section if no process can write it any more.
    fn try_seal(&mut self, leader: &Leader, section: usize) {
        let pending = leader.seats.iter().find(|s| s.pending.contains(&section));
        let turn = self.seals.turn(section, pending.is_some(), Instant::now());
        match (turn, pending) {
            (Turn::Wait, _) => {}
            (_, Some(seat)) => {
                let why = format!("process {} has not answered for {PATIENCE:?}", seat.pid());
                self.give_up(leader, section, why);
            }
            (turn, None) => match self.memory.seal(section) {
                Ok(true) => {
                    tell(leader, &ToMember::Sealed { section });
                    self.end_seal(section, Seal::Sealed);
                }
                Ok(false) if turn == Turn::Last => self.give_up(leader, section, in_use()),
                // Another process may be mapping the section at this moment.
                Ok(false) => {}
                Err(error) => self.give_up(leader, section, error.to_string()),
            },
        }
    }

    /// Stops to seal a section, and tells all who wait for it.
    fn give_up(&mut self, leader: &Leader, section: usize, why: String) {
        if self.seals.is_begun(section) {
            self.end_seal(section, Seal::Failed(why.clone()));
            tell(leader, &ToMember::NotSealed { section, why });
        }
    }
}

fn in_use() -> String {
    format!(
        "for {PATIENCE:?}, a forked child of a process of the job had it mapped for writing, or a \
         device or a system call used its memory"
    )
}

fn is_member(seat: &Seat) -> bool {
    seat.stage == Stage::Member
}

/// Tells all members.
fn tell(leader: &Leader, message: &ToMember) {
    let members = leader.seats.iter().filter(|seat| is_member(seat));
    members.for_each(|seat| drop(seat.tell(message)));
}
