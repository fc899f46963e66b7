//! Which pieces of a sweep are saved: claimed by compare-and-swap, so that each is copied once.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU8, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU8, AtomicUsize};

const PROTECTED: u8 = 0;
const COPYING: u8 = 1;
const SAVED: u8 = 2;

/// The states of the pieces, Protected -> Copying -> Saved, and how many are left.
#[derive(Debug)]
pub struct Progress {
    states: Vec<AtomicU8>,
    next: AtomicUsize,
    left: AtomicUsize,
}

impl Progress {
    /// `pieces` protected pieces, at least one.
    pub fn new(pieces: usize) -> Self {
        Progress {
            states: (0..pieces).map(|_| AtomicU8::new(PROTECTED)).collect(),
            next: AtomicUsize::new(0),
            left: AtomicUsize::new(pieces),
        }
    }

    /// Claim the next piece that nobody has claimed, if there is one.
    pub fn claim_next(&self) -> Option<usize> {
        loop {
            let piece = self.next.fetch_add(1, Relaxed);
            if piece >= self.states.len() {
                return None;
            }
            if self.claim(piece) {
                return Some(piece);
            }
        }
    }

    /// Claim a piece: true for exactly one caller, who must copy and release it, and then call `saved`.
    pub fn claim(&self, piece: usize) -> bool {
        self.states[piece]
            .compare_exchange(PROTECTED, COPYING, Acquire, Relaxed)
            .is_ok()
    }

    /// The caller has copied and released the piece that it had claimed. True for whoever ends the sweep: everything that the
    /// others did before their `saved` happened before.
    pub fn saved(&self, piece: usize) -> bool {
        self.states[piece].store(SAVED, Release);
        self.left.fetch_sub(1, AcqRel) == 1
    }

    /// Returns how many pieces are not saved yet.
    pub fn left(&self) -> usize {
        self.left.load(Acquire)
    }

    /// Whether all pieces are saved.
    pub fn ended(&self) -> bool {
        self.left.load(Acquire) == 0
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;
    use loom::thread;

    /// Memory with a gate at each piece, as the kernel has it: a store waits while its piece is protected.
    struct Memory {
        progress: Progress,
        live: Vec<UnsafeCell<u64>>,
        saved: Vec<UnsafeCell<u64>>,
        protected: Vec<AtomicBool>,
    }

    const PIECES: usize = 2;
    const OLD: u64 = 7;

    fn save(m: &Memory, piece: usize, careful: bool) -> bool {
        if !careful {
            m.protected[piece].store(false, Release);
        }
        // SAFETY: loom checks that nobody writes the one or reads the other meanwhile.
        m.live[piece].with(|from| m.saved[piece].with_mut(|to| unsafe { *to = *from }));
        if careful {
            m.protected[piece].store(false, Release);
        }
        m.progress.saved(piece)
    }

    /// Look at all that was saved, as whoever makes the version visible does.
    fn end(m: &Memory) {
        for saved in &m.saved {
            // SAFETY: loom checks that nobody writes it any more.
            saved.with(|v| assert_eq!(unsafe { *v }, OLD));
        }
    }

    fn copier(m: &Memory, careful: bool) {
        while let Some(piece) = m.progress.claim_next() {
            if save(m, piece, careful) {
                end(m);
            }
        }
    }

    /// A store to `piece`: faults as long as it is protected, which makes the fault thread save it.
    fn store(m: &Memory, piece: usize, careful: bool) {
        while m.protected[piece].load(Acquire) {
            if m.progress.claim(piece) {
                if save(m, piece, careful) {
                    end(m);
                }
            } else {
                thread::yield_now();
            }
        }
        // SAFETY: loom checks that nobody reads it meanwhile.
        m.live[piece].with_mut(|v| unsafe { *v += 1 });
    }

    fn run(careful: bool) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let m = Arc::new(Memory {
                progress: Progress::new(PIECES),
                live: (0..PIECES).map(|_| UnsafeCell::new(OLD)).collect(),
                saved: (0..PIECES).map(|_| UnsafeCell::new(0)).collect(),
                protected: (0..PIECES).map(|_| AtomicBool::new(true)).collect(),
            });
            let threads = [
                thread::spawn({
                    let m = m.clone();
                    move || copier(&m, careful)
                }),
                thread::spawn({
                    let m = m.clone();
                    move || store(&m, 1, careful)
                }),
            ];
            store(&m, 0, careful);
            threads.into_iter().for_each(|t| t.join().unwrap());
            assert!(m.progress.ended());
        });
    }

    #[test]
    fn loom_no_store_is_in_what_was_saved_and_the_last_saver_sees_it_all() {
        run(true);
    }

    #[test]
    #[should_panic]
    fn loom_a_piece_released_before_it_is_copied_is_torn() {
        run(false);
    }
}
