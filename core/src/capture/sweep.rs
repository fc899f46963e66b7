//! A sweep: pieces of live memory that are saved one by one, by whoever comes first.

use super::{Gate, Job, Progress};
use crate::fault;
use crate::pageset::{CHUNK_WORDS, ChunkBits, PageSet};
use crate::sabotage::{Guard, off};
use crate::sys::futex;
use crate::sys::time::deadline;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

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
    job: Job,
    gate: Option<Arc<Gate>>,
    progress: Progress,
    /// Per piece, the pages that have changed.
    changed: Vec<[AtomicU64; CHUNK_WORDS]>,
    /// How many these are: what the producer's thread looks at.
    counts: Vec<AtomicU32>,
    /// UNDECIDED, FAILED or WHOLE. No lock: a thread that holds one may be waiting in a signal handler, for a piece.
    verdict: AtomicU8,
    /// Why it failed.
    reason: OnceLock<String>,
    early: AtomicU64,
    early_ns: AtomicU64,
    finish: Finish,
    /// Set once, at the end. No lock: see `verdict`.
    outcome: OnceLock<Outcome>,
    /// Not 0 when there is an outcome: whoever waits for one sleeps on it.
    ended: AtomicU64,
}

// SAFETY: the job's `base` is the live memory of a region that outlives the sweep, by the promise made to `new`; it is only read, and
// only where the gate (or the caller's promise) keeps it still.
unsafe impl Send for Sweep {}
// SAFETY: as for Send; everything else is shared by atomics and locks.
unsafe impl Sync for Sweep {}

impl Sweep {
    /// A sweep over the pieces of `job`.
    ///
    /// # Safety
    /// The job's `base` must be live memory that stays mapped until the sweep has ended. Nobody may write its pieces between
    /// this call and their being protected by `gate`; without a gate, until the sweep has ended. Its slots must be some to which
    /// no version refers and that nobody else writes; what is not fresh must have memory. The newest version must stay until
    /// the sweep has ended.
    pub unsafe fn new(job: Job, gate: Option<Arc<Gate>>, finish: Finish) -> Self {
        let changed = job.chunks.iter().map(|_| Default::default());
        Sweep {
            gate,
            progress: Progress::new(job.chunks.len()),
            changed: changed.collect(),
            counts: job.chunks.iter().map(|_| AtomicU32::new(0)).collect(),
            job,
            verdict: AtomicU8::new(UNDECIDED),
            reason: OnceLock::new(),
            early: AtomicU64::new(0),
            early_ns: AtomicU64::new(0),
            finish,
            outcome: OnceLock::new(),
            ended: AtomicU64::new(0),
        }
    }

    /// The chunks of the pieces, with the pages of each that have changed: right once all are saved.
    pub fn changes(&self) -> impl Iterator<Item = (usize, ChunkBits)> {
        let bits =
            |words: &[AtomicU64; CHUNK_WORDS]| std::array::from_fn(|i| words[i].load(Relaxed));
        let chunks = self.job.chunks.iter().copied();
        chunks.zip(self.changed.iter().map(bits))
    }

    /// The chunks of the pieces, with how many pages of each have changed: right once all are saved.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u32)> {
        let chunks = self.job.chunks.iter().copied();
        chunks.zip(self.counts.iter().map(|n| n.load(Relaxed)))
    }

    /// Take the pages that have changed out of `pages`.
    pub fn take_changed(&self, pages: &mut PageSet) {
        for (chunk, bits) in self.changes() {
            let words = pages.chunk_mut(chunk).iter_mut().zip(bits);
            words.for_each(|(word, bits)| *word &= !bits);
        }
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
        for piece in 0..self.job.chunks.len() {
            let range = self.job.addresses(piece);
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

    /// Save pieces until none is left to claim.
    pub fn work(&self) {
        while let Some(piece) = self.progress.claim_next() {
            self.save(piece);
            if let Some(gate) = &self.gate {
                gate.gather(&self.job.addresses(piece));
            }
        }
    }

    /// Save pieces until none is left to claim, without anything for which a copier may hold a lock.
    pub fn help(&self) {
        while let Some(piece) = self.progress.claim_next() {
            self.save(piece);
        }
    }

    /// A store waits at `address`: save its chunk at once, unless somebody is about to, or has.
    pub(super) fn early_store(&self, address: usize) {
        fault::pass("early");
        let start = Instant::now();
        if let Some(piece) = self.job.piece_at(address)
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
            && let Err(error) = gate.release(&self.job.addresses(piece))
            && !gate.given_up()
        {
            self.abandon(&format!("write-protection cannot be taken off: {error}"));
        }
    }

    fn copy(&self, piece: usize) -> io::Result<()> {
        if self.verdict.load(SeqCst) == FAILED {
            return Ok(());
        }
        // SAFETY: live memory is kept still by the gate, or by the caller of `new`, as long as the piece, which this thread has
        // claimed, is not released; the rest was promised to `new`.
        let changed = unsafe { self.job.save(piece)? };
        for (word, bits) in self.changed[piece].iter().zip(changed) {
            word.store(bits, Relaxed);
        }
        let count = changed.iter().map(|w| w.count_ones()).sum();
        self.counts[piece].store(count, Relaxed);
        Ok(())
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
        // Only who saved the last piece comes here.
        let _ = self.outcome.set(outcome);
        self.ended.store(1, SeqCst);
        futex::wake_private(&self.ended);
    }

    fn conclude(&self) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| (self.finish)(self))) {
            Ok(Ok(())) => Outcome::Saved,
            Ok(Err(why)) => Outcome::GivenUp(why),
            Err(_) => Outcome::GivenUp("making the version visible panicked".to_owned()),
        }
    }

    /// Returns how many pieces are not saved yet.
    pub fn left(&self) -> usize {
        self.progress.left()
    }

    /// How it stands.
    pub fn state(&self) -> Outcome {
        self.outcome.get().cloned().unwrap_or(Outcome::Running)
    }

    /// Wait until it has ended, at most so long.
    pub fn wait(&self, timeout: Duration) -> Outcome {
        let end = deadline(timeout);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.ended.load(SeqCst) != 0 || left.is_zero() {
                return self.state();
            }
            futex::wait_private(&self.ended, 0, left);
        }
    }
}

impl std::fmt::Debug for Sweep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep")
            .field("pieces", &self.job.chunks.len())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
