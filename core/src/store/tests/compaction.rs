//! Tests compaction step by step.

use super::*;

/// Returns a store whose chunk 0 is cold, with every second page in another plane than its
/// neighbours.
fn scattered() -> World {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    let every =
        |step: usize| -> Vec<_> { (0..CHUNK_PAGES).step_by(step).map(|p| (p, 1)).collect() };
    for runs in [
        every(1),
        every(2),
        vec![(PAGES - 1, 1)],
        vec![(PAGES - 1, 1)],
    ] {
        world.publish(&runs, How::default()).unwrap();
    }
    world
}

impl World {
    fn runs(&self) -> usize {
        let newest = self.store.newest().unwrap().unwrap();
        newest.runs(0..CHUNK_PAGES).unwrap().len()
    }

    fn compact(&mut self) -> usize {
        let gather = self.store.gather().unwrap();
        gather.map_or(0, |gather| {
            gather.copy().unwrap();
            self.store.gathered(true)
        })
    }
}

#[test]
fn next_version_compacts_a_cold_chunk_without_changing_its_pages() {
    let mut world = scattered();
    assert_eq!(world.runs(), CHUNK_PAGES);
    assert_eq!(world.compact(), CHUNK_PAGES / 2);
    assert_eq!(world.runs(), CHUNK_PAGES, "a visible version never changes");
    // `World::publish` checks which pages are marked as changed.
    world.publish(&[(PAGES - 1, 1)], How::default()).unwrap();
    assert_eq!(world.runs(), 1);
    assert!(world.store.check().unwrap());
    assert_eq!(world.compact(), 0);
}

#[cfg(feature = "ablation")]
#[test]
fn nothing_is_compacted_where_compaction_is_left_out() {
    let mut world = scattered();
    let _left =
        crate::testing::ablation::leave_out(crate::testing::ablation::Mechanism::Compaction);
    assert_eq!(world.compact(), 0);
}

#[test]
fn a_compacted_batch_is_dropped_when_memory_is_needed() {
    let mut world = scattered();
    assert_ne!(world.compact(), 0);
    world.store.trim().unwrap();
    world.store.bounds.bytes = world.store.held_bytes();
    let before = world.store.versions().last();
    world
        .publish(&[(2 * CHUNK_PAGES, 1)], How::default())
        .unwrap();
    assert_ne!(world.store.versions().last(), before);
    assert!(world.store.check().unwrap());
}

#[test]
fn a_batch_of_a_version_that_is_given_up_goes_into_the_next() {
    let mut world = scattered();
    assert_ne!(world.compact(), 0);
    world.store.compaction.begin_use();
    assert!(world.store.compaction.ready().is_none());
    world.store.compaction.end_use(false);
    world.publish(&[(PAGES - 1, 1)], How::default()).unwrap();
    assert_eq!(world.runs(), 1);
}

#[test]
fn shared_pages_stay_although_another_plane_has_most_of_the_chunk() {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    let scatter = |first, every| Op::Scatter {
        chunk: 0,
        first,
        every,
    };
    world.run(&scatter(0, 1)).unwrap();
    world.run(&Op::Share(0)).unwrap();
    // Half of the pages go to one plane and a quarter to another. The last quarter stays shared
    // with the first plane.
    world.run(&scatter(0, 2)).unwrap();
    world.run(&scatter(1, 4)).unwrap();
    assert_eq!(world.shared.len(), CHUNK_PAGES / 4);
    for op in [Op::Gather, Op::Gathered(true), scatter(CHUNK_PAGES, 1)] {
        world.run(&op).unwrap();
    }
    assert_eq!(
        world.runs(),
        1,
        "the other pages go to the plane that is shared"
    );
}

#[test]
fn no_chunk_is_shared_while_it_is_compacted() {
    let mut world = scattered();
    let gather = world.store.gather().unwrap().unwrap();
    let target = world.store.share_target(0).unwrap().unwrap();
    let none = PageSet::new(PAGES);
    let can_share = |world: &mut World| {
        world
            .store
            .reserve_backing(target.plane, &(0..CHUNK_PAGES), &none)
    };
    assert!(!can_share(&mut world).unwrap());
    gather.copy().unwrap();
    world.store.gathered(true);
    assert!(!can_share(&mut world).unwrap());
    world.publish(&[(PAGES - 1, 1)], How::default()).unwrap();
    assert!(can_share(&mut world).unwrap());
}

#[test]
fn each_page_has_a_free_frame_while_a_batch_is_copied_and_all_versions_are_pinned() {
    let mut world = scattered();
    let gather = world.store.gather().unwrap().unwrap();
    for _ in 0..2 * VERSIONS {
        world.run(&Op::Pin).unwrap();
        let op = Op::Publish(vec![(0, CHUNK_PAGES)], How::default());
        world.run(&op).unwrap();
    }
    assert_eq!(world.store.versions().count(), VERSIONS - 1);
    gather.copy().unwrap();
    assert_eq!(world.store.gathered(true), 0);
    world.publish(&[(0, CHUNK_PAGES)], How::default()).unwrap();
    assert_eq!(world.store.versions().count(), VERSIONS);
    assert!(world.store.check().unwrap());
}

#[test]
fn pages_that_no_field_has_any_more_are_left_out_of_a_batch() {
    for copied_before in [true, false] {
        let mut world = scattered();
        let leave = Op::Vacate((5, 100), Vec::new(), How::default());
        let ops = match copied_before {
            true => [Op::Gather, Op::Gathered(true), leave],
            false => [Op::Gather, leave, Op::Gathered(true)],
        };
        let later = Op::Publish(vec![(PAGES - 1, 1)], How::default());
        ops.iter()
            .chain([&later])
            .for_each(|op| world.run(op).unwrap());
    }
}
