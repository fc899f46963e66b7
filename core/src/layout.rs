//! The shape of the index: offsets of everything in it, derived from five numbers of its header.
//!
//! `docs/design.md` draws this in bytes; a test compares the two. Writer and reader both compute a
//! [`Layout`] from the header's numbers with checked arithmetic, so no offset is ever read from the file.

use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS};
use thiserror::Error;

/// First word of the index: `TCASMIDX` in ASCII.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TCASMIDX");
/// Version of everything shared: index, lease and messages. Raised whenever one of them changes its meaning.
pub const LAYOUT_VERSION: u64 = 2;
/// Most versions (ring slots, planes) a region can have: entries of a leaf are bytes, descriptors go in one message.
pub const MAX_SLOTS: usize = 64;
/// Longest region name in bytes.
pub const MAX_NAME: usize = 64;
/// Bytes reserved for one field table.
pub const TABLE_BYTES: usize = 1 << 18;
/// Bytes of the header, statistics included.
pub const HEADER_BYTES: usize = 8192;
/// Bytes of one slot's head.
pub const SLOT_BYTES: usize = 128;
/// Bytes of one leaf: one byte a page of a chunk.
pub const LEAF_BYTES: usize = CHUNK_PAGES;

/// Byte offsets in the header. Everything is a little-endian u64 unless said otherwise.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// [`super::LAYOUT_VERSION`].
    pub const LAYOUT_VERSION: usize = 8;
    /// Bytes per page.
    pub const PAGE_SIZE: usize = 16;
    /// Address of the region, the same in every process.
    pub const BASE: usize = 24;
    /// Pages of the region.
    pub const PAGES: usize = 32;
    /// Ring slots; as many planes, and as many leaves per chunk.
    pub const SLOTS: usize = 40;
    /// Process id of the producer, as it sees itself.
    pub const PID: usize = 48;
    /// When the region was created: nanoseconds of the Unix epoch.
    pub const CREATED: usize = 56;
    /// Name of the tracker: 16 bytes of ASCII, zeros behind it.
    pub const TRACKER: usize = 64;
    /// Bytes of the name.
    pub const NAME_LEN: usize = 80;
    /// The name, UTF-8, [`super::MAX_NAME`] bytes.
    pub const NAME: usize = 88;
    /// 0 running, 1 closed by the producer (end of stream).
    pub const STATE: usize = 256;
    /// Number of the newest visible version; 0: none yet.
    pub const LATEST: usize = 264;
    /// Counts events (versions, closing); its low 32 bits are the futex word.
    pub const EVENT: usize = 272;
    /// First of the statistics: see `stats`.
    pub const STATS: usize = 512;
}

/// Byte offsets in a slot's head.
pub mod slot {
    /// The protocol's state word.
    pub const STATE: usize = 0;
    /// The simulation's step.
    pub const STEP: usize = 8;
    /// Simulated time: bits of an f64.
    pub const TIME: usize = 16;
    /// Number of pages changed since the version before.
    pub const CHANGED: usize = 24;
    /// Bytes of the field table.
    pub const TABLE_LEN: usize = 32;
    /// When the version was published: nanoseconds of the Unix epoch.
    pub const PUBLISHED: usize = 40;
}

/// Why numbers make no layout.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum LayoutError {
    #[error("{slots} versions were asked for; a region has 2 to {MAX_SLOTS}")]
    Slots { slots: usize },
    #[error("a region needs at least one page")]
    Empty,
    #[error("{page_size} is not a page size: a power of two of at least 4096 is")]
    PageSize { page_size: usize },
    #[error("a region of {pages} pages of {page_size} bytes does not fit the address space")]
    TooLarge { pages: usize, page_size: usize },
}

/// Offsets of the sections of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pages of the region.
    pub pages: usize,
    /// Bytes per page.
    pub page_size: usize,
    /// Ring slots, planes, and leaves per chunk.
    pub slots: usize,
    /// Chunks of the region, the last one possibly in part.
    pub chunks: usize,
    /// Heads of the slots.
    pub heads: usize,
    /// Bitmap of the chunks in use.
    pub used_chunks: usize,
    /// Bitmaps of changed chunks: per slot one.
    pub changed_chunks: usize,
    /// Roots: per slot and chunk one u64.
    pub roots: usize,
    /// Changed-page bitmaps: per slot and chunk 64 bytes.
    pub changed: usize,
    /// Leaves: per chunk and position 512 bytes.
    pub leaves: usize,
    /// Field tables: per slot [`TABLE_BYTES`].
    pub tables: usize,
    /// Size of the whole index.
    pub total: usize,
}

impl Layout {
    /// The layout for a region of `pages` pages of `page_size` bytes and `slots` versions.
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

    /// Bytes of the region.
    pub fn region_bytes(&self) -> usize {
        self.pages * self.page_size
    }

    /// Pages of `chunk`: [`CHUNK_PAGES`], fewer in the last one.
    pub fn pages_in(&self, chunk: usize) -> usize {
        (self.pages - chunk * CHUNK_PAGES).min(CHUNK_PAGES)
    }

    /// Offset of a slot's head.
    pub fn head(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots);
        self.heads + slot * SLOT_BYTES
    }

    /// Bytes of a bitmap of all chunks. (As in bitmaps of pages, bits come in groups of [`CHUNK_PAGES`].)
    pub fn chunk_bits(&self) -> usize {
        self.changed_chunks - self.used_chunks
    }

    /// Offset of the bitmap of changed chunks of `slot`.
    pub fn chunks_changed(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots);
        self.changed_chunks + slot * self.chunk_bits()
    }

    /// Offset of the root entry of `chunk` in `slot`.
    pub fn root(&self, slot: usize, chunk: usize) -> usize {
        debug_assert!(slot < self.slots && chunk < self.chunks);
        self.roots + (slot * self.chunks + chunk) * 8
    }

    /// Offset of the changed-page bitmap of `chunk` in `slot`.
    pub fn changed_bits(&self, slot: usize, chunk: usize) -> usize {
        debug_assert!(slot < self.slots && chunk < self.chunks);
        self.changed + (slot * self.chunks + chunk) * CHUNK_WORDS * 8
    }

    /// Offset of leaf number `leaf` of `chunk`.
    pub fn leaf(&self, chunk: usize, leaf: usize) -> usize {
        debug_assert!(leaf < self.slots && chunk < self.chunks);
        self.leaves + (chunk * self.slots + leaf) * LEAF_BYTES
    }

    /// Offset of a slot's field table.
    pub fn table(&self, slot: usize) -> usize {
        debug_assert!(slot < self.slots);
        self.tables + slot * TABLE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows `| NAME | number |` of the table in `docs/design.md` whose head begins with `head`.
    fn documented(head: &str) -> Vec<(String, usize)> {
        let page = include_str!("../../docs/design.md");
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
        fn sections_follow_each_other_and_hold_what_they_must(pages in 1usize..1 << 28, slots in 2usize..=MAX_SLOTS) {
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
        fn numbers_from_outside_give_a_layout_or_an_error(pages: usize, page_size: usize, slots: usize) {
            let _ = Layout::new(pages, page_size, slots);
        }
    }
}
