//! Tests the store against a naive model, which copies maps as a whole and remembers a byte of
//! every page.

mod assembly;
mod compaction;
mod comparing;
mod leaving;
mod nodes;
mod ops;
mod settling;

use self::ops::{How, Op, op};
use super::publish::Reserved;
use super::ring::Ring;
use super::*;
use crate::capture::{Copiers, Outcome, Settings};
use crate::format::index::HeaderInfo;
use crate::format::pagemap::{Code, PageMap, ZERO};
use crate::format::stamp::Stamp;
use crate::pageset::{CHUNK_PAGES, ChunkBits, ChunkSet, PageSet};
use crate::planes::{Frames, Gather};
use crate::segments::Segments;
use crate::testing::nodes::Pretended;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

const PAGE: usize = 4096;
/// Four chunks, and a part of a fifth.
const PAGES: usize = 4 * CHUNK_PAGES + 100;
const VERSIONS: usize = 7;

/// The content that a version must have as long as it is live.
struct Seen {
    roots: Vec<u64>,
    /// The first byte of each page.
    bytes: Vec<u8>,
}

/// A store, live memory, and the model of what was published.
struct World {
    store: Store,
    copiers: Copiers,
    live: Vec<u8>,
    seen: BTreeMap<u64, Seen>,
    pinned: BTreeSet<u64>,
    used: BTreeSet<usize>,
    next: u64,
    /// The batch that is being compacted.
    gather: Option<Gather>,
    /// The planes that chunks are shared with.
    targets: BTreeMap<usize, usize>,
    /// The pages of these chunks that were not captured since they were shared.
    shared: PageSet,
    /// The nodes of memory.
    nodes: Arc<Pretended>,
}

impl World {
    fn new(bytes: usize, history: usize) -> Self {
        World::on(1, bytes, history)
    }

    /// Creates the world on a machine with this number of nodes of memory.
    fn on(nodes: usize, bytes: usize, history: usize) -> Self {
        let info = HeaderInfo {
            name: "store".to_owned(),
            base: 1 << 44,
            pid: 1,
            created: 1,
            tracker: "compare".to_owned(),
            first_version: 1,
        };
        let bounds = Bounds {
            versions: VERSIONS,
            history,
            bytes: bytes as u64,
        };
        let mut store = Store::create(&info, PAGES, PAGE, bounds).unwrap();
        store.compact_after(1);
        let nodes = Pretended::new(nodes);
        store.set_topology(nodes.clone());
        World {
            store,
            copiers: Copiers::start(&Settings::default(), None).unwrap(),
            live: vec![0; PAGES * PAGE],
            seen: BTreeMap::new(),
            pinned: BTreeSet::new(),
            used: BTreeSet::new(),
            next: 1,
            gather: None,
            targets: BTreeMap::new(),
            shared: PageSet::new(PAGES),
            nodes,
        }
    }

    fn run(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let bindings = self.nodes.bound().len();
        match op {
            Op::Publish(written, how) => self.publish(written, *how)?,
            Op::Vacate((at, len), written, how) => {
                self.publish_without(*at..PAGES.min(at + len), written, *how)?;
            }
            Op::Abandon(runs) => self.abandon(runs),
            Op::Pin => self.pinned.extend(self.seen.keys().last()),
            Op::Unpin(oldest) => {
                let _ = match oldest {
                    true => self.pinned.pop_first(),
                    false => self.pinned.pop_last(),
                };
            }
            Op::Reclaim => {
                let pinned = |n| self.pinned.contains(&n);
                self.store.reclaim_beyond(1, &pinned).unwrap();
            }
            Op::Trim => drop(self.store.trim().unwrap()),
            Op::Scatter {
                chunk,
                first,
                every,
            } => {
                let pages = chunk * CHUNK_PAGES + first..(chunk + 1) * CHUNK_PAGES;
                let runs: Vec<_> = pages.step_by(*every).map(|page| (page, 1)).collect();
                self.publish(&runs, How::default())?;
                (0..2).try_for_each(|_| self.publish(&[], How::default()))?;
            }
            Op::Gather => {
                let gather = self.store.gather().unwrap();
                prop_assert!(self.gather.is_none() || gather.is_none(), "two at once");
                self.gather = self.gather.take().or(gather);
            }
            Op::Gathered(copied) => {
                if let Some(gather) = self.gather.take() {
                    gather.copy().unwrap();
                    let ready = self.store.gathered(*copied);
                    prop_assert!(*copied || ready == 0);
                }
            }
            Op::Share(chunk) => self.share(*chunk, &PageSet::new(PAGES)),
            // Frames that are being copied to were bound before.
            Op::Move(chunk, node) if self.gather.is_none() => self.nodes.move_chunk(*chunk, *node),
            Op::Move(..) => {}
            Op::Scan => self.scan(),
        }
        for page in self.shared.iter() {
            let plane = self.targets[&(page / CHUNK_PAGES)];
            let holds = self.store.holds(plane, page).unwrap();
            prop_assert!(
                holds,
                "page {} is not in plane {}, which backs it",
                page,
                plane
            );
        }
        let live: BTreeSet<u64> = self.store.versions().collect();
        prop_assert!(self.pinned.is_subset(&live), "{:?} {live:?}", self.pinned);
        self.seen.retain(|n, _| live.contains(n));
        prop_assert!(self.store.check().unwrap(), "planes and maps differ");
        self.check_held()?;
        self.check_nodes(bindings)?;
        if matches!(op, Op::Scan) {
            self.check_free_frames()?;
        }
        self.seen
            .iter()
            .try_for_each(|(n, seen)| self.check(*n, seen))
    }

