//! Frames whose memory is being returned.

use super::*;
use crate::planes::Leaving;

#[test]
fn each_page_has_a_frame_while_memory_of_frames_is_returned() {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    let publish_pinned = |world: &mut World| {
        world.publish(&[(0, 1)], How::default()).unwrap();
        world.pinned.extend(world.store.versions().last());
    };
    (0..4).for_each(|_| publish_pinned(&mut world));
    // Four frames have memory. Three are idle: one of these keeps its memory, and the other two
    // return it, one plane at a time.
    world.pinned.clear();
    world.store.reclaim_beyond(1, &|_| false).unwrap();
    (0..3).for_each(|_| world.store.look());
    let leaving = world.store.begin_return(&|_| false).unwrap();
    assert_eq!(leaving.len(), 1);
    (0..VERSIONS).for_each(|_| publish_pinned(&mut world));
    assert_eq!(world.store.versions().count(), VERSIONS - 1);
    let all = |frames: Leaving| (frames.pages(), frames);
    let kept = leaving.into_iter().map(all);
    let kept: Vec<_> = kept.map(|(pages, frames)| (frames, vec![pages])).collect();
    world.store.gone(&kept);
    publish_pinned(&mut world);
    assert_eq!(world.store.versions().count(), VERSIONS);
}
