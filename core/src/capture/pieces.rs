//! The progress of a sweep: which pieces are saved. A piece is claimed by compare-and-swap, so each
//! is copied once.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU8, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU8, AtomicUsize};

const PROTECTED: u8 = 0;
const COPYING: u8 = 1;
const SAVED: u8 = 2;

/// The state of each piece (Protected, then Copying, then Saved), and how many are left.
#[derive(Debug)]
pub struct Pieces {
    states: Vec<AtomicU8>,
    next: AtomicUsize,
    left: AtomicUsize,
}

impl Pieces {
    /// Creates the state for `pieces` protected pieces, at least one.
    pub fn new(pieces: usize) -> Self {
        Pieces {
            states: (0..pieces).map(|_| AtomicU8::new(PROTECTED)).collect(),
            next: AtomicUsize::new(0),
            left: AtomicUsize::new(pieces),
        }
    }

    /// Claims the next piece that is not claimed yet, if there is one.
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

    /// Claims a piece. Returns true to exactly one caller. That caller must copy and release the
    /// piece, and then call [`Pieces::saved`].
    pub fn claim(&self, piece: usize) -> bool {
        self.states[piece]
            .compare_exchange(PROTECTED, COPYING, Acquire, Relaxed)
            .is_ok()
    }

    /// Records that the caller has copied and released the piece that it had claimed. Returns true
    /// to the caller that ends the sweep. All that other threads did before their call happens
    /// before that return.
    pub fn saved(&self, piece: usize) -> bool {
        self.states[piece].store(SAVED, Release);
        self.left.fetch_sub(1, AcqRel) == 1
    }

    /// Returns how many pieces are not saved yet.
    pub fn left(&self) -> usize {
        self.left.load(Acquire)
    }

    /// Returns true if all pieces are saved.
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

    /// A model of memory with a gate. A store to a piece waits while the piece is protected, as in
    /// the kernel.
    struct Memory {
        pieces: Pieces,
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
        // SAFETY: loom checks that nobody writes the source and nobody reads the target meanwhile.
        m.live[piece].with(|from| m.saved[piece].with_mut(|to| unsafe { *to = *from }));
        if careful {
            m.protected[piece].store(false, Release);
        }
        m.pieces.saved(piece)
    }

    /// Reads all that was saved, as the thread does that makes the version visible.
    fn end(m: &Memory) {
        for saved in &m.saved {
            // SAFETY: loom checks that nobody writes it any more.
            saved.with(|v| assert_eq!(unsafe { *v }, OLD));
        }
    }

    fn copier(m: &Memory, careful: bool) {
        while let Some(piece) = m.pieces.claim_next() {
            if save(m, piece, careful) {
                end(m);
            }
        }
    }

    /// Stores to `piece`. Faults as long as it is protected, and each fault makes the fault thread
    /// save it.
    fn store(m: &Memory, piece: usize, careful: bool) {
        while m.protected[piece].load(Acquire) {
            if m.pieces.claim(piece) {
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
                pieces: Pieces::new(PIECES),
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
            assert!(m.pieces.ended());
        });
    }

    #[test]
    fn loom_saved_pieces_contain_no_store_and_the_last_saver_sees_all() {
        run(true);
    }

    #[test]
    #[should_panic]
    fn loom_a_piece_released_before_it_is_copied_is_torn() {
        run(false);
    }
}
