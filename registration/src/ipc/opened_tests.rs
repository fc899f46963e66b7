//! Sequences of requests beside a list of what must be opened, with a driver that only counts.

use crate::ipc::counting::{Counting, Handle};
use crate::ipc::error::IpcError;
use crate::ipc::exported::{Exported, HANDLE, Identity};
use crate::ipc::opened::{Mapped, Opened};
use crate::ipc::peer::Peer;
use crate::limits::Limits;
use crate::state::Entry;
use proptest::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
enum Step {
    Allocate(usize, usize, usize),
    Free(usize),
    /// Opens what there is, or what was freed.
    Open(usize),
    /// Opens what there is as if it were longer, as only a peer does that lies.
    OpenLonger(usize),
    Release(usize),
    Forget(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0usize..2, 0usize..12, 1usize..5).prop_map(|(p, at, n)| Step::Allocate(p, at, n)),
        2 => any::<usize>().prop_map(Step::Free),
        8 => any::<usize>().prop_map(Step::Open),
        1 => any::<usize>().prop_map(Step::OpenLonger),
        6 => any::<usize>().prop_map(Step::Release),
        1 => (0usize..2).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..80)
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        Just(Limits::in_use()),
        Just(Limits::in_use_at_most(2, 600)),
        Just(Limits::keep()),
        Just(Limits::keep_at_most(3, 600)),
    ]
}

/// An allocation of the model that is opened.
#[derive(Clone, Debug)]
struct Item {
    number: u64,
    peer: usize,
    identity: Identity,
    range: Range<usize>,
    users: usize,
    /// When it was released for the last time.
    since: usize,
    current: bool,
}

