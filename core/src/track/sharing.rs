//! Memory that rests on a plane: it keeps its bytes, is tracked as before, and the plane keeps its own.

use super::TrackerKind;
use super::conformance::Producer;
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

/// Pages that are copies, and not the file's.
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

#[test]
fn memory_is_copied_in_place_under_whoever_has_pinned_what_was_its_own() {
    let (mut p, file, live, own) = resting();
    let page = own.iter().next().unwrap();
    let mut pin = Pin::of(&mut p, page);
    p.tracker.own_in_place(&(0..PAGES)).unwrap();
    assert_eq!(copied(&mut p), set(0..PAGES));
    file.punch(0..live.len() as u64).unwrap();
    assert!(p.bytes(0..live.len()) == live);
    assert_eq!(
        p.publish().len(),
        PAGES,
        "what was copied counts as written, once"
    );
    p.store(&[6, page]);
    assert_eq!(p.publish(), [6, page]);
    let at = page * page_size();
    assert!(
        pin.read() == p.bytes(at..at + page_size()),
        "the page was replaced"
    );
}

/// A pipe with a page in it, itself and not a copy.
struct Pin(std::io::PipeReader);

impl Pin {
    fn of(p: &mut Producer, page: usize) -> Pin {
        let (reader, writer) = std::io::pipe().unwrap();
        let part = libc::iovec {
            iov_base: p.addresses(page..page + 1).start as *mut libc::c_void,
            iov_len: page_size(),
        };
        // SAFETY: one page, mapped as long as the tracker; whoever reads the pipe may see any bytes.
        let len = unsafe { libc::vmsplice(writer.as_raw_fd(), &raw const part, 1, 0) };
        assert_eq!(len, page_size() as isize);
        Pin(reader)
    }

    fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; page_size()];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }
}

#[test]
fn a_forked_child_does_not_inherit_memory_that_rests() {
    let (mut p, ..) = resting();
    let addresses = p.addresses(0..PAGES);
    super::conformance::in_child(|| match crate::sys::live::check_mapped(&addresses) {
        Err(_) => Ok(()),
        Ok(()) => Err("it is mapped".to_owned()),
    });
    assert_eq!(p.publish(), []);
}

#[test]
fn copies_that_the_program_drops_are_found_and_copied_again() {
    let (mut p, _file, _live, mut own) = resting();
    p.store(&[0, 200, 511]);
    assert_eq!(p.publish(), [0, 200, 511]);
    [0, 200, 511].into_iter().for_each(|page| own.insert(page));
    for page in [0, 511] {
        let at = p.addresses(page..page + 1).start as *mut libc::c_void;
        // SAFETY: a page of the test's own buffer, whose bytes may be any.
        let dropped = unsafe { libc::madvise(at, page_size(), libc::MADV_DONTNEED) };
        assert_eq!(dropped, 0);
    }
    assert_eq!(p.harvest().unwrap().len(), 0, "the kernel tells no tracker");
    std::hint::black_box(p.bytes(0..1)[0]);
    let find = |p: &mut Producer, absent| {
        let mut found = set([]);
        let looked = p.tracker.not_copied(&(0..PAGES), &own, absent, &mut found);
        looked.map(|()| found).unwrap()
    };
    assert_eq!(find(&mut p, false), set([0]), "the other was not used");
    assert_eq!(find(&mut p, true), set([0, 511]));
    for page in [0, 511] {
        p.tracker.own_in_place(&(page..page + 1)).unwrap();
    }
    assert_eq!(find(&mut p, true), set([]));
    assert_eq!(p.publish(), [0, 511]);
}

#[test]
fn what_read_puts_into_resting_memory_is_found_and_never_reaches_the_file() {
    let (mut p, file, ..) = resting();
    let len = 3 * page_size();
    let mut random = std::fs::File::open("/dev/urandom").unwrap();
    random.read_exact(p.bytes(len + 10..len + 20)).unwrap();
    assert_eq!(p.publish(), [3]);
    let mut page = vec![0; page_size()];
    read_at(&file.read_only().unwrap(), &mut page, len as u64).unwrap();
    assert!(page.iter().all(|b| *b == 3));
}
