//! Finds out what must change in a window so that it shows another version.
//!
//! Only chunks that may differ are looked at. If the new version directly follows the one shown,
//! these are the chunks that it marks as changed. Otherwise these are all chunks in use, and their
//! maps are compared, because leaves and frames may have been used anew since.

use crate::pin::Pin;
use std::sync::atomic::Ordering;
use tcasm_core::format::index::{Index, IndexError};
use tcasm_core::format::pagemap::{ChunkMap, Entry, FEW_RUNS, PageMap, ZERO, count_runs};
use tcasm_core::pageset::ChunkBits;

/// The content that a chunk of a window shows.
#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    /// These pages of planes, mapped.
    Mapped(ChunkMap),
    /// A copy of the pages as the window's version has them.
    Copied,
}

/// A chunk of a window.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) shown: Shown,
    /// The number of runs that are mapped, or 0 if there is only one.
    pub(crate) runs: usize,
}

impl Chunk {
    /// A chunk of a new window.
    pub(crate) const ZERO: Chunk = Chunk {
        shown: Shown::Mapped(ChunkMap::Whole(ZERO)),
        runs: 0,
    };

    /// Records that `change` was made.
    pub(crate) fn becomes(&mut self, change: Change) {
        self.runs = change.runs();
        self.shown = match change.copy {
            true => Shown::Copied,
            false => Shown::Mapped(change.want),
        };
    }
}

/// A change of one chunk.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) chunk: usize,
    /// The place of its pages. If all have one code, this is `Whole`.
    pub(crate) want: ChunkMap,
    /// The number of runs in `want`.
    fragments: usize,
    /// True if the chunk is to be copied instead of mapped.
    pub(crate) copy: bool,
    /// The pages that changed since the version that is shown, if known.
    pub(crate) changed: Option<ChunkBits>,
}

impl Change {
    /// Returns the number of runs to map, or 0 if there is only one.
    pub(crate) fn runs(&self) -> usize {
        match self.copy || self.fragments == 1 {
            true => 0,
            false => self.fragments,
        }
    }
}

/// Reads the version that is to be shown.
struct Reader<'a> {
    index: Index<'a>,
    map: PageMap<'a>,
    slot: usize,
    /// True if it directly follows the version that is shown.
    follows: bool,
}

/// Returns the changes from version number `shown` to that of `pin`, in order of chunks. `chunks`
/// is what the window shows, with `mapped` runs. At most `most` runs are mapped afterwards.
pub(crate) fn changes(
    chunks: &[Chunk],
    (shown, mapped): (u64, usize),
    pin: &Pin,
    most: usize,
) -> Result<Vec<Change>, IndexError> {
    let reader = Reader {
        index: pin.session.index()?,
        map: pin.map()?,
        slot: pin.slot,
        follows: shown != 0 && pin.stamp.version == shown + 1,
    };
    let candidates = match reader.follows {
        true => reader.index.changed_chunks(reader.slot)?,
        false => reader.map.used_chunks()?,
    };
    let mut changes = Vec::new();
    for chunk in candidates.iter() {
        let is = chunks.get(chunk).unwrap_or(&NEW);
        if reader.follows || !reader.shows(chunk, is)? {
            changes.push(reader.change(chunk, is)?);
        }
    }
    let (before, after) = runs(chunks, &changes);
    if mapped - before + after > most {
        reader.copy_some(chunks, &mut changes, most)?;
    }
    Ok(changes)
}

/// The content of a chunk that has no entry in a window yet.
static NEW: Chunk = Chunk::ZERO;

/// Returns the number of runs of the chunks that change, before and after.
pub(crate) fn runs(chunks: &[Chunk], changes: &[Change]) -> (usize, usize) {
    let before = changes.iter().filter_map(|c| chunks.get(c.chunk));
    (
        before.map(|c| c.runs).sum(),
        changes.iter().map(Change::runs).sum(),
    )
}

