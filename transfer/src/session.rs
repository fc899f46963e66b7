//! One connection of an owner: answers requests, one after another. It knows no socket.

use crate::cookie::Cookie;
use crate::declaration::Declaration;
use crate::segment::Segment;
use crate::table::{Most, Running, Table};
use crate::wire::{
    MOST_SEGMENTS, Reply, Request, SLOT_BYTES, SLOTS, Span, Status, VERSION, WINDOW_BYTES,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
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

    pub(crate) fn refused(status: Status) -> Self {
        Answer {
            reply: Reply::of(status, [0; 4]),
            file: None,
        }
    }
}

/// The most that a peer transfers itself before it asks again.
const WINDOW: Most = Most {
    segments: MOST_SEGMENTS,
    bytes: WINDOW_BYTES,
};
/// The most that a slot of the ring has. There are never more segments than bytes.
const SLOT: Most = Most {
    segments: SLOT_BYTES as usize,
    bytes: SLOT_BYTES,
};

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    id: u64,
    /// The answer to the greeting.
    verdict: Status,
    /// True if the peer is told addresses.
    trusted: bool,
    greeted: bool,
    ring: Option<Arc<Object>>,
    /// The transfer that the peer does itself.
    running: Option<Running>,
    /// The version of a transfer whose next part will follow.
    held: Option<Held>,
}

/// A version that a peer has read a part of. It is kept until the peer has read the rest, or reads
/// something else.
#[derive(Debug)]
struct Held {
    cookie: Cookie,
    next: u64,
    version: Arc<Declaration>,
}

impl Session {
    pub(crate) fn new(id: u64, verdict: Status, trusted: bool) -> Self {
        Session {
            id,
            verdict,
            trusted,
            greeted: false,
            ring: None,
            running: None,
            held: None,
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
            Request::Resolve { span, file } => self.resolve(table, &span, file),
            Request::End { complete } => self.end(table, complete)?,
            Request::Ring => self.ring(),
            Request::Block { span, slot } => self.block(table, &span, slot),
            Request::Map(cookie) => map(table, cookie),
        };
        Some(answer.unwrap_or_else(Answer::refused))
    }

    /// Ends what the connection has begun, after the peer has ended the connection.
    pub(crate) fn leave(mut self, table: &Table) {
        if let Some(running) = self.running.take() {
            let _ = table.end(&running, false);
        }
        if self.greeted {
            table.leave(self.id);
        }
    }

    /// Ends the connection while the peer may still copy. The memory of that copy is kept for ever:
    /// if something else got its addresses, the peer would write there.
    pub(crate) fn abandon(self) {
        std::mem::forget(self.running);
    }

    fn greet(&mut self, version: u64, beacon: [u64; 4]) -> Result<Answer, Status> {
        if version != VERSION {
            return Err(Status::OtherVersion);
        }
        if self.verdict != Status::Done {
            return Err(self.verdict);
        }
        self.greeted = true;
        Ok(Answer::of(if self.trusted { beacon } else { [0; 4] }))
    }

    fn resolve(&mut self, table: &Table, span: &Span, file: bool) -> Result<Answer, Status> {
        if !file && !self.trusted {
            return Err(Status::OtherUser);
        }
        let running = self.begin(table, span, WINDOW)?;
        let start = match (file, running.declaration.file()) {
            (false, _) => 0,
            (true, Some(memory)) => memory.addr(),
            (true, None) => {
                let _ = table.end(&running, false);
                return Err(Status::NotMapped);
            }
        };
        let mut answer = Answer::of([running.bytes(), running.declaration.number(), 0, 0]);
        let segments = running.segments.iter();
        answer.reply.segments = segments.map(|segment| segment.after(start)).collect();
        self.running = Some(running);
        Ok(answer)
    }

    /// Begins a transfer. If it is the next part of one that reads a version, it reads the same
    /// version.
    fn begin(&mut self, table: &Table, span: &Span, most: Most) -> Result<Running, Status> {
        if self.running.is_some() {
            return Err(Status::Busy);
        }
        let follows = |held: &Held| held.cookie == span.cookie && held.next == span.offset;
        let version = self.held.take().filter(follows).map(|held| held.version);
        let running = table.begin(self.id, span, most, version)?;
        if running.bytes() < span.len {
            self.keep(&running, running.end);
        }
        Ok(running)
    }

    /// Keeps the version of a transfer, if it has one, for the part that begins at `next`.
    fn keep(&mut self, running: &Running, next: u64) {
        if running.declaration.number() != 0 {
            self.held = Some(Held {
                cookie: running.cookie,
                next,
                version: running.declaration.clone(),
            });
        }
    }

    /// Ends the transfer that runs. Returns `None` if none does, which no honest peer asks for.
    fn end(&mut self, table: &Table, complete: bool) -> Option<Result<Answer, Status>> {
        let running = self.running.take()?;
        if !complete {
            // The peer may read the same part in another way.
            self.keep(&running, running.end - running.bytes());
        }
        let ended = table.end(&running, complete);
        Some(ended.map(|()| Answer::of([0; 4])))
    }

    fn ring(&mut self) -> Result<Answer, Status> {
        let failed = |_: io::Error| Status::Failed;
        if self.ring.is_none() {
            let object = Object::create("tcasm-ring", SLOTS * SLOT_BYTES).map_err(failed)?;
            self.ring = Some(Arc::new(object));
        }
        let ring = self.ring.as_ref().ok_or(Status::Failed)?;
        let mut answer = Answer::of([0; 4]);
        answer.file = Some(ring.as_fd().try_clone_to_owned().map_err(failed)?);
        Ok(answer)
    }

    /// Copies between the memory and a slot of the ring.
    fn block(&mut self, table: &Table, span: &Span, slot: u64) -> Result<Answer, Status> {
        let ring = self.ring.clone().ok_or(Status::Failed)?;
        if slot >= SLOTS {
            return Err(Status::OutOfRange);
        }
        let running = self.begin(table, span, SLOT)?;
        let words = [running.bytes(), running.declaration.number(), 0, 0];
        let copied = copy(&ring, &running.segments, slot * SLOT_BYTES, span.write);
        table.end(&running, copied.is_ok())?;
        match copied {
            Ok(()) => Ok(Answer::of(words)),
            Err(error) if error.raw_os_error() == Some(EFAULT) => Err(Status::Unreadable),
            Err(_) => Err(Status::Failed),
        }
    }
}

/// Returns the file of a declaration, and where its segments are there.
fn map(table: &Table, cookie: Cookie) -> Result<Answer, Status> {
    let (memory, segments, writes) = table.map(cookie)?;
    let mut answer = Answer::of([0; 4]);
    answer.file = Some(memory.file(writes).map_err(|_| Status::Failed)?);
    answer.reply.segments = segments;
    Ok(answer)
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

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
