//! What the processes of a case tell each other about the case: a page of numbers that all of them map.
//!
//! It is apart from the methods, so that pacing and measuring are the same for all of them.

use crate::failure::Failure;
use crate::sys::clock::now_ns;
use crate::sys::memory::Memory;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Most observers of a case.
pub const MAX_OBSERVERS: usize = 64;
/// Most steps of a case.
pub const MAX_STEPS: usize = 256;

/// Numbers of one observer: word offsets.
const READY: usize = 0;
const DONE: usize = 2;
const CHECKED: usize = 3;
const WRONG: usize = 4;
const OWN: usize = 5;
const SEEN: usize = 8;
const OBSERVER_WORDS: usize = SEEN + MAX_STEPS;

/// Numbers of the case: word offsets.
const OBSERVERS: usize = 2;
const CLOSED: usize = 3;
const CALLED: usize = 8;
const EXPECTED: usize = CALLED + MAX_STEPS;
const FIRST_OBSERVER: usize = EXPECTED + MAX_STEPS;
const WORDS: usize = FIRST_OBSERVER + MAX_OBSERVERS * OBSERVER_WORDS;

/// The mapped numbers. Steps are stored one higher, so that 0 is none.
pub struct Score(Memory);

impl Score {
    /// A new one, for so many observers.
    pub fn create(path: &Path, observers: usize) -> Result<Self, Failure> {
        let score = Score(Memory::create(path, WORDS * size_of::<u64>())?.0);
        score.set_observers(observers);
        Ok(score)
    }

    /// That of a running case.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Memory::open(path, true).map(Score)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.0.words()[at]
    }

    fn of(&self, observer: usize, what: usize) -> &AtomicU64 {
        self.word(FIRST_OBSERVER + observer * OBSERVER_WORDS + what)
    }

    /// Observers that take part.
    pub fn observers(&self) -> usize {
        (self.word(OBSERVERS).load(SeqCst) as usize).min(MAX_OBSERVERS)
    }

    /// Another number of observers from now on.
    pub fn set_observers(&self, observers: usize) {
        self.word(OBSERVERS).store(observers as u64, SeqCst);
    }

    /// No step will follow.
    pub fn close(&self) {
        self.word(CLOSED).store(1, SeqCst);
    }

    /// Whether no step will follow.
    pub fn closed(&self) -> bool {
        self.word(CLOSED).load(SeqCst) != 0
    }

    /// The producer calls publish for `step` now.
    pub fn call(&self, step: u64) {
        self.word(CALLED + step as usize % MAX_STEPS)
            .store(now_ns(), SeqCst);
    }

    /// A number that all observers need to check the version of `step`.
    pub fn expect(&self, step: u64, number: u64) {
        self.word(EXPECTED + step as usize % MAX_STEPS)
            .store(number, SeqCst);
    }

    /// That number.
    pub fn expected(&self, step: u64) -> u64 {
        self.word(EXPECTED + step as usize % MAX_STEPS).load(SeqCst)
    }

    /// `observer` has attached.
    pub fn ready(&self, observer: usize) {
        self.of(observer, READY).store(1, SeqCst);
    }

    /// `observer` held so many bytes before it attached.
    pub fn set_own_bytes(&self, observer: usize, bytes: u64) {
        self.of(observer, OWN).store(bytes, SeqCst);
    }

    /// What all observers held before they attached.
    pub fn own_bytes(&self) -> u64 {
        (0..self.observers())
            .map(|o| self.of(o, OWN).load(SeqCst))
            .sum()
    }

    /// Whether it has.
    pub fn is_ready(&self, observer: usize) -> bool {
        self.of(observer, READY).load(SeqCst) != 0
    }

    /// `observer` has the version of `step` in its hands now.
    pub fn take(&self, observer: usize, step: u64) {
        self.of(observer, SEEN + step as usize % MAX_STEPS)
            .store(now_ns(), SeqCst);
    }

    /// `observer` has looked at the version of `step`, and let go of it.
    pub fn finish(&self, observer: usize, step: u64, wrong: u64) {
        self.of(observer, WRONG).fetch_add(wrong, SeqCst);
        self.of(observer, CHECKED).fetch_add(1, SeqCst);
        // Observers that live for one version may end in any order.
        self.of(observer, DONE).fetch_max(step + 1, SeqCst);
    }

    /// Whether it has.
    pub fn has_finished(&self, observer: usize, step: u64) -> bool {
        self.of(observer, DONE).load(SeqCst) > step
    }

    /// From the call of publish until `observer`, which was waiting, had a version of these steps, in nanoseconds: that of
    /// the first it took.
    pub fn visible_ns(&self, observer: usize, steps: Range<u64>) -> Option<f64> {
        steps.into_iter().find_map(|step| {
            let at = step as usize % MAX_STEPS;
            let called = self.word(CALLED + at).load(SeqCst);
            let seen = self.of(observer, SEEN + at).load(SeqCst);
            (seen > 0).then(|| seen.saturating_sub(called) as f64)
        })
    }

    /// Whether every observer has looked at something, and none has seen a wrong byte.
    pub fn correct(&self) -> bool {
        (0..self.observers())
            .all(|o| self.of(o, CHECKED).load(SeqCst) > 0 && self.of(o, WRONG).load(SeqCst) == 0)
    }
}
