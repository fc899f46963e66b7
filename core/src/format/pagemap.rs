//! Page maps: for each page of a version, the plane that holds it.
//!
//! A root entry covers a chunk: it is one code for all pages of the chunk, or the number of a leaf
//! with a code per page. A leaf always belongs to the same chunk, as a frame always belongs to the
//! same page. So neither needs an allocator: which leaves and frames are in use follows from the
//! entries of the live versions.

use crate::format::index::{Index, IndexError};
use crate::pageset::{CHUNK_PAGES, ChunkSet, PageSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of a page: 0 if it is in no plane (it is all zeros), else the number of its plane
/// plus 1.
pub type Code = u8;
/// The code of a page that was never written.
pub const ZERO: Code = 0;

/// Returns true if all bytes of a page are zero, as where no version has the page.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (head, words, tail) = bytemuck::pod_align_to::<u8, u64>(bytes);
    head.iter().all(|b| *b == 0) && words.iter().all(|w| *w == 0) && tail.iter().all(|b| *b == 0)
}

const LEAF_FLAG: u64 = 1 << 31;

/// A decoded root entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// All pages of the chunk have this code.
    Whole(Code),
    /// The codes of the pages are in this leaf of the chunk.
    Leaf(usize),
}

impl Entry {
    /// Decodes a root entry of an index with `slots` slots.
    pub fn decode(word: u64, slots: usize) -> Result<Self, IndexError> {
        let number = (word & !LEAF_FLAG) as usize;
        match word & LEAF_FLAG != 0 {
            true if number < slots => Ok(Entry::Leaf(number)),
            false if number <= slots => Ok(Entry::Whole(number as Code)),
            _ => Err(bad_entry(word, slots)),
        }
    }

    /// Returns the root entry as a word.
    pub fn encode(self) -> u64 {
        match self {
            Entry::Whole(code) => u64::from(code),
            Entry::Leaf(leaf) => LEAF_FLAG | leaf as u64,
        }
    }
}

fn bad_entry(found: u64, slots: usize) -> IndexError {
    let expected = format!("a plane or leaf below {slots}");
    IndexError::Value {
        what: "an entry of a page map",
        found,
        expected,
    }
}

/// The largest number of runs in a chunk for which compacting it, or copying it instead of mapping
/// it, is not worth the cost.
///
/// Mapping a run of one page takes an observer 3 to 6 us, and uses one of its mappings. Copying a
/// page takes 0.4 us. So a whole chunk is copied in the time in which 30 to 60 runs are mapped. But
/// a chunk that has become scattered goes on changing: each page that changes makes two more runs,
/// or is one more page to copy. After a few versions a copy costs less from about 8 runs on.
pub const FEW_RUNS: usize = 8;

/// Returns the number of runs that neighbouring pages with these codes make.
pub fn count_runs(codes: &[Code]) -> usize {
    let edges = codes.windows(2).filter(|w| w[0] != w[1]).count();
    edges + usize::from(!codes.is_empty())
}

/// A run: neighbouring pages in one plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The pages.
    pub pages: Range<usize>,
    /// Their common code.
    pub code: Code,
}

impl Run {
    /// Returns the plane, or `None` for zero pages.
    pub fn plane(&self) -> Option<usize> {
        (self.code != ZERO).then(|| self.code as usize - 1)
    }
}

/// The codes of one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkMap {
    /// One code for all pages.
    Whole(Code),
    /// A code per page.
    Mixed(Box<[Code; CHUNK_PAGES]>),
}

impl ChunkMap {
    /// Returns the code of page `i` of the chunk.
    pub fn code(&self, i: usize) -> Code {
        match self {
            ChunkMap::Whole(code) => *code,
            ChunkMap::Mixed(codes) => codes[i],
        }
    }
}

/// The page map of the version in one slot.
#[derive(Clone, Copy, Debug)]
pub struct PageMap<'a> {
    index: Index<'a>,
    slot: usize,
}

impl<'a> PageMap<'a> {
    /// Returns the map of the version in `slot`. The version must be pinned, or the caller must be
    /// the producer.
    pub fn new(index: Index<'a>, slot: usize) -> Self {
        PageMap { index, slot }
    }

