//! A sweep: pieces of live memory that are saved one by one, by whoever comes first.

use super::{Gate, Progress};
use crate::fault;
use crate::pagemap::{ChunkMap, ZERO};
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits, runs_of};
use crate::planes::PlaneMemory;
use crate::sabotage::{Guard, off};
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Slots that pages of a chunk are copied to.
#[derive(Debug)]
pub struct Target {
    /// The plane.
    pub memory: Arc<PlaneMemory>,
    /// The pages.
    pub bits: ChunkBits,
    /// Whether some of the slots have no memory yet.
    pub fresh: bool,
}

/// Pages of one chunk that are saved together.
#[derive(Debug)]
pub struct Piece {
    /// The chunk.
    pub chunk: usize,
    /// Where they go.
    pub targets: Vec<Target>,
    /// Where the newest version has them, to find out what has changed; none: all of it counts as changed.
    pub before: Option<ChunkMap>,
}

/// How a sweep stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Pieces are left.
    Running,
    /// All are saved, and what was to follow has been done.
    Saved,
    /// It was given up; nothing of it counts.
    GivenUp(String),
}

/// What is done when all pieces are saved.
pub type Finish = Box<dyn Fn(&Sweep) -> Result<(), String> + Send + Sync>;

/// Whether a sweep counts: decided once, either by the first failure or when all pieces are saved.
const UNDECIDED: u8 = 0;
const FAILED: u8 = 1;
const WHOLE: u8 = 2;

/// All pieces of one version that are saved outside `publish`, or by several threads inside.
pub struct Sweep {
    base: *const u8,
    page_size: usize,
    pieces: Vec<Piece>,
    planes: Arc<[Arc<PlaneMemory>]>,
    gate: Option<Arc<Gate>>,
    progress: Progress,
    /// Per piece, the pages that have changed.
    changed: Vec<[AtomicU64; CHUNK_WORDS]>,
    /// UNDECIDED, FAILED or WHOLE. No lock: a thread that holds one may be waiting in a signal handler, for a piece.
    verdict: AtomicU8,
    /// Why it failed.
    reason: OnceLock<String>,
    early: AtomicU64,
    early_ns: AtomicU64,
    finish: Finish,
    outcome: Mutex<Outcome>,
    ended: Condvar,
}

// SAFETY: `base` is the live memory of a region that outlives the sweep, by the promise made to `new`; it is only read, and
// only where the gate (or the caller's promise) keeps it still.
unsafe impl Send for Sweep {}
// SAFETY: as for Send; everything else is shared by atomics and locks.
unsafe impl Sync for Sweep {}

impl Sweep {
    /// A sweep over `pieces` (at least one, in the order of their chunks) of the live memory at `base`.
    ///
    /// # Safety
    /// `base` must be live memory that stays mapped until the sweep has ended. Nobody may write the pieces' pages between this
    /// call and their being protected by `gate`; without a gate, until the sweep has ended. The targets must be slots to which
    /// no version refers and that nobody else writes; what is not fresh must have memory. The slots of `before` must stay
    /// as they are until the sweep has ended; `planes` are theirs.
    pub unsafe fn new(
        base: *const u8,
        page_size: usize,
        pieces: Vec<Piece>,
        planes: Arc<[Arc<PlaneMemory>]>,
        gate: Option<Arc<Gate>>,
        finish: Finish,
    ) -> Self {
        Sweep {
            base,
            page_size,
            planes,
            gate,
            progress: Progress::new(pieces.len()),
            changed: pieces.iter().map(|_| Default::default()).collect(),
            pieces,
            verdict: AtomicU8::new(UNDECIDED),
            reason: OnceLock::new(),
            early: AtomicU64::new(0),
            early_ns: AtomicU64::new(0),
            finish,
            outcome: Mutex::new(Outcome::Running),
            ended: Condvar::new(),
        }
    }

    /// The pieces, with the pages of each that have changed: right once all are saved.
    pub fn changes(&self) -> impl Iterator<Item = (&Piece, ChunkBits)> {
        let bits =
            |words: &[AtomicU64; CHUNK_WORDS]| std::array::from_fn(|i| words[i].load(Relaxed));
        self.pieces.iter().zip(self.changed.iter().map(bits))
    }

    /// Stores that came before their chunk was saved: how many, and how long they waited in all.
    pub fn early(&self) -> (u64, Duration) {
        let ns = self.early_ns.load(Relaxed);
        (self.early.load(Relaxed), Duration::from_nanos(ns))
    }

