//! The pin, publish and reclaim protocol: three short functions on atomic words.
//!
//! Each slot of the ring has a *state* word. The state is free, or the number of the version that
//! the slot holds, live or retired. Each observer has *pin* words in its lease. Only the producer
//! writes states, and only the observer writes its pins.
//!
//! An observer that wants version `n` stores `n` in a pin word, and then loads the state of the
//! slot. A producer that wants the slot back marks it retired, and then loads the pin words. Each
//! side has a sequentially consistent fence between its store and its load, so at least one side
//! sees the store of the other. Either the observer sees "retired" and clears its pin, or the
//! producer sees the pin and makes the version live again (I3). Neither side waits for the other.
//!
//! A pin word may also name a version that is not published yet. The producer sees such a pin
//! before it marks the version retired, so the version stays until the observer has taken it.
//!
//! An observer can read a part of a version for a moment without a pin: it loads the state, reads,
//! and loads the state again. If both are the same, nothing was overwritten meanwhile.
//!
//! The functions are generic over the atomic word, so that loom runs this code and not a copy.

use crate::testing::sabotage::{Guard, off};
use std::sync::atomic::Ordering;

/// An atomic `u64`: that of the standard library, or that of loom.
pub trait Word {
    /// Loads the value.
    fn load(&self, order: Ordering) -> u64;
    /// Stores a value.
    fn store(&self, value: u64, order: Ordering);
}

impl Word for std::sync::atomic::AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order)
    }
}

#[cfg(loom)]
use loom::sync::atomic::fence;
#[cfg(not(loom))]
use std::sync::atomic::fence;

#[cfg(loom)]
impl Word for loom::sync::atomic::AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order)
    }
}

/// The state of a slot that is free, or that is being written.
pub const FREE: u64 = 0;
/// The value of a pin word that names no version.
pub const NO_PIN: u64 = 0;

/// Returns the state of a slot that holds version `n`, visible to observers.
pub const fn live(n: u64) -> u64 {
    n << 1
}

/// Returns the state of a slot whose version `n` the producer is about to reclaim.
pub const fn retired(n: u64) -> u64 {
    n << 1 | 1
}

/// Returns true if `n` can be the number of a version. The states of other numbers would have
/// another meaning.
pub const fn is_version(n: u64) -> bool {
    n != NO_PIN && n <= u64::MAX >> 1
}

/// Returns the version that a state names, if it is live.
pub const fn live_version(state: u64) -> Option<u64> {
    if state != FREE && state & 1 == 0 {
        Some(state >> 1)
    } else {
        None
    }
}

/// Makes version `n` visible (I2). The slot must hold the whole version. A process that sees the
/// new state or the new `latest` also sees every store before this call.
pub fn publish<W: Word>(state: &W, latest: &W, n: u64) {
    state.store(live(n), Ordering::Release);
    latest.store(n, Ordering::Release);
}

