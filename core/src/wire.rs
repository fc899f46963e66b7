//! Messages on the attach socket: fixed words, little-endian. Everything larger goes through shared objects.
//!
//! The first two words of both greetings are the same for ever, so that programs of different releases can tell each
//! other so.

use crate::layout::{LAYOUT_VERSION, MAGIC};

/// Longest message an observer sends; a longer one ends its connection.
pub const REQUEST_BYTES: usize = 32;
/// Longest message a producer sends.
pub const REPLY_BYTES: usize = 1 << 16;

/// What the producer answers to a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Answer {
    /// Attached: descriptors of the lease, the index and the planes come with it.
    Welcome = 0,
    /// The layout versions differ.
    OtherLayout = 1,
    /// The user may not attach.
    NotAllowed = 2,
    /// As many observers as the producer allows are attached.
    Full = 3,
    /// The producer could not make a lease.
    Failed = 4,
}

impl Answer {
    /// Decode the word of an answer.
    pub fn decode(word: u64) -> Option<Self> {
        use Answer::*;
        [Welcome, OtherLayout, NotAllowed, Full, Failed]
            .into_iter()
            .find(|a| *a as u64 == word)
    }
}

/// What an observer asks for after it is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Request {
    /// Send a [`NOTICE`] after each event: the connection becomes readable.
    Subscribe = 1,
    /// Send no more notices.
    Unsubscribe = 2,
    /// Send the list of observers: [`ObserverRow`]s behind a [`ROWS`] word.
    Observers = 3,
}

impl Request {
    /// Decode a request; anything else is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [word] = words(bytes)?;
        [Request::Subscribe, Request::Unsubscribe, Request::Observers]
            .into_iter()
            .find(|r| *r as u64 == word)
    }

    /// The message.
    pub fn encode(self) -> Vec<u8> {
        bytes(&[self as u64])
    }
}

/// First word of a notice: something happened; look at the index.
pub const NOTICE: u64 = 1;
/// First word of a list of observers.
pub const ROWS: u64 = 2;

/// The observer's greeting.
pub fn hello() -> Vec<u8> {
    bytes(&[MAGIC, LAYOUT_VERSION])
}

/// The layout version of a greeting, if it is one.
pub fn hello_version(message: &[u8]) -> Option<u64> {
    let head: [u64; 2] = words(message.get(..16)?)?;
    (head[0] == MAGIC).then_some(head[1])
}

/// The producer's answer.
pub fn answer(answer: Answer) -> Vec<u8> {
    bytes(&[MAGIC, LAYOUT_VERSION, answer as u64])
}

/// Layout version and answer of the producer's message, if it is one.
pub fn decode_answer(message: &[u8]) -> Option<(u64, Option<Answer>)> {
    let [magic, version, answer] = words(message.get(..24)?)?;
    (magic == MAGIC).then(|| (version, Answer::decode(answer)))
}

/// One attached observer, as the producer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObserverRow {
    /// Process id.
    pub pid: u64,
    /// User.
    pub uid: u64,
    /// The versions it pins.
    pub pinned: Vec<u64>,
}

/// The list of observers as a message, cut short where it would be longer than [`REPLY_BYTES`].
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

/// Decode a list of observers.
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
        fn rows_come_back_as_they_were_sent(rows in proptest::collection::vec((any::<u64>(), any::<u64>(), proptest::collection::vec(any::<u64>(), 0..5)), 0..20)) {
            let rows: Vec<_> = rows.into_iter().map(|(pid, uid, pinned)| ObserverRow { pid, uid, pinned }).collect();
            prop_assert_eq!(decode_rows(&encode_rows(&rows)), Some(rows));
        }

        #[test]
        fn bytes_from_outside_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (Request::decode(&bytes), hello_version(&bytes), decode_answer(&bytes), decode_rows(&bytes));
        }
    }

    #[test]
    fn greetings_are_understood() {
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
