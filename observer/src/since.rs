//! The pages that changed from the version that a window shows to the one that it is to show.
//!
//! Each version says which pages it changed against the one before. So the changed pages of all
//! versions from the next one to the new one are needed. Those in between are not pinned. They are
//! read like that, and afterwards it is checked that they still exist.

use tcasm_core::format::index::{Index, IndexError};
use tcasm_core::format::protocol;
use tcasm_core::pageset::{ChunkSet, PageSet};

/// The changes since an older version.
#[derive(Debug)]
pub(crate) struct Since {
    /// The chunks that differ, in bytes or in the places of their pages.
    pub(crate) chunks: ChunkSet,
    /// The pages whose bytes may differ. Pages that were only moved are left out.
    pub(crate) pages: PageSet,
}

impl Since {
    /// Returns what changed from version number `shown` to the pinned version `new`, which is a
    /// number and a slot. Returns `None` if that is not known: `shown` is 0 (no version) or not
    /// older than the new one, or a version in between is gone.
    pub(crate) fn read(
        index: &Index<'_>,
        shown: u64,
        (new, slot): (u64, usize),
    ) -> Result<Option<Since>, IndexError> {
        let steps = new.saturating_sub(shown);
        if shown == 0 || steps == 0 || steps > index.layout().slots as u64 {
            return Ok(None);
        }
        let mut since = Since {
            chunks: index.changed_chunks(slot)?,
            pages: index.changed(slot)?,
        };
        for between in shown + 1..new {
            if !since.add(index, between)? {
                return Ok(None);
            }
        }
        Ok(Some(since))
    }

    /// Adds what version `number` changed, which is not pinned. Returns false if it is gone. Then
    /// what was added may be wrong.
    fn add(&mut self, index: &Index<'_>, number: u64) -> Result<bool, IndexError> {
        let Some(slot) = index.slot_of(number)? else {
            return Ok(false);
        };
        self.chunks.union(&index.changed_chunks(slot)?);
        self.pages.union(&index.changed(slot)?);
        Ok(protocol::is_still_live(index.state(slot)?, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use tcasm_core::format::index::{HeaderInfo, IndexWriter};
    use tcasm_core::format::layout::Layout;

    const PAGES: usize = 4 * 512;

    /// Returns the words of an index in which version `n` is in slot `n - 1` and changed the pages
    /// `pages[n - 1]`.
    fn index(pages: &[&[usize]]) -> Vec<AtomicU64> {
        let layout = Layout::new(PAGES, 4096, pages.len() + 1).unwrap();
        let words: Vec<AtomicU64> = (0..layout.total / 8).map(|_| AtomicU64::new(0)).collect();
        let info = HeaderInfo {
            name: "since".to_owned(),
            base: 1 << 40,
            pid: 1,
            created: 1,
            tracker: "compare".to_owned(),
            first_version: 1,
        };
        let index = IndexWriter::create(&words, layout, &info).unwrap();
        for (slot, pages) in pages.iter().enumerate() {
            let mut set = PageSet::new(PAGES);
            pages.iter().for_each(|page| set.insert(*page));
            let none = ChunkSet::new(set.chunks());
            index
                .set_changed_chunks(slot, &none, &set.chunk_numbers())
                .unwrap();
            for (chunk, bits) in set.chunks_in_use() {
                let words = index.changed_bits(slot, chunk).unwrap().iter();
                words
                    .zip(bits)
                    .for_each(|(word, bits)| word.store(*bits, Relaxed));
            }
            index.make_visible(slot, slot as u64 + 1).unwrap();
        }
        words
    }

    fn changed(index: &Index<'_>, shown: u64, new: u64) -> Option<Vec<usize>> {
        let since = Since::read(index, shown, (new, new as usize - 1)).unwrap();
        since.map(|since| {
            assert_eq!(since.chunks, since.pages.chunk_numbers());
            since.pages.iter().collect()
        })
    }

    #[test]
    fn changes_of_several_versions_are_united_if_all_of_them_exist() {
        let words = index(&[&[1], &[2, 600], &[3, 600], &[2000]]);
        let index = Index::open(&words).unwrap();
        assert_eq!(changed(&index, 3, 4), Some(vec![2000]));
        assert_eq!(changed(&index, 2, 4), Some(vec![3, 600, 2000]));
        assert_eq!(changed(&index, 1, 4), Some(vec![2, 3, 600, 2000]));
        for (shown, new) in [(0, 4), (4, 4), (4, 3)] {
            assert_eq!(changed(&index, shown, new), None, "{shown} to {new}");
        }
        assert!(protocol::reclaim(index.state(1).unwrap(), 2, || false));
        assert_eq!(changed(&index, 1, 4), None, "version 2 is gone");
        assert_eq!(changed(&index, 2, 4), Some(vec![3, 600, 2000]));
    }
}
