//! Frames whose memory is being returned.

use super::*;
use crate::planes::Leaving;
use crate::sys::mem::Mapping;

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

#[test]
fn live_memory_that_is_being_gathered_does_not_become_shared() {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    world.publish(&[(0, CHUNK_PAGES)], How::default()).unwrap();
    let (chunk, none) = (0..CHUNK_PAGES, PageSet::new(PAGES));
    let plane = world.store.share_target(0).unwrap().unwrap().plane;
    assert!(world.store.begin_gathering(&chunk));
    assert!(!world.store.reserve_backing(plane, &chunk, &none).unwrap());
    world.store.has_gathered();
    assert!(world.store.reserve_backing(plane, &chunk, &none).unwrap());
    world.store.shared_with(&chunk, Some(plane));
    assert!(!world.store.begin_gathering(&chunk));
}

#[test]
fn handed_over_buffers_take_no_memory_that_is_being_returned() {
    let mut world = World::new(4 * PAGES * PAGE, 1);
    let pages = 0..2 * CHUNK_PAGES;
    let stray = world.store.planes.memory()[1].clone();
    stray.allocate(&pages).unwrap();
    let found = world.store.audit().unwrap().strays;
    let present = found[0].present().unwrap();
    let leaving = world.store.expel(&found[0], present);
    assert_eq!(leaving.len(), 1);

    let live = Mapping::reserve_aligned(PAGES * PAGE).unwrap();
    // SAFETY: the pages are this test's own, and nothing is borrowed from them.
    let buffer = unsafe { world.store.hand_over(live.ptr(), pages) }.unwrap();
    assert_eq!(world.store.location(buffer).1, 0);
    leaving.iter().for_each(|frames| frames.punch().unwrap());
    let returned: Vec<_> = leaving.into_iter().map(|frames| (frames, vec![])).collect();
    world.store.gone(&returned);
    world.check_held().unwrap();
}
