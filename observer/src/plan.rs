//! Finds out what must change in a window so that it shows another version.
//!
//! Only chunks that may differ are looked at. If it is known what changed since the version that is
//! shown, these are the chunks that changed. Otherwise these are all chunks in use, and their maps
//! are compared, because leaves and frames may have been used anew since.

use crate::budget::Share;
use crate::chunk::{Change, Chunk, Copied, Shown};
use crate::error::ViewError;
use crate::forced::{Bounds, Forced, most_scattered};
use crate::mappings::borders;
use crate::part::Part;
use crate::pin::Pin;
use crate::since::Since;
use std::sync::atomic::Ordering;
use tcasm_core::format::index::{Index, IndexError};
use tcasm_core::format::pagemap::{ChunkMap, Entry, FEW_RUNS, PageMap, count_runs};
use tcasm_core::sys::room::{Room, shortage};

/// The content of a window.
pub(crate) struct Before<'a> {
    /// The chunks that the window shows. The others never change.
    pub(crate) part: &'a Part,
    /// The content of each chunk. Chunks beyond the last entry are as in a new window.
    pub(crate) chunks: &'a [Chunk],
    /// The number of the version, or 0 if there is none.
    pub(crate) version: u64,
    /// True if copies and zero pages are in one mapping.
    pub(crate) flat: bool,
}

impl<'a> Before<'a> {
    fn chunk(&self, chunk: usize) -> &'a Chunk {
        /// The content of a chunk that has no entry yet.
        static NEW: Chunk = Chunk::ZERO;
        self.chunks.get(chunk).unwrap_or(&NEW)
    }
}

/// The changes that a window needs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The changes, in order of chunks.
    pub(crate) changes: Vec<Change>,
    /// The number of mappings of the window afterwards.
    pub(crate) mappings: usize,
}

/// Returns what must change in a window that shows `before`, so that it shows the version of `pin`.
/// `share` is what the window has taken. It takes the memory of the copies in the plan, and gives
/// back that of the copies that end. After an error the window must be dropped, and its share with
/// it.
pub(crate) fn make(
    before: &Before<'_>,
    pin: &Pin,
    bounds: Bounds,
    share: &mut Share,
) -> Result<Plan, ViewError> {
    let index = pin.session.index()?;
    let planner = Planner {
        index,
        map: pin.map()?,
        since: Since::read(&index, before.version, (pin.stamp.version, pin.slot))?,
        before,
        share,
        spare: None,
    };
    planner.plan(bounds, shortage)
}

/// Reads the version that is to be shown, and compares it with what is shown.
struct Planner<'a> {
    index: Index<'a>,
    map: PageMap<'a>,
    /// The changes since the version that is shown, if known.
    since: Option<Since>,
    before: &'a Before<'a>,
    share: &'a mut Share,
    /// The bytes that more copies may take of the free memory, once that was asked.
    spare: Option<u64>,
}

