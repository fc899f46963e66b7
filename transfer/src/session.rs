//! One connection of an owner: answers requests, one after another. It knows no socket.

use crate::layout::Segment;
use crate::table::{Running, Table};
use crate::wire::{MOST_SEGMENTS, Reply, Request, SLOT_BYTES, SLOTS, Span, Status, VERSION};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tcasm_core::sys::object::Object;
use tcasm_core::sys::remote;

/// An answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    /// A descriptor that goes with it.
    pub(crate) file: Option<OwnedFd>,
}

impl Answer {
    fn of(words: [u64; 4]) -> Self {
        Answer {
            reply: Reply::of(Status::Done, words),
            file: None,
        }
    }

    fn refused(status: Status) -> Self {
        Answer {
            reply: Reply::of(status, [0; 4]),
            file: None,
        }
    }
}

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    id: u64,
    /// The answer to the greeting.
    verdict: Status,
    greeted: bool,
    ring: Option<Object>,
    /// The transfer that the peer does itself.
    running: Option<Running>,
}

impl Session {
    pub(crate) fn new(id: u64, verdict: Status) -> Self {
        Session {
            id,
            verdict,
            greeted: false,
            ring: None,
            running: None,
        }
    }

    /// Returns true if the peer has been admitted.
    pub(crate) fn greeted(&self) -> bool {
        self.greeted
    }

    /// Answers a request. Returns `None` if the connection must end without an answer. `beacon`
    /// are the words for a peer that is admitted.
    pub(crate) fn answer(
        &mut self,
        request: Request,
        table: &Table,
        beacon: [u64; 4],
    ) -> Option<Answer> {
        let answer = match request {
            Request::Hello { version } if !self.greeted => self.greet(version, beacon),
            _ if !self.greeted => return None,
            Request::Hello { .. } => return None,
            Request::Describe(cookie) => table.describe(cookie).map(Answer::of),
            Request::Resolve(span) => self.resolve(table, &span),
            Request::End { complete } => self.end(table, complete)?,
            Request::Ring => self.ring(),
            Request::Block { span, slot } => self.block(table, &span, slot),
            Request::Map(cookie) => {
                let found = table.map(cookie);
                found.and_then(|(memory, segments, writes)| {
                    let file = memory.file(writes).map_err(|_| Status::Failed)?;
                    let base = memory.addr();
                    let mut answer = Answer::of([base as u64, memory.len() as u64, 0, 0]);
                    answer.reply.segments = segments;
                    answer.file = Some(file);
                    Ok(answer)
                })
            }
        };
        Some(answer.unwrap_or_else(Answer::refused))
    }

    /// Ends what the connection has begun.
    pub(crate) fn leave(&mut self, table: &Table) {
        if let Some(running) = self.running.take() {
            let _ = table.end(&running, false);
        }
        table.leave(self.id);
    }

    fn greet(&mut self, version: u64, beacon: [u64; 4]) -> Result<Answer, Status> {
        if version != VERSION {
            return Err(Status::OtherVersion);
        }
        if self.verdict != Status::Done {
            return Err(self.verdict);
        }
        self.greeted = true;
        Ok(Answer::of(beacon))
    }

    fn resolve(&mut self, table: &Table, span: &Span) -> Result<Answer, Status> {
        if self.running.is_some() {
            return Err(Status::Busy);
        }
        let running = table.begin(self.id, span, MOST_SEGMENTS)?;
        let mut answer = Answer::of([running.bytes(), 0, 0, 0]);
        answer.reply.segments.clone_from(&running.segments);
        self.running = Some(running);
        Ok(answer)
    }

    /// Ends the transfer that runs. Returns `None` if none does, which no honest peer asks for.
    fn end(&mut self, table: &Table, complete: bool) -> Option<Result<Answer, Status>> {
        let running = self.running.take()?;
        let ended = table.end(&running, complete);
        Some(ended.map(|()| Answer::of([0; 4])))
    }

    fn ring(&mut self) -> Result<Answer, Status> {
        let failed = |_: io::Error| Status::Failed;
        if self.ring.is_none() {
            let object = Object::create("tcasm-ring", SLOTS * SLOT_BYTES).map_err(failed)?;
            self.ring = Some(object);
        }
        let ring = self.ring.as_ref().ok_or(Status::Failed)?;
        let mut answer = Answer::of([0; 4]);
        answer.file = Some(ring.as_fd().try_clone_to_owned().map_err(failed)?);
        Ok(answer)
    }

    /// Copies between the memory and a slot of the ring.
    fn block(&mut self, table: &Table, span: &Span, slot: u64) -> Result<Answer, Status> {
        let ring = self.ring.as_ref().ok_or(Status::Failed)?;
        if slot >= SLOTS || span.len > SLOT_BYTES {
            return Err(Status::OutOfRange);
        }
        if self.running.is_some() {
            return Err(Status::Busy);
        }
        // A slot never has more segments than bytes.
        let running = table.begin(self.id, span, SLOT_BYTES as usize)?;
        let bytes = running.bytes();
        let copied = copy(ring, &running.segments, slot * SLOT_BYTES, span.write);
        table.end(&running, copied.is_ok())?;
        match copied {
            Ok(()) => Ok(Answer::of([bytes, 0, 0, 0])),
            Err(error) if error.raw_os_error() == Some(EFAULT) => Err(Status::Unreadable),
            Err(_) => Err(Status::Failed),
        }
    }
}

const EFAULT: i32 = nix::errno::Errno::EFAULT as i32;

#[allow(unsafe_code)]
fn copy(ring: &Object, segments: &[Segment], at: u64, write: bool) -> io::Result<()> {
    let ranges: Vec<remote::Range> = segments.iter().map(|s| (s.addr, s.len)).collect();
    match write {
        // SAFETY: the segments are of a declaration that peers may write. Who made it has promised
        // that its memory may be written at any time until it is revoked and nothing runs, or it is
        // shared memory, which is accessed as atomics. It is not yet quiet: this transfer runs.
        true => unsafe { remote::scatter(ring.as_fd(), &ranges, at) },
        false => remote::gather(ring.as_fd(), &ranges, at),
    }
}
