//! A sweep saves pieces of live memory one by one. Each is saved by the thread that claims it
//! first.

use super::early::Early;
use super::{Ending, Gate, Job, Outcome, Pieces};
use crate::pageset::{CHUNK_WORDS, ChunkBits, PageSet};
use crate::sys::futex;
use crate::testing::fault;
use crate::testing::sabotage::{Guard, off};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The function that is called when all pieces are saved.
pub type Finish = Box<dyn Fn(&Sweep) -> Result<(), String> + Send + Sync>;

/// The verdict says whether a sweep counts. It is decided once: by the first failure, or when all
/// pieces are saved.
const UNDECIDED: u8 = 0;
const FAILED: u8 = 1;
const WHOLE: u8 = 2;

/// All pieces of one version that are saved after `publish` has returned, or by several threads
/// inside it.
pub struct Sweep {
    job: Job,
    gate: Option<Arc<Gate>>,
    pieces: Pieces,
    /// For each piece, the pages that have changed.
    changed: Vec<[AtomicU64; CHUNK_WORDS]>,
    /// For each piece, the number of these pages. The producer's thread reads them.
    counts: Vec<AtomicU32>,
    /// UNDECIDED, FAILED or WHOLE. There is no lock, because a thread that holds one could be
    /// waiting for a piece, in a signal handler.
    verdict: AtomicU8,
    /// The reason of the first failure.
    reason: OnceLock<String>,
    early: Early,
    finish: Finish,
    ending: Arc<Ending>,
    /// Not 0 once all pieces are protected. Early stores are served from then on.
    protected: AtomicU64,
}

impl Sweep {
    /// Creates a sweep over the pieces of `job`. `finish` is called when all of them are saved.
    ///
    /// # Safety
    /// - The pages of `job.memory` must stay mapped until the sweep has ended, unless they are
    ///   adopted.
    /// - Nobody may write the pieces from this call until `gate` protects them; without a gate,
    ///   until the sweep has ended.
    /// - No version may refer to the frames of `job`, and nobody else may write them. Frames that
    ///   are not fresh must have memory.
    /// - The newest version must stay until the sweep has ended.
    pub unsafe fn new(job: Job, gate: Option<Arc<Gate>>, finish: Finish) -> Self {
        let changed = job.chunks.iter().map(|_| Default::default());
        Sweep {
            gate,
            pieces: match job.nodes.is_empty() {
                true => Pieces::new(job.chunks.len()),
                false => Pieces::by_node(&job.nodes),
            },
            changed: changed.collect(),
            counts: job.chunks.iter().map(|_| AtomicU32::new(0)).collect(),
            early: Early::new(job.chunks.len()),
            job,
            verdict: AtomicU8::new(UNDECIDED),
            reason: OnceLock::new(),
            finish,
            ending: Arc::default(),
            protected: AtomicU64::new(0),
        }
    }

    /// Returns the chunks of the pieces of live memory, with the pages of each that have changed.
    /// Complete once all pieces are saved.
    pub fn changes(&self) -> impl Iterator<Item = (usize, ChunkBits)> {
        let bits =
            |words: &[AtomicU64; CHUNK_WORDS]| std::array::from_fn(|i| words[i].load(Relaxed));
        self.live_pieces()
            .map(move |piece| (self.job.chunks[piece], bits(&self.changed[piece])))
    }

