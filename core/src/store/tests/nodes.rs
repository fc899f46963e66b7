//! Frames lie on the nodes of live memory, on machines that pretend to have several.

use super::*;
use crate::planes::Topology;
use crate::sys::mem::Mapping;
use crate::testing::nodes::last;

impl World {
    /// Does what the keeper does in a scan.
    pub(super) fn scan(&mut self) {
        if self.gather.is_some() {
            return; // The keeper does one thing after the other.
        }
        if let Some(question) = self.store.nodes_to_ask() {
            let answer = question.ask();
            self.store.follow(answer);
        }
        self.store.look();
        loop {
            let pinned = |n| self.pinned.contains(&n);
            let leaving = self.store.begin_return(&pinned).unwrap();
            if leaving.is_empty() {
                return;
            }
            leaving.iter().for_each(|frames| frames.punch().unwrap());
            let gone: Vec<_> = leaving
                .into_iter()
                .map(|frames| (frames, Vec::new()))
                .collect();
            self.store.gone(&gone);
        }
    }

    /// Checks that every frame that has got memory was bound to the node of its live page before.
    /// The first `bindings` bindings are older than this memory.
    pub(super) fn check_nodes(&self, bindings: usize) -> Result<(), TestCaseError> {
        if !self.nodes.several() {
            prop_assert_eq!(self.nodes.calls(), 0, "one node costs nothing");
            return Ok(());
        }
        let all = self.nodes.bound();
        for (plane, memory) in self.store.planes.memory().iter().enumerate() {
            for page in self.nodes.note(plane, &memory.present().unwrap()) {
                let bound = last(&all, plane, page);
                let (i, bound) = bound.ok_or_else(|| unbound(plane, page))?;
                prop_assert_eq!(bound.node, self.nodes.node_of(page), "page {}", page);
                let before = i < bindings || !bound.present.contains(page);
                prop_assert!(before, "page {} got memory before it was bound", page);
            }
        }
        Ok(())
    }

    /// Checks that memory of free frames lies where live memory lies, after a scan that could
    /// return memory.
    pub(super) fn check_free_frames(&self) -> Result<(), TestCaseError> {
        if !self.nodes.several() || self.gather.is_some() || !self.store.has_plane_to_spare() {
            return Ok(());
        }
        for (plane, memory) in self.store.planes.memory().iter().enumerate() {
            let present = memory.present().unwrap();
            let free = |page: &usize| !self.store.planes.is_busy(plane, *page);
            for page in present.iter().filter(free) {
                let wanted = Some(self.nodes.node_of(page));
                prop_assert_eq!(self.nodes.frame(plane, page), wanted, "page {}", page);
            }
        }
        Ok(())
    }

    /// Checks that no page goes to another node when `shared` become frames of a plane, and `own`
    /// are copied to where its frames get memory.
    pub(super) fn check_shared(&self, plane: usize, shared: &PageSet, own: &PageSet) {
        if !self.nodes.several() {
            return;
        }
        let all = self.nodes.bound();
        for page in shared.iter() {
            assert_eq!(
                self.nodes.frame(plane, page),
                Some(self.nodes.node_of(page))
            );
        }
        for page in own.iter() {
            let copied_to = last(&all, plane, page).map(|(_, bound)| bound.node);
            assert_eq!(copied_to, Some(self.nodes.node_of(page)));
        }
    }

    fn publish_chunk(&mut self) {
        let bindings = self.nodes.bound().len();
        self.publish(&[(0, CHUNK_PAGES)], How::default()).unwrap();
        self.check_nodes(bindings).unwrap();
    }

    /// Returns whether chunk 0 can be shared with its plane.
    fn can_share(&mut self) -> bool {
        let target = self.store.share_target(0).unwrap().unwrap();
        let (pages, none) = (0..CHUNK_PAGES, PageSet::new(PAGES));
        let reserved = self.store.reserve_backing(target.plane, &pages, &none);
        reserved.unwrap()
    }
}

fn unbound(plane: usize, page: usize) -> TestCaseError {
    TestCaseError::fail(format!("page {page} of plane {plane} was never bound"))
}

fn two_nodes() -> World {
    World::on(2, 4 * PAGES * PAGE, 0)
}

#[test]
fn a_publish_that_takes_fresh_memory_asks_once_and_binds_once_and_others_do_neither() {
    let mut world = two_nodes();
    let mut calls = Vec::new();
    for _ in 0..4 {
        world.publish(&[(0, PAGES)], How::default()).unwrap();
        calls.push(world.nodes.calls());
    }
    assert_eq!(calls, [2, 4, 4, 4]);
    let bound = world.nodes.bound();
    let found = bound.iter().map(|b| (b.plane, b.pages.clone(), b.node));
    let chunk = |c: usize| c * CHUNK_PAGES..PAGES.min((c + 1) * CHUNK_PAGES);
    let wanted = (0..2).flat_map(|p| (0..5).map(move |c| (p, chunk(c), (c % 2) as u8)));
    assert!(found.eq(wanted), "{bound:?}");
    world.check_nodes(0).unwrap();
}

#[test]
fn neighbouring_chunks_on_the_same_node_are_bound_together() {
    let mut world = two_nodes();
    (0..5).for_each(|chunk| world.nodes.move_chunk(chunk, 1));
    world.publish(&[(0, PAGES)], How::default()).unwrap();
    let bound = world.nodes.bound();
    assert_eq!(bound.len(), 1);
    assert_eq!((bound[0].pages.clone(), bound[0].node), (0..PAGES, 1));
}

