//! Offers as bytes of a fixed length, which a reduction can merge.
//!
//! All numbers are little-endian.
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 8 | the format: 1, or 0 if the offers could not be merged |
//! | 8 | 8 | number of ranks present |
//! | 16 | 8 | sum of their marks |
//! | 24 | 16 | ranks of the job: least, greatest |
//! | 40 | 16 | run: least, greatest |
//! | 56 | 16 | newest steps: least, greatest |
//! | 72 | 8 | wishes |
//! | 80 | 8 | number of held steps, or 2^64 - 1 for all |
//! | 88 | 256 | held steps, ascending, then zeros |
//! | 344 | 8 | number of prepared steps, or 2^64 - 1 for all |
//! | 352 | 128 | prepared steps, ascending, then zeros |

use super::merge::{MOST_HELD, MOST_PREPARED, Offer};
use super::steps::Steps;
use crate::regions::Span;
use thiserror::Error;

/// The number of bytes of an offer.
pub const OFFER_BYTES: usize = 80 + 8 * (1 + MOST_HELD) + 8 * (1 + MOST_PREPARED);
/// An offer as bytes.
pub type OfferBytes = [u8; OFFER_BYTES];

const FORMAT: u64 = 1;
const ALL: u64 = u64::MAX;

/// The reason why bytes are no offer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadOffer {
    /// The format is another one.
    #[error("an offer has format {found}, not {FORMAT}; start all agents with the same program")]
    Format {
        /// The format.
        found: u64,
    },
    /// A list of steps is too long, or does not ascend.
    #[error("an offer has a list of {count} steps that is too long or does not ascend")]
    Steps {
        /// The number of steps.
        count: u64,
    },
}

/// Merges two offers that are bytes, into the second one. If one of them is not valid, the result
/// is not valid either. This is the function for a reduction: it is commutative and associative.
pub fn merge_bytes(from: &OfferBytes, into: &mut OfferBytes) {
    *into = match (Offer::decode(from), Offer::decode(into)) {
        (Ok(one), Ok(other)) => one.merge(&other).encode(),
        _ => [0; OFFER_BYTES],
    };
}

impl Offer {
    /// Returns the offer as bytes.
    pub fn encode(&self) -> OfferBytes {
        let mut bytes = [0; OFFER_BYTES];
        let mut out = Writer { bytes: &mut bytes };
        out.number(FORMAT);
        out.number(self.present);
        out.number(self.marks);
        for span in [self.ranks, self.run, self.newest] {
            out.number(span.min);
            out.number(span.max);
        }
        out.number(self.wishes);
        out.steps(&self.held);
        out.steps(&self.prepared);
        bytes
    }

    /// Reads an offer from bytes.
    pub fn decode(bytes: &OfferBytes) -> Result<Offer, BadOffer> {
        let mut from = Reader { bytes };
        let found = from.number();
        if found != FORMAT {
            return Err(BadOffer::Format { found });
        }
        Ok(Offer {
            present: from.number(),
            marks: from.number(),
            ranks: from.span(),
            run: from.span(),
            newest: from.span(),
            wishes: from.number(),
            held: from.steps()?,
            prepared: from.steps()?,
        })
    }
}

struct Writer<'b> {
    bytes: &'b mut [u8],
}

impl Writer<'_> {
    fn number(&mut self, number: u64) {
        let bytes = std::mem::take(&mut self.bytes);
        let (now, later) = bytes.split_at_mut(8);
        now.copy_from_slice(&number.to_le_bytes());
        self.bytes = later;
    }

    fn steps<const N: usize>(&mut self, steps: &Steps<N>) {
        let list = steps.list();
        self.number(list.map_or(ALL, |list| list.len() as u64));
        let list = list.unwrap_or_default();
        for i in 0..N {
            self.number(list.get(i).copied().unwrap_or(0));
        }
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl Reader<'_> {
    fn number(&mut self) -> u64 {
        let (now, later) = self.bytes.split_at(8);
        self.bytes = later;
        let bytes = now.iter().rev();
        bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn span(&mut self) -> Span {
        Span {
            min: self.number(),
            max: self.number(),
        }
    }

    fn steps<const N: usize>(&mut self) -> Result<Steps<N>, BadOffer> {
        let count = self.number();
        let all: Vec<u64> = (0..N).map(|_| self.number()).collect();
        if count == ALL {
            return Ok(Steps::ALL);
        }
        let list = usize::try_from(count).ok().and_then(|n| all.get(..n));
        match list {
            Some(list) if list.is_sorted_by(|a, b| a < b) => {
                Ok(Steps::greatest(list.iter().copied()))
            }
            _ => Err(BadOffer::Steps { count }),
        }
    }
}
