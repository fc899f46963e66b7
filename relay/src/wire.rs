//! Messages. All numbers are little-endian. A region has a number, which is the rank in a group.
//!
//! | message | bytes |
//! |---|---|
//! | begin | 1, `u32` length of the head, head as JSON, field table as MessagePack |
//! | data | 2, `u32` region, then parts: `u32` field, `u64` start, `u64` length, the bytes |
//! | end | 3, `u32` region |
//! | step | 4, `u32` count, then that many `u32` regions |
//!
//! A step is complete when all of its regions have ended. Receivers that know by themselves which
//! regions a step has need no message for it.

use crate::error::BadMessage;
use serde::{Deserialize, Serialize};
use tcasm_core::field::FieldTable;

const BEGIN: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;
const STEP: u8 = 4;

/// The head of a version of a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The name of the region.
    pub region: String,
    pub number: u32,
    pub step: u64,
    pub time: f64,
    /// All bytes of all fields follow, so a new mirror can show them. Otherwise only what has
    /// changed follows.
    pub whole: bool,
    /// The bytes of the region, and of its pages.
    pub bytes: u64,
    pub page_size: u64,
}

/// A part of a field: the number of the field in the table, the first byte, and the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'b> {
    pub field: u32,
    pub start: u64,
    pub bytes: &'b [u8],
}

/// A message that was received.
pub enum Received<'b> {
    Begin(Box<Head>, Box<FieldTable>),
    Data(u32, Vec<Piece<'b>>),
    End(u32),
    Step(Vec<u32>),
}

pub fn begin(head: &Head, table: &FieldTable) -> Result<Vec<u8>, BadMessage> {
    let head = serde_json::to_vec(head)?;
    let length = (head.len() as u32).to_le_bytes();
    Ok([&[BEGIN][..], &length, &head, &table.encode()?].concat())
}

/// Returns the beginning of a message with parts of fields.
pub fn data(region: u32) -> Vec<u8> {
    [&[DATA][..], &region.to_le_bytes()].concat()
}

/// Adds the head of a part to a message. Its bytes follow.
pub fn add_piece(message: &mut Vec<u8>, field: u32, start: u64, length: u64) {
    message.extend(field.to_le_bytes());
    message.extend(start.to_le_bytes());
    message.extend(length.to_le_bytes());
}

pub fn end(region: u32) -> Vec<u8> {
    [&[END][..], &region.to_le_bytes()].concat()
}

/// Returns the message that begins a step of these regions.
pub fn step(regions: &[u32]) -> Vec<u8> {
    let count = (regions.len() as u32).to_le_bytes();
    let numbers = regions.iter().flat_map(|number| number.to_le_bytes());
    [STEP].into_iter().chain(count).chain(numbers).collect()
}

/// Reads a message.
pub fn read(message: &[u8]) -> Result<Received<'_>, BadMessage> {
    let shape = || BadMessage::Shape {
        bytes: message.len(),
    };
    let (kind, mut rest) = message.split_first().ok_or_else(shape)?;
    let first = take_u32(&mut rest).ok_or_else(shape)?;
    match *kind {
        BEGIN => {
            let head = take(&mut rest, first as usize).ok_or_else(shape)?;
            let head: Head = serde_json::from_slice(head)?;
            let table = FieldTable::decode(rest, head.bytes, head.page_size.max(1))?;
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
        STEP if rest.len() as u64 == 4 * u64::from(first) => {
            let numbers = std::iter::from_fn(|| take_u32(&mut rest));
            Ok(Received::Step(numbers.collect()))
        }
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
            region: "heat.3".into(),
            number: 3,
            step: 7,
            time: 0.5,
            whole: true,
            bytes: 1 << 20,
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
        let message = step(&[3, 0, 70_000]);
        assert!(matches!(read(&message).unwrap(), Received::Step(r) if r == [3, 0, 70_000]));
        assert!(read(&message[..message.len() - 1]).is_err());
        assert!(read(&[]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