#[test]
fn memory_of_frames_follows_live_memory_that_has_moved() {
    let mut world = two_nodes();
    (0..3).for_each(|_| world.publish_chunk());
    world.nodes.move_chunk(0, 1);
    world.publish_chunk();
    assert!(
        world.nodes.bound().iter().all(|b| b.node == 0),
        "nothing was asked yet"
    );
    for _ in 0..3 {
        world.scan();
        world.publish_chunk();
    }
    world.scan();
    for (plane, memory) in world.store.planes.memory().iter().enumerate() {
        for page in memory.present().unwrap().iter() {
            assert_eq!(world.nodes.frame(plane, page), Some(1), "page {page}");
        }
    }
    world.check_held().unwrap();
}

#[test]
fn misplaced_frames_are_taken_only_where_no_other_frame_has_memory() {
    let mut world = two_nodes();
    // Frames in three planes have memory.
    for _ in 0..3 {
        world.publish_chunk();
        world.pinned.extend(world.store.versions().last());
    }
    world.nodes.move_chunk(0, 1);
    world.publish_chunk();
    let newest = world.store.share_target(0).unwrap().unwrap().plane;
    world.pinned.clear();
    // All three are free from now on, and lie on the old node.
    world.store.reclaim_beyond(1, &|_| false).unwrap();
    world.publish_chunk();
    let other = world.store.share_target(0).unwrap().unwrap().plane;
    world.publish_chunk();
    let again = world.store.share_target(0).unwrap().unwrap().plane;
    assert_ne!(newest, other);
    assert_eq!(again, newest, "this plane has memory on the right node");
}

#[test]
fn a_chunk_is_shared_only_with_frames_on_the_node_of_live_memory() {
    let mut world = two_nodes();
    world.publish_chunk();
    assert!(world.can_share());
    world.nodes.move_chunk(0, 1);
    assert!(!world.can_share());
    world.nodes.move_chunk(0, 0);
    assert!(world.can_share());
}

#[test]
fn sweeps_are_told_the_nodes_of_their_pieces() {
    let mut world = World::on(4, 4 * PAGES * PAGE, 0);
    world.publish(&[(0, PAGES)], How::default()).unwrap();
    assert_eq!(world.store.planes.nodes_of(&[0, 1, 3, 4]), [0, 1, 3, 0]);
    assert_eq!(world.store.processors_of_nodes(), world.nodes.processors());
    let mut single = World::new(4 * PAGES * PAGE, 0);
    single.publish(&[(0, PAGES)], How::default()).unwrap();
    assert!(single.store.planes.nodes_of(&[0, 1]).is_empty());
    assert!(single.store.processors_of_nodes().is_empty());
}

#[test]
fn handed_over_memory_comes_at_the_first_touch_and_spares_follow_it() {
    let mut world = two_nodes();
    let live = Mapping::reserve_aligned(PAGES * PAGE).unwrap();
    let pages = 0..2 * CHUNK_PAGES;
    // SAFETY: the pages are this test's own, and nothing is borrowed from them.
    let buffer = unsafe { world.store.hand_over(live.ptr(), pages.clone()) }.unwrap();
    let (_, plane) = world.store.location(buffer);
    let present = |world: &World| {
        let memory = world.store.planes.memory();
        memory
            .iter()
            .map(|m| m.present().unwrap().len())
            .sum::<usize>()
    };
    assert_eq!(present(&world), 0, "nothing was stored yet");
    assert_eq!(world.store.held_bytes(), (pages.len() * PAGE) as u64);
    (0..2).for_each(|chunk| world.nodes.move_chunk(chunk, 1 - chunk as u8));
    let spares = world.store.secure_spares(&[buffer], &|_| false).unwrap();
    assert_eq!(
        present(&world),
        2 * pages.len(),
        "live memory and its spare"
    );
    let bound = world.nodes.bound();
    let found: Vec<_> = bound
        .iter()
        .map(|b| (b.plane, b.pages.start, b.node))
        .collect();
    let spare = spares[0].plane;
    assert_ne!(spare, plane);
    assert_eq!(found, [(spare, 0, 1), (spare, CHUNK_PAGES, 0)]);
}

#[test]
fn where_the_kernel_refuses_everything_works_as_on_one_node() {
    let mut world = two_nodes();
    world.nodes.refuse();
    for _ in 0..3 {
        world.publish(&[(0, PAGES)], How::default()).unwrap();
        world.scan();
    }
    assert!(world.store.nodes_refused().is_some());
    assert!(world.store.planes.nodes_of(&[0, 1]).is_empty());
    assert_eq!(world.nodes.calls(), 1, "a refused call is not tried again");
    assert!(world.can_share());
    assert_eq!(world.store.versions().last(), Some(3));
}

#[test]
fn on_one_node_nothing_is_asked_and_nothing_is_bound() {
    let mut world = World::on(1, 4 * PAGES * PAGE, 0);
    for _ in 0..3 {
        world.publish(&[(0, PAGES)], How::DEFERRED).unwrap();
        world.scan();
    }
    assert!(world.can_share());
    assert_eq!((world.nodes.calls(), world.nodes.bound().len()), (0, 0));
}
