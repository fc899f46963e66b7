//! How much memory an observer's pins keep from being reused.

use crate::{Observer, Version};
use std::collections::BTreeMap;
use tcasm_core::index::IndexError;
use tcasm_core::pageset::PageSet;

/// The page slots of a version: the pages that it has in each plane.
type Slots = BTreeMap<usize, PageSet>;

/// Looks up how much memory pins keep from being reused, in versions that it pins itself while it looks.
pub struct Held<'o> {
    observer: &'o mut Observer,
    latest: &'o Version,
    page_size: u64,
    region_bytes: u64,
    seen: BTreeMap<u64, Slots>,
}

impl<'o> Held<'o> {
    /// Look up pins as compared with the newest version.
    pub fn new(
        observer: &'o mut Observer,
        latest: &'o Version,
        page_size: u64,
        region_bytes: u64,
    ) -> Self {
        Held {
            observer,
            latest,
            page_size,
            region_bytes,
            seen: BTreeMap::new(),
        }
    }

    /// Bytes of the page slots that the versions `pinned` refer to, and the newest version does not. Versions that are
    /// gone hold nothing any more.
    pub fn bytes(&mut self, pinned: &[u64]) -> Result<u64, IndexError> {
        let newest = self.latest.number();
        let mut union = Slots::new();
        for number in pinned.iter().filter(|n| **n != newest) {
            for (plane, pages) in self.slots(*number)? {
                let all = union
                    .entry(*plane)
                    .or_insert_with(|| PageSet::new(pages.capacity()));
                all.union(pages);
            }
        }
        let pages: usize = union.values().map(PageSet::len).sum();
        Ok(pages as u64 * self.page_size)
    }

    /// The slots that version `number` does not share with the newest.
    fn slots(&mut self, number: u64) -> Result<&Slots, IndexError> {
        if !self.seen.contains_key(&number) {
            let mut slots = Slots::new();
            if let Ok(version) = self.observer.version(number) {
                slots = self.slots_of(&version)?;
                for (plane, pages) in self.slots_of(self.latest)? {
                    slots.entry(plane).and_modify(|own| own.subtract(&pages));
                }
            }
            self.seen.insert(number, slots);
        }
        Ok(&self.seen[&number])
    }

    fn slots_of(&self, version: &Version) -> Result<Slots, IndexError> {
        let pages = (self.region_bytes / self.page_size) as usize;
        let mut slots = Slots::new();
        for run in version.runs(0..self.region_bytes)? {
            if let Some(plane) = run.plane() {
                let set = slots.entry(plane).or_insert_with(|| PageSet::new(pages));
                set.insert_range(run.pages);
            }
        }
        Ok(slots)
    }
}