    /// Protect every piece, neighbours together.
    pub(super) fn protect(&self) -> io::Result<()> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let mut run = 0..0;
        for piece in &self.pieces {
            let range = self.addresses(piece.chunk);
            if range.start != run.end && !run.is_empty() {
                gate.protect(&run)?;
            }
            run = if range.start == run.end {
                run.start
            } else {
                range.start
            }..range.end;
        }
        gate.protect(&run)
    }

    fn addresses(&self, chunk: usize) -> Range<usize> {
        let bytes = CHUNK_PAGES * self.page_size;
        let start = self.base as usize + chunk * bytes;
        start..start + bytes
    }

    /// Save pieces until none is left to claim.
    pub fn work(&self) {
        while let Some(piece) = self.progress.claim_next() {
            self.save(piece);
            if let Some(gate) = &self.gate {
                gate.gather(&self.addresses(self.pieces[piece].chunk));
            }
        }
    }

    /// A store waits at `address`: save its chunk at once, unless somebody is about to, or has.
    pub(super) fn early_store(&self, address: usize) {
        fault::pass("early");
        let start = Instant::now();
        let at = address.wrapping_sub(self.base as usize) / (CHUNK_PAGES * self.page_size);
        if let Ok(piece) = self.pieces.binary_search_by_key(&at, |p| p.chunk)
            && self.progress.claim(piece)
        {
            self.save(piece);
        }
        self.early.fetch_add(1, Relaxed);
        self.early_ns
            .fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
    }

    /// Save a piece that the caller has claimed, and release it, whatever happens.
    fn save(&self, piece: usize) {
        if off(Guard::SaveFirst) {
            self.release(piece);
        }
        let copied = catch_unwind(AssertUnwindSafe(|| self.copy(piece)));
        self.release(piece);
        match copied {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(&error.to_string()),
            // Code that panics is not to be trusted with stores that wait.
            Err(_) => self.abandon("a thread that copies panicked"),
        }
        // Last: a sweep ends only when every failure of it is known.
        if self.progress.saved(piece) {
            self.end();
        }
    }

    fn release(&self, piece: usize) {
        if let Some(gate) = &self.gate
            && let Err(error) = gate.release(&self.addresses(self.pieces[piece].chunk))
            && !gate.given_up()
        {
            self.abandon(&format!("write-protection cannot be taken off: {error}"));
        }
    }

    fn copy(&self, number: usize) -> io::Result<()> {
        if self.verdict.load(SeqCst) == FAILED {
            return Ok(());
        }
        fault::pass("saving");
        let piece = &self.pieces[number];
        self.note_changes(number);
        for target in &piece.targets {
            for run in runs_of(&target.bits) {
                let start = piece.chunk * CHUNK_PAGES;
                let pages = start + run.start..start + run.end;
                // SAFETY: live memory, kept still by the gate or by the caller of `new`; the slots are this sweep's alone,
                // and piece by piece one thread's; what is not fresh has memory.
                unsafe { target.memory.copy(self.base, pages, target.fresh)? };
            }
        }
        fault::pass("saved");
        Ok(())
    }

    /// Compare with the newest version. Pages that have changed mostly differ early: this costs little more than a look.
    fn note_changes(&self, number: usize) {
        let piece = &self.pieces[number];
        for target in &piece.targets {
            for i in runs_of(&target.bits).flatten() {
                let same = piece.before.as_ref().is_some_and(|map| {
                    // SAFETY: inside live memory, readable, and kept still as in `copy`.
                    let now = unsafe { self.live(piece.chunk * CHUNK_PAGES + i) };
                    match map.code(i) {
                        ZERO => crate::store::is_zero(now),
                        code => {
                            let plane = &self.planes[usize::from(code) - 1];
                            // SAFETY: the newest version refers to the slot, and stays until the sweep has ended.
                            unsafe { plane.page(piece.chunk * CHUNK_PAGES + i) == now }
                        }
                    }
                });
                if !same {
                    self.changed[number][i / 64].fetch_or(1 << (i % 64), Relaxed);
                }
            }
        }
    }

    /// # Safety
    /// The page must be one of a claimed piece.
    unsafe fn live(&self, page: usize) -> &[u8] {
        // SAFETY: live memory by the promise made to `new`, still because the piece is claimed and not yet released.
        unsafe { std::slice::from_raw_parts(self.base.add(page * self.page_size), self.page_size) }
    }

    /// Nothing of the sweep counts any more; what is left of it is only released. After all pieces are saved it is too late
    /// for that: the version is whole.
    pub(super) fn fail(&self, why: &str) {
        // The first reason is the one that is told.
        let _ = self.reason.set(why.to_owned());
        self.decide(FAILED);
    }

    /// True for whoever decides.
    fn decide(&self, verdict: u8) -> bool {
        let decided = self
            .verdict
            .compare_exchange(UNDECIDED, verdict, SeqCst, SeqCst);
        decided.is_ok()
    }

    /// Let every store through, whatever was saved: the last resort.
    pub(super) fn abandon(&self, why: &str) {
        // In this order: after the gate is open, no copy may count any more.
        self.fail(why);
        if let Some(gate) = &self.gate {
            gate.give_up();
        }
    }

    /// All pieces are saved, or released at least: for the one that came last.
    fn end(&self) {
        let outcome = if self.decide(WHOLE) {
            self.conclude()
        } else {
            let reason = self.reason.get().map_or("it failed", String::as_str);
            Outcome::GivenUp(reason.to_owned())
        };
        *self.outcome() = outcome;
        self.ended.notify_all();
    }

    fn conclude(&self) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| (self.finish)(self))) {
            Ok(Ok(())) => Outcome::Saved,
            Ok(Err(why)) => Outcome::GivenUp(why),
            Err(_) => Outcome::GivenUp("making the version visible panicked".to_owned()),
        }
    }

    /// How it stands.
    pub fn state(&self) -> Outcome {
        self.outcome().clone()
    }

    /// Wait until it has ended, at most so long.
    pub fn wait(&self, timeout: Duration) -> Outcome {
        let running = |outcome: &mut Outcome| *outcome == Outcome::Running;
        let waited = self
            .ended
            .wait_timeout_while(self.outcome(), timeout, running);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Sweep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep")
            .field("pieces", &self.pieces.len())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
