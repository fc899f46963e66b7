//! The index: header, ring of versions, page maps, changed pages and field tables, in one shared
//! object.
//!
//! [`Index`] reads it and checks all numbers that it reads (I9). The producer writes it through
//! [`IndexWriter`]. Both are thin: [`Layout`] computes the offsets, and [`Words`] accesses the
//! memory.

use crate::field::{FieldTable, TableError};
use crate::format::layout::{
    HEADER_BYTES, LAYOUT_VERSION, Layout, LayoutError, MAGIC, MAX_NAME, TABLE_BYTES, header, slot,
};
use crate::format::protocol;
use crate::format::stamp::Stamp;
use crate::format::words::{OutOfRange, Words};
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkSet, PageSet};
use crate::testing::sabotage::{Guard, off};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// The reason why an index cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The index is shorter than its header or its sections.
    #[error("an index of {size} bytes is too small: it is damaged or from another program")]
    TooSmall {
        /// The size of the index in bytes.
        size: usize,
    },
    /// The object does not begin with the number of an index.
    #[error("this is not an index of TCASM (it begins with {found:#018x})")]
    Magic {
        /// The first word of the object.
        found: u64,
    },
    /// The producer uses another format.
    #[error(
        "the producer uses layout version {found}, this program {LAYOUT_VERSION}; build both from \
         the same release"
    )]
    LayoutVersion {
        /// The layout version of the producer.
        found: u64,
    },
    /// The numbers in the header do not give a layout.
    #[error("the index is damaged: {0}")]
    Layout(#[from] LayoutError),
    /// An access lies outside the index.
    #[error("the index is damaged: {0}")]
    OutOfRange(#[from] OutOfRange),
    /// A number in the index has a value that it cannot have.
    #[error("the index is damaged: {what} is {found}, expected {expected}")]
    Value {
        /// The name of the number.
        what: &'static str,
        /// The value in the index.
        found: u64,
        /// The values that are valid.
        expected: String,
    },
    /// A field table cannot be used.
    #[error("the index is damaged: {0}")]
    Table(#[from] TableError),
    /// A field table does not fit the space reserved for it.
    #[error(
        "a field table of {bytes} bytes exceeds the {TABLE_BYTES} reserved; use fewer or shorter \
         attributes"
    )]
    TableTooLarge {
        /// The length of the table in bytes.
        bytes: usize,
    },
    /// The caller is a forked child of the process that attached.
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
}

/// The part of the header that is written once, when the region is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderInfo {
    /// The name of the region.
    pub name: String,
    /// The address of the region in every process.
    pub base: u64,
    /// The process id of the producer.
    pub pid: u64,
    /// The time when the region was created, in nanoseconds of the Unix epoch.
    pub created: u64,
    /// The name of the tracker.
    pub tracker: String,
    /// The number of the first version, or 0 if the producer is older and does not say it.
    pub first_version: u64,
}

/// An index for reading, whose header was checked.
#[derive(Clone, Copy, Debug)]
pub struct Index<'a> {
    words: Words<'a>,
    layout: Layout,
}

impl<'a> Index<'a> {
    /// Checks the header of an index from another process, and that all its sections lie in
    /// `words`.
    pub fn open(words: &'a [AtomicU64]) -> Result<Self, IndexError> {
        let words = Words::new(words);
        let size = words.size();
        if size < HEADER_BYTES {
            return Err(IndexError::TooSmall { size });
        }
        let found = words.get(header::MAGIC)?;
        if found != MAGIC {
            return Err(IndexError::Magic { found });
        }
        let found = words.get(header::LAYOUT_VERSION)?;
        if found != LAYOUT_VERSION {
            return Err(IndexError::LayoutVersion { found });
        }
        let number = |at| {
            words
                .get(at)
                .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
        };
        let layout = Layout::new(
            number(header::PAGES)?,
            number(header::PAGE_SIZE)?,
            number(header::SLOTS)?,
        )?;
        if size < layout.total && !off(Guard::CheckIndex) {
            return Err(IndexError::TooSmall { size });
        }
        Ok(Index { words, layout })
    }

    /// Returns an index whose header was checked before and gave this layout. Another process can
    /// write the header, so it is read only once. Everything that was derived from it then stays
    /// correct.
    pub fn with_layout(words: &'a [AtomicU64], layout: Layout) -> Result<Self, IndexError> {
        let words = Words::new(words);
        match words.size() {
            size if size < layout.total => Err(IndexError::TooSmall { size }),
            _ => Ok(Index { words, layout }),
        }
    }

