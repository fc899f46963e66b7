//! Compaction, step by step.

use super::*;

/// A store in which every second page of chunk 0 lies in another plane than its neighbours, and the chunk is calm.
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
        world.publish(&runs, false, false).unwrap();
    }
    world
}

impl World {
    fn runs(&self) -> usize {
        let newest = self.store.newest().unwrap().unwrap();
        newest.runs(0..CHUNK_PAGES).unwrap().len()
    }

    fn put_together(&mut self) -> usize {
        let gather = self.store.gather().unwrap();
        gather.map_or(0, |gather| {
            gather.copy().unwrap();
            self.store.gathered(true)
        })
    }
}

#[test]
fn a_calm_chunk_is_put_together_by_the_next_version_which_changes_none_of_its_pages() {
    let mut world = scattered();
    assert_eq!(world.runs(), CHUNK_PAGES);
    assert_eq!(world.put_together(), CHUNK_PAGES / 2);
    assert_eq!(
        world.runs(),
        CHUNK_PAGES,
        "a version that is there never changes"
    );
    // `publish` checks which pages are told as changed.
    world.publish(&[(PAGES - 1, 1)], false, false).unwrap();
    assert_eq!(world.runs(), 1);
    assert!(world.store.check().unwrap());
    assert_eq!(world.put_together(), 0);
}

#[test]
fn what_is_put_together_makes_room_where_memory_is_needed() {
    let mut world = scattered();
    assert_ne!(world.put_together(), 0);
    world.store.trim().unwrap();
    world.store.bounds.bytes = world.store.held_bytes();
    let before = world.store.versions().last();
    world
        .publish(&[(2 * CHUNK_PAGES, 1)], false, false)
        .unwrap();
    assert_ne!(world.store.versions().last(), before);
    assert!(world.store.check().unwrap());
}

#[test]
fn what_was_put_together_for_a_version_that_is_given_up_is_the_next_ones() {
    let mut world = scattered();
    assert_ne!(world.put_together(), 0);
    world.store.compaction.begin_use();
    assert!(world.store.compaction.ready().is_none());
    world.store.compaction.end_use(false);
    world.publish(&[(PAGES - 1, 1)], false, false).unwrap();
    assert_eq!(world.runs(), 1);
}
