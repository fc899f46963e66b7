//! The sender's side of one region.

use crate::changes::{Part, all_parts, changed_parts};
use crate::error::RelayError;
use crate::layout::same_layout;
use crate::wire::{self, Head};
use std::collections::VecDeque;
use tcasm_observer::Version;

/// The most bytes of a message, but for its head, if nothing else is asked for.
const MOST: usize = 1 << 20;

/// The messages of a version of one region that are left to send.
pub struct Outgoing {
    version: Version,
    number: u32,
    next: Next,
    whole: bool,
    parts: VecDeque<Part>,
    most: usize,
}

/// The next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Begin,
    Data,
    Nothing,
}

impl Outgoing {
    /// Begins to send a version of region `number`. `sent` is the version that was sent before, if
    /// the receiver has it.
    pub fn new(number: u32, version: &Version, sent: Option<&Version>) -> Result<Self, RelayError> {
        let sent = sent.filter(|sent| {
            version.is_of_same_region(sent) && same_layout(sent.table(), version.table())
        });
        let parts = match sent {
            Some(sent) => changed_parts(version, sent)?,
            None => all_parts(version),
        };
        Ok(Outgoing {
            version: version.clone(),
            number,
            next: Next::Begin,
            whole: sent.is_none(),
            parts: parts.into(),
            most: MOST,
        })
    }

    /// Sets the most bytes of a message, but for its head. Small messages show sooner that a slow
    /// connection works.
    #[must_use]
    pub fn at_most(self, bytes: usize) -> Self {
        Outgoing {
            most: bytes.max(1),
            ..self
        }
    }

    /// Returns how many bytes of fields are left to send.
    pub fn bytes(&self) -> u64 {
        let lengths = self.parts.iter().map(|(_, range)| range.end - range.start);
        lengths.sum()
    }

    /// Returns the next message, or `None` if all were returned.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, RelayError> {
        let (next, message) = match self.next {
            Next::Nothing => return Ok(None),
            Next::Begin => (
                Next::Data,
                wire::begin(&self.head()?, self.version.table())?,
            ),
            Next::Data if self.parts.is_empty() => (Next::Nothing, wire::end(self.number)),
            Next::Data => (Next::Data, self.data()?),
        };
        self.next = next;
        Ok(Some(message))
    }

    /// Returns true if all messages were returned.
    pub fn is_done(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Returns a message with the next parts.
    fn data(&mut self) -> Result<Vec<u8>, RelayError> {
        let mut message = wire::data(self.number);
        while message.len() < self.most
            && let Some((field, mut range)) = self.parts.pop_front()
        {
            let room = (self.most - message.len()) as u64;
            let length = (range.end - range.start).min(room);
            let name = &self.version.table().fields[field as usize].name;
            wire::add_piece(&mut message, field, range.start, length);
            let at = message.len();
            message.resize(at + length as usize, 0);
            self.version
                .read_bytes(name, range.start, &mut message[at..])?;
            range.start += length;
            if !range.is_empty() {
                self.parts.push_front((field, range));
            }
        }
        Ok(message)
    }

    fn head(&self) -> Result<Head, RelayError> {
        Ok(Head {
            region: self.version.region().to_owned(),
            number: self.number,
            step: self.version.step(),
            time: self.version.time(),
            whole: self.whole,
            bytes: self.version.extent().bytes,
            page_size: self.version.page_size()?,
        })
    }
}