/// Pins version `n` in the slot with `state` by the pin word `pin`, which must name no version.
///
/// Returns true if the version is pinned; then nothing of it is reused until [`unpin`]. Returns
/// false if the version is gone or is being reclaimed; then `pin` names no version again.
pub fn pin<W: Word>(state: &W, pin: &W, n: u64) -> bool {
    if !is_version(n) {
        return false;
    }
    pin.store(n, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    // Acquire: all parts of the version were stored before it became live.
    if state.load(Ordering::Acquire) == live(n) {
        return true;
    }
    unpin(pin);
    false
}

/// Reserves version `n` by the pin word `pin`, which must name no version. Once the version is
/// published, the producer finds the pin when it wants the slot back, so the version stays until
/// [`unpin`]. [`confirm`] tells whether it is there.
pub fn reserve<W: Word>(pin: &W, n: u64) {
    pin.store(n, Ordering::SeqCst);
    fence(Ordering::SeqCst);
}

/// Returns true if the slot with `state` holds version `n`, which this observer has reserved. Then
/// the version is pinned.
pub fn confirm<W: Word>(state: &W, n: u64) -> bool {
    fence(Ordering::SeqCst);
    // Acquire: all parts of the version were stored before it became live.
    state.load(Ordering::Acquire) == live(n)
}

/// Clears a pin. The store is a release, so all reads of the version come before it.
pub fn unpin<W: Word>(pin: &W) {
    pin.store(NO_PIN, Ordering::Release);
}

/// Precedes the stores that write a new version into a slot. It pairs with the fence in
/// [`is_still_live`]. (The thread that has reclaimed the old version may be another one, so its own
/// fence is not enough.)
pub fn begin_writing() {
    fence(Ordering::Release);
}

/// Returns true if the slot with `state` still holds version `n`, which it held before the caller
/// began to read. Then all that the caller has read belongs to the version, although nothing pinned
/// it. Otherwise the caller must forget what it has read.
pub fn is_still_live<W: Word>(state: &W, n: u64) -> bool {
    // If a load before saw a store of a newer version, the load below sees that the slot was
    // retired: see `begin_writing`.
    fence(Ordering::Acquire);
    state.load(Ordering::Relaxed) == live(n)
}

/// Tries to take version `n` out of its slot. Returns true if the slot is free now, and no observer
/// can reach the version any more.
///
/// `pinned` returns true if any lease names the version. It must load every pin word with
/// [`is_pinned`], and must load the set of leases in each call, not before.
pub fn reclaim<W: Word>(state: &W, n: u64, pinned: impl Fn() -> bool) -> bool {
    let pinned = || !off(Guard::PinCheck) && pinned();
    // Checked before the store, so that a pinned version is not even marked retired for a moment.
    if pinned() {
        return false;
    }
    state.store(retired(n), Ordering::SeqCst);
    fence(Ordering::SeqCst);
    if pinned() {
        state.store(live(n), Ordering::Release);
        return false;
    }
    state.store(FREE, Ordering::Release);
    true
}

/// Returns true if one of `pins` names `n`. The load is an acquire that pairs with the release in
/// [`unpin`], so that the reads of an observer come before the writes that reuse its pages.
pub fn is_pinned<W: Word>(pins: &[W], n: u64) -> bool {
    pins.iter().any(|p| p.load(Ordering::Acquire) == n)
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;

    struct Shared {
        latest: AtomicU64,
        states: [AtomicU64; 2],
        pins: Vec<[AtomicU64; 1]>,
        /// The contents of the slots. Loom reports any access that races with a write.
        data: [UnsafeCell<u64>; 2],
    }

    fn shared(observers: usize) -> Arc<Shared> {
        Arc::new(Shared {
            latest: AtomicU64::new(0),
            states: [AtomicU64::new(FREE), AtomicU64::new(FREE)],
            pins: (0..observers).map(|_| [AtomicU64::new(NO_PIN)]).collect(),
            data: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    /// Publishes versions `1..=last` in two slots and reclaims old versions. A version whose slot
    /// is pinned is skipped. The negative control does not check the pins (`check` is false).
    fn produce(s: &Shared, last: u64, check: bool) {
        for n in 1..=last {
            let slot = n as usize % 2;
            let old = s.states[slot].load(Ordering::Relaxed);
            if let Some(held) = live_version(old) {
                let pinned = || check && s.pins.iter().any(|p| is_pinned(p, held));
                if held == s.latest.load(Ordering::Relaxed)
                    || !reclaim(&s.states[slot], held, pinned)
                {
                    continue;
                }
            }
            // SAFETY: loom checks that nothing reads the cell at the same time.
            s.data[slot].with_mut(|d| unsafe { *d = n });
            publish(&s.states[slot], &s.latest, n);
        }
    }

    fn observe(s: &Shared, me: usize) {
        let n = s.latest.load(Ordering::Acquire);
        let slot = n as usize % 2;
        if n != 0 && pin(&s.states[slot], &s.pins[me][0], n) {
            // SAFETY: loom checks that nothing writes the cell at the same time.
            s.data[slot].with(|d| assert_eq!(unsafe { *d }, n));
            unpin(&s.pins[me][0]);
        }
    }

    fn run(observers: usize, versions: u64, check: bool) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let s = shared(observers);
            let threads: Vec<_> = (0..observers)
                .map(|me| {
                    let s = s.clone();
                    thread::spawn(move || observe(&s, me))
                })
                .collect();
            produce(&s, versions, check);
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
    }

    #[test]
    fn loom_a_pinned_version_is_never_overwritten() {
        run(1, 4, true);
    }

    #[test]
    fn loom_two_observers_never_see_a_version_change() {
        run(2, 3, true);
    }

    #[test]
    #[should_panic]
    fn loom_without_the_pin_check_a_version_is_torn() {
        run(1, 4, false);
    }

    /// Takes version 1, which is reserved before it is published. The negative control does not
    /// check the pins (`check` is false).
    fn take_reserved(check: bool) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let s = shared(1);
            reserve(&s.pins[0][0], 1);
            let observer = {
                let s = s.clone();
                thread::spawn(move || {
                    if s.latest.load(Ordering::Acquire) == 0 {
                        return;
                    }
                    assert!(confirm(&s.states[1], 1), "it is gone");
                    // SAFETY: loom checks that nothing writes the cell at the same time.
                    s.data[1].with(|d| assert_eq!(unsafe { *d }, 1));
                    unpin(&s.pins[0][0]);
                })
            };
            produce(&s, 4, check);
            observer.join().unwrap();
        });
    }

    #[test]
    fn loom_a_reserved_version_stays_until_it_is_taken() {
        take_reserved(true);
    }

    #[test]
    #[should_panic]
    fn loom_without_the_pin_check_a_reserved_version_is_gone() {
        take_reserved(false);
    }

    /// Reads version 1, which nobody pins, while its slot gets version 2. The negative control does
    /// not check the state again (`check` is false).
    fn read_unpinned(check: bool) {
        loom::model(move || {
            let slot = Arc::new((AtomicU64::new(live(1)), AtomicU64::new(1)));
            let reader = {
                let slot = slot.clone();
                thread::spawn(move || {
                    let (state, data) = (&slot.0, &slot.1);
                    if state.load(Ordering::Acquire) == live(1) {
                        let read = data.load(Ordering::Relaxed);
                        assert!(read == 1 || check && !is_still_live(state, 1));
                    }
                })
            };
            assert!(reclaim(&slot.0, 1, || false));
            begin_writing();
            slot.1.store(2, Ordering::Relaxed);
            slot.0.store(live(2), Ordering::Release);
            reader.join().unwrap();
        });
    }

    #[test]
    fn loom_what_was_read_of_an_unpinned_version_that_is_still_live_is_its_own() {
        read_unpinned(true);
    }

    #[test]
    #[should_panic]
    fn loom_without_the_second_look_an_unpinned_version_is_torn() {
        read_unpinned(false);
    }
}
