//! Memory that rests on a plane: it keeps its bytes, is tracked as before, and the plane keeps its own.

use super::TrackerKind;
use super::conformance::Producer;
use crate::pageset::PageSet;
use crate::sys::mem::page_size;
use crate::sys::object::{Object, read_at};
use std::os::fd::AsFd;

const PAGES: usize = 512;

fn set(pages: impl IntoIterator<Item = usize>) -> PageSet {
    let mut set = PageSet::new(PAGES);
    pages.into_iter().for_each(|p| set.insert(p));
    set
}

/// A chunk of live memory that rests on a file, but for pages 7 and 300..310, for which the file has other bytes.
fn resting() -> (Producer, Object, Vec<u8>, PageSet) {
    let mut p = Producer::new(TrackerKind::UffdAsync, PAGES, 0..PAGES);
    for page in 0..PAGES {
        p.bytes(page * page_size()..(page + 1) * page_size())
            .fill(page as u8);
    }
    p.publish();
    let live = p.bytes(0..PAGES * page_size()).to_vec();
    let own = set((300..310).chain([7]));
    let file = Object::create("plane", live.len() as u64).unwrap();
    let mut plane = live.clone();
    for page in own.iter() {
        plane[page * page_size()..(page + 1) * page_size()].fill(0xAA);
    }
    // SAFETY: the buffer keeps still.
    unsafe { file.write_from(plane.as_ptr(), plane.len(), 0) }.unwrap();
    // SAFETY: nobody writes, and the file has the bytes, as was just seen to.
    unsafe { p.tracker.rest(&(0..PAGES), file.as_fd(), &own) }.unwrap();
    (p, file, live, own)
}

fn copied(p: &mut Producer) -> PageSet {
    let mut found = set([]);
    p.tracker.copied(&set(0..PAGES), &mut found).unwrap();
    found
}

#[test]
fn memory_that_rests_on_a_file_keeps_its_bytes_and_only_its_own_pages_are_copies() {
    let (mut p, _file, live, own) = resting();
    assert_eq!(p.harvest().unwrap().len(), 0);
    assert_eq!(copied(&mut p), own);
    assert!(p.bytes(0..live.len()) == live);
    assert_eq!(copied(&mut p), own, "reading copies nothing");
    assert_eq!(p.harvest().unwrap().len(), 0);
}

#[test]
fn stores_to_resting_memory_are_found_and_never_reach_the_file() {
    let (mut p, file, _live, mut own) = resting();
    p.store(&[0, 7, 511]);
    assert_eq!(p.publish(), [0, 7, 511]);
    assert_eq!(p.publish(), []);
    p.store(&[0]);
    assert_eq!(p.publish(), [0]);
    own.insert(0);
    own.insert(511);
    assert_eq!(copied(&mut p), own);
    let mut page = vec![0; page_size()];
    let fd = file.read_only().unwrap();
    for number in [0usize, 511] {
        read_at(&fd, &mut page, (number * page_size()) as u64).unwrap();
        assert!(page.iter().all(|b| *b == number as u8));
    }
}

#[test]
fn memory_that_is_taken_back_is_all_its_own_and_tracked() {
    let (mut p, file, live, _) = resting();
    p.store(&[5]);
    p.publish();
    // SAFETY: nobody writes.
    unsafe { p.tracker.own(&(0..PAGES)) }.unwrap();
    assert_eq!(copied(&mut p), set(0..PAGES));
    file.punch(0..live.len() as u64).unwrap();
    assert_eq!(p.publish(), []);
    assert!(*p.bytes(6 * page_size()..live.len()) == live[6 * page_size()..]);
    p.store(&[6]);
    assert_eq!(p.publish(), [6]);
}