    /// Checks that the store counts as held what the kernel has allocated.
    fn check_held(&self) -> Result<(), TestCaseError> {
        let planes = &self.store.read_only().unwrap()[1..];
        let bytes = |fd: &OwnedFd| nix::sys::stat::fstat(fd).unwrap().st_blocks as u64 * 512;
        let given: u64 = planes.iter().map(bytes).sum();
        // Frames that are being copied to count already.
        if self.gather.is_none() {
            prop_assert_eq!(given, self.store.held_bytes());
        }
        Ok(())
    }

    /// Writes to the pages, as the simulation does.
    fn compute(&mut self, runs: &[(usize, usize)]) -> PageSet {
        let mut pages = PageSet::new(PAGES);
        for (start, len) in runs {
            pages.insert_range(*start..start + len);
        }
        for page in pages.iter() {
            // Two versions in a row write the same values, so some pages are written without a
            // change.
            self.live[page * PAGE] = (self.next / 2 * 7 + page as u64 % 5) as u8;
        }
        pages
    }

    /// Shares live memory of a chunk, but for pages of a version that is not visible yet.
    fn share(&mut self, chunk: usize, may_differ: &PageSet) {
        if let Some(target) = self.store.share_target(chunk).unwrap() {
            self.share_with(chunk, &target, may_differ);
        }
    }

    /// Shares live memory of a chunk with a target that was chosen before.
    fn share_with(&mut self, chunk: usize, target: &ShareTarget, may_differ: &PageSet) {
        if !self.store.still_has(chunk, target).unwrap() {
            return;
        }
        let pages = chunk * CHUNK_PAGES..((chunk + 1) * CHUNK_PAGES).min(PAGES);
        let mut shared = PageSet::new(PAGES);
        *shared.chunk_mut(chunk) = target.bits;
        shared.subtract(may_differ);
        let mut own = PageSet::new(PAGES);
        own.insert_range(pages.clone());
        own.subtract(&shared);
        if self
            .store
            .reserve_backing(target.plane, &pages, &own)
            .unwrap()
        {
            self.check_shared(target.plane, &shared, &own);
            self.store.shared_with(&pages, Some(target.plane));
            self.targets.insert(chunk, target.plane);
            self.shared.remove_range(pages);
            self.shared.union(&shared);
        }
    }

    /// Returns the frames of compacted pages that the next version will have, if it does not change
    /// these pages.
    fn gathered(&self, changed: &PageSet) -> Frames {
        let ready = self.store.compaction.ready();
        let mut frames = ready.map_or(Frames::default(), |(frames, _)| frames.clone());
        frames.subtract(changed);
        frames
    }

    fn publish(&mut self, runs: &[(usize, usize)], how: How) -> Result<(), TestCaseError> {
        self.publish_without(0..0, runs, how)
    }

