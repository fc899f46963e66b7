//! The content of a chunk of a window, and the change to the next one.

use crate::mappings::Ends;
use std::ops::Range;
use tcasm_core::format::pagemap::{ChunkMap, Runs, ZERO};
use tcasm_core::pageset::ChunkBits;

/// The memory of the copy of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// True if the copy asks for huge pages.
    pub(crate) huge: bool,
    /// The bytes of memory that the copy takes.
    pub(crate) bytes: u64,
}

impl Copied {
    /// Returns the copy of a chunk of `pages` pages, which are at `want`. `huge` says whether an
    /// existing copy asks for huge pages. A new copy does if `may_be_huge` and half of the pages
    /// are in planes: the memory of the others is wasted.
    pub(crate) fn of(
        want: &ChunkMap,
        (pages, page_size): (usize, usize),
        huge: Option<bool>,
        may_be_huge: bool,
    ) -> Copied {
        let filled = match want {
            ChunkMap::Whole(ZERO) => 0,
            ChunkMap::Whole(_) => pages,
            ChunkMap::Mixed(codes) => codes[..pages].iter().filter(|code| **code != ZERO).count(),
        };
        let huge = huge.unwrap_or(may_be_huge && filled * 2 >= pages);
        let taken = if huge { pages } else { filled };
        Copied {
            huge,
            bytes: (taken * page_size) as u64,
        }
    }
}

/// The content that a chunk of a window shows.
#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    /// These pages of planes, mapped.
    Mapped(ChunkMap),
    /// A copy of the pages as the window's version has them.
    Copied(Copied),
}

impl Shown {
    /// Returns the code of a chunk that is mapped from one plane.
    pub(crate) fn whole(&self) -> Option<u8> {
        match self {
            Shown::Mapped(ChunkMap::Whole(code)) => Some(*code),
            _ => None,
        }
    }
}

/// A chunk of a window.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) shown: Shown,
    /// The number of runs that are mapped. A copy is one.
    pub(crate) runs: usize,
}

impl Chunk {
    /// A chunk of a new window.
    pub(crate) const ZERO: Chunk = Chunk {
        shown: Shown::Mapped(ChunkMap::Whole(ZERO)),
        runs: 1,
    };

    /// Records that `change` was made.
    pub(crate) fn becomes(&mut self, change: Change) {
        self.runs = change.runs();
        self.shown = match change.copy {
            true => Shown::Copied(change.copied),
            false => Shown::Mapped(change.want),
        };
    }

    /// Returns the copy that the chunk is, if it is one.
    pub(crate) fn copied(&self) -> Option<Copied> {
        match self.shown {
            Shown::Copied(copied) => Some(copied),
            Shown::Mapped(_) => None,
        }
    }

    /// Returns what decides about the borders of the chunk, which has `pages` pages, in a window
    /// that may be flat.
    pub(crate) fn ends(&self, pages: usize, flat: bool) -> Ends {
        match &self.shown {
            Shown::Mapped(map) => Ends::mapped(map, pages, self.runs),
            Shown::Copied(_) => Ends::copied(flat),
        }
    }
}

/// A change of one chunk.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) chunk: usize,
    /// The place of its pages. If all have one code, this is `Whole`.
    pub(crate) want: ChunkMap,
    /// The number of runs in `want`.
    pub(crate) fragments: usize,
    /// True if the chunk is to be copied instead of mapped.
    pub(crate) copy: bool,
    /// The copy that the chunk is if it is copied.
    pub(crate) copied: Copied,
    /// The pages that changed since the version that is shown, if known.
    pub(crate) changed: Option<ChunkBits>,
}

impl Change {
    /// Returns the number of runs to map. A copy is one.
    pub(crate) fn runs(&self) -> usize {
        match self.copy {
            true => 1,
            false => self.fragments,
        }
    }

    /// Returns what decides about the borders of the chunk after the change.
    pub(crate) fn ends(&self, pages: usize, flat: bool) -> Ends {
        match self.copy {
            true => Ends::copied(flat),
            false => Ends::mapped(&self.want, pages, self.fragments),
        }
    }
}

/// Adds to `runs` those of `pages`, the pages of one chunk, whose code differs from the old one.
pub(crate) fn push_differing(
    old: &ChunkMap,
    want: &ChunkMap,
    pages: Range<usize>,
    runs: &mut Runs,
) {
    let start = pages.start;
    for page in pages.clone().step_by(8) {
        let eight = page - start..page - start + 8;
        if let (ChunkMap::Mixed(old), ChunkMap::Mixed(want)) = (old, want)
            && old[eight.clone()] == want[eight]
        {
            continue; // most are equal
        }
        for page in page..(page + 8).min(pages.end) {
            let code = want.code(page - start);
            if old.code(page - start) != code {
                runs.push(page..page + 1, code);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::pageset::CHUNK_PAGES;

    #[test]
    fn memory_of_a_copy_follows_its_pages_unless_it_is_huge() {
        let mut codes = Box::new([ZERO; CHUNK_PAGES]);
        codes[..CHUNK_PAGES / 2 - 1].fill(3);
        let size = (CHUNK_PAGES, 4096);
        let sparse = Copied::of(&ChunkMap::Mixed(codes.clone()), size, None, true);
        assert_eq!((sparse.huge, sparse.bytes), (false, 255 * 4096));
        codes[CHUNK_PAGES - 1] = 1;
        let want = ChunkMap::Mixed(codes);
        let of = |huge, may_be_huge| Copied::of(&want, size, huge, may_be_huge);
        assert_eq!((of(None, true).huge, of(None, true).bytes), (true, 2 << 20));
        assert_eq!(
            (of(None, false).huge, of(None, false).bytes),
            (false, 1 << 20)
        );
        assert_eq!(
            of(Some(false), true).bytes,
            1 << 20,
            "a copy stays as it is"
        );
        assert_eq!(
            Copied::of(&ChunkMap::Whole(ZERO), size, Some(true), true).bytes,
            2 << 20
        );
    }
}