impl Reader<'_> {
    /// Returns true if a chunk shows what the version has there. Always false for a copy, because
    /// that is not known.
    fn shows(&self, chunk: usize, is: &Chunk) -> Result<bool, IndexError> {
        Ok(match (&is.shown, self.map.entry(chunk)?) {
            (Shown::Mapped(ChunkMap::Whole(code)), Entry::Whole(now)) => *code == now,
            (Shown::Mapped(ChunkMap::Mixed(codes)), Entry::Leaf(leaf)) => {
                let mut now = self.index.leaf(chunk, leaf)?.iter();
                let mut shown = codes.chunks_exact(8);
                now.all(|word| {
                    shown.next() == Some(&word.load(Ordering::Relaxed).to_le_bytes()[..])
                })
            }
            _ => false,
        })
    }

    fn change(&self, chunk: usize, is: &Chunk) -> Result<Change, IndexError> {
        let (want, fragments) = match self.map.chunk(chunk)? {
            ChunkMap::Mixed(codes) => {
                let pages = &codes[..self.index.layout().pages_in(chunk)];
                match count_runs(pages) {
                    1 => (ChunkMap::Whole(pages[0]), 1),
                    fragments => (ChunkMap::Mixed(codes), fragments),
                }
            }
            whole => (whole, 1),
        };
        Ok(Change {
            chunk,
            want,
            fragments,
            // A copied chunk stays copied, because renewing the copy costs less than mapping the
            // chunk. It is mapped again when it is in few runs, for example after compaction.
            copy: is.shown == Shown::Copied && fragments > FEW_RUNS,
            changed: self.changed(chunk)?,
        })
    }

    /// Returns the pages that changed in a chunk since the version that is shown, if the new one
    /// follows it.
    fn changed(&self, chunk: usize) -> Result<Option<ChunkBits>, IndexError> {
        if !self.follows {
            return Ok(None);
        }
        let mut bits = ChunkBits::default();
        let words = self.index.changed_bits(self.slot, chunk)?;
        for (to, from) in bits.iter_mut().zip(words) {
            *to = from.load(Ordering::Relaxed);
        }
        Ok(Some(bits))
    }

    /// Copies the most fragmented chunks, whether they change or not, until at most `most` runs are
    /// mapped.
    fn copy_some(
        &self,
        chunks: &[Chunk],
        changes: &mut Vec<Change>,
        most: usize,
    ) -> Result<(), IndexError> {
        let all = chunks.len().max(changes.last().map_or(0, |c| c.chunk + 1));
        let mut runs: Vec<usize> = chunks.iter().map(|c| c.runs).collect();
        runs.resize(all, 0);
        changes.iter().for_each(|c| runs[c.chunk] = c.runs());
        for chunk in too_many(&runs, most) {
            let at = match changes.binary_search_by_key(&chunk, |c| c.chunk) {
                Ok(at) => at,
                Err(at) => {
                    // This chunk is mapped and does not change, so none of its pages is copied yet.
                    changes.insert(at, self.change(chunk, &chunks[chunk])?);
                    at
                }
            };
            changes[at].copy = true;
        }
        Ok(())
    }
}

/// Returns the fewest chunks without which at most `most` runs are left.
fn too_many(runs: &[usize], most: usize) -> Vec<usize> {
    let mut chunks: Vec<usize> = (0..runs.len()).filter(|c| runs[*c] > 0).collect();
    chunks.sort_unstable_by_key(|c| std::cmp::Reverse(runs[*c]));
    let mut total: usize = runs.iter().sum();
    let enough = chunks.iter().position(|c| {
        let fits = total <= most;
        total -= runs[*c];
        fits
    });
    chunks.truncate(enough.unwrap_or(chunks.len()));
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_fragmented_chunks_are_copied_and_no_more_than_needed() {
        let runs = [10, 0, 500, 2, 300];
        assert_eq!(too_many(&runs, 812), []);
        assert_eq!(too_many(&runs, 811), [2]);
        assert_eq!(too_many(&runs, 312), [2]);
        assert_eq!(too_many(&runs, 311), [2, 4]);
        assert_eq!(too_many(&runs, 0), [2, 4, 0, 3]);
    }
}
