//! Finds out how much memory an observer's pins keep from being reused.

use crate::observer::Observer;
use crate::version::Version;
use std::collections::BTreeMap;
use tcasm_core::format::index::IndexError;
use tcasm_core::pageset::PageSet;

/// The frames of a version: the pages that it has in each plane.
type Frames = BTreeMap<usize, PageSet>;

/// Finds out how much memory pins keep from being reused. It pins the versions itself while it
/// reads their maps.
pub struct Held<'o> {
    observer: &'o mut Observer,
    latest: &'o Version,
    page_size: u64,
    region_bytes: u64,
    seen: BTreeMap<u64, Frames>,
}

impl<'o> Held<'o> {
    /// Returns an instance that compares pinned versions with `latest`, the newest version.
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

    /// Returns the bytes of the frames that the versions `pinned` refer to and the newest version
    /// does not. Versions that are gone hold nothing any more.
    pub fn bytes(&mut self, pinned: &[u64]) -> Result<u64, IndexError> {
        let newest = self.latest.number();
        let mut union = Frames::new();
        for number in pinned.iter().filter(|n| **n != newest) {
            for (plane, pages) in self.frames(*number)? {
                let all = union
                    .entry(*plane)
                    .or_insert_with(|| PageSet::new(pages.capacity()));
                all.union(pages);
            }
        }
        let pages: usize = union.values().map(PageSet::len).sum();
        Ok(pages as u64 * self.page_size)
    }

    /// Returns the frames of version `number` that the newest version does not refer to.
    fn frames(&mut self, number: u64) -> Result<&Frames, IndexError> {
        if !self.seen.contains_key(&number) {
            let mut frames = Frames::new();
            if let Ok(version) = self.observer.version(number) {
                frames = self.frames_of(&version)?;
                for (plane, pages) in self.frames_of(self.latest)? {
                    frames.entry(plane).and_modify(|own| own.subtract(&pages));
                }
            }
            self.seen.insert(number, frames);
        }
        Ok(&self.seen[&number])
    }

    fn frames_of(&self, version: &Version) -> Result<Frames, IndexError> {
        let pages = (self.region_bytes / self.page_size) as usize;
        let mut frames = Frames::new();
        for run in version.runs(0..self.region_bytes)? {
            if let Some(plane) = run.plane() {
                let set = frames.entry(plane).or_insert_with(|| PageSet::new(pages));
                set.insert_range(run.pages);
            }
        }
        Ok(frames)
    }
}
