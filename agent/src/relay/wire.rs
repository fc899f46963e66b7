//! Messages of a relay. All numbers are little-endian.
//!
//! | message | bytes |
//! |---|---|
//! | begin | 1, `u32` length of the head, head as JSON, field table as MessagePack |
//! | data | 2, `u32` rank, then parts: `u32` field, `u64` start, `u64` length, the bytes |
//! | end | 3, `u32` rank |

use serde::{Deserialize, Serialize};
use tcasm_core::field::{FieldTable, TableError};
use thiserror::Error;

/// The most bytes of a message, but for its head.
pub(super) const MOST: usize = 1 << 20;

const BEGIN: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;

/// The head of the version of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) group: String,
    pub(super) run: String,
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) step: u64,
    pub(super) time: f64,
    /// The bytes of the region, and of its pages.
    pub(super) region: u64,
    pub(super) page_size: u64,
}

/// A part of a field: the number of the field in the table, the first byte, and the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'b> {
    pub(super) field: u32,
    pub(super) start: u64,
    pub(super) bytes: &'b [u8],
}

/// A message that was received.
pub(super) enum Received<'b> {
    Begin(Box<Head>, Box<FieldTable>),
    Data(u32, Vec<Piece<'b>>),
    End(u32),
}

/// Why a message cannot be understood.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadMessage {
    /// It is too short, or of no known kind.
    #[error("a message of {bytes} bytes of another agent cannot be understood")]
    Shape {
        /// Its bytes.
        bytes: usize,
    },
    /// Its head cannot be read.
    #[error("the head of a message of another agent cannot be read: {0}")]
    Head(#[from] serde_json::Error),
    /// Its field table cannot be read.
    #[error("a message of another agent: {0}")]
    Table(#[from] TableError),
}

pub(super) fn begin(head: &Head, table: &FieldTable) -> Result<Vec<u8>, BadMessage> {
    let head = serde_json::to_vec(head)?;
    let length = (head.len() as u32).to_le_bytes();
    Ok([&[BEGIN][..], &length, &head, &table.encode()?].concat())
}

/// Returns the beginning of a message with parts of fields.
pub(super) fn data(rank: u32) -> Vec<u8> {
    [&[DATA][..], &rank.to_le_bytes()].concat()
}

/// Adds the head of a part to a message. Its bytes follow.
pub(super) fn add_piece(message: &mut Vec<u8>, field: u32, start: u64, length: u64) {
    message.extend(field.to_le_bytes());
    message.extend(start.to_le_bytes());
    message.extend(length.to_le_bytes());
}

pub(super) fn end(rank: u32) -> Vec<u8> {
    [&[END][..], &rank.to_le_bytes()].concat()
}

/// Reads a message.
pub(super) fn read(message: &[u8]) -> Result<Received<'_>, BadMessage> {
    let shape = || BadMessage::Shape {
        bytes: message.len(),
    };
    let (kind, mut rest) = message.split_first().ok_or_else(shape)?;
    let first = take_u32(&mut rest).ok_or_else(shape)?;
    match *kind {
        BEGIN => {
            let head = take(&mut rest, first as usize).ok_or_else(shape)?;
            let head: Head = serde_json::from_slice(head)?;
            let table = FieldTable::decode(rest, head.region, head.page_size.max(1))?;
            Ok(Received::Begin(Box::new(head), Box::new(table)))
        }
        DATA => {
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                pieces.push(take_piece(&mut rest).ok_or_else(shape)?);
            }
            Ok(Received::Data(first, pieces))
        }
        END if rest.is_empty() => Ok(Received::End(first)),
        _ => Err(shape()),
    }
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (now, later) = bytes.split_at_checked(count)?;
    *bytes = later;
    Some(now)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?))
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?))
}

fn take_piece<'b>(bytes: &mut &'b [u8]) -> Option<Piece<'b>> {
    let field = take_u32(bytes)?;
    let start = take_u64(bytes)?;
    let length = usize::try_from(take_u64(bytes)?).ok()?;
    let bytes = take(bytes, length)?;
    Some(Piece {
        field,
        start,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_survive_and_shorter_ones_are_errors() {
        let head = Head {
            group: "heat".into(),
            run: "a".into(),
            rank: 3,
            ranks: 8,
            step: 7,
            time: 0.5,
            region: 1 << 20,
            page_size: 4096,
        };
        let message = begin(&head, &FieldTable::default()).unwrap();
        assert!(matches!(read(&message).unwrap(), Received::Begin(h, _) if *h == head));
        let mut message = data(3);
        add_piece(&mut message, 1, 4096, 3);
        message.extend([7, 8, 9]);
        let Received::Data(3, pieces) = read(&message).unwrap() else {
            panic!("no data");
        };
        let (field, start) = (1, 4096);
        let bytes = &[7, 8, 9][..];
        assert_eq!(
            pieces,
            [Piece {
                field,
                start,
                bytes
            }]
        );
        assert!(read(&message[..message.len() - 1]).is_err());
        assert!(matches!(read(&end(9)).unwrap(), Received::End(9)));
        assert!(read(&[]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
