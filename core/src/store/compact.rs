//! Compaction: pages of a chunk that changed at different times lie in different planes, and stay there when they change no
//! more. Each run of them costs an observer a mapping, and mappings are limited.
//!
//! So the pages of chunks that are calm, but in many runs, are copied into the plane that has most of them: a *batch*, chosen
//! under the lock of the store, copied outside it, and used by the next version, whose map says that the pages are there. A
//! version that is visible never changes. Its slots go as those of any other when nobody refers to them any more.
//!
//! **No version is held for this.** A slot that is read stays what it is as long as the newest version refers to it. If that does
//! not, the page has changed, and the version that changed it has struck it from the batch (`leave_out`): whatever was
//! copied of it is of no use, and is used by nobody.
//!
//! **The simulation comes first.** The slots that are written are busy, which for their pages is as if one version more was live:
//! one less may be as long as the copying goes on (`most_versions`). Afterwards whoever needs a slot, or memory, takes it from
//! the batch.
//!
//! **What stays.** A page that live memory rests on is never moved (I11): of a chunk that rests, the others are brought to where
//! it does, and none comes to rest while it is in a batch. Chunks of handed-over buffers are left alone.

use super::Store;
use crate::index::IndexError;
use crate::pagemap::{ChunkMap, Code, FEW_RUNS, Runs, ZERO, count_runs};
use crate::pageset::{CHUNK_PAGES, ChunkBits, ChunkSet, PageSet};
use crate::planes::{Gather, Move, Slots};
use std::collections::BTreeMap;
use std::ops::Range;

/// Chunks of a batch at most, and pages from which on it is full.
const CHUNKS: usize = 8;
const PAGES: usize = 1024;
/// Maps of chunks that are looked at while the store is locked, and entries of chunks, at most.
const LEAVES: usize = 64;
const ENTRIES: usize = 4096;

/// What is being put together.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    batch: Option<Batch>,
    /// The chunk to look at next.
    next: usize,
    /// The planes that live memory of chunks rests on, or did; none: that is not known.
    beds: BTreeMap<usize, Option<usize>>,
}

#[derive(Debug)]
struct Batch {
    slots: Slots,
    state: State,
    /// Pages that changed while they were being copied.
    changed: PageSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Somebody writes the slots.
    Copying,
    /// They hold what the newest version has of these pages.
    Ready,
    /// A version that is not visible yet refers to them.
    Used,
}

impl Compaction {
    fn is(&self, state: State) -> bool {
        self.batch.as_ref().is_some_and(|b| b.state == state)
    }

    /// Whether slots are being written.
    pub(super) fn copying(&self) -> bool {
        self.is(State::Copying)
    }

    /// The slots that the next version is to refer to, and their chunks.
    pub(super) fn ready(&self) -> Option<(&Slots, ChunkSet)> {
        let batch = self.batch.as_ref().filter(|b| b.state == State::Ready)?;
        let chunks = batch.slots.iter().map(|(_, pages)| pages.chunk_numbers());
        let all = chunks.reduce(|mut all, chunks| {
            all.union(&chunks);
            all
        });
        Some((&batch.slots, all?))
    }

    /// A version was written that refers to what was ready.
    pub(super) fn begin_use(&mut self) {
        if let Some(batch) = self.batch.as_mut().filter(|b| b.state == State::Ready) {
            batch.state = State::Used;
        }
    }

    /// That version is visible, or was given up: then the next one can use the same, because the newest is still the newest.
    pub(super) fn end_use(&mut self, visible: bool) {
        if let Some(mut batch) = self.batch.take_if(|b| b.state == State::Used)
            && !visible
        {
            batch.state = State::Ready;
            self.batch = Some(batch);
        }
    }

    /// The planes, as a set of bits, in which a slot of `page` is ours.
    pub(super) fn planes_of(&self, page: usize) -> u64 {
        let slots = self.batch.iter().flat_map(|b| b.slots.iter());
        let mine = slots.filter(|(_, pages)| pages.contains(page));
        mine.fold(0, |planes, (plane, _)| planes | 1 << plane)
    }

    /// Whether a batch has some of `pages`.
    pub(super) fn meets(&self, pages: &Range<usize>) -> bool {
        let mut sets = self.batch.iter().flat_map(|b| b.slots.iter());
        sets.any(|(_, set)| set.intersects(pages.clone()))
    }
}

impl Store {
    /// Choose pages to be put together, and slots for them. They must be copied, and then [`Store::gathered`] be told. Nothing
    /// happens while a capture goes on, or where versions or memory are short.
    pub fn gather(&mut self) -> Result<Option<Gather>, IndexError> {
        self.take_note();
        // As for slots that leave: each page needs one for the next version, and may need one for the version after it.
        let short = self.live.len() + 3 > self.bounds.versions;
        if self.in_flight.is_some() || self.compaction.batch.is_some() || short {
            return Ok(None);
        }
        let moves = self.choose()?;
        let slots = self.planes.targets(&moves);
        let fresh = self.planes.fresh_pages(&slots) * self.planes.page_size();
        // As much again is left to the simulation.
        if slots.is_empty() || !self.may_take(2 * fresh as u64) {
            return Ok(None);
        }
        self.compaction.batch = Some(Batch {
            slots,
            state: State::Copying,
            changed: PageSet::new(self.planes.pages()),
        });
        Ok(Some(self.planes.gather(moves)))
    }

