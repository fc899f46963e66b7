//! The pieces of a set: single blocks with a bitmap, and rows of blocks with all their pages.

use super::block::{BLOCK_CHUNKS, BLOCK_PAGES, Block, FULL};
use super::chunk::{CHUNK_PAGES, ChunkBits};
use super::runs::runs_of;
use std::ops::Range;
use std::sync::Arc;

/// The pages of some blocks that are in a set.
#[derive(Clone)]
pub(super) enum Content {
    /// All pages of all blocks. With this, a field of a terabyte is one piece.
    All,
    /// The pages in this bitmap; the piece has one block only. Clones of a set share the bitmap
    /// until one of them changes.
    Bits(Arc<Block>),
}

impl Content {
    fn block(&self) -> &Block {
        match self {
            Content::All => &FULL,
            Content::Bits(block) => block,
        }
    }

    /// Returns the bitmap for writing.
    pub fn make_mut(&mut self) -> &mut Block {
        if let Content::All = self {
            *self = Content::Bits(Arc::new(FULL.clone()));
        }
        match self {
            Content::Bits(block) => Arc::make_mut(block),
            Content::All => unreachable!("made a bitmap just now"),
        }
    }

    pub fn is_same(&self, other: &Content) -> bool {
        match (self, other) {
            (Content::All, Content::All) => true,
            (Content::Bits(a), Content::Bits(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns true if this has all pages of `other`.
    pub fn has_all(&self, other: &Content) -> bool {
        self.is_same(other) || self.block().contains(other.block())
    }

    fn meets(&self, other: &Content) -> bool {
        self.block().meets(other.block())
    }

    /// Returns the same content, without a bitmap if it has all pages.
    fn settled(self) -> Content {
        if self.block().is_full() {
            Content::All
        } else {
            self
        }
    }

    /// Applies `change` to the bitmap. Returns `None` if no page is left.
    fn changed(mut self, change: impl FnOnce(&mut Block)) -> Option<Content> {
        change(self.make_mut());
        (!self.block().is_empty()).then_some(self)
    }
}

/// A range of block numbers, and their pages that are in a set. There is at least one block, and
/// exactly one if the content is a bitmap.
#[derive(Clone)]
pub(super) struct Piece {
    pub blocks: Range<usize>,
    pub content: Content,
}

impl Piece {
    pub fn all(blocks: Range<usize>) -> Piece {
        let content = Content::All;
        Piece { blocks, content }
    }

    pub fn empty(block: usize) -> Piece {
        Piece {
            blocks: block..block + 1,
            content: Content::Bits(Arc::default()),
        }
    }

    pub fn is_all(&self) -> bool {
        matches!(self.content, Content::All)
    }

    pub fn chunk(&self, chunk: usize) -> &ChunkBits {
        self.content.block().chunk(chunk % BLOCK_CHUNKS)
    }

    pub fn chunks_in_use(&self) -> impl Iterator<Item = (usize, &ChunkBits)> + Clone {
        self.blocks.clone().flat_map(|n| {
            let chunks = self.content.block().chunks_in_use();
            chunks.map(move |(i, bits)| (n * BLOCK_CHUNKS + i, bits))
        })
    }

    /// Returns the runs of pages, in order. A run across the border of chunks may be returned in
    /// parts.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        let (all, bits) = match &self.content {
            Content::All => (Some(self.pages()), None),
            Content::Bits(block) => (None, Some(block.runs())),
        };
        let first = self.pages().start;
        let runs = bits.into_iter().flatten();
        all.into_iter()
            .chain(runs.map(move |r| first + r.start..first + r.end))
    }

    /// Calls `found` for the runs of chunks that have pages, in order.
    pub fn chunk_runs(&self, mut found: impl FnMut(Range<usize>)) {
        let first = self.blocks.start * BLOCK_CHUNKS;
        match &self.content {
            Content::All => found(first..self.blocks.end * BLOCK_CHUNKS),
            Content::Bits(block) => {
                let used = [block.used()];
                runs_of(&used).for_each(|r| found(first + r.start..first + r.end));
            }
        }
    }

    /// Returns true if there is a bitmap and it has all pages.
    pub fn is_full(&self) -> bool {
        matches!(&self.content, Content::Bits(block) if block.is_full())
    }

    /// Returns all pages of the blocks.
    pub fn pages(&self) -> Range<usize> {
        self.blocks.start * BLOCK_PAGES..self.blocks.end * BLOCK_PAGES
    }

    /// Returns the number of pages of `range` in this piece that are in the set.
    pub fn count_in(&self, range: &Range<usize>) -> usize {
        let pages = self.pages();
        let part = range.start.max(pages.start)..range.end.min(pages.end);
        match &self.content {
            Content::All => part.len(),
            Content::Bits(block) => {
                block.count_in(part.start - pages.start..part.end.max(part.start) - pages.start)
            }
        }
    }

    pub fn len(&self) -> usize {
        match &self.content {
            Content::All => self.pages().len(),
            Content::Bits(block) => block.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.content.block().is_empty()
    }
}

/// An operation on the contents that two sets have for a block. It takes the content of the set
/// that changes and that of the other set, and returns the new content. `None` means no pages.
///
/// Most often one content has all pages of the other, or none of them. The rules check this first,
/// because then no bitmap needs to be copied.
pub(super) type Rule = fn(Option<Content>, Option<&Content>) -> Option<Content>;

pub(super) fn union(mine: Option<Content>, theirs: Option<&Content>) -> Option<Content> {
    match (mine, theirs) {
        (Some(Content::All), _) | (_, Some(Content::All)) => Some(Content::All),
        (Some(mine), Some(theirs)) if mine.has_all(theirs) => Some(mine),
        (Some(mine), Some(theirs)) if theirs.has_all(&mine) => Some(theirs.clone()),
        (Some(mine), Some(theirs)) => {
            let both = mine.changed(|block| block.union(theirs.block()));
            both.map(Content::settled)
        }
        (mine, theirs) => mine.or_else(|| theirs.cloned()),
    }
}

pub(super) fn difference(mine: Option<Content>, theirs: Option<&Content>) -> Option<Content> {
    match (mine?, theirs) {
        (mine, None) => Some(mine),
        (_, Some(Content::All)) => None,
        (mine, Some(theirs)) if !mine.meets(theirs) => Some(mine),
        (mine, Some(theirs)) if theirs.has_all(&mine) => None,
        (mine, Some(theirs)) => mine.changed(|block| block.subtract(theirs.block())),
    }
}

pub(super) fn intersection(mine: Option<Content>, theirs: Option<&Content>) -> Option<Content> {
    match (mine?, theirs?) {
        (mine, Content::All) => Some(mine),
        (Content::All, theirs) => Some(theirs.clone()),
        (mine, theirs) if !mine.meets(theirs) => None,
        (mine, theirs) if theirs.has_all(&mine) => Some(mine),
        (mine, theirs) if mine.has_all(theirs) => Some(theirs.clone()),
        (mine, theirs) => mine.changed(|block| block.intersect(theirs.block())),
    }
}

/// Applies `rule` to two lists of pieces, and returns the resulting pieces. Each step handles the
/// blocks up to the next place where a piece of either list begins or ends.
pub(super) fn combine(mine: Vec<Piece>, mut theirs: &[Piece], rule: Rule) -> Vec<Piece> {
    let mut out = Vec::with_capacity(mine.len());
    let mut mine = mine.into_iter();
    let (mut own, mut at) = (mine.next(), 0);
    loop {
        while let [first, rest @ ..] = theirs
            && first.blocks.end <= at
        {
            theirs = rest;
        }
        let rows = [
            own.as_ref().map(|p| &p.blocks),
            theirs.first().map(|p| &p.blocks),
        ];
        let rows = || rows.into_iter().flatten();
        let Some(start) = rows().map(|row| row.start.max(at)).min() else {
            return out;
        };
        // The step ends where the next piece of either list begins or ends.
        let border = |row: &Range<usize>| {
            if row.start > start {
                row.start
            } else {
                row.end
            }
        };
        at = rows().map(border).min().unwrap_or(start + 1);
        let other = theirs.first().filter(|p| p.blocks.start <= start);
        let content = match &mut own {
            Some(piece) if piece.blocks.start > start => None,
            // The piece has more than one block, so its content is `All`.
            Some(piece) if piece.blocks.end > at => {
                piece.blocks.start = at;
                Some(piece.content.clone())
            }
            _ => std::mem::replace(&mut own, mine.next()).map(|piece| piece.content),
        };
        if let Some(content) = rule(content, other.map(|piece| &piece.content)) {
            push(&mut out, start..at, content);
        }
    }
}

/// Adds a piece. If it and the last piece are neighbours and have all pages, they become one piece.
fn push(out: &mut Vec<Piece>, blocks: Range<usize>, content: Content) {
    match (out.last_mut(), &content) {
        (Some(last), Content::All)
            if last.blocks.end == blocks.start && matches!(last.content, Content::All) =>
        {
            last.blocks.end = blocks.end;
        }
        _ => out.push(Piece { blocks, content }),
    }
}

// The bits of a block are the bits of its chunks.
const _: () = assert!(BLOCK_PAGES == BLOCK_CHUNKS * CHUNK_PAGES);
