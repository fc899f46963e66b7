//! Messages between peers and owners: words of 8 bytes, little-endian.
//!
//! A request has always [`REQUEST_BYTES`] bytes: its kind, the cookie, offset, length and one more
//! word. Words that a kind does not use are zero. A reply has 5 words, and two more for each
//! segment. Every request has one reply, in order.

use crate::cookie::Cookie;
use crate::segment::Segment;
use thiserror::Error;

/// The version of the messages.
pub const VERSION: u64 = 1;
/// The length in bytes of a request.
pub const REQUEST_BYTES: usize = 48;
/// The largest number of segments in a reply.
pub const MOST_SEGMENTS: usize = 2048;
/// The length in bytes of the longest reply.
pub const REPLY_BYTES: usize = REPLY_HEAD + 16 * MOST_SEGMENTS;
/// The largest number of bytes that one request resolves.
pub const WINDOW_BYTES: u64 = 64 << 20;
/// The number of slots of a ring.
pub const SLOTS: u64 = 4;
/// The number of bytes of a slot.
pub const SLOT_BYTES: u64 = 512 << 10;

const REPLY_HEAD: usize = 40;
const MAGIC: u64 = u64::from_le_bytes(*b"TCASMtrf");

/// A message of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begins the connection.
    Hello {
        /// The version of the peer.
        version: u64,
    },
    /// Asks for the length and the rights of a declaration.
    Describe(Cookie),
    /// Begins a transfer by the peer, of the span or its first part, and asks where it is.
    Resolve {
        /// The bytes.
        span: Span,
        /// True if the answer is to be offsets in the file of the memory, and not addresses.
        file: bool,
    },
    /// Ends it.
    End {
        /// True if all bytes were copied.
        complete: bool,
    },
    /// Asks for a ring.
    Ring,
    /// Makes the owner copy to a slot of the ring, or from it if the span writes: as many bytes of
    /// the span as fit.
    Block {
        /// The bytes that are left.
        span: Span,
        /// The slot.
        slot: u64,
    },
    /// Asks for the file of the memory.
    Map(Cookie),
}

/// A part of a declaration that is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The declaration.
    pub cookie: Cookie,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
    /// True if the peer writes.
    pub write: bool,
}

impl Request {
    /// Returns the request as a message.
    pub fn encode(self) -> [u8; REQUEST_BYTES] {
        let none = Cookie::from_bytes([0; 16]);
        let (kind, cookie, offset, len, more) = match self {
            Request::Hello { version } => (0, none, MAGIC, version, 0),
            Request::Describe(cookie) => (1, cookie, 0, 0, 0),
            Request::Resolve { span, file } => {
                let more = u64::from(span.write) | (u64::from(file) << 1);
                (2, span.cookie, span.offset, span.len, more)
            }
            Request::End { complete } => (3, none, 0, 0, u64::from(complete)),
            Request::Ring => (4, none, 0, 0, 0),
            Request::Block { span, slot } => {
                let more = (slot << 1) | u64::from(span.write);
                (5, span.cookie, span.offset, span.len, more)
            }
            Request::Map(cookie) => (6, cookie, 0, 0, 0),
        };
        let mut message = [0; REQUEST_BYTES];
        message[..8].copy_from_slice(&u64::to_le_bytes(kind));
        message[8..24].copy_from_slice(&cookie.to_bytes());
        for (part, word) in message[24..].chunks_exact_mut(8).zip([offset, len, more]) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        message
    }

    /// Decodes a request. Returns `None` for any other bytes.
    pub fn decode(message: &[u8]) -> Option<Self> {
        if message.len() != REQUEST_BYTES {
            return None;
        }
        let cookie = Cookie::from_bytes(message[8..24].try_into().ok()?);
        let (offset, len, more) = (word(message, 24)?, word(message, 32)?, word(message, 40)?);
        let span = |write| Span {
            cookie,
            offset,
            len,
            write,
        };
        let request = match word(message, 0)? {
            0 => Request::Hello { version: len },
            1 => Request::Describe(cookie),
            2 => Request::Resolve {
                span: span(more & 1 == 1),
                file: more & 2 == 2,
            },
            3 => Request::End {
                complete: more & 1 == 1,
            },
            4 => Request::Ring,
            5 => Request::Block {
                span: span(more & 1 == 1),
                slot: more >> 1,
            },
            6 => Request::Map(cookie),
            _ => return None,
        };
        // Bytes that are encoded otherwise are no request: unused words, flags, the magic number.
        (request.encode() == *message).then_some(request)
    }
}

