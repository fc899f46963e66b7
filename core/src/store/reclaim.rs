//! Reclaims versions that nobody pins, and frees the frames that only they used.

use super::state::Store;
use super::terms::{NotPublished, Skip};
use crate::format::index::{IndexError, IndexWriter};
use crate::format::pagemap::{Code, Entry, PageMap, Run, ZERO};
use crate::format::protocol;
use crate::pageset::CHUNK_PAGES;
use crate::planes::Frames;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl Store {
    /// Returns a free slot of the ring for one more version. If all slots are taken, reclaims the
    /// oldest version that is not pinned. Skips if all are pinned.
    pub(super) fn free_slot(
        &mut self,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<usize, NotPublished> {
        let most = self.most_versions();
        let most = most.saturating_sub(self.reserved_versions()?).max(1);
        if self.live.len() >= most {
            self.reclaim_beyond(most - 1, pinned)?;
        }
        let is_free = |slot: &usize| self.live.iter().all(|(_, used)| used != slot);
        let free = (0..self.bounds.versions).find(is_free);
        free.filter(|_| self.live.len() < most)
            .ok_or(NotPublished::Skipped(Skip::Versions { bound: most }))
    }

    /// Reclaims unpinned versions, oldest first, until `keep` versions are live. The newest version
    /// always stays.
    pub fn reclaim_beyond(
        &mut self,
        keep: usize,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<(), IndexError> {
        let mut i = 0;
        while self.live.len() > keep.max(1) && i + 1 < self.live.len() {
            let (n, slot) = self.live[i];
            // The state says that the slot is free before its frames are freed. That is safe: only
            // the producer uses slots and frames again, and no observer reads the map of this
            // version.
            if protocol::reclaim(self.index()?.state(slot)?, n, || pinned(n)) {
                self.free_pages(i)?;
                self.ring.gone(slot, self.live[i + 1].1);
                self.live.remove(i);
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    /// Frees the frames that only live version number `i` in the list refers to. The versions that
    /// use a frame follow each other without a gap, so it is enough to compare with both
    /// neighbours. Only chunks that may differ from the next version are compared; the ring knows
    /// them.
    fn free_pages(&mut self, i: usize) -> Result<(), IndexError> {
        // SAFETY: as in `Store::index`. The index is borrowed from the mapping alone, so that
        // `self.planes` can change while it is used.
        let index = *IndexWriter::reopen(unsafe { self.index_map.words() })?;
        let map = |k: usize| PageMap::new(index, self.live[k].1);
        let (gone, next) = (map(i), map(i + 1));
        let before = i.checked_sub(1).map(map);
        let mut free = Free::new(self.planes.pages(), index.layout().slots);
        for chunks in self.ring.since(self.live[i + 1].1).runs() {
            let roots = (gone.roots(&chunks)?, next.roots(&chunks)?);
            let before = before
                .map(|b| b.roots(&chunks).map(|r| (b, r)))
                .transpose()?;
            for (k, chunk) in chunks.enumerate() {
                let load = |roots: &[AtomicU64]| roots[k].load(Relaxed);
                let (mine, after) = (load(roots.0), load(roots.1));
                let before = before.map(|(b, roots)| (b, load(roots)));
                if mine != after && before.is_none_or(|(_, word)| word != mine) {
                    free.add_chunk(chunk, (gone, mine), (next, after), before)?;
                }
            }
        }
        self.planes.set_free(&free.frames());
        Ok(())
    }
}

/// Collects frames that no version refers to any more, in the order of their pages.
struct Free {
    frames: Frames,
    run: Run,
    /// Pages of a plane.
    pages: usize,
    /// The number of slots of the ring, which is needed to decode entries.
    leaves: usize,
}

impl Free {
    fn new(pages: usize, leaves: usize) -> Self {
        let run = Run {
            pages: 0..0,
            code: ZERO,
        };
        Free {
            frames: Frames::default(),
            run,
            pages,
            leaves,
        }
    }

    /// Adds the frames of a chunk that are in the map `gone`, but in neither `next` nor `before`.
    /// Each map comes with its root word of the chunk.
    fn add_chunk<'a>(
        &mut self,
        chunk: usize,
        gone: (PageMap<'a>, u64),
        next: (PageMap<'a>, u64),
        before: Option<(PageMap<'a>, u64)>,
    ) -> Result<(), IndexError> {
        let decode =
            |(map, word): (PageMap<'a>, u64)| Entry::decode(word, self.leaves).map(|e| (map, e));
        let (gone, next) = (decode(gone)?, decode(next)?);
        let before = before.map(decode).transpose()?;
        let start = chunk * CHUNK_PAGES;
        if let (Entry::Whole(code), Entry::Whole(_), None | Some((_, Entry::Whole(_)))) =
            (gone.1, next.1, before)
        {
            // The chunk is in one plane in all three maps, and neither neighbour has that plane.
            // This is the usual case for pages that are written densely.
            self.add(start..start + CHUNK_PAGES, code);
            return Ok(());
        }
        for w in 0..CHUNK_PAGES / 8 {
            let word = |(map, entry): (PageMap<'a>, Entry)| map.word(chunk, entry, w);
            let earlier = before.map(word).transpose()?;
            self.add_word(start + w * 8, word(gone)?, word(next)?, earlier);
        }
        Ok(())
    }

    /// Adds pages that have the same code. Joins them to the last run if they follow it, because a
    /// long run costs no more than a short one.
    fn add(&mut self, pages: Range<usize>, code: Code) {
        if self.run.code == code && self.run.pages.end == pages.start {
            self.run.pages.end = pages.end;
        } else {
            let run = std::mem::replace(&mut self.run, Run { pages, code });
            self.insert(run);
        }
    }

    fn insert(&mut self, run: Run) {
        if let Some(plane) = run.plane() {
            self.frames.insert_range(plane, run.pages, self.pages);
        }
    }

    /// Adds frames of eight pages, beginning with `page`: those whose code in `mine` differs from
    /// the code in `after` and from that in `earlier`.
    fn add_word(&mut self, page: usize, mine: u64, after: u64, earlier: Option<u64>) {
        if mine == after {
            return;
        }
        for j in 0..8 {
            let byte = |word: u64| word.to_le_bytes()[j];
            let code = byte(mine);
            if code != byte(after) && earlier.is_none_or(|e| byte(e) != code) {
                self.add(page + j..page + j + 1, code);
            }
        }
    }

    fn frames(mut self) -> Frames {
        let rest = self.run.clone();
        self.insert(rest);
        self.frames
    }
}
