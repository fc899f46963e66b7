//! Tests of live memory that is shared with a plane: it keeps its bytes, it is tracked as before,
//! and no store reaches the plane.

use super::TrackerKind;
use super::trial_producer::Producer;
use crate::pageset::PageSet;
use crate::sys::mem::page_size;
use crate::sys::object::{Object, read_at};
use crate::sys::pagemap::CopyScan;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};

const PAGES: usize = 512;

fn set(pages: impl IntoIterator<Item = usize>) -> PageSet {
    let mut set = PageSet::new(PAGES);
    pages.into_iter().for_each(|p| set.insert(p));
    set
}

/// Returns a producer with a chunk of live memory that is shared with a file, the file, the bytes
/// of live memory, and the pages that are not shared: 7 and 300..310, which differ in the file.
fn shared() -> (Producer, Object, Vec<u8>, PageSet) {
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
    // SAFETY: the buffer is a local one that nothing writes meanwhile.
    unsafe { file.write_from(plane.as_ptr(), plane.len(), 0) }.unwrap();
    // SAFETY: only this thread uses the memory, no page is locked for DMA, and the file holds the
    // bytes of all pages but those in `own`. The tests never write the file; they punch it only
    // after the pages have private copies.
    unsafe { p.tracked.share(&(0..PAGES), file.as_fd(), &own) }.unwrap();
    (p, file, live, own)
}

/// Returns the pages that are private copies, and not pages of the file.
fn copied(p: &mut Producer) -> PageSet {
    let addresses = p.addresses(0..PAGES);
    let first = addresses.start / page_size();
    let mut found = set([]);
    let pages = first..addresses.end / page_size();
    let mut scan = CopyScan::open().unwrap();
    scan.copies(pages, |run| {
        found.insert_range(run.start - first..run.end - first)
    })
    .unwrap();
    found
}

#[test]
fn shared_memory_keeps_its_bytes_and_only_unshared_pages_are_copies() {
    let (mut p, _file, live, own) = shared();
    assert_eq!(p.harvest().unwrap().len(), 0);
    assert_eq!(copied(&mut p), own);
    assert!(p.bytes(0..live.len()) == live);
    assert_eq!(copied(&mut p), own, "reading copies nothing");
    assert_eq!(p.harvest().unwrap().len(), 0);
}

#[test]
fn stores_to_shared_memory_are_found_and_never_reach_the_file() {
    let (mut p, file, _live, mut own) = shared();
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
fn memory_is_private_and_tracked_after_sharing_ends() {
    let (mut p, file, live, _) = shared();
    p.store(&[5]);
    p.publish();
    // SAFETY: only this thread uses the memory, and no page is locked for DMA.
    unsafe { p.tracked.own(&(0..PAGES)) }.unwrap();
    assert_eq!(copied(&mut p), set(0..PAGES));
    file.punch(0..live.len() as u64).unwrap();
    assert_eq!(p.publish(), []);
    assert!(*p.bytes(6 * page_size()..live.len()) == live[6 * page_size()..]);
    p.store(&[6]);
    assert_eq!(p.publish(), [6]);
}

#[test]
fn copying_shared_memory_in_place_does_not_move_pages_that_are_locked_for_dma() {
    let (mut p, file, live, own) = shared();
    let page = own.iter().next().unwrap();
    let mut locked = Locked::of(&mut p, page);
    p.tracked.own_in_place(&(0..PAGES)).unwrap();
    assert_eq!(copied(&mut p), set(0..PAGES));
    file.punch(0..live.len() as u64).unwrap();
    assert!(p.bytes(0..live.len()) == live);
    assert_eq!(
        p.publish().len(),
        PAGES,
        "copied pages are reported as written, once"
    );
    p.store(&[6, page]);
    assert_eq!(p.publish(), [6, page]);
    let at = page * page_size();
    assert!(
        locked.read() == p.bytes(at..at + page_size()),
        "the page was replaced"
    );
}

/// A pipe that refers to a physical page of live memory, as a device does. It holds no copy.
struct Locked(std::io::PipeReader);

impl Locked {
    fn of(p: &mut Producer, page: usize) -> Locked {
        let (reader, writer) = std::io::pipe().unwrap();
        let part = libc::iovec {
            iov_base: p.addresses(page..page + 1).start as *mut libc::c_void,
            iov_len: page_size(),
        };
        // SAFETY: `part` is one page, which stays mapped as long as the tracker lives. The reader
        // of the pipe accepts any bytes.
        let len = unsafe { libc::vmsplice(writer.as_raw_fd(), &raw const part, 1, 0) };
        assert_eq!(len, page_size() as isize);
        Locked(reader)
    }

    fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; page_size()];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }
}

#[test]
fn forked_child_does_not_inherit_shared_memory() {
    let (mut p, ..) = shared();
    let addresses = p.addresses(0..PAGES);
    super::trial_producer::in_child(|| match crate::sys::live::check_mapped(&addresses) {
        Err(_) => Ok(()),
        Ok(()) => Err("it is mapped".to_owned()),
    });
    assert_eq!(p.publish(), []);
}

#[test]
fn copies_that_the_program_drops_are_found_and_copied_again() {
    let (mut p, _file, _live, mut own) = shared();
    p.store(&[0, 200, 511]);
    assert_eq!(p.publish(), [0, 200, 511]);
    [0, 200, 511].into_iter().for_each(|page| own.insert(page));
    for page in [0, 511] {
        let at = p.addresses(page..page + 1).start as *mut libc::c_void;
        // SAFETY: the page belongs to this test, nothing is borrowed from it, and any bytes in it
        // are valid.
        let dropped = unsafe { libc::madvise(at, page_size(), libc::MADV_DONTNEED) };
        assert_eq!(dropped, 0);
    }
    assert_eq!(
        p.harvest().unwrap().len(),
        0,
        "the kernel does not report dropped copies"
    );
    std::hint::black_box(p.bytes(0..1)[0]);
    let find = |p: &mut Producer, absent| {
        let mut found = set([]);
        let result = p
            .tracked
            .dropped_copies(&(0..PAGES), &own, absent, &mut found);
        result.map(|()| found).unwrap()
    };
    assert_eq!(
        find(&mut p, false),
        set([0]),
        "page 511 is not in memory yet"
    );
    assert_eq!(find(&mut p, true), set([0, 511]));
    for page in [0, 511] {
        p.tracked.own_in_place(&(page..page + 1)).unwrap();
    }
    assert_eq!(find(&mut p, true), set([]));
    assert_eq!(p.publish(), [0, 511]);
}

#[test]
fn writes_by_system_calls_to_shared_memory_are_found_and_never_reach_the_file() {
    let (mut p, file, ..) = shared();
    let len = 3 * page_size();
    let mut random = std::fs::File::open("/dev/urandom").unwrap();
    random.read_exact(p.bytes(len + 10..len + 20)).unwrap();
    assert_eq!(p.publish(), [3]);
    let mut page = vec![0; page_size()];
    read_at(&file.read_only().unwrap(), &mut page, len as u64).unwrap();
    assert!(page.iter().all(|b| *b == 3));
}
