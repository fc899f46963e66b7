//! Reclaiming versions that nobody pins, and the slots that only they used.

use super::Store;
use crate::index::{IndexError, IndexWriter};
use crate::pagemap::{Code, Entry, PageMap, Run, ZERO};
use crate::pageset::CHUNK_PAGES;
use crate::planes::Slots;
use crate::protocol;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl Store {
    /// A slot for one more version, reclaiming the oldest that can be if all are taken.
    pub(super) fn free_slot(
        &mut self,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Option<usize>, IndexError> {
        let most = self.most_versions();
        if self.live.len() >= most {
            self.reclaim_beyond(most - 1, pinned)?;
        }
        if self.live.len() >= most {
            return Ok(None);
        }
        Ok((0..self.bounds.versions).find(|s| self.live.iter().all(|(_, used)| used != s)))
    }

    /// Reclaim unpinned versions, oldest first, until `keep` versions are live. The newest always stays.
    pub fn reclaim_beyond(
        &mut self,
        keep: usize,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<(), IndexError> {
        let mut i = 0;
        while self.live.len() > keep.max(1) && i + 1 < self.live.len() {
            let (n, slot) = self.live[i];
            // Free before the state says so: the planes are ours alone, and no observer reads the maps of this version.
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

    /// Free the slots that only live version `i` refers to. A slot is used by versions that follow each other, so the
    /// neighbours tell; and where it can differ from the next one, the ring does.
    fn free_pages(&mut self, i: usize) -> Result<(), IndexError> {
        // SAFETY: as in `index`; borrowed from the mapping alone, so that the planes can change meanwhile.
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
        self.planes.set_free(&free.slots());
        Ok(())
    }
}

/// Slots that no version refers to any more, gathered in the order of pages.
struct Free {
    slots: Slots,
    run: Run,
    /// Pages of a plane.
    pages: usize,
    /// Slots of the ring, which is how entries are decoded.
    leaves: usize,
}

impl Free {
    fn new(pages: usize, leaves: usize) -> Self {
        let run = Run {
            pages: 0..0,
            code: ZERO,
        };
        Free {
            slots: Slots::default(),
            run,
            pages,
            leaves,
        }
    }

    /// The slots of a chunk that `gone` has, and neither `next` nor `before`: maps, with their root words there.
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
            // One plane throughout, and neither neighbour has it: the usual case of what is written densely.
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

    /// Pages of one code: neighbours are put together first, because long runs cost no more than short ones.
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
            self.slots.insert_range(plane, run.pages, self.pages);
        }
    }

    /// The slots of eight pages from `page` where the code `mine` is neither `after` nor `earlier`.
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

    fn slots(mut self) -> Slots {
        let rest = self.run.clone();
        self.insert(rest);
        self.slots
    }
}
