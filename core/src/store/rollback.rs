//! Rollback: finds where live memory differs from a version that is still live, and copies the
//! version's bytes back.
//!
//! Frames of the version are read, and live memory is written. No frame of any version is written
//! (I1). No version may be reclaimed in between, so the caller keeps the store locked from
//! [`Store::recall`] to [`Store::put_back`].

use super::state::Store;
use crate::field::FieldTable;
use crate::format::index::IndexError;
use crate::format::pagemap::{Code, PageMap, Run, ZERO, is_zero};
use crate::format::stamp::Stamp;
use crate::pageset::PageSet;
use crate::segments::Segments;
use std::io;

/// A live version that can be rolled back to.
#[derive(Debug)]
pub struct Recalled {
    /// Its number, step and time.
    pub stamp: Stamp,
    /// Its fields.
    pub table: FieldTable,
    slot: usize,
}

/// The place of a field: in live memory, and in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The first page of the field in live memory.
    pub to: usize,
    /// The first page of the field in the version.
    pub from: usize,
    /// The size of the field in bytes. Bytes behind it in its last page belong to no field.
    pub bytes: usize,
}

/// Pages to copy into live memory, and the frames to copy them from.
#[derive(Debug, Default)]
pub struct Patch {
    pieces: Vec<Piece>,
}

/// A run of pages in one plane, and the live page that the first of them goes to.
#[derive(Debug)]
struct Piece {
    from: Run,
    to: usize,
}

impl Patch {
    /// Returns the number of pages to copy.
    pub fn pages(&self) -> usize {
        self.pieces.iter().map(|piece| piece.from.pages.len()).sum()
    }

    /// Returns true if there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn push(&mut self, to: usize, page: usize, code: Code) {
        if let Some(Piece { from, to: first }) = self.pieces.last_mut()
            && (from.code, from.pages.end, *first + from.pages.len()) == (code, page, to)
        {
            from.pages.end += 1;
            return;
        }
        let pages = page..page + 1;
        let from = Run { pages, code };
        self.pieces.push(Piece { from, to });
    }
}

impl Store {
    /// Returns version `number` if it is live. The result is valid as long as no version is
    /// reclaimed.
    pub fn recall(&self, number: u64) -> Result<Option<Recalled>, IndexError> {
        let Some((_, slot)) = self.live.iter().find(|(n, _)| *n == number) else {
            return Ok(None);
        };
        let index = self.index()?;
        Ok(Some(Recalled {
            stamp: index.stamp(*slot)?,
            table: index.table(*slot)?,
            slot: *slot,
        }))
    }

    /// Returns the pages that may differ between the newest version and `version`: those that the
    /// two have in different frames.
    pub fn changed_since(&self, version: &Recalled) -> Result<PageSet, IndexError> {
        let map = PageMap::new(*self.index()?, version.slot);
        let newest = self.newest()?;
        newest.map_or_else(
            || Ok(PageSet::new(self.planes.pages())),
            |newest| newest.differing(&map),
        )
    }

    /// Returns what must be copied so that a field becomes equal to the field in `version`. `pages`
    /// are live pages of the field. Of these, only pages whose bytes differ are copied.
    ///
    /// # Safety
    /// The pages must be readable, unless they are adopted, and nobody may write them during the
    /// call.
    pub unsafe fn differing(
        &self,
        version: &Recalled,
        live: &Segments,
        pages: &PageSet,
        place: &Relocation,
    ) -> Result<Patch, IndexError> {
        let map = PageMap::new(*self.index()?, version.slot);
        let (mut patch, size) = (Patch::default(), self.planes.page_size());
        for here in pages.iter() {
            let i = here - place.to;
            let (page, len) = (place.from + i, size.min(place.bytes - i * size));
            let code = map.code(page)?;
            // A page that cannot be read differs.
            let mut same = false;
            let mut compare = |_, now: &[u8]| {
                same = match code {
                    ZERO => is_zero(&now[..len]),
                    code => self.planes.page(usize::from(code) - 1, page)[..len] == now[..len],
                };
                Ok(())
            };
            // SAFETY: the caller promises that the page is readable and that nobody writes it.
            let _ = unsafe { live.look_at(&(here..here + 1), &mut compare) }; // never fails
            if !same {
                patch.push(here, page, code);
            }
        }
        Ok(patch)
    }

    /// Returns what must be copied to restore all pages of the field, without comparing them.
    pub fn all_of(&self, version: &Recalled, place: &Relocation) -> Result<Patch, IndexError> {
        let map = PageMap::new(*self.index()?, version.slot);
        let mut patch = Patch::default();
        for i in 0..place.bytes.div_ceil(self.planes.page_size()) {
            let page = place.from + i;
            patch.push(place.to + i, page, map.code(page)?);
        }
        Ok(patch)
    }

    /// Begins to rewrite all of the handed-over `buffers`. After an error all of them have the
    /// bytes that they had before, though some may no longer be frozen.
    ///
    /// # Safety
    /// As for [`Store::rewrite`].
    pub unsafe fn begin_anew(&mut self, live: &Segments, buffers: &[usize]) -> io::Result<()> {
        let mut before = Patch::default();
        for buffer in buffers {
            let (pages, plane) = self.location(*buffer);
            // SAFETY: the caller keeps the promises of `rewrite`, which are the same.
            if let Err(error) = unsafe { self.rewrite(*buffer) } {
                // SAFETY: the buffers in `before` were begun anew, so no version has the frames
                // that are written. The newest version still has the frames that are read.
                let _ = unsafe { self.put_back(live, &before) }; // no page of it is adopted
                return Err(error);
            }
            let code = plane as Code + 1;
            pages.for_each(|page| before.push(page, page, code));
        }
        Ok(())
    }

    /// Copies the pages of `patch` into live memory. It is an error if a page of an adopted array
    /// cannot be written.
    ///
    /// # Safety
    /// The pages that are written must be writable, unless they are adopted. They must belong to no
    /// version, and nothing may be borrowed from them. No version may have been reclaimed since the
    /// patch was made.
    pub unsafe fn put_back(&self, live: &Segments, patch: &Patch) -> io::Result<()> {
        let zeros = vec![0; self.planes.page_size()];
        for Piece { from, to } in &patch.pieces {
            for (i, page) in from.pages.clone().enumerate() {
                let bytes = from.plane().map(|plane| self.planes.page(plane, page));
                // SAFETY: these are a whole page. The caller promises that it is writable and that
                // nothing is borrowed from it. It is not the source, which is a version's frame,
                // while live memory is private or consists of frames that no version has.
                unsafe { live.write(to + i, bytes.unwrap_or(&zeros))? }
            }
        }
        Ok(())
    }
}