    /// Returns the entries of `chunks`, not yet decoded.
    pub fn roots(&self, chunks: &Range<usize>) -> Result<&'a [AtomicU64], IndexError> {
        self.index.roots(self.slot, chunks)
    }

    /// Returns the entry of `chunk`.
    pub fn entry(&self, chunk: usize) -> Result<Entry, IndexError> {
        Entry::decode(
            self.index.root(self.slot, chunk)?,
            self.index.layout().slots,
        )
    }

    /// Returns the codes of pages `8 i .. 8 i + 8` of `chunk` as one word, so that maps can be
    /// compared word by word.
    pub fn word(&self, chunk: usize, entry: Entry, i: usize) -> Result<u64, IndexError> {
        match entry {
            Entry::Whole(code) => Ok(u64::from(code) * 0x0101_0101_0101_0101),
            Entry::Leaf(leaf) => Ok(self.index.leaf(chunk, leaf)?[i].load(Ordering::Relaxed)),
        }
    }

    /// Returns the code of one page.
    pub fn code(&self, page: usize) -> Result<Code, IndexError> {
        let chunk = page / CHUNK_PAGES;
        self.code_in(chunk, self.entry(chunk)?, page % CHUNK_PAGES)
    }

    /// Returns the code of page `i` of `chunk`, whose entry is `entry`.
    pub fn code_in(&self, chunk: usize, entry: Entry, i: usize) -> Result<Code, IndexError> {
        let word = self.word(chunk, entry, i / 8)?;
        self.checked(word.to_le_bytes()[i % 8])
    }

    fn checked(&self, code: Code) -> Result<Code, IndexError> {
        let slots = self.index.layout().slots;
        let fine = usize::from(code) <= slots
            || crate::testing::sabotage::off(crate::testing::sabotage::Guard::CheckIndex);
        if fine {
            Ok(code)
        } else {
            Err(bad_entry(code.into(), slots))
        }
    }

    /// Returns all codes of `chunk`, checked.
    pub fn chunk(&self, chunk: usize) -> Result<ChunkMap, IndexError> {
        let leaf = match self.entry(chunk)? {
            Entry::Whole(code) => return Ok(ChunkMap::Whole(code)),
            Entry::Leaf(leaf) => self.index.leaf(chunk, leaf)?,
        };
        let mut codes = Box::new([ZERO; CHUNK_PAGES]);
        for (eight, word) in codes.chunks_exact_mut(8).zip(leaf) {
            eight.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        for code in &codes[..self.index.layout().pages_in(chunk)] {
            self.checked(*code)?;
        }
        Ok(ChunkMap::Mixed(codes))
    }

    /// Returns the chunks that may have pages in planes. All pages of the other chunks are zero.
    pub fn used_chunks(&self) -> Result<ChunkSet, IndexError> {
        self.index.used_chunks(0..self.index.layout().chunks)
    }

    /// Returns the runs that make up `pages`, in order. Neighbouring runs in one plane are merged
    /// across chunks.
    pub fn runs(&self, pages: Range<usize>) -> Result<Vec<Run>, IndexError> {
        let mut out = Runs::default();
        let (mut at, end) = (pages.start, pages.end.min(self.index.layout().pages));
        let chunks = at / CHUNK_PAGES..end.div_ceil(CHUNK_PAGES);
        for chunk in self.index.used_chunks(chunks)?.iter() {
            let start = chunk * CHUNK_PAGES;
            let part = start.max(at)..end.min(start + CHUNK_PAGES);
            out.push(at..part.start, ZERO);
            at = part.end;
            out.push_chunk(&self.chunk(chunk)?, start, part);
        }
        out.push(at..end, ZERO);
        Ok(out.runs)
    }

    /// Returns the pages that are in different planes in two versions: those whose bytes may
    /// differ. Both versions must be pinned.
    pub fn differing(&self, other: &PageMap<'_>) -> Result<PageSet, IndexError> {
        let mut set = PageSet::new(self.index.layout().pages);
        for chunk in self.used_chunks()?.iter() {
            let (a, b) = (self.entry(chunk)?, other.entry(chunk)?);
            for i in 0..if a == b { 0 } else { CHUNK_PAGES / 8 } {
                let differ = self.word(chunk, a, i)? ^ other.word(chunk, b, i)?;
                for (j, byte) in differ.to_le_bytes().into_iter().enumerate() {
                    if byte != 0 {
                        set.insert(chunk * CHUNK_PAGES + i * 8 + j);
                    }
                }
            }
        }
        Ok(set)
    }
}

/// A list of runs, which are merged as they are added.
#[derive(Default, Debug)]
pub struct Runs {
    /// The runs so far.
    pub runs: Vec<Run>,
}

impl Runs {
    /// Adds pages of one code.
    pub fn push(&mut self, pages: Range<usize>, code: Code) {
        if pages.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.code == code && last.pages.end == pages.start => {
                last.pages.end = pages.end
            }
            _ => self.runs.push(Run { pages, code }),
        }
    }

    /// Adds the pages `part` of the chunk that starts at page `start`.
    pub fn push_chunk(&mut self, map: &ChunkMap, start: usize, part: Range<usize>) {
        match map {
            ChunkMap::Whole(code) => self.push(part, *code),
            ChunkMap::Mixed(codes) => {
                for page in part {
                    self.push(page..page + 1, codes[page - start]);
                }
            }
        }
    }
}