    /// Returns the layout of the sections.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns what the header says about the region, checked.
    pub fn header(&self) -> Result<HeaderInfo, IndexError> {
        let len = self.words.get(header::NAME_LEN)?;
        if len > MAX_NAME as u64 {
            let expected = format!("at most {MAX_NAME}");
            return Err(IndexError::Value {
                what: "the length of the name",
                found: len,
                expected,
            });
        }
        let base = self.words.get(header::BASE)?;
        let end = base.checked_add(self.layout.region_bytes() as u64);
        if base % self.layout.page_size as u64 != 0 || base == 0 || end.is_none_or(|e| e > 1 << 56)
        {
            let expected = "the address of a page".to_owned();
            return Err(IndexError::Value {
                what: "the base address",
                found: base,
                expected,
            });
        }
        let name = self.words.bytes(header::NAME, len as usize)?;
        Ok(HeaderInfo {
            name: text(&name),
            base,
            pid: self.words.get(header::PID)?,
            created: self.words.get(header::CREATED)?,
            tracker: text(&self.words.bytes(header::TRACKER, 16)?),
            first_version: self.first_version()?,
        })
    }

    /// Returns the number of the first version, or 0 if the header does not say it.
    fn first_version(&self) -> Result<u64, IndexError> {
        let found = self.words.get(header::FIRST)?;
        if found == 0 || protocol::is_version(found) {
            return Ok(found);
        }
        Err(IndexError::Value {
            what: "the number of the first version",
            found,
            expected: "that of a version".to_owned(),
        })
    }

    /// Returns true if the producer has closed the region.
    pub fn closed(&self) -> Result<bool, IndexError> {
        Ok(self.words.word(header::STATE)?.load(Ordering::Acquire) != 0)
    }

    /// Returns the number of the newest visible version, or 0 if there is none yet.
    pub fn latest(&self) -> Result<u64, IndexError> {
        Ok(self.words.word(header::LATEST)?.load(Ordering::Acquire))
    }

