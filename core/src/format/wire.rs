//! Messages on the attach socket: a few little-endian words each. Larger data goes through shared
//! objects.
//!
//! The first two words of both greetings never change their meaning, so that programs of different
//! releases can recognize each other.
//!
//! An observer detaches when it closes the connection or ends its sending (`shutdown`), or when its
//! process ends. From then on its pins do not count. So a program must not shut down the socket of
//! an observer that still has versions.

use crate::format::layout::{LAYOUT_VERSION, MAGIC};

/// The length in bytes of the longest message that an observer may send. A longer one ends its
/// connection.
pub const REQUEST_BYTES: usize = 32;
/// The length in bytes of the longest message that a producer sends.
pub const REPLY_BYTES: usize = 1 << 16;

/// The producer's answer to a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Answer {
    /// The observer is attached. The descriptors of the lease, the index and the planes come with
    /// this answer.
    Welcome = 0,
    /// The layout versions differ.
    OtherLayout = 1,
    /// The user may not attach.
    NotAllowed = 2,
    /// The largest number of observers that the producer allows is attached.
    Full = 3,
    /// The producer could not create a lease.
    Failed = 4,
}

impl Answer {
    /// Decodes the word of an answer.
    pub fn decode(word: u64) -> Option<Self> {
        use Answer::*;
        [Welcome, OtherLayout, NotAllowed, Full, Failed]
            .into_iter()
            .find(|a| *a as u64 == word)
    }
}

/// A request of an attached observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Request {
    /// Asks for a [`NOTICE`] now and after each event, so that the connection becomes readable.
    Subscribe = 1,
    /// Asks for no more notices.
    Unsubscribe = 2,
    /// Asks for the list of observers: a [`ROWS`] word, and [`ObserverRow`]s behind it.
    Observers = 3,
}

impl Request {
    /// Decodes a request. Returns `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [word] = words(bytes)?;
        [Request::Subscribe, Request::Unsubscribe, Request::Observers]
            .into_iter()
            .find(|r| *r as u64 == word)
    }

    /// Returns the request as a message.
    pub fn encode(self) -> Vec<u8> {
        bytes(&[self as u64])
    }
}

/// The first word of a notice, which says that the index shows a new event, or that the observer is
/// subscribed.
pub const NOTICE: u64 = 1;
/// The first word of a list of observers.
pub const ROWS: u64 = 2;

/// Returns a notice as a message.
pub fn notice() -> Vec<u8> {
    bytes(&[NOTICE])
}

/// Returns the observer's greeting.
pub fn hello() -> Vec<u8> {
    bytes(&[MAGIC, LAYOUT_VERSION])
}

/// Returns the layout version in a greeting, or `None` if the message is not a greeting.
pub fn hello_version(message: &[u8]) -> Option<u64> {
    let head: [u64; 2] = words(message.get(..16)?)?;
    (head[0] == MAGIC).then_some(head[1])
}

/// Returns the producer's answer as a message.
pub fn answer(answer: Answer) -> Vec<u8> {
    bytes(&[MAGIC, LAYOUT_VERSION, answer as u64])
}

/// Returns the layout version and the answer in the producer's message, or `None` if the message is
/// not an answer. The answer in it is `None` if this release does not know it.
pub fn decode_answer(message: &[u8]) -> Option<(u64, Option<Answer>)> {
    let [magic, version, answer] = words(message.get(..24)?)?;
    (magic == MAGIC).then(|| (version, Answer::decode(answer)))
}

/// One attached observer, as the producer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObserverRow {
    /// The process id.
    pub pid: u64,
    /// The user id.
    pub uid: u64,
    /// The versions that the observer pins.
    pub pinned: Vec<u64>,
}

/// Returns the list of observers as a message. Rows that would make it longer than [`REPLY_BYTES`]
/// are left out.
pub fn encode_rows(rows: &[ObserverRow]) -> Vec<u8> {
    let mut out = vec![ROWS];
    for row in rows {
        if (out.len() + 3 + row.pinned.len()) * 8 > REPLY_BYTES {
            break;
        }
        out.extend([row.pid, row.uid, row.pinned.len() as u64]);
        out.extend(&row.pinned);
    }
    bytes(&out)
}

/// Decodes a list of observers. Returns `None` if the message is not one.
pub fn decode_rows(message: &[u8]) -> Option<Vec<ObserverRow>> {
    let mut numbers = message
        .chunks_exact(8)
        .map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes")));
    if numbers.next() != Some(ROWS) {
        return None;
    }
    let mut rows = Vec::new();
    while let Some(pid) = numbers.next() {
        let (uid, n) = (numbers.next()?, numbers.next()?);
        let pinned: Vec<u64> = numbers.by_ref().take(usize::try_from(n).ok()?).collect();
        rows.push(ObserverRow { pid, uid, pinned });
    }
    Some(rows)
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    if bytes.len() != N * 8 {
        return None;
    }
    Some(std::array::from_fn(|i| {
        u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decoded_rows_equal_the_encoded_rows(
            rows in proptest::collection::vec(
                (any::<u64>(), any::<u64>(), proptest::collection::vec(any::<u64>(), 0..5)),
                0..20,
            ),
        ) {
            let row = |(pid, uid, pinned)| ObserverRow { pid, uid, pinned };
            let rows: Vec<_> = rows.into_iter().map(row).collect();
            prop_assert_eq!(decode_rows(&encode_rows(&rows)), Some(rows));
        }

        #[test]
        fn bytes_from_outside_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (Request::decode(&bytes), hello_version(&bytes));
            let _ = (decode_answer(&bytes), decode_rows(&bytes));
        }
    }

    #[test]
    fn greetings_and_requests_decode_to_what_was_encoded() {
        assert_eq!(hello_version(&hello()), Some(LAYOUT_VERSION));
        assert_eq!(
            decode_answer(&answer(Answer::Full)),
            Some((LAYOUT_VERSION, Some(Answer::Full)))
        );
        assert_eq!(
            Request::decode(&Request::Observers.encode()),
            Some(Request::Observers)
        );
    }
}
