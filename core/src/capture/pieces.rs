//! The progress of a sweep: which pieces are saved. A piece is claimed by compare-and-swap, so each
//! is copied once. Pieces stand in a queue for each node of memory.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU8, AtomicUsize};
use std::ops::Range;
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
    /// The pieces, sorted by their nodes. Empty if there is one queue, which has all pieces.
    order: Vec<usize>,
    /// A queue for each node.
    queues: Vec<Queue>,
    left: AtomicUsize,
}

/// A part of the order, and how many of its pieces were given out.
#[derive(Debug)]
struct Queue {
    part: Range<usize>,
    next: AtomicUsize,
}

impl Queue {
    fn new(part: Range<usize>) -> Self {
        let next = AtomicUsize::new(0);
        Queue { part, next }
    }
}

impl Pieces {
    /// Creates the state for `pieces` protected pieces, at least one.
    pub fn new(pieces: usize) -> Self {
        Pieces::in_queues(pieces, Vec::new(), vec![Queue::new(0..pieces)])
    }

    /// Creates the state for protected pieces on these nodes, at least one.
    pub fn by_node(nodes: &[u8]) -> Self {
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|piece| nodes[*piece]);
        let last = nodes.iter().max().map_or(0, |node| usize::from(*node));
        let up_to = |node: usize| order.partition_point(|piece| usize::from(nodes[*piece]) < node);
        let queues = (0..=last).map(|node| Queue::new(up_to(node)..up_to(node + 1)));
        let queues = queues.collect();
        Pieces::in_queues(nodes.len(), order, queues)
    }

    fn in_queues(pieces: usize, order: Vec<usize>, queues: Vec<Queue>) -> Self {
        Pieces {
            states: (0..pieces).map(|_| AtomicU8::new(PROTECTED)).collect(),
            order,
            queues,
            left: AtomicUsize::new(pieces),
        }
    }

    /// Claims the next piece that is not claimed yet, if there is one, and returns it with its
    /// node. Pieces on node `home` come first, then those on the nodes after it.
    pub fn claim_near(&self, home: usize) -> Option<(usize, usize)> {
        let count = self.queues.len();
        let mut nodes = (0..count).map(|i| (home + i) % count);
        nodes.find_map(|node| Some((node, self.claim_in(&self.queues[node])?)))
    }

    fn claim_in(&self, queue: &Queue) -> Option<usize> {
        loop {
            let at = queue.part.start + queue.next.fetch_add(1, Relaxed);
            if at >= queue.part.end {
                return None;
            }
            let piece = self.order.get(at).copied().unwrap_or(at);
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const NODES: [u8; 9] = [0, 0, 1, 1, 1, 0, 3, 1, 3];

    /// Lets copiers whose homes are these nodes claim pieces in turn, as long as there are any.
    /// Returns the pieces that each has claimed, with their nodes.
    fn claimed(pieces: &Pieces, homes: &[usize]) -> Vec<Vec<(usize, usize)>> {
        let mut all = vec![Vec::new(); homes.len()];
        loop {
            let mut more = false;
            for (copier, home) in homes.iter().enumerate() {
                let claim = pieces.claim_near(*home);
                more |= claim.is_some();
                all[copier].extend(claim);
            }
            if !more {
                return all;
            }
        }
    }

    #[test]
    fn each_copier_takes_the_pieces_of_its_node_first_and_then_those_that_are_left() {
        let found = claimed(&Pieces::by_node(&NODES), &[0, 1]);
        assert_eq!(found[0], [(0, 0), (0, 1), (0, 5), (1, 7), (3, 8)]);
        assert_eq!(found[1], [(1, 2), (1, 3), (1, 4), (3, 6)]);
    }

    #[test]
    fn every_piece_is_claimed_once_with_its_own_node_wherever_copiers_begin() {
        for homes in [&[0][..], &[3, 2], &[2, 2, 7], &[1, 0, 3, 2]] {
            let found = claimed(&Pieces::by_node(&NODES), homes);
            let mut all: Vec<_> = found.into_iter().flatten().collect();
            all.sort_by_key(|(_, piece)| *piece);
            let wanted = NODES
                .iter()
                .enumerate()
                .map(|(i, node)| (usize::from(*node), i));
            assert!(all.into_iter().eq(wanted), "{homes:?}");
        }
    }

    #[test]
    fn pieces_on_one_node_are_claimed_in_order_but_for_those_that_were_claimed_early() {
        for pieces in [Pieces::new(5), Pieces::by_node(&[0; 5])] {
            assert!(pieces.claim(2));
            let found = claimed(&pieces, &[0, 1]);
            assert_eq!(found, [[(0, 0), (0, 3)], [(0, 1), (0, 4)]]);
        }
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
        while let Some((_, piece)) = m.pieces.claim_near(0) {
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