/// The result of a request. All but `Done` say why it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[repr(u64)]
#[non_exhaustive]
pub enum Status {
    /// It is done.
    #[error("done")]
    Done = 0,
    /// The versions of the messages differ.
    #[error("the owner uses another version of the messages; use the same release on both sides")]
    OtherVersion = 1,
    /// The user is not allowed.
    #[error("the owner does not admit this user; it can allow more users (Allowed)")]
    NotAllowed = 2,
    /// There are too many connections.
    #[error(
        "the owner has as many connections as it accepts, in all, of this process, or of other \
         users; try again when some have ended"
    )]
    Full = 3,
    /// The cookie is not known.
    #[error("the owner knows no such cookie: it is wrong, of another owner, or ended long ago")]
    NoCookie = 4,
    /// The cookie was revoked.
    #[error("the owner has revoked the cookie; ask it for a new one")]
    Revoked = 5,
    /// The cookie was for one use.
    #[error("the cookie was for one use, which is complete; ask the owner for a new one")]
    Used = 6,
    /// The cookie does not allow this access.
    #[error("the cookie does not allow this access; the owner declares reading and writing apart")]
    NotPermitted = 7,
    /// The bytes are outside of the declaration, or none.
    #[error(
        "no bytes, or bytes beyond the end of the declaration; its length is in its description"
    )]
    OutOfRange = 8,
    /// A cookie for one use is transferred from the first byte to the last.
    #[error("a cookie for one use is transferred from its first byte to the last, without gaps")]
    OutOfOrder = 9,
    /// Another peer uses the cookie, or a transfer of this connection runs.
    #[error("another peer has begun to use this cookie for one use, or a transfer still runs")]
    Busy = 10,
    /// The memory has no file that can be mapped.
    #[error("the memory has no file to map; the owner declares SharedMemory for that")]
    NotMapped = 11,
    /// The memory is not there any more.
    #[error("the owner has unmapped or protected the memory that it declared")]
    Unreadable = 12,
    /// The owner lacks memory or descriptors.
    #[error("the owner lacks memory or descriptors; try again later")]
    Failed = 13,
    /// The declaration has too many segments to be mapped.
    #[error(
        "the declaration has more than {} segments; read it, do not map it",
        MOST_SEGMENTS
    )]
    TooManyParts = 14,
    /// Addresses are not for this peer.
    #[error(
        "the owner tells its addresses to processes of its own user only; use another transport"
    )]
    OtherUser = 15,
    /// The memory is live.
    #[error("the cookie is of live memory, which has no versions; read it without a version")]
    Live = 16,
    /// The peer has not read an earlier answer with a descriptor.
    #[error("an earlier answer with a descriptor is not read yet; read it first")]
    Unread = 17,
}

impl Status {
    const ALL: [Status; 18] = {
        use Status::*;
        [
            Done,
            OtherVersion,
            NotAllowed,
            Full,
            NoCookie,
            Revoked,
            Used,
            NotPermitted,
            OutOfRange,
            OutOfOrder,
            Busy,
            NotMapped,
            Unreadable,
            Failed,
            TooManyParts,
            OtherUser,
            Live,
            Unread,
        ]
    };

    fn decode(word: u64) -> Option<Self> {
        Status::ALL
            .into_iter()
            .find(|status| *status as u64 == word)
    }
}

/// A message of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The result.
    pub status: Status,
    /// The numbers that the request asked for.
    pub words: [u64; 4],
    /// Addresses, or offsets in a file.
    pub segments: Vec<Segment>,
}

impl Reply {
    /// Returns a reply without segments.
    pub fn of(status: Status, words: [u64; 4]) -> Self {
        Reply {
            status,
            words,
            segments: Vec::new(),
        }
    }

    /// Returns the reply as a message.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(REPLY_HEAD + 16 * self.segments.len());
        let mut push = |word: u64| message.extend_from_slice(&word.to_le_bytes());
        push(self.status as u64);
        self.words.into_iter().for_each(&mut push);
        for segment in &self.segments {
            push(segment.addr as u64);
            push(segment.len as u64);
        }
        message
    }

    /// Decodes a reply. Returns `None` for any other bytes, and if a segment has no bytes or wraps
    /// around.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let tail = message.get(REPLY_HEAD..)?;
        if tail.len() % 16 != 0 || tail.len() / 16 > MOST_SEGMENTS {
            return None;
        }
        let segments = tail.chunks_exact(16).map(segment).collect::<Option<_>>()?;
        let mut words = [0; 4];
        for (i, found) in words.iter_mut().enumerate() {
            *found = word(message, 8 + 8 * i)?;
        }
        Some(Reply {
            status: Status::decode(word(message, 0)?)?,
            words,
            segments,
        })
    }
}

fn segment(pair: &[u8]) -> Option<Segment> {
    let addr = usize::try_from(word(pair, 0)?).ok()?;
    let len = usize::try_from(word(pair, 8)?).ok()?;
    let segment = Segment { addr, len };
    (len > 0 && segment.end().is_some()).then_some(segment)
}

fn word(message: &[u8], at: usize) -> Option<u64> {
    let bytes = message.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_request_is_read_back() {
        let cookie = Cookie::from_bytes([7; 16]);
        let span = Span {
            cookie,
            offset: 1 << 40,
            len: 3,
            write: true,
        };
        let all = [
            Request::Hello { version: VERSION },
            Request::Describe(cookie),
            Request::Resolve { span, file: true },
            Request::End { complete: true },
            Request::Ring,
            Request::Block { span, slot: 3 },
            Request::Map(cookie),
        ];
        for request in all {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let mut other = Request::Ring.encode();
        other[47] = 1;
        assert_eq!(Request::decode(&other), None);
        assert_eq!(Request::decode(&other[1..]), None);
    }

    #[test]
    fn each_status_has_its_own_number() {
        for (i, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, i);
            assert_eq!(Status::decode(i as u64), Some(status));
        }
        assert_eq!(Status::decode(Status::ALL.len() as u64), None);
    }

    proptest! {
        #[test]
        fn replies_are_read_back_and_other_bytes_are_refused(
            words in any::<[u64; 4]>(),
            pairs in proptest::collection::vec((any::<u32>(), 1u32..), 0..20),
            cut in 1usize..16,
        ) {
            let segment = |(addr, len): (u32, u32)| Segment {
                addr: addr as usize,
                len: len as usize,
            };
            let segments = pairs.into_iter().map(segment).collect();
            let reply = Reply { status: Status::Busy, words, segments };
            let mut message = reply.encode();
            prop_assert_eq!(Reply::decode(&message), Some(reply));
            message.extend([0; 16]);
            prop_assert_eq!(Reply::decode(&message), None, "a segment without bytes");
            message.truncate(message.len() - cut);
            prop_assert_eq!(Reply::decode(&message), None);
        }
    }
}
