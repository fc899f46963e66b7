//! Compaction. Pages of a chunk that changed at different times lie in different planes, and stay
//! there when they change no more. Each run of such pages costs an observer a mapping, and mappings
//! are limited.
//!
//! So the store chooses chunks that are cold but lie in many runs. Their pages are copied into the
//! plane that has most of them. The pages that are copied together are a *batch*. It is chosen
//! under the lock of the store and copied outside it. The next version then refers to the copies. A
//! visible version never changes, and its frames are freed as usual when no version refers to them
//! any more.
//!
//! **No version is held for compaction.** A frame that is being read keeps its bytes as long as the
//! newest version refers to it. If the newest version no longer does, a version has changed the
//! page, and that version has removed the page from the batch (`leave_out`). Nobody uses the copy
//! then.
//!
//! **The simulation comes first.** The frames that are written are busy. For their pages this is as
//! if one more version were live, so one live version less is allowed while the copying lasts
//! (`most_versions`). Afterwards `publish` takes frames and memory back from the batch where it
//! needs them.
//!
//! **Shared pages stay.** A page that live memory is shared with is never moved (I11). In a chunk
//! that is shared with a plane, the other pages are brought to that plane. No chunk is shared while
//! it is in a batch. Chunks of handed-over buffers are left alone.

use super::batch::{Batch, State};
use super::state::Store;
use crate::format::index::IndexError;
use crate::format::pagemap::{ChunkMap, Code, FEW_RUNS, Runs, ZERO, count_runs};
use crate::pageset::{CHUNK_PAGES, ChunkBits, PageSet};
use crate::planes::{Gather, Move};
use crate::testing::ablation::{Mechanism, without};
use std::ops::Range;

/// The largest number of chunks in a batch, and the number of pages from which on it is full.
const CHUNKS: usize = 8;
const PAGES: usize = 1024;
/// The limits on work under the lock: the largest number of chunks whose page maps are read, and
/// the largest number of entries of chunks.
const LEAVES: usize = 64;
const ENTRIES: usize = 4096;

impl Store {
    /// Chooses a batch of pages, and frames for them. The caller must copy the pages, and then call
    /// [`Store::gathered`]. Returns `None` while a capture is running, and where versions or memory
    /// are short.
    pub fn gather(&mut self) -> Result<Option<Gather>, IndexError> {
        self.take_note();
        // As for frames whose memory is being returned: each page needs a frame for the next
        // version, and may need one for the version after it.
        let short = self.live.len() + 3 > self.bounds.versions;
        let busy = self.in_flight.is_some() || self.compaction.batch.is_some();
        if busy || short || without(Mechanism::Compaction) {
            return Ok(None);
        }
        let moves = self.choose()?;
        let frames = self.planes.targets(&moves);
        let fresh = self.planes.fresh_pages(&frames) * self.planes.page_size();
        // The same amount again is left for the simulation.
        if frames.is_empty() || !self.may_take(2 * fresh as u64) {
            return Ok(None);
        }
        self.compaction.batch = Some(Batch {
            frames,
            state: State::Copying,
            changed: PageSet::new(self.planes.pages()),
        });
        Ok(Some(self.planes.gather(moves)))
    }

    /// Ends the copying of a batch. `copied` is false if copying failed. Returns how many of the
    /// pages can be used.
    pub fn gathered(&mut self, copied: bool) -> usize {
        let Some(batch) = &mut self.compaction.batch else {
            return 0;
        };
        batch.state = State::Ready;
        let changed = batch.changed.clone();
        if copied {
            self.leave_out(&changed);
        } else {
            let frames = batch.frames.clone();
            self.drop_ready_batch();
            self.planes.unhold(&frames);
        }
        self.compaction
            .ready()
            .map_or(0, |(frames, _)| frames.len())
    }

    /// Removes `pages` from the batch, because the next version changes them or leaves them out.
    /// The next version may need their frames, and the copies there are out of date.
    pub(super) fn leave_out(&mut self, pages: &PageSet) {
        let Some(batch) = &mut self.compaction.batch else {
            return;
        };
        match batch.state {
            State::Copying => batch.changed.union(pages),
            State::Ready => {
                self.planes.set_free(&batch.frames.within(pages));
                batch.frames.subtract(pages);
                let empty = batch.frames.is_empty();
                self.compaction.batch.take_if(|_| empty);
            }
            State::Used => {}
        }
    }

    /// Drops a batch that is ready but not used yet, because its memory is needed.
    pub(super) fn drop_ready_batch(&mut self) {
        if let Some(batch) = self.compaction.batch.take_if(|b| b.state == State::Ready) {
            self.planes.set_free(&batch.frames);
        }
    }

    /// Records that live memory of the chunks of `pages` is shared with `plane` from now on.
    /// `None`: sharing failed, and the plane is not known.
    pub fn shared_with(&mut self, pages: &Range<usize>, plane: Option<usize>) {
        for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
            self.compaction.targets.insert(chunk, plane);
        }
    }

    /// Returns true if live memory of some of `pages` may be shared with a plane, or was.
    pub fn may_be_shared(&self, pages: &Range<usize>) -> bool {
        let chunks = pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES);
        self.compaction.targets.range(chunks).next().is_some()
    }

    /// Sets how long a chunk must be unchanged before it is compacted: at least `versions`
    /// versions, and at most twice as many.
    pub fn compact_after(&mut self, versions: u32) {
        self.recent.set_generation(versions);
    }

    /// Chooses pages of some of the next chunks, and the planes that they are copied to.
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
            let cold = self.recent.is_cold(chunk) && !self.handovers.has(chunk);
            let map = cold.then(|| newest.chunk(chunk)).transpose()?;
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

    /// Returns the moves that bring the pages of a chunk into one plane, as far as frames are free
    /// there. Returns none if that would not halve the number of runs.
    fn moves(&self, chunk: usize, codes: &[Code]) -> Vec<Move> {
        let plane = match self.compaction.targets.get(&chunk) {
            Some(None) => return Vec::new(),
            Some(Some(target)) => *target,
            None => fullest(codes),
        };
        let target_code = plane as Code + 1;
        let mut want = ChunkBits::default();
        for (i, code) in codes.iter().enumerate() {
            want[i / 64] |= u64::from(*code != ZERO && *code != target_code) << (i % 64);
        }
        let free = self.planes.free_in(plane, chunk, &want);
        let (mut runs, mut after) = (Runs::default(), codes.to_vec());
        for i in crate::pageset::runs_of(&free).flatten() {
            let page = chunk * CHUNK_PAGES + i;
            runs.push(page..page + 1, codes[i]);
            after[i] = target_code;
        }
        let before = count_runs(codes);
        match before > FEW_RUNS && 2 * count_runs(&after) <= before {
            true => runs.runs.into_iter().map(|run| (run, plane)).collect(),
            false => Vec::new(),
        }
    }
}

/// Returns the plane that has most of the pages with these codes.
fn fullest(codes: &[Code]) -> usize {
    let mut counts = [0usize; Code::MAX as usize + 1];
    codes
        .iter()
        .for_each(|code| counts[usize::from(*code)] += 1);
    let planes = (1..counts.len()).rev();
    planes.max_by_key(|code| counts[*code]).unwrap_or(1) - 1
}
