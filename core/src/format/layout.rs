//! The layout of the index: the offsets of all its sections, derived from numbers in its header.
//!
//! `docs/design.md` shows the layout in bytes, and a test compares it with this module. The
//! producer and the observer both compute a [`Layout`] from the numbers in the header with checked
//! arithmetic, so no offset is ever read from shared memory.

use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS};
use thiserror::Error;

/// The first word of the index: `TCASMIDX` in ASCII.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TCASMIDX");
/// The version of the format of everything shared: index, lease and messages. It is raised whenever
/// one of them changes its meaning.
pub const LAYOUT_VERSION: u64 = 2;
/// The largest number of versions (slots of the ring, planes) of a region. The limit exists because
/// entries of a leaf are bytes, and because all descriptors go in one message.
pub const MAX_SLOTS: usize = 64;
/// The length of the longest region name in bytes.
pub const MAX_NAME: usize = 64;
/// The number of bytes reserved for one field table.
pub const TABLE_BYTES: usize = 1 << 18;
/// The size of the header in bytes, including the statistics.
pub const HEADER_BYTES: usize = 8192;
/// The size of the head of one slot in bytes.
pub const SLOT_BYTES: usize = 128;
/// The size of one leaf in bytes: one byte for each page of a chunk.
pub const LEAF_BYTES: usize = CHUNK_PAGES;

/// Byte offsets in the header. Every value is a little-endian `u64` unless noted otherwise.
pub mod header {
    /// The number [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// The number [`super::LAYOUT_VERSION`].
    pub const LAYOUT_VERSION: usize = 8;
    /// Bytes per page.
    pub const PAGE_SIZE: usize = 16;
    /// Address of the region, the same in every process.
    pub const BASE: usize = 24;
    /// Pages of the region.
    pub const PAGES: usize = 32;
    /// Number of slots of the ring, which is also the number of planes and of leaves per chunk.
    pub const SLOTS: usize = 40;
    /// Process id of the producer in its own pid namespace.
    pub const PID: usize = 48;
    /// Time when the region was created, in nanoseconds of the Unix epoch.
    pub const CREATED: usize = 56;
    /// Name of the tracker: 16 bytes of ASCII, filled up with zeros.
    pub const TRACKER: usize = 64;
    /// Length of the region's name in bytes.
    pub const NAME_LEN: usize = 80;
    /// Name of the region in UTF-8, [`super::MAX_NAME`] bytes.
    pub const NAME: usize = 88;
    /// Number of the first version, or 0 in regions of older producers, which do not write it.
    pub const FIRST: usize = 152;
    /// 0 while the producer runs, 1 when it has closed the region (end of stream).
    pub const STATE: usize = 256;
    /// Number of the newest visible version, or 0 if there is none yet.
    pub const LATEST: usize = 264;
    /// Counter of events (new versions, closing). Its low 32 bits are the futex word.
    pub const EVENT: usize = 272;
    /// First word of the statistics: see [`stats`](crate::format::stats).
    pub const STATS: usize = 512;
}

/// Byte offsets in the head of a slot.
pub mod slot {
    /// State word of the [`protocol`](crate::format::protocol).
    pub const STATE: usize = 0;
    /// Step of the simulation.
    pub const STEP: usize = 8;
    /// Simulated time, as the bits of an `f64`.
    pub const TIME: usize = 16;
    /// Number of pages that changed since the previous version.
    pub const CHANGED: usize = 24;
    /// Length of the field table in bytes.
    pub const TABLE_LEN: usize = 32;
    /// Time when the version was published, in nanoseconds of the Unix epoch.
    pub const PUBLISHED: usize = 40;
}

/// The reason why numbers do not give a layout.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[non_exhaustive]
pub enum LayoutError {
    /// The number of slots is out of range.
    #[error("{slots} versions were asked for; a region has 2 to {MAX_SLOTS}")]
    Slots {
        /// The number of slots.
        slots: usize,
    },
    /// The region has no pages.
    #[error("a region needs at least one page")]
    Empty,
    /// The page size is not one that a machine can have.
    #[error("{page_size} is not a page size: it must be a power of two from 4096 to 1048576")]
    PageSize {
        /// The bytes per page.
        page_size: usize,
    },
    /// The region is too large.
    #[error("a region of {pages} pages of {page_size} bytes does not fit the address space")]
    TooLarge {
        /// The pages of the region.
        pages: usize,
        /// The bytes per page.
        page_size: usize,
    },
}

