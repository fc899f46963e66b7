//! The virtual regions of the ranks of a node.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use tcasm_agent::regions::Span;
use tcasm_agent::{Agreed, Look, Regions, Roster, RunId};

/// The settings of the regions.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// The number of the newest versions that stay without a pin.
    pub history: usize,
    /// The most versions at once.
    pub versions: usize,
}

/// A version of a rank.
#[derive(Clone, Copy, Debug)]
struct Slot {
    of: Agreed,
    pins: u32,
}

/// A rank with its region.
#[derive(Clone, Debug)]
struct Rank {
    run: RunId,
    newest: Option<u64>,
    /// Versions from the oldest to the newest. Pinned ones of runs before are among them.
    slots: Vec<Slot>,
}

/// The ranks of a node.
pub struct Node {
    first: u32,
    all: u32,
    store: Store,
    ranks: Vec<Rank>,
    /// The number of ranks that have each version.
    have: Vec<(Agreed, usize)>,
    /// How often a rank had no slot for a new version.
    refused: u64,
}

impl Node {
    /// Returns a node with `ranks`, of `all` ranks in the job.
    pub fn new(ranks: std::ops::Range<u32>, all: u32, store: Store, run: RunId) -> Node {
        let rank = Rank {
            run,
            newest: None,
            slots: Vec::new(),
        };
        Node {
            first: ranks.start,
            all,
            store,
            ranks: vec![rank; ranks.len()],
            have: Vec::new(),
            refused: 0,
        }
    }

    /// Returns the number of the first rank.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Returns the number of ranks on this node.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Returns true if the node has no ranks.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Returns how often a rank had no slot for a new version.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the newest step of a rank, and its run.
    pub fn newest(&self, local: usize) -> (RunId, Option<u64>) {
        (self.ranks[local].run, self.ranks[local].newest)
    }

    /// Publishes a step of a rank, or skips its version. Old versions that are not pinned go.
    pub fn publish(&mut self, local: usize, step: u64, skip: bool) {
        let store = self.store;
        let rank = &mut self.ranks[local];
        rank.newest = Some(step);
        if skip {
            return;
        }
        let of = Agreed {
            run: rank.run,
            step,
        };
        let mut own = own_slots(rank);
        while own >= store.history && reclaim(rank, own - store.history, &mut self.have) {
            own = own_slots(rank);
        }
        if own >= store.versions && !reclaim(rank, own, &mut self.have) {
            self.refused += 1;
            return;
        }
        rank.slots.push(Slot { of, pins: 0 });
        count(&mut self.have, of);
    }

    /// Starts a rank again, in another run. What is pinned of its old region stays.
    pub fn restart(&mut self, local: usize, run: RunId) {
        let rank = &mut self.ranks[local];
        rank.run = run;
        rank.newest = None;
        let gone = rank.slots.extract_if(.., |slot| slot.pins == 0);
        gone.for_each(|slot| discount(&mut self.have, slot.of));
    }

    /// Returns true if all ranks have this version, and it is pinned.
    pub fn pinned(&self, of: Agreed) -> bool {
        let pinned = |slot: &Slot| slot.of == of && slot.pins > 0;
        self.ranks.iter().all(|rank| rank.slots.iter().any(pinned))
    }

    /// Returns true if a rank has a pinned version of this step in another run.
    pub fn pinned_in_other_run(&self, of: Agreed) -> bool {
        let other = |slot: &Slot| slot.of.step == of.step && slot.of.run != of.run && slot.pins > 0;
        self.ranks.iter().any(|rank| rank.slots.iter().any(other))
    }

    /// Returns the most versions that a rank has pinned.
    pub fn most_pinned(&self) -> usize {
        let pinned = |rank: &Rank| rank.slots.iter().filter(|slot| slot.pins > 0).count();
        self.ranks.iter().map(pinned).max().unwrap_or(0)
    }

    fn look(&self) -> Look {
        let first = self.ranks[0].run;
        let ready = |rank: &Rank| rank.run == first && rank.newest.is_some();
        if !self.ranks.iter().all(ready) {
            return Look::nothing();
        }
        let common = |(of, n): &&(Agreed, usize)| of.run == first && *n == self.ranks.len();
        let local = (self.first..).take(self.ranks.len());
        let mut steps: Vec<u64> = self
            .have
            .iter()
            .filter(common)
            .map(|(of, _)| of.step)
            .collect();
        steps.sort_unstable();
        Look {
            roster: Some(Roster::new(first, self.all, local)),
            newest: self
                .ranks
                .iter()
                .filter_map(|rank| rank.newest)
                .collect::<Span>(),
            steps,
            versions: self.store.versions,
        }
    }

    fn pin(&mut self, of: Agreed) {
        let slots = self.ranks.iter_mut().flat_map(|rank| &mut rank.slots);
        slots
            .filter(|slot| slot.of == of)
            .for_each(|slot| slot.pins += 1);
    }

    /// Unpins a version. If it is of an old region, the region goes with its last pin.
    fn unpin(&mut self, of: Agreed) {
        for rank in &mut self.ranks {
            let Some(at) = rank.slots.iter().position(|slot| slot.of == of) else {
                continue;
            };
            rank.slots[at].pins -= 1;
            if rank.slots[at].pins == 0 && of.run != rank.run {
                rank.slots.remove(at);
                discount(&mut self.have, of);
            }
        }
    }
}

/// Returns the number of versions in the present region of a rank.
fn own_slots(rank: &Rank) -> usize {
    let run = rank.run;
    rank.slots.iter().filter(|slot| slot.of.run == run).count()
}

/// Removes the oldest version of the present region that is not pinned, if it is among the oldest
/// `within` plus one. Returns false if there is none.
fn reclaim(rank: &mut Rank, within: usize, have: &mut Vec<(Agreed, usize)>) -> bool {
    let run = rank.run;
    let slots = rank.slots.iter().enumerate();
    let mut own = slots
        .filter(|(_, slot)| slot.of.run == run)
        .take(within + 1);
    let Some((at, _)) = own.find(|(_, slot)| slot.pins == 0) else {
        return false;
    };
    discount(have, rank.slots.remove(at).of);
    true
}

fn count(have: &mut Vec<(Agreed, usize)>, of: Agreed) {
    match have.iter_mut().rfind(|(other, _)| *other == of) {
        Some((_, n)) => *n += 1,
        None => have.push((of, 1)),
    }
}

fn discount(have: &mut Vec<(Agreed, usize)>, of: Agreed) {
    if let Some(at) = have.iter().position(|(other, _)| *other == of) {
        have[at].1 -= 1;
        if have[at].1 == 0 {
            have.remove(at);
        }
    }
}

/// The regions of a node as its agent sees them.
#[derive(Clone)]
pub struct VirtualRegions(pub Rc<RefCell<Node>>);

/// The pinned versions of one step of all ranks of a node.
pub struct Pinned {
    node: Rc<RefCell<Node>>,
    of: Agreed,
}

impl Regions for VirtualRegions {
    type Pin = Pinned;
    type Error = Infallible;

    fn look(&mut self) -> Result<Look, Infallible> {
        Ok(self.0.borrow().look())
    }

    fn pin(&mut self, step: u64) -> Result<Option<Pinned>, Infallible> {
        let mut node = self.0.borrow_mut();
        let run = node.ranks[0].run;
        let of = Agreed { run, step };
        if !node.look().steps.contains(&step) {
            return Ok(None);
        }
        node.pin(of);
        let node = Rc::clone(&self.0);
        Ok(Some(Pinned { node, of }))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.node.borrow_mut().unpin(self.of);
    }
}