    /// Returns the event counter, which callers can wait on.
    pub fn event(&self) -> Result<&'a AtomicU64, IndexError> {
        Ok(self.words.word(header::EVENT)?)
    }

    /// Returns the state word of a slot.
    pub fn state(&self, slot: usize) -> Result<&'a AtomicU64, IndexError> {
        Ok(self.words.word(self.layout.head(slot) + slot::STATE)?)
    }

    /// Returns the slot that holds version `n`, if the version is live.
    pub fn slot_of(&self, n: u64) -> Result<Option<usize>, IndexError> {
        if !protocol::is_version(n) {
            return Ok(None);
        }
        for slot in 0..self.layout.slots {
            if self.state(slot)?.load(Ordering::Acquire) == protocol::live(n) {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    /// Returns the live versions, oldest first. The list may be out of date as soon as it is
    /// returned.
    pub fn versions(&self) -> Result<Vec<u64>, IndexError> {
        let mut out = Vec::new();
        for slot in 0..self.layout.slots {
            let state = self.state(slot)?.load(Ordering::Acquire);
            out.extend(protocol::live_version(state));
        }
        out.sort_unstable();
        Ok(out)
    }

    /// Returns the stamp of the version in `slot`. Here and in the methods below the version must
    /// be pinned; otherwise the result may mix two versions.
    pub fn stamp(&self, slot: usize) -> Result<Stamp, IndexError> {
        let head = self.layout.head(slot);
        Ok(Stamp {
            version: self.state(slot)?.load(Ordering::Acquire) >> 1,
            step: self.words.get(head + slot::STEP)?,
            time: f64::from_bits(self.words.get(head + slot::TIME)?),
        })
    }

    /// Returns the number of pages that the version in `slot` changed, and the time when it was
    /// published, in nanoseconds of the Unix epoch.
    pub fn published(&self, slot: usize) -> Result<(u64, u64), IndexError> {
        let head = self.layout.head(slot);
        Ok((
            self.words.get(head + slot::CHANGED)?,
            self.words.get(head + slot::PUBLISHED)?,
        ))
    }

    /// Returns the field table of the version in `slot`, checked.
    pub fn table(&self, slot: usize) -> Result<FieldTable, IndexError> {
        let len = self.words.get(self.layout.head(slot) + slot::TABLE_LEN)?;
        if len > TABLE_BYTES as u64 {
            let expected = format!("at most {TABLE_BYTES}");
            return Err(IndexError::Value {
                what: "the length of a field table",
                found: len,
                expected,
            });
        }
        let bytes = self.words.bytes(self.layout.table(slot), len as usize)?;
        let (region, page) = (self.layout.region_bytes(), self.layout.page_size);
        Ok(FieldTable::decode(&bytes, region as u64, page as u64)?)
    }

    /// Returns the root entry of `chunk` in the version in `slot`.
    pub fn root(&self, slot: usize, chunk: usize) -> Result<u64, IndexError> {
        Ok(self.words.get(self.layout.root(slot, chunk))?)
    }

    /// Returns the root entries of `chunks` in the version in `slot`.
    pub fn roots(&self, slot: usize, chunks: &Range<usize>) -> Result<&'a [AtomicU64], IndexError> {
        let at = self.layout.root(slot, chunks.start);
        Ok(self.words.slice(at, chunks.len())?)
    }

    /// Returns the words of leaf `leaf` of `chunk`. Each word holds the codes of eight pages.
    pub fn leaf(&self, chunk: usize, leaf: usize) -> Result<&'a [AtomicU64], IndexError> {
        Ok(self.words.slice(
            self.layout.leaf(chunk, leaf),
            crate::format::layout::LEAF_BYTES / 8,
        )?)
    }

    /// Returns those of `chunks` in which any version ever had pages in a plane. The other chunks
    /// are zero in all maps.
    pub fn used_chunks(&self, chunks: Range<usize>) -> Result<ChunkSet, IndexError> {
        self.chunk_set(self.layout.used_chunks, chunks)
    }

    /// Returns the chunks with pages that the version in `slot` changed compared with the previous
    /// version.
    pub fn changed_chunks(&self, slot: usize) -> Result<ChunkSet, IndexError> {
        self.chunk_set(self.layout.chunks_changed(slot), 0..self.layout.chunks)
    }

    /// Returns those of `chunks` that are in the bitmap at offset `at`.
    fn chunk_set(&self, at: usize, chunks: Range<usize>) -> Result<ChunkSet, IndexError> {
        let mut set = ChunkSet::new(self.layout.chunks);
        let end = chunks.end.min(self.layout.chunks);
        for group in chunks.start / CHUNK_PAGES..end.div_ceil(CHUNK_PAGES) {
            let words = self
                .words
                .slice(at + group * CHUNK_WORDS * 8, CHUNK_WORDS)?;
            let bits = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
            if bits != [0; CHUNK_WORDS] {
                *set.chunk_mut(group) = bits;
            }
        }
        set.remove_range(0..chunks.start);
        set.remove_range(end..usize::MAX);
        Ok(set)
    }

    /// Returns the words of the bitmap of changed pages of `chunk` in `slot`.
    pub fn changed_bits(&self, slot: usize, chunk: usize) -> Result<&'a [AtomicU64], IndexError> {
        Ok(self
            .words
            .slice(self.layout.changed_bits(slot, chunk), CHUNK_WORDS)?)
    }

    /// Returns the pages that the version in `slot` changed compared with the previous version.
    pub fn changed(&self, slot: usize) -> Result<PageSet, IndexError> {
        let mut set = PageSet::new(self.layout.pages);
        for chunk in self.changed_chunks(slot)?.iter() {
            let bits = self.changed_bits(slot, chunk)?;
            for (to, from) in set.chunk_mut(chunk).iter_mut().zip(bits) {
                *to = from.load(Ordering::Relaxed);
            }
        }
        set.trim();
        Ok(set)
    }

    /// Returns the words of the statistics.
    pub fn stats(&self) -> Result<Words<'a>, IndexError> {
        let at = header::STATS;
        Ok(Words::new(self.words.slice(at, (HEADER_BYTES - at) / 8)?))
    }
}

/// Returns text from another process, without the zeros at its end.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
}

/// The index as the producer uses it: the methods of [`Index`], and methods that write.
#[derive(Clone, Copy, Debug)]
pub struct IndexWriter<'a>(Index<'a>);

impl<'a> std::ops::Deref for IndexWriter<'a> {
    type Target = Index<'a>;
    fn deref(&self) -> &Index<'a> {
        &self.0
    }
}

