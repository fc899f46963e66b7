//! The ranks of a group whose values a command looks at. Ranks of other hosts have the others.

use crate::output;
use serde::Serialize;
use std::ops::Range;
use tcasm_observer::GlobalField;

/// The part of an array of a group that is on this host. The names are JSON keys, which scripts
/// rely on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranks {
    /// The number of ranks of this host that have a block of the array.
    here: usize,
    /// The number of ranks on all hosts.
    all: u32,
    /// True if all values are here that were asked for.
    complete: bool,
    /// The shape of the whole array.
    shape: Vec<usize>,
    /// The part that was taken in place of the whole array, written as a slice.
    part: Option<String>,
}

impl Ranks {
    /// Describes what is here of an array, or of a part of it that was asked for. If `lacks_ranks`
    /// is true, other hosts have more, whatever is in the array.
    pub fn of(array: &GlobalField<'_>, part: Option<&[Range<usize>]>, lacks_ranks: bool) -> Ranks {
        let missing = match part {
            Some(part) => array.missing_in(part),
            None => array.missing(),
        };
        let bounds = array.bounds();
        let lens: Vec<usize> = bounds.iter().map(ExactSizeIterator::len).collect();
        let is_part = part.is_none() && lens != array.shape();
        Ranks {
            here: array.blocks().len(),
            all: array.ranks(),
            complete: missing.is_empty() && !lacks_ranks,
            shape: array.shape().to_vec(),
            part: is_part.then(|| slice(&bounds)),
        }
    }

    /// Says whose values were looked at, if they are not all that were asked for.
    pub fn note(&self) -> Option<String> {
        let part = self.part.as_ref().map(|part| {
            let shape = output::shape(&self.shape);
            format!(": the part {part} of {shape}")
        });
        (!self.complete).then(|| {
            format!(
                "only the values of {} of {} ranks, which are on this host{}",
                self.here,
                self.all,
                part.unwrap_or_default()
            )
        })
    }
}

/// Writes indices as a slice.
fn slice(ranges: &[Range<usize>]) -> String {
    let axes = ranges.iter().map(|r| format!("{}:{}", r.start, r.end));
    axes.collect::<Vec<_>>().join(",")
}
