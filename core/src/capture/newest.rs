//! The newest version's page map, as threads read it that allocate nothing.

use crate::index::{IndexError, IndexWriter};
use crate::pagemap::{Code, Entry, PageMap, ZERO};
use crate::sys::mem::Mapping;
use std::io;
use std::sync::Arc;

/// Where the newest version has its pages. It must stay the newest as long as this is used.
#[derive(Debug)]
pub struct Newest {
    index: Arc<Mapping>,
    slot: Option<usize>,
}

impl Newest {
    /// That in `slot` of the index; none: there is no version yet, so that all pages are zeros.
    pub fn new(index: Arc<Mapping>, slot: Option<usize>) -> Self {
        Newest { index, slot }
    }

    /// Where it has the pages of a chunk.
    pub(super) fn chunk(&self, chunk: usize) -> io::Result<Chunk<'_>> {
        let Some(slot) = self.slot else {
            let (map, entry) = (None, Entry::Whole(ZERO));
            return Ok(Chunk { map, entry, chunk });
        };
        // SAFETY: mapped whole and writable from an object of that size, which is sealed.
        let index = IndexWriter::reopen(unsafe { self.index.words() }).map_err(broken)?;
        let map = PageMap::new(*index, slot);
        let entry = map.entry(chunk).map_err(broken)?;
        let map = Some(map);
        Ok(Chunk { map, entry, chunk })
    }
}

/// The codes of one chunk.
pub(super) struct Chunk<'a> {
    map: Option<PageMap<'a>>,
    entry: Entry,
    chunk: usize,
}

impl Chunk<'_> {
    /// The code of page `i`.
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