impl<'a> IndexWriter<'a> {
    /// Writes the header of a new index to `words`, which must be zeros.
    pub fn create(
        words: &'a [AtomicU64],
        layout: Layout,
        info: &HeaderInfo,
    ) -> Result<Self, IndexError> {
        let w = Words::new(words);
        let set =
            |at: usize, value: u64| w.word(at).map(|word| word.store(value, Ordering::Relaxed));
        set(header::LAYOUT_VERSION, LAYOUT_VERSION)?;
        set(header::PAGE_SIZE, layout.page_size as u64)?;
        set(header::BASE, info.base)?;
        set(header::PAGES, layout.pages as u64)?;
        set(header::SLOTS, layout.slots as u64)?;
        set(header::PID, info.pid)?;
        set(header::CREATED, info.created)?;
        set(header::NAME_LEN, info.name.len() as u64)?;
        set(header::FIRST, info.first_version)?;
        w.put_bytes(header::TRACKER, info.tracker.as_bytes())?;
        w.put_bytes(header::NAME, info.name.as_bytes())?;
        w.word(header::MAGIC)?.store(MAGIC, Ordering::Release);
        Ok(IndexWriter(Index::open(words)?))
    }

    /// Returns the writer of an index that [`IndexWriter::create`] has written.
    pub fn reopen(words: &'a [AtomicU64]) -> Result<Self, IndexError> {
        Ok(IndexWriter(Index::open(words)?))
    }

    fn set(&self, at: usize, value: u64) -> Result<(), IndexError> {
        self.0.words.word(at)?.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the head of `slot`, except its state and the length of its table.
    pub fn set_head(
        &self,
        slot: usize,
        stamp: &Stamp,
        changed: u64,
        now: u64,
    ) -> Result<(), IndexError> {
        let head = self.0.layout.head(slot);
        self.set(head + slot::STEP, stamp.step)?;
        self.set(head + slot::TIME, stamp.time.to_bits())?;
        self.set(head + slot::CHANGED, changed)?;
        self.set(head + slot::PUBLISHED, now)
    }

    /// Writes the field table of `slot`, and its length.
    pub fn set_table(&self, slot: usize, bytes: &[u8]) -> Result<(), IndexError> {
        if bytes.len() > TABLE_BYTES {
            return Err(IndexError::TableTooLarge { bytes: bytes.len() });
        }
        self.0.words.put_bytes(self.0.layout.table(slot), bytes)?;
        self.set(
            self.0.layout.head(slot) + slot::TABLE_LEN,
            bytes.len() as u64,
        )
    }

    /// Writes the bitmap of chunks that the version in `slot` changed, and marks these chunks as in
    /// use from now on. `before` must contain all chunks that the previous version in the slot had
    /// marked.
    pub fn set_changed_chunks(
        &self,
        slot: usize,
        before: &ChunkSet,
        changed: &ChunkSet,
    ) -> Result<(), IndexError> {
        let group = |section: usize, group: usize| {
            let at = section + group * CHUNK_WORDS * 8;
            self.0.words.slice(at, CHUNK_WORDS)
        };
        let (marks, used) = (
            self.0.layout.chunks_changed(slot),
            self.0.layout.used_chunks,
        );
        for (g, _) in before.chunks_in_use() {
            let words = group(marks, g)?;
            words.iter().for_each(|w| w.store(0, Ordering::Relaxed));
        }
        for (g, bits) in changed.chunks_in_use() {
            for ((mark, used), bits) in group(marks, g)?.iter().zip(group(used, g)?).zip(bits) {
                mark.store(*bits, Ordering::Relaxed);
                used.store(used.load(Ordering::Relaxed) | bits, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Makes version `n` in `slot` visible, and counts the event. The [bell](crate::format::bell)
    /// wakes the threads that wait for it.
    pub fn make_visible(&self, slot: usize, n: u64) -> Result<(), IndexError> {
        protocol::publish(self.state(slot)?, self.0.words.word(header::LATEST)?, n);
        self.announce()
    }

    /// Marks the end of the stream, and counts the event.
    pub fn close(&self) -> Result<(), IndexError> {
        self.0
            .words
            .word(header::STATE)?
            .store(1, Ordering::Release);
        self.announce()
    }

    fn announce(&self) -> Result<(), IndexError> {
        self.event()?.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