impl Planner<'_> {
    /// Returns the plan, in which chunks are copied beyond the budget as far as `bounds` asks for
    /// it. `shortage` says whether there is memory for that.
    fn plan(
        mut self,
        bounds: Bounds,
        shortage: impl Fn(u64) -> Option<Room>,
    ) -> Result<Plan, ViewError> {
        let mut changes = self.changes(&shortage)?;
        let mut mappings = self.mappings_after(&changes);
        let mut forced = Forced::default();
        // A copy can save less than it seems to. Then all is copied that seems to save any.
        for excess in [mappings.saturating_sub(bounds.wanted), usize::MAX] {
            if mappings > bounds.wanted {
                self.copy_some(&mut changes, excess, &mut forced, &shortage)?;
                mappings = self.mappings_after(&changes);
            }
        }
        bounds.check(mappings)?;
        forced.check(shortage)?;
        self.share.copy(forced.bytes);
        Ok(Plan { changes, mappings })
    }

    /// Returns the changes of the chunks that differ.
    fn changes(
        &mut self,
        shortage: &impl Fn(u64) -> Option<Room>,
    ) -> Result<Vec<Change>, IndexError> {
        let mut candidates = match &self.since {
            Some(since) => since.chunks.clone(),
            None => self.map.used_chunks()?,
        };
        self.before.part.restrict(&mut candidates);
        let mut changes = Vec::new();
        for chunk in candidates.iter() {
            if self.since.is_some() || !self.shows(chunk)? {
                changes.push(self.change(chunk, shortage)?);
            }
        }
        Ok(changes)
    }

    /// Returns true if a chunk shows what the version has there. Always false for a copy, because
    /// that is not known.
    fn shows(&self, chunk: usize) -> Result<bool, IndexError> {
        let is = &self.before.chunk(chunk).shown;
        Ok(match (is, self.map.entry(chunk)?) {
            (Shown::Mapped(ChunkMap::Whole(code)), Entry::Whole(now)) => *code == now,
            (Shown::Mapped(ChunkMap::Mixed(codes)), Entry::Leaf(leaf)) => {
                let mut now = self.index.leaf(chunk, leaf)?.iter();
                let mut shown = codes.chunks_exact(8);
                now.all(|word| {
                    shown.next() == Some(&word.load(Ordering::Relaxed).to_le_bytes()[..])
                })
            }
            _ => false,
        })
    }

    fn change(
        &mut self,
        chunk: usize,
        shortage: &impl Fn(u64) -> Option<Room>,
    ) -> Result<Change, IndexError> {
        let (is, layout) = (self.before.chunk(chunk), self.index.layout());
        let size = (layout.pages_in(chunk), layout.page_size);
        let (want, fragments) = match self.map.chunk(chunk)? {
            ChunkMap::Mixed(codes) => match count_runs(&codes[..size.0]) {
                1 => (ChunkMap::Whole(codes[0]), 1),
                fragments => (ChunkMap::Mixed(codes), fragments),
            },
            whole => (whole, 1),
        };
        let huge = is.copied().map(|copied| copied.huge);
        let copied = Copied::of(&want, size, huge, !self.before.flat);
        Ok(Change {
            chunk,
            copy: self.takes(is, fragments, copied.bytes, shortage),
            want,
            fragments,
            copied,
            changed: self.since.as_ref().map(|since| *since.pages.chunk(chunk)),
        })
    }

    /// Decides whether a chunk is copied, and takes the `bytes` bytes that its copy needs. A chunk
    /// that is a copy stays one, even beyond the budget, because renewing it costs less than
    /// mapping the chunk. It is mapped again when it is in few runs, for example after compaction.
    fn takes(
        &mut self,
        is: &Chunk,
        fragments: usize,
        bytes: u64,
        shortage: &impl Fn(u64) -> Option<Room>,
    ) -> bool {
        let has = is.copied().map_or(0, |copied| copied.bytes);
        let copy = fragments > FEW_RUNS && (bytes <= has || self.may_take(bytes - has, shortage));
        self.share.give_back(match copy {
            true => has.saturating_sub(bytes),
            false => has,
        });
        copy
    }

    /// Takes `bytes` for a copy, if the budget and the free memory have room for it.
    fn may_take(&mut self, bytes: u64, shortage: &impl Fn(u64) -> Option<Room>) -> bool {
        let share = &mut *self.share;
        let spare = self.spare.get_or_insert_with(|| share.spare(shortage));
        let Some(left) = spare.checked_sub(bytes) else {
            share.refuse();
            return false;
        };
        let fits = share.try_copy(bytes);
        if fits {
            *spare = left;
        }
        fits
    }

    /// Returns the number of mappings of the window after `changes`.
    fn mappings_after(&self, changes: &[Change]) -> usize {
        let (before, layout) = (self.before, *self.index.layout());
        let old = |chunk: usize| {
            let pages = layout.pages_in(chunk);
            before.chunk(chunk).ends(pages, before.flat)
        };
        let new = |change: &Change| {
            let pages = layout.pages_in(change.chunk);
            (change.chunk, change.ends(pages, before.flat))
        };
        let olds: Vec<_> = changes.iter().map(|c| (c.chunk, old(c.chunk))).collect();
        let news: Vec<_> = changes.iter().map(new).collect();
        let more = borders(&news, layout.chunks, old);
        self.share.mappings() + more - borders(&olds, layout.chunks, old)
    }

    /// Lets the most scattered chunks be copied, whether they change or not, until the window has
    /// about `excess` mappings less, or no chunk saves any. Adds the memory of these copies to
    /// `forced`. It is not taken yet.
    fn copy_some(
        &mut self,
        changes: &mut Vec<Change>,
        excess: usize,
        forced: &mut Forced,
        shortage: &impl Fn(u64) -> Option<Room>,
    ) -> Result<(), IndexError> {
        let before = self.before;
        let all = changes.last().map_or(0, |c| c.chunk + 1);
        let mut runs: Vec<usize> = before.chunks.iter().map(|c| c.runs).collect();
        runs.resize(runs.len().max(all), 1);
        changes.iter().for_each(|c| runs[c.chunk] = c.runs());
        // A copy can cost two borders, unless it is in one mapping with the pages around it.
        let costs = if before.flat { 0 } else { 2 };
        let saved = |runs: &usize| (runs - 1).saturating_sub(costs);
        let saves: Vec<usize> = runs.iter().map(saved).collect();
        for chunk in most_scattered(&saves, excess) {
            let at = match changes.binary_search_by_key(&chunk, |c| c.chunk) {
                Ok(at) => at,
                Err(at) => {
                    // This chunk is mapped and does not change, so none of its pages is copied yet.
                    changes.insert(at, self.change(chunk, shortage)?);
                    at
                }
            };
            let change = &mut changes[at];
            if !change.copy {
                let has = before.chunk(chunk).copied();
                forced.add(change.copied.bytes, has.map_or(0, |copied| copied.bytes));
                change.copy = true;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