    /// Returns the chunks of the pieces of live memory, with how many pages of each have changed.
    /// Complete once all pieces are saved.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u32)> {
        let count = |piece: usize| self.counts[piece].load(Relaxed);
        self.live_pieces()
            .map(move |piece| (self.job.chunks[piece], count(piece)))
    }

    /// Returns the chunks of the pieces that are copied from a version.
    pub fn assembled(&self) -> impl Iterator<Item = usize> {
        self.job.chunks[self.job.live..].iter().copied()
    }

    /// Returns true if some pieces are live memory.
    pub fn has_live_pieces(&self) -> bool {
        self.job.live != 0
    }

    fn live_pieces(&self) -> impl Iterator<Item = usize> {
        0..self.job.live
    }

    /// Returns the gate of a piece. Pieces that are copied from a version have none.
    fn gate_of(&self, piece: usize) -> Option<&Gate> {
        let gate = self.gate.as_deref()?;
        (!self.job.is_assembled(piece)).then_some(gate)
    }

    /// Removes the pages that have changed from `pages`.
    pub fn take_changed(&self, pages: &mut PageSet) {
        for (chunk, bits) in self.changes() {
            let words = pages.chunk_mut(chunk).iter_mut().zip(bits);
            words.for_each(|(word, bits)| *word &= !bits);
        }
    }

    /// Returns the number of early stores, and how long the first to each piece waited, in all.
    pub fn early(&self) -> (u64, Duration) {
        self.early.total()
    }

    /// Write-protects every piece. From then on early stores are served, also after an error.
    pub(super) fn protect(&self) -> io::Result<()> {
        let gate = self.gate.as_deref();
        let protected = gate.map_or(Ok(()), |gate| self.protect_with(gate));
        self.protected.store(1, SeqCst);
        futex::wake_private(&self.protected);
        protected
    }

    /// Write-protects every piece, neighbouring pieces together.
    fn protect_with(&self, gate: &Gate) -> io::Result<()> {
        let mut run = 0..0;
        for piece in self.live_pieces() {
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
        match run.is_empty() {
            true => Ok(()),
            false => gate.protect(&run),
        }
    }

    /// Saves pieces until none is left to claim. Also makes their chunks huge pages.
    pub fn work(&self) {
        self.work_near(0, &mut |_| ());
    }

    /// Does the same as [`Sweep::work`], beginning with the pieces on node `home`. Calls `go` with
    /// the node of each piece, if nodes are known, before it saves the piece.
    pub fn work_near(&self, home: usize, go: &mut dyn FnMut(usize)) {
        while let Some((node, piece)) = self.pieces.claim_near(home) {
            if !self.job.nodes.is_empty() {
                go(node);
            }
            self.save(piece);
            if let Some(gate) = self.gate_of(piece) {
                gate.gather(&self.job.addresses(piece));
            }
        }
    }

    /// Saves pieces until none is left to claim, like [`Sweep::work`], but takes no lock that a
    /// copier may hold.
    pub fn help(&self) {
        while let Some((_, piece)) = self.pieces.claim_near(0) {
            self.save(piece);
        }
    }

    /// Does the same, but claims no piece after `end`.
    pub fn help_until(&self, end: Instant) {
        while Instant::now() < end
            && let Some((_, piece)) = self.pieces.claim_near(0)
        {
            self.save(piece);
        }
    }

    /// Serves a store that waits at `address`: saves its chunk at once, unless another thread saves
    /// it or has saved it.
    pub(super) fn early_store(&self, address: usize) {
        fault::pass("early");
        // The store may belong to an earlier sweep, whose copier has released it meanwhile. A piece
        // of this sweep that was released before all are protected would be protected again, and
        // nobody would release it then.
        while self.protected.load(SeqCst) == 0 {
            futex::wait_private(&self.protected, 0, Duration::MAX);
        }
        let piece = self.job.piece_at(address);
        self.early.came(piece);
        if let Some(piece) = piece
            && self.pieces.claim(piece)
        {
            self.save(piece);
        }
    }

    /// Saves a piece that the caller has claimed, and releases it, even if copying fails.
    fn save(&self, piece: usize) {
        if off(Guard::SaveFirst) {
            self.release(piece);
        }
        let copied = catch_unwind(AssertUnwindSafe(|| self.copy(piece)));
        self.release(piece);
        match copied {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(&error.to_string()),
            // Code that has panicked must not be trusted with stores that wait.
            Err(_) => self.abandon("a thread panicked while it copied pages"),
        }
        // This comes last, so that every failure of a sweep is known when it ends.
        if self.pieces.saved(piece) {
            self.end();
        }
    }

    fn release(&self, piece: usize) {
        // This fails if the gate was given up. Then stores have not waited, and nothing may count.
        if let Some(gate) = self.gate_of(piece)
            && let Err(error) = gate.release(&self.job.addresses(piece))
        {
            self.abandon(&format!(
                "cannot remove write-protection from live memory: {error}"
            ));
        }
        self.early.released(piece);
    }

    fn copy(&self, piece: usize) -> io::Result<()> {
        if self.verdict.load(SeqCst) == FAILED {
            return Ok(());
        }
        // SAFETY: nobody writes the piece until it is released: the gate keeps stores out, or the
        // caller of `new` promised it. This thread has claimed the piece and releases it later. The
        // rest was promised to `new`.
        let changed = unsafe { self.job.save(piece)? };
        for (word, bits) in self.changed[piece].iter().zip(changed) {
            word.store(bits, Relaxed);
        }
        let count = changed.iter().map(|w| w.count_ones()).sum();
        self.counts[piece].store(count, Relaxed);
        Ok(())
    }

    /// Marks the sweep as failed, so that nothing of it counts. Pieces that are left are only
    /// released. Has no effect once all pieces are saved, because the version is complete then.
    pub(super) fn fail(&self, why: &str) {
        // Only the first reason is kept.
        let _ = self.reason.set(why.to_owned());
        self.decide(FAILED);
    }

    /// Sets the verdict if it is still open. Returns true if this call decided.
    fn decide(&self, verdict: u8) -> bool {
        let decided = self
            .verdict
            .compare_exchange(UNDECIDED, verdict, SeqCst, SeqCst);
        decided.is_ok()
    }

    /// Gives up the sweep and its gate, so that every store goes through. This is the last resort.
    pub(super) fn abandon(&self, why: &str) {
        // In this order: no copy may count once the gate is open.
        self.fail(why);
        if let Some(gate) = &self.gate {
            gate.give_up();
        }
    }

    /// Ends the sweep. Called by the thread that saved or released the last piece.
    fn end(&self) {
        let outcome = if self.decide(WHOLE) {
            self.conclude()
        } else {
            let reason = self
                .reason
                .get()
                .map_or("the capture failed", String::as_str);
            Outcome::GivenUp(reason.to_owned())
        };
        // Only the thread that saved the last piece comes here, so the outcome is not set yet.
        self.ending.set(outcome);
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
        self.pieces.left()
    }

    /// Returns the state of the sweep.
    pub fn state(&self) -> Outcome {
        self.ending.state()
    }

    /// Waits until the sweep has ended, for at most `timeout`. Returns its state.
    pub fn wait(&self, timeout: Duration) -> Outcome {
        self.ending.wait(timeout)
    }

    /// Returns how the sweep ends, which does not need the sweep any more.
    pub fn ending(&self) -> Arc<Ending> {
        self.ending.clone()
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

#[cfg(test)]
mod tests;
