//! The pin, publish and reclaim protocol: three short functions on atomic words.
//!
//! Each ring slot has a *state* word: free, or the number of the version that it holds, live or retired. Each observer
//! has *pin* words in its lease. The producer alone writes states, an observer alone writes its pins.
//!
//! An observer that wants version `n` stores `n` in a pin word and then looks at the slot's state. The producer that
//! wants the slot back marks it retired and then looks at the pin words. Between its store and its load each has a
//! sequentially consistent fence, so the two cannot both miss the other's store: either the observer sees "retired"
//! and lets go, or the producer sees the pin and puts the version back (I3). Neither waits for the other.
//!
//! The functions are generic over the atomic word, so that loom runs these lines and no copy of them.

use crate::sabotage::{Guard, off};
use std::sync::atomic::Ordering;

/// An atomic u64: the standard one, or loom's.
pub trait Word {
    /// Atomic load.
    fn load(&self, order: Ordering) -> u64;
    /// Atomic store.
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

/// The state of a free slot, and of one that is being written.
pub const FREE: u64 = 0;
/// A pin word that names no version.
pub const NO_PIN: u64 = 0;

/// The state of a slot that holds version `n`, for all to see.
pub const fn live(n: u64) -> u64 {
    n << 1
}

/// The state of a slot whose version `n` the producer is about to reclaim.
pub const fn retired(n: u64) -> u64 {
    n << 1 | 1
}

/// Whether `n` can be the number of a version: the states of others would be those of something else.
pub const fn is_version(n: u64) -> bool {
    n != NO_PIN && n <= u64::MAX >> 1
}

/// The version that a state names, if it is live.
pub const fn live_version(state: u64) -> Option<u64> {
    if state != FREE && state & 1 == 0 {
        Some(state >> 1)
    } else {
        None
    }
}

/// Make version `n`, whole in its slot, visible (I2): every store before this call is seen by whoever sees the state
/// or `latest`.
pub fn publish<W: Word>(state: &W, latest: &W, n: u64) {
    state.store(live(n), Ordering::Release);
    latest.store(n, Ordering::Release);
}

/// Claim version `n` in the slot with `state` by `pin`, which must name no version. True: until `unpin`, nothing of
/// the version is reused. False: the version is gone or on its way out, and `pin` is empty again.
pub fn pin<W: Word>(state: &W, pin: &W, n: u64) -> bool {
    if !is_version(n) {
        return false;
    }
    pin.store(n, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    // Acquire: what the version consists of was stored before it became live.
    if state.load(Ordering::Acquire) == live(n) {
        return true;
    }
    unpin(pin);
    false
}

/// Let go of a version. Release: all reads of the version come before.
pub fn unpin<W: Word>(pin: &W) {
    pin.store(NO_PIN, Ordering::Release);
}

/// Try to take version `n` out of its slot. `pinned` says whether any lease names it, loading every pin word with
/// [`is_pinned`]; it must look up the set of leases only when it is called. True: the slot is free, and no
/// observer can reach the version any more.
pub fn reclaim<W: Word>(state: &W, n: u64, pinned: impl Fn() -> bool) -> bool {
    let pinned = || !off(Guard::PinCheck) && pinned();
    // Looked at first, so that a version which is held need not seem to go even for a moment.
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

/// Whether one of `pins` names `n`. Acquire: pairs with the release in [`unpin`], so that the reader's reads come
/// before the writes that reuse its pages.
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
        /// What the slots hold: loom reports any access that races with a write.
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

    /// Publish versions 1..=last over two slots, reclaiming as it goes; a pinned slot means a skip. The control does not look
    /// at the pins.
    fn produce(s: &Shared, last: u64, look: bool) {
        for n in 1..=last {
            let slot = n as usize % 2;
            let old = s.states[slot].load(Ordering::Relaxed);
            if let Some(held) = live_version(old) {
                let pinned = || look && s.pins.iter().any(|p| is_pinned(p, held));
                if held == s.latest.load(Ordering::Relaxed)
                    || !reclaim(&s.states[slot], held, pinned)
                {
                    continue;
                }
            }
            // SAFETY: loom checks that no reader is in the cell.
            s.data[slot].with_mut(|d| unsafe { *d = n });
            publish(&s.states[slot], &s.latest, n);
        }
    }

    fn observe(s: &Shared, me: usize) {
        let n = s.latest.load(Ordering::Acquire);
        let slot = n as usize % 2;
        if n != 0 && pin(&s.states[slot], &s.pins[me][0], n) {
            // SAFETY: loom checks that no writer is in the cell.
            s.data[slot].with(|d| assert_eq!(unsafe { *d }, n));
            unpin(&s.pins[me][0]);
        }
    }

    fn run(observers: usize, versions: u64, look: bool) {
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
            produce(&s, versions, look);
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
}