    /// The pages were copied, or (where that failed) were not. Returns how many can be used.
    pub fn gathered(&mut self, copied: bool) -> usize {
        let Some(batch) = &mut self.compaction.batch else {
            return 0;
        };
        batch.state = State::Ready;
        let changed = batch.changed.clone();
        if copied {
            self.leave_out(&changed);
        } else {
            let slots = batch.slots.clone();
            self.scatter();
            self.planes.unhold(&slots);
        }
        self.compaction.ready().map_or(0, |(slots, _)| slots.len())
    }

    /// A version is to change `pages`, which needs slots, and makes older copies useless.
    pub(super) fn leave_out(&mut self, pages: &PageSet) {
        let Some(batch) = &mut self.compaction.batch else {
            return;
        };
        match batch.state {
            State::Copying => batch.changed.union(pages),
            State::Ready => {
                self.planes.set_free(&batch.slots.within(pages));
                batch.slots.subtract(pages);
                let empty = batch.slots.is_empty();
                self.compaction.batch.take_if(|_| empty);
            }
            State::Used => {}
        }
    }

    /// Do without what was put together and is not used yet: its memory is needed.
    pub(super) fn scatter(&mut self) {
        if let Some(batch) = self.compaction.batch.take_if(|b| b.state == State::Ready) {
            self.planes.set_free(&batch.slots);
        }
    }

    /// Live memory of the chunks of `pages` rests on `plane` from now on; none: nobody knows where.
    pub fn rests(&mut self, pages: &Range<usize>, plane: Option<usize>) {
        for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
            self.compaction.beds.insert(chunk, plane);
        }
    }

    /// How many versions must leave a chunk alone before it is put together: so many, to twice as many.
    pub fn compact_after(&mut self, versions: u32) {
        self.recent.set_generation(versions);
    }

    /// The pages of a few of the next chunks, and where they go.
    fn choose(&mut self) -> Result<Vec<Move>, IndexError> {
        let (layout, index) = (*self.index()?.layout(), *self.index()?);
        let Some(newest) = self.newest()? else {
            return Ok(Vec::new());
        };
        let part = self.compaction.next..layout.chunks.min(self.compaction.next + ENTRIES);
        let (mut found, mut leaves, mut chunks, mut pages) = (Vec::new(), 0, 0, 0);
        let mut next = part.end % layout.chunks;
        for chunk in index.used_chunks(part)?.iter() {
            if leaves == LEAVES || chunks == CHUNKS || pages >= PAGES {
                next = chunk;
                break;
            }
            let calm = self.recent.is_calm(chunk) && !self.handovers.has(chunk);
            let map = calm.then(|| newest.chunk(chunk)).transpose()?;
            if let Some(ChunkMap::Mixed(codes)) = map {
                let moves = self.moves(chunk, &codes[..layout.pages_in(chunk)]);
                leaves += 1;
                chunks += usize::from(!moves.is_empty());
                pages += moves.iter().map(|(run, _)| run.pages.len()).sum::<usize>();
                found.extend(moves);
            }
        }
        self.compaction.next = next;
        Ok(found)
    }

    /// What it takes to have the pages of a chunk in one plane, as far as slots are free there, if that is worth it.
    fn moves(&self, chunk: usize, codes: &[Code]) -> Vec<Move> {
        let plane = match self.compaction.beds.get(&chunk) {
            Some(None) => return Vec::new(),
            Some(Some(bed)) => *bed,
            None => fullest(codes),
        };
        let home = plane as Code + 1;
        let mut want = ChunkBits::default();
        for (i, code) in codes.iter().enumerate() {
            want[i / 64] |= u64::from(*code != ZERO && *code != home) << (i % 64);
        }
        let free = self.planes.free_in(plane, chunk, &want);
        let (mut runs, mut after) = (Runs::default(), codes.to_vec());
        for i in crate::pageset::runs_of(&free).flatten() {
            let page = chunk * CHUNK_PAGES + i;
            runs.push(page..page + 1, codes[i]);
            after[i] = home;
        }
        let before = count_runs(codes);
        match before > FEW_RUNS && 2 * count_runs(&after) <= before {
            true => runs.runs.into_iter().map(|run| (run, plane)).collect(),
            false => Vec::new(),
        }
    }
}

/// The plane that has most of the pages with these codes.
fn fullest(codes: &[Code]) -> usize {
    let mut counts = [0usize; Code::MAX as usize + 1];
    codes
        .iter()
        .for_each(|code| counts[usize::from(*code)] += 1);
    let planes = (1..counts.len()).rev();
    planes.max_by_key(|code| counts[*code]).unwrap_or(1) - 1
}
