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

#[test]
fn pages_at_rest_stay_on_their_plane_although_most_of_their_chunk_is_on_another() {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    let scatter = |first, every| Op::Scatter {
        chunk: 0,
        first,
        every,
    };
    world.run(&scatter(0, 1)).unwrap();
    world.run(&Op::Rest(0)).unwrap();
    // Half of it goes to one plane, a quarter to another: a quarter goes on resting on the first.
    world.run(&scatter(0, 2)).unwrap();
    world.run(&scatter(1, 4)).unwrap();
    assert_eq!(world.resting.len(), CHUNK_PAGES / 4);
    for op in [Op::Gather, Op::Gathered(true), scatter(CHUNK_PAGES, 1)] {
        world.run(&op).unwrap();
    }
    assert_eq!(world.runs(), 1, "the others come to where it rests");
}

#[test]
fn no_chunk_comes_to_rest_while_it_is_put_together() {
    let mut world = scattered();
    let gather = world.store.gather().unwrap().unwrap();
    let bed = world.store.bed(0).unwrap().unwrap();
    let none = PageSet::new(PAGES);
    let rests = |world: &mut World| world.store.make_bed(bed.plane, &(0..CHUNK_PAGES), &none);
    assert!(!rests(&mut world).unwrap());
    gather.copy().unwrap();
    world.store.gathered(true);
    assert!(!rests(&mut world).unwrap());
    world.publish(&[(PAGES - 1, 1)], false, false).unwrap();
    assert!(rests(&mut world).unwrap());
}

#[test]
fn each_page_has_a_free_slot_while_others_are_copied_and_every_version_is_pinned() {
    let mut world = scattered();
    let gather = world.store.gather().unwrap().unwrap();
    for _ in 0..2 * VERSIONS {
        world.run(&Op::Pin).unwrap();
        let written = vec![(0, CHUNK_PAGES)];
        let (later, compared) = (false, false);
        world
            .run(&Op::Publish {
                written,
                later,
                compared,
            })
            .unwrap();
    }
    assert_eq!(world.store.versions().count(), VERSIONS - 1);
    gather.copy().unwrap();
    assert_eq!(world.store.gathered(true), 0);
    world.publish(&[(0, CHUNK_PAGES)], false, false).unwrap();
    assert_eq!(world.store.versions().count(), VERSIONS);
    assert!(world.store.check().unwrap());
}