/// Offsets of the sections of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pages of the region.
    pub pages: usize,
    /// Bytes per page.
    pub page_size: usize,
    /// Slots of the ring, which is also the number of planes and of leaves per chunk.
    pub slots: usize,
    /// Chunks of the region, including a last one with fewer pages.
    pub chunks: usize,
    /// Offset of the heads of the slots.
    pub heads: usize,
    /// Offset of the bitmap of the chunks in use.
    pub used_chunks: usize,
    /// Offset of the bitmaps of changed chunks, one for each slot.
    pub changed_chunks: usize,
    /// Offset of the roots, one `u64` for each slot and chunk.
    pub roots: usize,
    /// Offset of the bitmaps of changed pages, 64 bytes for each slot and chunk.
    pub changed: usize,
    /// Offset of the leaves, 512 bytes for each chunk and leaf number.
    pub leaves: usize,
    /// Offset of the field tables, [`TABLE_BYTES`] for each slot.
    pub tables: usize,
    /// Size of the whole index in bytes.
    pub total: usize,
}

impl Layout {
    /// Returns the layout for a region of `pages` pages of `page_size` bytes and `slots` versions.
    pub fn new(pages: usize, page_size: usize, slots: usize) -> Result<Self, LayoutError> {
        if !(2..=MAX_SLOTS).contains(&slots) {
            return Err(LayoutError::Slots { slots });
        }
        if pages == 0 {
            return Err(LayoutError::Empty);
        }
        if !page_size.is_power_of_two() || !(4096..=1 << 20).contains(&page_size) {
            return Err(LayoutError::PageSize { page_size });
        }
        Self::sections(pages, page_size, slots).ok_or(LayoutError::TooLarge { pages, page_size })
    }

    fn sections(pages: usize, page_size: usize, slots: usize) -> Option<Self> {
        pages
            .checked_mul(page_size)
            .filter(|bytes| *bytes <= 1 << 46)?;
        let chunks = pages.div_ceil(CHUNK_PAGES);
        let heads = HEADER_BYTES;
        let used_chunks = heads + slots * SLOT_BYTES;
        let chunk_bits = chunks.div_ceil(CHUNK_PAGES) * CHUNK_WORDS * 8;
        let changed_chunks = used_chunks.checked_add(chunk_bits)?;
        let roots = changed_chunks.checked_add(chunk_bits.checked_mul(slots)?)?;
        let changed = roots.checked_add(chunks.checked_mul(slots * 8)?)?;
        let leaves = changed.checked_add(chunks.checked_mul(slots * CHUNK_WORDS * 8)?)?;
        let tables = leaves.checked_add(chunks.checked_mul(slots * LEAF_BYTES)?)?;
        let total = tables
            .checked_add(slots * TABLE_BYTES)?
            .checked_next_multiple_of(page_size)?;
        Some(Layout {
            pages,
            page_size,
            slots,
            chunks,
            heads,
            used_chunks,
            changed_chunks,
            roots,
            changed,
            leaves,
            tables,
            total,
        })
    }

    /// Returns the size of the region in bytes.
    pub fn region_bytes(&self) -> usize {
        self.pages * self.page_size
    }

    /// Returns the number of pages of `chunk`: [`CHUNK_PAGES`], or fewer in the last chunk.
    pub fn pages_in(&self, chunk: usize) -> usize {
        (self.pages - chunk * CHUNK_PAGES).min(CHUNK_PAGES)
    }

