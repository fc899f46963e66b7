//! The page map of the newest version, for threads that must not allocate.

use crate::format::index::{IndexError, IndexWriter};
use crate::format::pagemap::{Code, Entry, PageMap, ZERO};
use crate::sys::mem::Mapping;
use std::io;
use std::sync::Arc;

/// The place of the newest version in the index. This version must stay the newest as long as this
/// is used.
#[derive(Debug)]
pub struct Newest {
    index: Arc<Mapping>,
    slot: Option<usize>,
}

impl Newest {
    /// Creates a reader for the version in `slot` of the index. `None`: there is no version yet, so
    /// all pages are zeros.
    pub fn new(index: Arc<Mapping>, slot: Option<usize>) -> Self {
        Newest { index, slot }
    }

    /// Returns the map of a chunk.
    pub(super) fn chunk(&self, chunk: usize) -> io::Result<Chunk<'_>> {
        let Some(slot) = self.slot else {
            let (map, entry) = (None, Entry::Whole(ZERO));
            return Ok(Chunk { map, entry, chunk });
        };
        // SAFETY: the whole object is mapped, and writable. Its size is sealed, so the mapping
        // stays valid.
        let index = IndexWriter::reopen(unsafe { self.index.words() }).map_err(broken)?;
        let map = PageMap::new(*index, slot);
        let entry = map.entry(chunk).map_err(broken)?;
        let map = Some(map);
        Ok(Chunk { map, entry, chunk })
    }
}

/// The map of one chunk.
pub(super) struct Chunk<'a> {
    map: Option<PageMap<'a>>,
    entry: Entry,
    chunk: usize,
}

impl Chunk<'_> {
    /// Returns the code of page `i` of the chunk.
    pub fn code(&self, i: usize) -> io::Result<Code> {
        match (&self.map, self.entry) {
            (_, Entry::Whole(code)) => Ok(code),
            (Some(map), entry) => map.code_in(self.chunk, entry, i).map_err(broken),
            (None, _) => Ok(ZERO),
        }
    }
}

fn broken(error: IndexError) -> io::Error {
    io::Error::other(error)
}
