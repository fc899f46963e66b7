//! Slots whose memory is being given back.

use super::*;

#[test]
fn while_slots_leave_each_page_still_has_one_for_the_next_version() {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    let publish_pinned = |world: &mut World| {
        world.publish(&[(0, 1)], false, false).unwrap();
        world.pinned.extend(world.store.versions().last());
    };
    (0..4).for_each(|_| publish_pinned(&mut world));
    // Three of four slots with memory are idle; one of them stays, and one plane's leave at a time.
    world.pinned.clear();
    world.store.reclaim_beyond(1, &|_| false).unwrap();
    (0..3).for_each(|_| world.store.look());
    let leaving = world.store.tidy(&|_| false).unwrap();
    assert_eq!(leaving.len(), 1);
    (0..VERSIONS).for_each(|_| publish_pinned(&mut world));
    assert_eq!(world.store.versions().count(), VERSIONS - 1);
    world
        .store
        .gone(&[(leaving.into_iter().next().unwrap(), false)]);
    publish_pinned(&mut world);
    assert_eq!(world.store.versions().count(), VERSIONS);
}
