//! Finds pages of the region for arrays that the program had already.

use super::memory::LiveMemory;
use crate::error::DefineError;
use std::ops::Range;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::segments::Segment;

impl LiveMemory {
    /// Adopts the array at the addresses `bytes`. `what` names it. Returns its pages, and those
    /// that the next version must compare.
    pub(crate) fn adopt(
        &mut self,
        name: &str,
        bytes: Range<usize>,
    ) -> Result<(Range<usize>, PageSet), DefineError> {
        let size = self.span.page_size;
        let asked = Segment::new(bytes.clone(), 0, size);
        let pages = self.room_for(name, &asked)?;
        let segment = Segment::new(bytes, pages.start, size);
        match self.memory.adopt(segment) {
            Ok(adoption) => {
                if let Some(why) = adoption.compared {
                    log::warn!("field {name:?} is compared in every version: {why}");
                }
                self.adopted.insert_range(pages.clone());
                Ok((pages, adoption.unknown))
            }
            Err(source) => {
                self.vacated.give_back(pages);
                let name = name.to_owned();
                Err(DefineError::Adopt { name, source })
            }
        }
    }

    /// Returns pages for an array. If whole huge pages fit into it, chunks of the region begin
    /// where huge pages of the array do. So no huge page is split to track a chunk.
    fn room_for(&mut self, name: &str, array: &Segment) -> Result<Range<usize>, DefineError> {
        let count = array.pages.len();
        let first = array.bytes.start / self.span.page_size;
        let fits = |page: usize| match count < 2 * CHUNK_PAGES {
            true => page,
            false => page + (first % CHUNK_PAGES + CHUNK_PAGES - page % CHUNK_PAGES) % CHUNK_PAGES,
        };
        if let Some(pages) = self.vacated.take(count, fits) {
            return Ok(pages);
        }
        let start = fits(self.next);
        if start + count > self.span.pages {
            let page = self.span.page_size as u64;
            let (free, capacity) = (self.span.pages - self.next, self.bytes());
            return Err(DefineError::Capacity {
                what: format!("{name:?}"),
                needed: (start + count - self.next) as u64 * page,
                free: free as u64 * page,
                capacity,
            });
        }
        if self.next < start {
            self.vacated.give_back(self.next..start);
        }
        self.next = start + count;
        Ok(start..start + count)
    }

    /// Stops tracking the adopted array that has `pages`, which are free once a version leaves them
    /// out. If the array is gone, nothing is done to the memory at its addresses.
    pub(crate) fn leave(&mut self, pages: &Range<usize>, gone: bool) {
        match gone {
            true => self.memory.adopted().forget_gone(pages),
            false => self.memory.adopted().release(pages),
        }
        self.adopted.remove_range(pages.clone());
        self.vacated.add(pages.clone());
    }
}
