//! The errors of global arrays.

use crate::error::ViewError;
use std::ops::Range;
use tcasm_core::field::ArrayError;
use thiserror::Error;

/// Why the blocks of a group give no global array, or no part of it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GlobalArrayError {
    /// No rank has a field of this name.
    #[error("no rank has a field {name:?}; there are {available:?}")]
    NoField {
        /// Name that was asked for.
        name: String,
        /// Names of the fields that ranks have.
        available: Vec<String>,
    },
    /// The field is no block of a global array in some rank.
    #[error(
        "field {name:?} of rank {rank} is no block of a global array; read the field of each rank, \
         or give all of them their place with global() and at()"
    )]
    Local {
        /// Name of the field.
        name: String,
        /// The first such rank.
        rank: u32,
    },
    /// The blocks of two ranks do not belong to the same array.
    #[error(
        "field {name:?} has another {what} in rank {} than in rank {}: {} and {}; define it alike \
         in all ranks",
        ranks[1], ranks[0], found[1], found[0]
    )]
    Differs {
        /// Name of the field.
        name: String,
        /// The fact in which they differ.
        what: &'static str,
        /// The ranks.
        ranks: [u32; 2],
        /// The values of that fact.
        found: [String; 2],
    },
    /// No rank of this host has a block with these values.
    #[error(
        "no block of field {name:?} has the indices {}; of {ranks} ranks, {} have no block of it \
         on this host: {}. Read a part that is here, or the regions of single ranks on their \
         hosts, or read the array on an analysis node that has all ranks",
        listed(parts), without, few(absent, *without)
    )]
    Missing {
        /// Name of the field.
        name: String,
        /// The parts of the global array that are in no block, as one range for each axis.
        parts: Vec<Vec<Range<usize>>>,
        /// The number of ranks of the group.
        ranks: u32,
        /// The number of ranks that have no block of the field on this host.
        without: u32,
        /// The lowest of these ranks, at most 8.
        absent: Vec<u32>,
    },
    /// The ranges are not inside the global array.
    #[error("the ranges {ranges:?} are not inside field {name:?} of global shape {shape:?}")]
    Range {
        /// Name of the field.
        name: String,
        /// The ranges that were given.
        ranges: Vec<Range<usize>>,
        /// The shape of the global array.
        shape: Vec<usize>,
    },
    /// The bytes are not inside the global array, or are not those of whole values.
    #[error(
        "bytes {range:?} of field {name:?} were asked for, which has {bytes} bytes in values of \
         {size}"
    )]
    Bytes {
        /// Name of the field.
        name: String,
        /// The bytes that were asked for.
        range: Range<u64>,
        /// Bytes of the global array.
        bytes: u64,
        /// Bytes of a value.
        size: u64,
    },
    /// There is no memory for the gathered values.
    #[error("there is no memory to gather field {name:?}: {why}")]
    Memory {
        /// Name of the field.
        name: String,
        /// The reason.
        why: String,
    },
    /// The array has values of another type.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The block of a rank cannot be viewed.
    #[error("rank {rank}: {source}")]
    View {
        /// The rank.
        rank: u32,
        /// The reason.
        source: ViewError,
    },
}

/// The number of items of a list that a message has.
const FEW: usize = 4;

/// Lists the first few parts.
fn listed(parts: &[Vec<Range<usize>>]) -> String {
    let texts = parts.iter().take(FEW).map(|part| format!("{part:?}"));
    more(texts.collect(), parts.len())
}

/// Lists the first few of so many ranks.
fn few(ranks: &[u32], all: u32) -> String {
    let texts = ranks.iter().take(FEW).map(u32::to_string);
    more(texts.collect(), all as usize)
}

fn more(texts: Vec<String>, all: usize) -> String {
    let text = texts.join(", ");
    match all - texts.len() {
        0 if all == 0 => "none".to_owned(),
        0 => text,
        n => format!("{text} and {n} more"),
    }
}
