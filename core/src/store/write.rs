//! Writes a version into the index: page map, changed pages, field table and head.

use super::state::Store;
use super::terms::Capture;
use crate::format::index::{IndexError, IndexWriter};
use crate::format::pagemap::{Code, Entry, PageMap, ZERO};
use crate::format::protocol;
use crate::format::stamp::Stamp;
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits};
use crate::planes::Frames;
use std::sync::atomic::Ordering::Relaxed;

impl Store {
    /// Writes the map, the changed pages, the field table and the head of the new version into
    /// `slot`. Of the map, only the entries are written that the slot does not have yet.
    ///
    /// Pages that were compacted since the last version go into the map too. Their chunks are
    /// marked as changed, although none of their pages changed.
    pub(super) fn write_version(
        &mut self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        frames: &Frames,
    ) -> Result<(), IndexError> {
        protocol::begin_writing();
        let (mut changed, mut frames) = (capture.pages.chunk_numbers(), frames.clone());
        if let Some((gathered, chunks)) = self.compaction.ready() {
            frames.union(gathered);
            changed.union(&chunks);
        }
        let vacated = capture.vacated_pages();
        if !vacated.is_empty() {
            self.recent.vacate(&vacated);
        }
        changed.union(&vacated.chunk_numbers());
        let before = self.ring.begin(slot, &changed);
        let index = self.index()?;
        let previous = self.newest()?;
        for chunks in self.ring.stale(slot).runs() {
            let old = previous.map(|p| p.roots(&chunks)).transpose()?;
            let new = index.roots(slot, &chunks)?;
            for (k, chunk) in chunks.enumerate() {
                let mut root = old.map_or(Entry::Whole(ZERO).encode(), |old| old[k].load(Relaxed));
                if changed.contains(chunk) {
                    let old = Entry::decode(root, index.layout().slots)?;
                    let vacated = vacated.chunk(chunk);
                    root = self
                        .write_chunk(index, chunk, old, (&frames, vacated))?
                        .encode();
                    write_changed(index, slot, chunk, (capture, vacated))?;
                }
                new[k].store(root, Relaxed);
            }
        }
        index.set_changed_chunks(slot, &before, &changed)?;
        index.set_table(slot, capture.table)?;
        index.set_head(slot, stamp, capture.changes() as u64, capture.now)
    }

    /// Returns the entry of a chunk after its pages in `frames` were captured, and its vacated
    /// pages became zeros. The entry is whole if one plane has all of the chunk. Otherwise the
    /// chunk's page map is written to a free leaf.
    fn write_chunk(
        &self,
        index: IndexWriter<'_>,
        chunk: usize,
        old: Entry,
        (frames, vacated): (&Frames, &ChunkBits),
    ) -> Result<Entry, IndexError> {
        let pages = index.layout().pages_in(chunk);
        let all =
            |bits: &ChunkBits| bits.iter().map(|w| w.count_ones() as usize).sum::<usize>() == pages;
        if let Some((plane, _)) = frames.in_chunk(chunk).find(|(_, bits)| all(bits)) {
            return Ok(Entry::Whole(plane as Code + 1));
        }
        let mut codes = [ZERO; CHUNK_PAGES];
        match old {
            Entry::Whole(code) => codes[..pages].fill(code),
            Entry::Leaf(leaf) => {
                for (eight, word) in codes.chunks_exact_mut(8).zip(index.leaf(chunk, leaf)?) {
                    eight.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                }
            }
        }
        for (plane, bits) in frames.in_chunk(chunk) {
            for run in crate::pageset::runs_of(bits) {
                codes[run].fill(plane as Code + 1);
            }
        }
        crate::pageset::runs_of(vacated).for_each(|run| codes[run].fill(ZERO));
        if codes[..pages].iter().all(|c| *c == codes[0]) {
            return Ok(Entry::Whole(codes[0]));
        }
        let leaf = self.free_leaf(index, chunk)?;
        for (word, eight) in index.leaf(chunk, leaf)?.iter().zip(codes.chunks_exact(8)) {
            word.store(
                u64::from_le_bytes(eight.try_into().expect("eight bytes")),
                Relaxed,
            );
        }
        Ok(Entry::Leaf(leaf))
    }

    /// Returns a leaf of `chunk` that no live version refers to. A chunk has as many leaves as
    /// there can be versions, and the new version is not live yet. So one leaf is always free.
    fn free_leaf(&self, index: IndexWriter<'_>, chunk: usize) -> Result<usize, IndexError> {
        let mut used = 0u64;
        for (_, slot) in &self.live {
            if let Entry::Leaf(leaf) = PageMap::new(*index, *slot).entry(chunk)? {
                used |= 1 << leaf;
            }
        }
        Ok((!used).trailing_zeros() as usize)
    }
}

/// Writes which pages of a chunk a capture changes. Vacated pages change, because they become
/// zeros. For deferred chunks the copiers find this out later, so nothing is written here.
fn write_changed(
    index: IndexWriter<'_>,
    slot: usize,
    chunk: usize,
    (capture, vacated): (&Capture<'_>, &ChunkBits),
) -> Result<(), IndexError> {
    if *capture.deferred.chunk(chunk) == ChunkBits::default() {
        let words = index.changed_bits(slot, chunk)?.iter();
        let words = words.zip(capture.pages.chunk(chunk).iter().zip(vacated));
        words.for_each(|(to, (captured, vacated))| to.store(captured | vacated, Relaxed));
    }
    Ok(())
}

// `write_changed` copies the bitmap of a chunk word by word, so both must have eight words.
const _: () = assert!(CHUNK_WORDS * 64 == CHUNK_PAGES);
