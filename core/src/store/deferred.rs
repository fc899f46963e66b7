//! Captures that several threads share: inside `publish`, and after it has returned.

use super::handover::Handed;
use super::{Capture, Store};
use crate::capture::{Copiers, Outcome, Piece, Sweep, Target};
use crate::index::{IndexError, IndexWriter};
use crate::pagemap::{ChunkMap, PageMap, ZERO};
use crate::pageset::{CHUNK_PAGES, ChunkBits, PageSet, runs_of};
use crate::planes::Placement;
use crate::stamp::Stamp;
use crate::sys::mem::Mapping;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Copies of at least so many bytes inside `publish` are spread over the copiers: waking them takes as long as this does.
const SPREAD: usize = 4 << 20;

/// A version whose capture goes on.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) sweep: Arc<Sweep>,
    version: u64,
    pub(super) slot: usize,
    placements: Vec<Placement>,
    pages: PageSet,
    /// What it was handed, without a copy.
    pub(super) handed: Vec<Handed>,
}

/// What became of a version whose capture went on after `publish`.
#[derive(Debug)]
pub struct Settled {
    /// The version.
    pub version: u64,
    /// Its pages.
    pub pages: PageSet,
    /// Saved, or given up: then its pages belong into the next version.
    pub outcome: Outcome,
    /// Stores that came early: how many, and how long they waited.
    pub early: (u64, Duration),
    /// Per chunk that was captured later, how many of its pages have changed.
    pub changed: Vec<(usize, u32)>,
}

impl Store {
    /// The version that is still being captured, if one is.
    pub fn capturing(&self) -> Option<u64> {
        self.in_flight.as_ref().map(|f| f.version)
    }

    /// The capture that goes on.
    pub fn sweep(&self) -> Option<&Arc<Sweep>> {
        self.in_flight.as_ref().map(|f| &f.sweep)
    }

    /// What became of the capture that was going on, if it has ended and was not asked for yet.
    pub fn settle(&mut self) -> Option<Settled> {
        self.take_note();
        self.settled.take()
    }

    /// Take note of the end of the capture that was going on, if it has ended.
    pub(super) fn take_note(&mut self) {
        if let Some(settled) = self.end_of_capture() {
            self.settled = Some(settled);
        }
    }

    fn end_of_capture(&mut self) -> Option<Settled> {
        let mut in_flight = self.in_flight.take()?;
        let outcome = in_flight.sweep.state();
        match outcome {
            Outcome::Running => {
                self.in_flight = Some(in_flight);
                return None;
            }
            Outcome::Saved => {
                self.live.push((in_flight.version, in_flight.slot));
                self.ring.visible(in_flight.slot);
            }
            Outcome::GivenUp(_) => {
                self.give_up(&in_flight.placements);
                self.take_back(&in_flight.handed, &mut in_flight.pages);
            }
        }
        let changed = in_flight.sweep.changes();
        let changed = changed.map(|(piece, bits)| (piece.chunk, count(&bits)));
        Some(Settled {
            version: in_flight.version,
            outcome,
            early: in_flight.sweep.early(),
            changed: changed.collect(),
            pages: in_flight.pages,
        })
    }

    /// Free the slots of a version that never became visible.
    fn give_up(&mut self, placements: &[Placement]) {
        for (plane, pages) in runs(placements) {
            self.planes.set_free(plane, pages.clone());
            self.planes.unhold(plane, pages);
        }
    }

    pub(super) fn slots_in_use(&self) -> impl Iterator<Item = usize> {
        let later = self.in_flight.iter().map(|f| f.slot);
        self.live.iter().map(|(_, slot)| *slot).chain(later)
    }