/// The cache, and a list that says naively what must be in it.
struct World {
    opened: Arc<Opened<Counting>>,
    limits: Limits,
    /// All allocations so far.
    exports: Vec<(usize, Exported, bool)>,
    items: Vec<Item>,
    held: Vec<(u64, usize, Arc<Entry<Mapped>>)>,
    time: usize,
    hits: u64,
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl World {
    fn new(limits: Limits, driver: Counting) -> Self {
        World {
            opened: Arc::new(Opened::new(driver, limits)),
            limits,
            exports: Vec::new(),
            items: Vec::new(),
            held: Vec::new(),
            time: 0,
            hits: 0,
        }
    }

    fn step(&mut self, step: &Step) {
        self.time += 1;
        match *step {
            Step::Allocate(peer, at, count) => self.allocate(peer, at, count),
            Step::Free(n) => self.free(n),
            Step::Open(n) if !self.exports.is_empty() => {
                let (peer, exported, _) = self.exports[n % self.exports.len()].clone();
                self.open(peer, &exported);
            }
            Step::OpenLonger(n) if !self.exports.is_empty() => {
                let (peer, exported, _) = self.exports[n % self.exports.len()].clone();
                let own = exported.allocation().clone();
                let longer = own.start..own.end + 50;
                self.open(peer, &Exported::new(*exported.identity(), longer, own));
            }
            Step::Release(n) if !self.held.is_empty() => self.release(n % self.held.len()),
            Step::Forget(peer) => {
                self.opened.forget(Peer(peer as u64));
                self.drop_stale(peer, &(0..usize::MAX));
            }
            _ => {}
        }
        self.check();
    }

    /// Allocates at this address, unless something is there.
    fn allocate(&mut self, peer: usize, at: usize, count: usize) {
        let range = (10 + at) * 100..(10 + at + count) * 100;
        let taken = |(p, e, live): &(usize, Exported, bool)| {
            *live && *p == peer && overlap(e.allocation(), &range)
        };
        if self.exports.iter().any(taken) {
            return;
        }
        let number = self.exports.len() as u64;
        let mut handle = [0; HANDLE];
        handle[..8].copy_from_slice(&number.to_le_bytes());
        let identity = Identity {
            process: [peer as u8; 16],
            handle,
            buffer: number,
        };
        let exported = Exported::new(identity, range.clone(), range);
        self.exports.push((peer, exported, true));
    }

    fn free(&mut self, n: usize) {
        let count = self.exports.len().max(1);
        if let Some((_, exported, live)) = self.exports.get_mut(n % count) {
            *live = false;
            let mut facts = self.opened.opener().facts.lock().unwrap();
            facts.freed.insert(*exported.handle());
        }
    }

    fn open(&mut self, peer: usize, exported: &Exported) {
        let expected = self.expect(peer, exported);
        match (self.opened.open(Peer(peer as u64), exported), expected) {
            (Ok(entry), Ok(number)) => {
                let facts = self.opened.opener().facts.lock().unwrap();
                let open = facts.open.get(&entry.handle.address);
                assert_eq!(open, Some(exported.handle()), "another allocation");
                drop(facts);
                self.held.push((number, peer, entry));
            }
            (Err(IpcError::Full { .. }), Err("full"))
            | (Err(IpcError::InUse { .. }), Err("in use"))
            | (Err(IpcError::Driver { .. }), Err("freed")) => {}
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    /// Does to the list what a request must do.
    fn expect(&mut self, peer: usize, exported: &Exported) -> Result<u64, &'static str> {
        let range = exported.allocation().clone();
        let hit = self.items.iter_mut().find(|item| {
            let own = &item.range;
            let covers = own.start <= range.start && range.end <= own.end;
            item.current && item.peer == peer && covers && item.identity == *exported.identity()
        });
        if let Some(item) = hit {
            item.users += 1;
            self.hits += 1;
            return Ok(item.number);
        }
        self.drop_stale(peer, &range);
        if !self.limits.allow(1, range.len()) {
            return Err("full");
        }
        while !self.has_room(peer, range.len()) {
            self.drop_oldest(peer).ok_or("full")?;
        }
        while self.is_occupied(exported) {
            self.drop_oldest(peer).ok_or("in use")?;
        }
        if self.opened.opener().has_freed(exported.handle()) {
            return Err("freed");
        }
        self.items.push(Item {
            number: self.time as u64,
            peer,
            identity: *exported.identity(),
            range,
            users: 1,
            since: 0,
            current: true,
        });
        Ok(self.time as u64)
    }

    fn has_room(&self, peer: usize, len: usize) -> bool {
        let own = || self.items.iter().filter(|item| item.peer == peer);
        let bytes: usize = own().map(|item| item.range.len()).sum();
        self.limits.allow(own().count() + 1, bytes + len)
    }

    /// Returns true if the driver would say so.
    fn is_occupied(&self, exported: &Exported) -> bool {
        let driver = self.opened.opener();
        if driver.has_freed(exported.handle()) {
            return false;
        }
        let same = |item: &Item| item.identity.handle == *exported.handle();
        driver.old && self.items.iter().any(same)
            || driver.most > 0 && self.items.len() >= driver.most
    }

    fn drop_stale(&mut self, peer: usize, range: &Range<usize>) {
        for item in &mut self.items {
            item.current &= item.peer != peer || !overlap(&item.range, range);
        }
        self.items.retain(|item| item.current || item.users > 0);
    }

    fn drop_oldest(&mut self, peer: usize) -> Option<()> {
        let own = self.items.iter().filter(|item| item.peer == peer);
        let unused = own.filter(|item| item.users == 0 && item.current);
        let oldest = unused.min_by_key(|item| item.since)?.number;
        self.items.retain(|item| item.number != oldest);
        Some(())
    }

    fn release(&mut self, n: usize) {
        let (number, peer, entry) = self.held.swap_remove(n);
        self.opened.release(Peer(peer as u64), &entry);
        let item = self.items.iter_mut().find(|item| item.number == number);
        let item = item.expect("what is in use is opened");
        (item.users, item.since) = (item.users - 1, self.time);
        let keep = self.limits.leave_pinned;
        self.items
            .retain(|item| item.users > 0 || keep && item.current);
    }

    fn check(&self) {
        let facts = self.opened.opener().facts.lock().unwrap();
        let sorted = |handles: Vec<Handle>| {
            let mut handles = handles;
            handles.sort_unstable();
            handles
        };
        let wanted = self.items.iter().map(|item| item.identity.handle).collect();
        let open = facts.open.values().copied().collect();
        assert_eq!(sorted(open), sorted(wanted));
        for (number, _, entry) in &self.held {
            assert!(facts.open.contains_key(&entry.handle.address));
            let item = self.items.iter().find(|item| item.number == *number);
            assert_eq!(item.map(|item| item.current), Some(entry.is_current()));
        }
        drop(facts);
        let stats = self.opened.stats();
        let unused = self.items.iter().filter(|item| item.users == 0).count();
        assert_eq!((stats.entries, stats.unused), (self.items.len(), unused));
        assert_eq!(stats.hits, self.hits);
        let bytes: usize = self.items.iter().map(|item| item.range.len()).sum();
        assert_eq!(stats.bytes, bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn cache_opens_and_closes_as_a_list_says(
        limits in limits(),
        old in any::<bool>(),
        most in prop_oneof![Just(0), Just(2), Just(4)],
        steps in steps(),
    ) {
        let facts = Mutex::default();
        let mut world = World::new(limits, Counting { facts, old, most });
        for step in &steps {
            world.step(step);
        }
        world.opened.end();
        while !world.held.is_empty() {
            world.opened.release(Peer(world.held[0].1 as u64), &world.held[0].2);
            world.held.swap_remove(0);
        }
        let facts = world.opened.opener().facts.lock().unwrap();
        prop_assert!(facts.open.is_empty(), "{facts:?}");
    }
}

#[test]
fn caller_that_waits_gets_the_room_of_another_one() {
    let driver = Counting::default();
    let mut world = World::new(Limits::in_use_at_most(1, usize::MAX).or_wait(), driver);
    world.allocate(0, 0, 1);
    world.allocate(0, 5, 1);
    let [first, second] = [0, 1].map(|n: usize| world.exports[n].1.clone());
    let held = world.opened.open(Peer(0), &first).unwrap();
    // The limits are those of each peer.
    let other = world.opened.open(Peer(1), &first).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.opened.open(Peer(0), &second).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished(), "there is no room yet");
        world.opened.release(Peer(0), &held);
        world.opened.release(Peer(0), &waiting.join().unwrap());
    });
    world.opened.release(Peer(1), &other);
    assert_eq!(world.opened.stats().entries, 0);
}

#[test]
fn equal_handles_of_another_buffer_or_process_are_no_hit() {
    let mut world = World::new(Limits::keep(), Counting::default());
    world.allocate(0, 0, 1);
    let first = world.exports[0].1.clone();
    let mut others = [*first.identity(); 2];
    others[0].buffer += 1;
    others[1].process = [9; 16];
    let range = first.allocation().clone();
    for (n, identity) in others.into_iter().enumerate() {
        let other = Exported::new(identity, range.clone(), range.clone());
        for exported in [&first, &other, &other] {
            let entry = world.opened.open(Peer(0), exported).unwrap();
            world.opened.release(Peer(0), &entry);
        }
        assert_eq!(world.opened.stats().hits, 1 + n as u64);
    }
}
