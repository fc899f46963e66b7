//! Shared numbers by which the processes of a case report progress and results to each other.
//!
//! All processes of the case map them. They are independent of the methods, so pacing and measuring
//! are the same for all methods.

use crate::failure::Failure;
use crate::sys::clock::now_ns;
use crate::sys::memory::Memory;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The largest number of observers of a case.
pub const MAX_OBSERVERS: usize = 64;
/// Number of steps whose times are remembered: a step replaces the one so many steps before it.
pub const MAX_STEPS: usize = 256;

// Word offsets in the block of one observer.
const READY: usize = 0;
const DONE: usize = 2;
const CHECKED: usize = 3;
const WRONG: usize = 4;
const OWN: usize = 5;
const SEEN: usize = 8;
const OBSERVER_WORDS: usize = SEEN + MAX_STEPS;

// Word offsets of the numbers of the case.
const OBSERVERS: usize = 2;
const CLOSED: usize = 3;
const CALLED: usize = 8;
const EXPECTED: usize = CALLED + MAX_STEPS;
const FIRST_OBSERVER: usize = EXPECTED + MAX_STEPS;
const WORDS: usize = FIRST_OBSERVER + MAX_OBSERVERS * OBSERVER_WORDS;

/// The mapped numbers. In `DONE`, a step is stored plus one, so 0 means "no step".
pub struct Score(Memory);

impl Score {
    /// Creates the file at `path` for this number of observers.
    pub fn create(path: &Path, observers: usize) -> Result<Self, Failure> {
        let score = Score(Memory::create(path, WORDS * size_of::<u64>())?.0);
        score.set_observers(observers);
        Ok(score)
    }

    /// Opens the file of a running case.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Memory::open(path, true).map(Score)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.0.words()[at]
    }

    fn of(&self, observer: usize, what: usize) -> &AtomicU64 {
        self.word(FIRST_OBSERVER + observer * OBSERVER_WORDS + what)
    }

    /// Returns the number of observers that take part.
    pub fn observers(&self) -> usize {
        (self.word(OBSERVERS).load(SeqCst) as usize).min(MAX_OBSERVERS)
    }

    /// Sets the number of observers that take part.
    pub fn set_observers(&self, observers: usize) {
        self.word(OBSERVERS).store(observers as u64, SeqCst);
    }

    /// Tells the observers that no step will follow.
    pub fn close(&self) {
        self.word(CLOSED).store(1, SeqCst);
    }

    /// Returns true if no step will follow.
    pub fn closed(&self) -> bool {
        self.word(CLOSED).load(SeqCst) != 0
    }

    /// Records that the producer calls publish for `step` now.
    pub fn call(&self, step: u64) {
        self.word(CALLED + step as usize % MAX_STEPS)
            .store(now_ns(), SeqCst);
    }

    /// Stores a number that observers need to check the version of `step`.
    pub fn expect(&self, step: u64, number: u64) {
        self.word(EXPECTED + step as usize % MAX_STEPS)
            .store(number, SeqCst);
    }

    /// Returns the number that was stored by [`Score::expect`].
    pub fn expected(&self, step: u64) -> u64 {
        self.word(EXPECTED + step as usize % MAX_STEPS).load(SeqCst)
    }

    /// Records that `observer` has attached.
    pub fn ready(&self, observer: usize) {
        self.of(observer, READY).store(1, SeqCst);
    }

    /// Records how many bytes `observer` held before it attached.
    pub fn set_own_bytes(&self, observer: usize, bytes: u64) {
        self.of(observer, OWN).store(bytes, SeqCst);
    }

    /// Returns the bytes that all observers together held before they attached.
    pub fn own_bytes(&self) -> u64 {
        (0..self.observers())
            .map(|o| self.of(o, OWN).load(SeqCst))
            .sum()
    }

    /// Returns true if `observer` has attached.
    pub fn is_ready(&self, observer: usize) -> bool {
        self.of(observer, READY).load(SeqCst) != 0
    }

    /// Records that `observer` holds the version of `step` from now on.
    pub fn take(&self, observer: usize, step: u64) {
        self.of(observer, SEEN + step as usize % MAX_STEPS)
            .store(now_ns(), SeqCst);
    }

    /// Records that `observer` checked the version of `step` and released it. `wrong` is the number
    /// of errors that it found.
    pub fn finish(&self, observer: usize, step: u64, wrong: u64) {
        self.of(observer, WRONG).fetch_add(wrong, SeqCst);
        self.of(observer, CHECKED).fetch_add(1, SeqCst);
        // Observers that exist for one version only may finish in any order.
        self.of(observer, DONE).fetch_max(step + 1, SeqCst);
    }

    /// Returns true if `observer` has finished the version of `step` or a later one.
    pub fn has_finished(&self, observer: usize, step: u64) -> bool {
        self.of(observer, DONE).load(SeqCst) > step
    }

    /// Returns the nanoseconds from the call of publish until `observer` held the version, for the
    /// first version of `steps` that it took. Returns none if it took none of them.
    pub fn visible_ns(&self, observer: usize, steps: Range<u64>) -> Option<f64> {
        steps.into_iter().find_map(|step| {
            let at = step as usize % MAX_STEPS;
            let called = self.word(CALLED + at).load(SeqCst);
            let seen = self.of(observer, SEEN + at).load(SeqCst);
            // A time before the call is that of the step that had this place before.
            (seen > 0 && seen >= called).then(|| (seen - called) as f64)
        })
    }

    /// Returns true if every observer checked at least one version and none found an error.
    pub fn correct(&self) -> bool {
        (0..self.observers())
            .all(|o| self.of(o, CHECKED).load(SeqCst) > 0 && self.of(o, WRONG).load(SeqCst) == 0)
    }
}
