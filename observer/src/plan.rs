//! What has to change in a window so that it shows another version.
//!
//! Only chunks that differ are looked at. From a version to the one that follows they are known: a
//! map is never written while its version lives, and the older of the two was alive when the newer was made. After any
//! other version, entries may have been used anew, so the maps themselves are compared.

use crate::version::Version;
use std::sync::atomic::Ordering;
use tcasm_core::index::{Index, IndexError};
use tcasm_core::pagemap::{ChunkMap, Entry, PageMap};
use tcasm_core::pageset::{ChunkBits, ChunkSet};

/// What a chunk of a window shows.
#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    /// Nothing yet: the reservation.
    Nothing,
    /// These pages of planes.
    Mapped(ChunkMap),
    /// A copy of the pages as the window's version has them.
    Copied,
}

/// A chunk of a window.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) shown: Shown,
    /// The root entry of the version that is shown.
    entry: Entry,
    /// Runs that are mapped, if there are several; else 0.
    pub(crate) runs: usize,
}

impl Chunk {
    pub(crate) const EMPTY: Chunk = Chunk {
        shown: Shown::Nothing,
        entry: Entry::Whole(0),
        runs: 0,
    };

    /// The change has been made.
    pub(crate) fn becomes(&mut self, change: Change) {
        (self.entry, self.runs) = (change.entry, change.runs());
        self.shown = match change.copy {
            true => Shown::Copied,
            false => Shown::Mapped(change.want),
        };
    }
}

/// A chunk that is to show something else.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) chunk: usize,
    entry: Entry,
    /// Where its pages are. One code for all is always said as such.
    pub(crate) want: ChunkMap,
    /// Runs that `want` consists of.
    fragments: usize,
    /// To be copied, and not mapped.
    pub(crate) copy: bool,
    /// The pages that changed since what is shown, where that is known.
    pub(crate) changed: Option<ChunkBits>,
}

impl Change {
    /// Runs to be mapped, if there are several.
    fn runs(&self) -> usize {
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
    /// The chunks that it changed, if it follows the version that is shown.
    changed: Option<ChunkSet>,
}

/// The changes from what `chunks` show of version number `shown` to `version`, so that at most `most` runs are mapped.
pub(crate) fn changes(
    chunks: &[Chunk],
    shown: u64,
    version: &Version,
    most: usize,
) -> Result<Vec<Change>, IndexError> {
    let (index, slot) = (version.session().index()?, version.slot());
    let follows = shown != 0 && version.number() == shown + 1;
    let reader = Reader {
        index,
        map: version.map()?,
        slot,
        changed: follows.then(|| index.changed_chunks(slot)).transpose()?,
    };
    let mut changes = Vec::new();
    if let Some(changed) = &reader.changed {
        for chunk in changed.iter() {
            let entry = reader.map.entry(chunk)?;
            changes.push(reader.change(chunk, &chunks[chunk], entry)?);
        }
    } else {
        for (chunk, is) in chunks.iter().enumerate() {
            let entry = reader.map.entry(chunk)?;
            if !reader.shows(chunk, is, entry)? {
                changes.push(reader.change(chunk, is, entry)?);
            }
        }
    }
    reader.copy_some(chunks, &mut changes, most)?;
    Ok(changes)
}

impl Reader<'_> {
    /// Whether a chunk shows what the version has there. Of a copy that cannot be known.
    fn shows(&self, chunk: usize, is: &Chunk, entry: Entry) -> Result<bool, IndexError> {
        Ok(match (&is.shown, entry) {
            _ if entry != is.entry => false,
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

    fn change(&self, chunk: usize, is: &Chunk, entry: Entry) -> Result<Change, IndexError> {
        let (want, fragments) = match self.map.chunk(chunk)? {
            ChunkMap::Mixed(codes) => {
                let pages = &codes[..self.index.layout().pages_in(chunk)];
                match 1 + pages.windows(2).filter(|w| w[0] != w[1]).count() {
                    1 => (ChunkMap::Whole(pages[0]), 1),
                    fragments => (ChunkMap::Mixed(codes), fragments),
                }
            }
            whole => (whole, 1),
        };
        Ok(Change {
            chunk,
            entry,
            want,
            fragments,
            // What was too fragmented once stays copied: renewing it costs less than mapping it.
            copy: is.shown == Shown::Copied && fragments > 1,
            changed: self.changed(chunk)?,
        })
    }

    fn changed(&self, chunk: usize) -> Result<Option<ChunkBits>, IndexError> {
        let Some(changed) = &self.changed else {
            return Ok(None);
        };
        let mut bits = ChunkBits::default();
        if changed.contains(chunk) {
            let words = self.index.changed_bits(self.slot, chunk)?;
            for (to, from) in bits.iter_mut().zip(words) {
                *to = from.load(Ordering::Relaxed);
            }
        }
        Ok(Some(bits))
    }

    /// Where more than `most` runs would be mapped, copy the most fragmented chunks, whether they change or not.
    fn copy_some(
        &self,
        chunks: &[Chunk],
        changes: &mut Vec<Change>,
        most: usize,
    ) -> Result<(), IndexError> {
        let before: usize = changes.iter().map(|c| chunks[c.chunk].runs).sum();
        let after: usize = changes.iter().map(Change::runs).sum();
        let total = chunks.iter().map(|c| c.runs).sum::<usize>() - before + after;
        if total <= most {
            return Ok(());
        }
        let mut runs: Vec<usize> = chunks.iter().map(|c| c.runs).collect();
        changes.iter().for_each(|c| runs[c.chunk] = c.runs());
        for chunk in too_many(&runs, most) {
            let at = match changes.binary_search_by_key(&chunk, |c| c.chunk) {
                Ok(at) => at,
                Err(at) => {
                    let is = &chunks[chunk];
                    changes.insert(at, self.change(chunk, is, self.map.entry(chunk)?)?);
                    at
                }
            };
            changes[at].copy = true;
        }
        Ok(())
    }
}

/// The fewest chunks without which at most `most` runs are left.
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
    fn the_most_fragmented_chunks_are_copied_and_no_more_than_needed() {
        let runs = [10, 0, 500, 2, 300];
        assert_eq!(too_many(&runs, 812), []);
        assert_eq!(too_many(&runs, 811), [2]);
        assert_eq!(too_many(&runs, 312), [2]);
        assert_eq!(too_many(&runs, 311), [2, 4]);
        assert_eq!(too_many(&runs, 0), [2, 4, 0, 3]);
    }
}