    /// Copy what is captured inside the call, with the copiers' help if it is much.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    pub(super) unsafe fn copy_now(
        &mut self,
        capture: &Capture<'_>,
        placements: &[Placement],
        copiers: &Copiers,
    ) -> Result<(), String> {
        let page_size = self.page_size();
        let pages: usize = placements.iter().map(|p| count(&p.bits) as usize).sum();
        if pages * page_size < SPREAD {
            // SAFETY: the caller's promise.
            return unsafe { self.planes.copy(capture.base, placements) }
                .map_err(|e| e.to_string());
        }
        let pieces = self
            .pieces(placements, |_| Ok(None))
            .map_err(|e| e.to_string())?;
        let planes = self.planes.memory().into();
        let finish = Box::new(|_: &Sweep| Ok(()));
        // SAFETY: nobody writes the pages during the call, by the caller's promise, and the sweep ends within it; the slots
        // are free and no two pieces share one.
        let sweep = unsafe { Sweep::new(capture.base, page_size, pieces, planes, None, finish) };
        match copiers.run(&Arc::new(sweep)) {
            Outcome::GivenUp(error) => {
                runs(placements).for_each(|(plane, pages)| self.planes.unhold(plane, pages));
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Protect the later chunks and have them saved from now on.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    pub(super) unsafe fn begin_sweep(
        &mut self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        placements: Vec<Placement>,
        copiers: &Copiers,
    ) -> Result<Arc<Sweep>, IndexError> {
        let later: Vec<Placement> = placements
            .iter()
            .filter(|p| capture.is_later(p.chunk))
            .cloned()
            .collect();
        let newest = self.live.last().map(|(_, slot)| *slot);
        let map = self.index_map.clone();
        let pieces = self.pieces(&later, |chunk| before(&map, newest, chunk).map(Some))?;
        let finish = self.finish(slot, stamp, capture, &later);
        let planes = self.planes.memory().into();
        let gate = capture.gate.cloned();
        // SAFETY: the caller promises that nobody writes until `begin` has protected the pieces; the slots are free but for
        // this version; the newest version's slots stay, because nothing is reclaimed while a capture goes on.
        let sweep =
            unsafe { Sweep::new(capture.base, self.page_size(), pieces, planes, gate, finish) };
        let sweep = Arc::new(sweep);
        self.in_flight = Some(InFlight {
            sweep: sweep.clone(),
            version: stamp.version,
            slot,
            placements,
            pages: capture.pages.clone(),
            handed: Vec::new(),
        });
        // An error has given the sweep up, which whoever asks for its state is told.
        let _ = copiers.begin(&sweep);
        Ok(sweep)
    }

    /// The pieces for `placements`, which are in the order of their chunks. Their slots count as held from now on.
    fn pieces(
        &mut self,
        placements: &[Placement],
        before: impl Fn(usize) -> Result<Option<ChunkMap>, IndexError>,
    ) -> Result<Vec<Piece>, IndexError> {
        let memory = self.planes.memory();
        let mut pieces: Vec<Piece> = Vec::new();
        for placement in placements {
            let mut fresh = false;
            for (plane, pages) in runs(std::slice::from_ref(placement)) {
                fresh |= self.planes.hold(plane, pages);
            }
            let target = Target {
                memory: memory[placement.plane].clone(),
                bits: placement.bits,
                fresh,
            };
            match pieces.last_mut() {
                Some(last) if last.chunk == placement.chunk => last.targets.push(target),
                _ => pieces.push(Piece {
                    chunk: placement.chunk,
                    targets: vec![target],
                    before: before(placement.chunk)?,
                }),
            }
        }
        Ok(pieces)
    }

    /// What makes the version visible: with the changes that the sweep has found, counted into what was captured at once.
    fn finish(
        &self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        later: &[Placement],
    ) -> crate::capture::Finish {
        let at_once =
            capture.pages.len() - later.iter().map(|p| count(&p.bits) as usize).sum::<usize>();
        let (map, stamp, now) = (self.index_map.clone(), *stamp, capture.now);
        let visible = capture.visible.clone();
        Box::new(move |sweep| {
            // SAFETY: mapped whole and writable from an object of that size, which is sealed.
            let index = IndexWriter::reopen(unsafe { map.words() }).map_err(|e| e.to_string())?;
            let changed = note_changes(&index, slot, sweep).map_err(|e| e.to_string())?;
            let total = at_once as u64 + changed;
            let written = index
                .set_head(slot, &stamp, total, now)
                .and_then(|()| index.make_visible(slot, stamp.version));
            written.map_err(|e| e.to_string())?;
            visible();
            crate::fault::pass("visible");
            Ok(())
        })
    }

    fn page_size(&self) -> usize {
        self.planes.page_size()
    }
}

/// Where the newest version has the pages of a chunk; without one, they were zeros.
fn before(map: &Mapping, newest: Option<usize>, chunk: usize) -> Result<ChunkMap, IndexError> {
    let Some(slot) = newest else {
        return Ok(ChunkMap::Whole(ZERO));
    };
    // SAFETY: mapped whole and writable from an object of that size, which is sealed.
    let index = IndexWriter::reopen(unsafe { map.words() })?;
    PageMap::new(*index, slot).chunk(chunk)
}

/// Write which pages of the later chunks have changed, and count them.
fn note_changes(index: &IndexWriter<'_>, slot: usize, sweep: &Sweep) -> Result<u64, IndexError> {
    let mut total = 0;
    for (piece, bits) in sweep.changes() {
        total += u64::from(count(&bits));
        let words = index.changed_bits(slot, piece.chunk)?;
        for (word, bits) in words.iter().zip(bits) {
            word.store(bits, Ordering::Relaxed);
        }
    }
    Ok(total)
}

/// The runs of slots of placements, with their planes.
fn runs(placements: &[Placement]) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    placements.iter().flat_map(|p| {
        let start = p.chunk * CHUNK_PAGES;
        runs_of(&p.bits).map(move |run| (p.plane, start + run.start..start + run.end))
    })
}

fn count(bits: &ChunkBits) -> u32 {
    bits.iter().map(|w| w.count_ones()).sum()
}