    /// Publishes, and leaves out pages that no field has any more. Their chunks must not be shared.
    fn publish_without(
        &mut self,
        out: Range<usize>,
        runs: &[(usize, usize)],
        how: How,
    ) -> Result<(), TestCaseError> {
        let mut vacated = PageSet::new(PAGES);
        vacated.insert_range(out.clone());
        if vacated
            .chunk_numbers()
            .iter()
            .any(|chunk| self.targets.contains_key(&chunk))
        {
            return Ok(());
        }
        let mut pages = self.compute(runs);
        pages.subtract(&vacated);
        let before = self.seen.values().last();
        let mut roots = before.map_or(vec![0; PAGES.div_ceil(CHUNK_PAGES)], |s| s.roots.clone());
        let mut bytes = before.map_or(vec![0; PAGES], |s| s.bytes.clone());
        let full = |(_, bits): &(usize, &ChunkBits)| bits.iter().all(|w| *w == !0);
        let whole = pages.chunks_in_use().filter(full).filter(|_| how.deferred);
        let mut deferred = PageSet::new(PAGES);
        whole.for_each(|(chunk, bits)| *deferred.chunk_mut(chunk) = *bits);
        let mut maybe = PageSet::new(PAGES);
        if how.compared {
            maybe.union(&pages);
            maybe.subtract(&deferred);
        }
        let is_same = |page: &usize| bytes[*page] == self.live[page * PAGE];
        let expected: Vec<usize> = maybe.iter().filter(is_same).collect();
        let mut left_out = pages.clone();
        left_out.union(&vacated);
        let gathered = self.gathered(&left_out);
        let stamp = stamp(self.next);
        let pinned = |n| self.pinned.contains(&n);
        // SAFETY: `live` has all pages of the region, and nobody writes it until the capture has
        // ended.
        let published = unsafe {
            let mut capture = capture(&self.live, &pages, &deferred, &maybe);
            capture.observers = usize::from(how.assembled) * PAGES;
            capture.vacated = std::slice::from_ref(&out);
            let copiers = &self.copiers;
            self.store.publish(&stamp, &capture, copiers, &pinned)
        };
        let Captured { visibility, same } = match published {
            Ok(captured) => captured,
            Err(NotPublished::Skipped(_)) => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        prop_assert_eq!(same.iter().collect::<Vec<_>>(), expected);
        match visibility {
            Visibility::Immediate => prop_assert!(deferred.is_empty()),
            Visibility::Deferred(sweep) => {
                self.share(self.next as usize % deferred.chunks(), &left_out);
                let later = (self.next as usize + 1) % deferred.chunks();
                let target = self.store.share_target(later).unwrap();
                // Only deferred chunks are read after the call.
                let mut at_once = pages.clone();
                at_once.subtract(&deferred);
                at_once
                    .iter()
                    .for_each(|page| self.live[page * PAGE] ^= 0xff);
                sweep.work();
                at_once
                    .iter()
                    .for_each(|page| self.live[page * PAGE] ^= 0xff);
                prop_assert_eq!(sweep.wait(Duration::from_secs(60)), Outcome::Saved);
                prop_assert_eq!(self.store.settle().map(|s| s.version), Some(self.next));
                // The version has become the newest one since the target was chosen.
                if let Some(target) = target {
                    self.share_with(later, &target, &left_out);
                }
            }
        }
        pages.subtract(&same);
        let index = self.store.index().unwrap();
        let slot = index.slot_of(self.next).unwrap().unwrap();
        let mut chunks: BTreeSet<usize> = pages.iter().map(|page| page / CHUNK_PAGES).collect();
        let map = PageMap::new(*index, slot);
        let moved = gathered
            .runs()
            .flat_map(|(p, run)| run.map(move |page| (p, page)));
        let moved: Vec<_> = moved.collect();
        let is_there = |(plane, page)| usize::from(map.code(page).unwrap()) == plane + 1;
        // Either all or none: where memory is short, the batch is dropped.
        if moved.first().copied().is_some_and(is_there) {
            chunks.extend(moved.iter().map(|(_, page)| page / CHUNK_PAGES));
            prop_assert!(
                moved.into_iter().all(is_there),
                "{:?} are not all there",
                gathered
            );
        }
        chunks.extend(vacated.chunk_numbers().iter());
        for page in vacated.iter() {
            bytes[page] = 0;
            self.live[page * PAGE] = 0;
        }
        for chunk in &chunks {
            roots[*chunk] = index.root(slot, *chunk).unwrap();
        }
        let mut changed = pages.clone();
        for page in pages.iter() {
            let byte = self.live[page * PAGE];
            // Deferred pages are compared: only those that differ have changed.
            if deferred.contains(page) && bytes[page] == byte {
                changed.remove_range(page..page + 1);
            }
            bytes[page] = byte;
        }
        changed.union(&vacated);
        let marked = index.changed_chunks(slot).unwrap();
        prop_assert!(marked.iter().eq(chunks.iter().copied()));
        prop_assert_eq!(index.changed(slot).unwrap(), changed);
        self.shared.subtract(&pages);
        self.used.extend(chunks);
        self.seen.insert(self.next, Seen { roots, bytes });
        self.next += 1;
        Ok(())
    }

    fn abandon(&mut self, runs: &[(usize, usize)]) {
        let pages = self.compute(runs);
        let pinned = |n| self.pinned.contains(&n);
        self.store.leave_out(&pages);
        let none = PageSet::new(PAGES);
        let capture = capture(&self.live, &pages, &none, &none);
        let reserved = self.store.free_slot(&pinned);
        let reserved = reserved.and_then(|slot| self.store.reserve(slot, &capture, &pinned));
        let Reserved { slot, frames, .. } = match reserved {
            Ok(reserved) => reserved,
            Err(NotPublished::Skipped(_)) => return,
            Err(error) => panic!("{error}"),
        };
        let written = self
            .store
            .write_version(slot, &stamp(self.next), &capture, &frames);
        written.unwrap();
        self.used.extend(pages.chunk_numbers().iter());
    }

    /// Checks that version `n` is what it was when it was published, however it is read.
    fn check(&self, n: u64, seen: &Seen) -> Result<(), TestCaseError> {
        let index = self.store.index().unwrap();
        let slot = index.slot_of(n).unwrap().unwrap();
        let roots: Vec<u64> = (0..index.layout().chunks)
            .map(|c| index.root(slot, c).unwrap())
            .collect();
        prop_assert_eq!(&roots, &seen.roots, "the map of version {}", n);
        let map = PageMap::new(*index, slot);
        let codes: Vec<Code> = (0..PAGES).map(|page| map.code(page).unwrap()).collect();
        for (page, code) in codes.iter().enumerate() {
            let byte = match *code {
                ZERO => 0,
                code => self.store.planes.page(usize::from(code) - 1, page)[0],
            };
            prop_assert_eq!(byte, seen.bytes[page], "page {} of version {}", page, n);
        }
        prop_assert!(
            map.used_chunks()
                .unwrap()
                .iter()
                .eq(self.used.iter().copied())
        );
        check_runs(&map, &codes)?;
        let mut others = self.seen.keys().filter(|other| **other != n);
        others.try_for_each(|other| self.check_differing(&map, &codes, *other))
    }

    fn check_differing(
        &self,
        map: &PageMap<'_>,
        codes: &[Code],
        other: u64,
    ) -> Result<(), TestCaseError> {
        let index = self.store.index().unwrap();
        let other = PageMap::new(*index, index.slot_of(other).unwrap().unwrap());
        let differ = (0..PAGES).filter(|page| other.code(*page).unwrap() != codes[*page]);
        prop_assert!(map.differing(&other).unwrap().iter().eq(differ));
        Ok(())
    }
}

fn check_runs(map: &PageMap<'_>, codes: &[Code]) -> Result<(), TestCaseError> {
    for part in [
        0..PAGES,
        3..PAGES - 7,
        600..601,
        700..1600,
        5..5,
        PAGES - 1..PAGES + 9,
    ] {
        let runs = map.runs(part.clone()).unwrap();
        let pages = runs
            .iter()
            .flat_map(|r| r.pages.clone().map(|page| (page, r.code)));
        let naive = part
            .take_while(|page| *page < PAGES)
            .map(|page| (page, codes[page]));
        prop_assert!(pages.eq(naive), "{runs:?}");
        prop_assert!(runs.windows(2).all(|w| w[0].code != w[1].code), "{runs:?}");
    }
    Ok(())
}

fn stamp(version: u64) -> Stamp {
    Stamp {
        version,
        step: version,
        time: 0.0,
    }
}

fn segments(live: &[u8]) -> Arc<Segments> {
    Arc::new(Segments::new(live.as_ptr().expose_provenance(), PAGE))
}

fn capture<'a>(
    live: &[u8],
    pages: &'a PageSet,
    deferred: &'a PageSet,
    maybe: &'a PageSet,
) -> Capture<'a> {
    Capture {
        live: segments(live),
        vacated: &[],
        still_there: &|_| Ok(()),
        pages,
        deferred,
        maybe,
        handed: &[],
        observers: 0,
        gate: None,
        table: &[],
        now: 0,
        visible: Arc::new(|| ()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn versions_equal_a_model_that_copies_whole_maps(
        ops in proptest::collection::vec(op(), 1..40),
        history in 0usize..3,
        room in prop_oneof![Just(PAGES / 2), Just(4 * PAGES)],
        nodes in prop_oneof![2 => Just(1usize), 1 => Just(2), 1 => Just(4)],
    ) {
        let mut world = World::on(nodes, room * PAGE, history);
        for op in &ops {
            world.run(op)?;
        }
    }
}

#[test]
fn ring_of_a_terabyte_region_visits_only_changed_chunks() {
    let mut ring = Ring::new(8, 1 << 19);
    let mut changed = ChunkSet::new(1 << 19);
    changed.insert(400_000);
    for n in 0..20 {
        ring.begin(n % 8, &changed);
        assert_eq!(ring.stale(n % 8).iter().collect::<Vec<_>>(), [400_000]);
        ring.visible(n % 8);
        assert_eq!(ring.since(n % 8).len(), 1);
    }
}
