//! Putting a version back: what live memory has otherwise than a version that is there, and copying it.
//!
//! The version's slots are read, and live memory is written; no slot of any version is (I1). Nothing may be reclaimed in between:
//! whoever owns the store keeps it locked from [`Store::recall`] to [`Store::put_back`].

use super::{Store, is_zero};
use crate::field::FieldTable;
use crate::index::IndexError;
use crate::pagemap::{Code, PageMap, Run, ZERO};
use crate::pageset::PageSet;
use crate::stamp::Stamp;
use std::io;

/// A version that is there, to be put back.
#[derive(Debug)]
pub struct Recalled {
    /// Its number, step and time.
    pub stamp: Stamp,
    /// Its fields.
    pub table: FieldTable,
    slot: usize,
}

/// Where a field is: in live memory, and in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its first live page.
    pub to: usize,
    /// The first page that it has in the version.
    pub from: usize,
    /// Its bytes. What is behind them, in its last page, is nobody's.
    pub bytes: usize,
}

/// Pages to be copied into live memory, and where from.
#[derive(Debug, Default)]
pub struct Patch {
    pieces: Vec<Piece>,
}

/// Neighbouring pages in one plane, and the live page where the first of them goes.
#[derive(Debug)]
struct Piece {
    from: Run,
    to: usize,
}

impl Patch {
    /// How many pages.
    pub fn pages(&self) -> usize {
        self.pieces.iter().map(|piece| piece.from.pages.len()).sum()
    }

    /// Whether there is nothing to be copied.
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
    /// Version `number`, if it is there. What is made of it below holds as long as no version is reclaimed.
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

    /// The pages that the newest version may have otherwise: it has them in other slots.
    pub fn changed_since(&self, version: &Recalled) -> Result<PageSet, IndexError> {
        let map = PageMap::new(*self.index()?, version.slot);
        let newest = self.newest()?;
        newest.map_or_else(
            || Ok(PageSet::new(self.planes.pages())),
            |newest| newest.differing(&map),
        )
    }

    /// What must be copied so that a field is what it is in the version: of `pages`, live ones of the field, those whose bytes
    /// differ by now.
    ///
    /// # Safety
    /// `base` must be the region's live memory; the pages readable, and written by nobody during the call.
    pub unsafe fn unlike(
        &self,
        version: &Recalled,
        base: *const u8,
        pages: &PageSet,
        place: &Place,
    ) -> Result<Patch, IndexError> {
        let map = PageMap::new(*self.index()?, version.slot);
        let (mut patch, size) = (Patch::default(), self.planes.page_size());
        for live in pages.iter() {
            let i = live - place.to;
            let (page, len) = (place.from + i, size.min(place.bytes - i * size));
            let code = map.code(page)?;
            // SAFETY: inside live memory, readable and still by the caller's promise.
            let now = unsafe { std::slice::from_raw_parts(base.add(live * size), len) };
            let same = match code {
                ZERO => is_zero(now),
                code => &self.planes.page(usize::from(code) - 1, page)[..len] == now,
            };
            if !same {
                patch.push(live, page, code);
            }
        }
        Ok(patch)
    }

    /// The same for all pages of the field, whatever is in them.
    pub fn all_of(&self, version: &Recalled, place: &Place) -> Result<Patch, IndexError> {
        let map = PageMap::new(*self.index()?, version.slot);
        let mut patch = Patch::default();
        for i in 0..place.bytes.div_ceil(self.planes.page_size()) {
            let page = place.from + i;
            patch.push(place.to + i, page, map.code(page)?);
        }
        Ok(patch)
    }

    /// Begin to rewrite handed-over `buffers`: all of them, or (after an error) none, and they have the bytes that they had.
    ///
    /// # Safety
    /// As for [`Store::rewrite`].
    pub unsafe fn begin_anew(&mut self, base: *mut u8, buffers: &[usize]) -> io::Result<()> {
        let mut before = Patch::default();
        for buffer in buffers {
            let (pages, plane) = self.lent(*buffer);
            // SAFETY: the caller's promise.
            if let Err(error) = unsafe { self.rewrite(*buffer) } {
                // SAFETY: these were begun anew, so that no version has their pages; what they were, the newest one has.
                unsafe { self.put_back(base, &before) };
                return Err(error);
            }
            let code = plane as Code + 1;
            pages.for_each(|page| before.push(page, page, code));
        }
        Ok(())
    }

    /// Copy into live memory what `patch` says.
    ///
    /// # Safety
    /// `base` must be the region's live memory. These pages of it must be writable, no version's, and nothing borrowed from them.
    /// Since the patch was made, no version may have been reclaimed.
    pub unsafe fn put_back(&self, base: *mut u8, patch: &Patch) {
        let size = self.planes.page_size();
        for Piece { from, to } in &patch.pieces {
            for (i, page) in from.pages.clone().enumerate() {
                // SAFETY: inside live memory: the page was compared there, or is a handed-over buffer's.
                let live = unsafe { base.add((to + i) * size) };
                match from.plane() {
                    // SAFETY: a page of live memory, writable and the caller's alone.
                    None => unsafe { live.write_bytes(0, size) },
                    Some(plane) => {
                        let bytes = self.planes.page(plane, page);
                        // SAFETY: as above. The slot is a version's, and mapped elsewhere than live memory, which is private
                        // or no version's: so the two are apart.
                        unsafe { live.copy_from_nonoverlapping(bytes.as_ptr(), size) }
                    }
                }
            }
        }
    }
}