    /// Returns the offset of the head of `slot`.
    pub fn head(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots);
        self.heads + slot * SLOT_BYTES
    }

    /// Returns the size in bytes of a bitmap of all chunks. As in bitmaps of pages, the number of
    /// bits is a multiple of [`CHUNK_PAGES`].
    pub fn chunk_bits(&self) -> usize {
        self.changed_chunks - self.used_chunks
    }

    /// Returns the offset of the bitmap of changed chunks of `slot`.
    pub fn chunks_changed(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots);
        self.changed_chunks + slot * self.chunk_bits()
    }

    /// Returns the offset of the root entry of `chunk` in `slot`.
    pub fn root(&self, slot: usize, chunk: usize) -> usize {
        debug_assert!(slot < self.slots && chunk < self.chunks);
        self.roots + (slot * self.chunks + chunk) * 8
    }

    /// Returns the offset of the bitmap of changed pages of `chunk` in `slot`.
    pub fn changed_bits(&self, slot: usize, chunk: usize) -> usize {
        debug_assert!(slot < self.slots && chunk < self.chunks);
        self.changed + (slot * self.chunks + chunk) * CHUNK_WORDS * 8
    }

    /// Returns the offset of leaf number `leaf` of `chunk`.
    pub fn leaf(&self, chunk: usize, leaf: usize) -> usize {
        debug_assert!(leaf < self.slots && chunk < self.chunks);
        self.leaves + (chunk * self.slots + leaf) * LEAF_BYTES
    }

    /// Returns the offset of the field table of `slot`.
    pub fn table(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots);
        self.tables + slot * TABLE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the rows `| NAME | number |` of the table in `docs/design.md` whose head begins with
    /// `head`.
    fn documented(head: &str) -> Vec<(String, usize)> {
        let page = include_str!("../../../docs/design.md");
        let table = page
            .split(&format!("| {head} |"))
            .nth(1)
            .expect("the table is there");
        let row = |line: &str| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            Some((cells.next()?.to_owned(), cells.next()?.parse().ok()?))
        };
        table
            .lines()
            .skip(2)
            .take_while(|l| l.starts_with('|'))
            .filter_map(row)
            .collect()
    }

    #[test]
    fn the_documented_header_is_the_one_in_the_code() {
        use header as h;
        let code = [
            ("MAGIC", h::MAGIC),
            ("LAYOUT_VERSION", h::LAYOUT_VERSION),
            ("PAGE_SIZE", h::PAGE_SIZE),
            ("BASE", h::BASE),
            ("PAGES", h::PAGES),
            ("SLOTS", h::SLOTS),
            ("PID", h::PID),
            ("CREATED", h::CREATED),
            ("TRACKER", h::TRACKER),
            ("NAME_LEN", h::NAME_LEN),
            ("NAME", h::NAME),
            ("FIRST", h::FIRST),
            ("STATE", h::STATE),
            ("LATEST", h::LATEST),
            ("EVENT", h::EVENT),
            ("STATS", h::STATS),
        ];
        assert_eq!(
            documented("header | offset"),
            code.map(|(n, o)| (n.to_owned(), o))
        );
    }

    #[test]
    fn the_documented_head_of_a_slot_is_the_one_in_the_code() {
        let code = [
            ("STATE", slot::STATE),
            ("STEP", slot::STEP),
            ("TIME", slot::TIME),
            ("CHANGED", slot::CHANGED),
            ("TABLE_LEN", slot::TABLE_LEN),
            ("PUBLISHED", slot::PUBLISHED),
        ];
        assert_eq!(
            documented("head of a slot | offset"),
            code.map(|(n, o)| (n.to_owned(), o))
        );
    }

    proptest! {
        #[test]
        fn sections_follow_each_other_and_are_large_enough(
            pages in 1usize..1 << 28,
            slots in 2usize..=MAX_SLOTS,
        ) {
            let l = Layout::new(pages, 4096, slots).unwrap();
            prop_assert_eq!((l.heads, l.used_chunks), (8192, 8192 + slots * 128));
            prop_assert_eq!(l.chunk_bits(), l.chunks.div_ceil(512) * 64);
            prop_assert_eq!(l.roots - l.changed_chunks, slots * l.chunk_bits());
            prop_assert_eq!(l.changed - l.roots, slots * l.chunks * 8);
            prop_assert_eq!(l.leaves - l.changed, slots * l.chunks * 64);
            prop_assert_eq!(l.tables - l.leaves, slots * l.chunks * 512);
            prop_assert!(l.total - l.tables >= slots * 262_144);
            let (s, c) = (slots - 1, l.chunks - 1);
            prop_assert_eq!(l.chunks_changed(s) + l.chunk_bits(), l.roots);
            prop_assert!(l.root(s, c) + 8 <= l.changed && l.changed_bits(s, c) + 64 <= l.leaves);
            prop_assert!(l.leaf(c, s) + 512 <= l.tables && l.table(s) + TABLE_BYTES <= l.total);
        }

        #[test]
        fn numbers_from_outside_give_a_layout_or_an_error(
            pages: usize,
            page_size: usize,
            slots: usize,
        ) {
            let _ = Layout::new(pages, page_size, slots);
        }
    }
}
