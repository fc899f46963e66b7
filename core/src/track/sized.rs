//! Tests of live memory that consists of huge pages, as far as the program lets it.

use super::TrackerKind;
use super::create::create;
use super::trial_producer::{Producer, span};
use super::uffd_async::UffdAsync;
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::huge::is_huge;
use crate::sys::live::{drop_copies, gather};
use crate::sys::mem::{HUGE_PAGE, Mapping, page_size};
use crate::sys::object::Object;
use proptest::prelude::*;
use std::ops::Range;
use std::os::fd::AsFd;

const CHUNKS: usize = 3;
const PAGES: usize = CHUNKS * CHUNK_PAGES;

/// Returns a producer whose live memory may consist of huge pages.
fn producer() -> Producer {
    let memory = Mapping::reserve_aligned(CHUNKS * HUGE_PAGE).unwrap();
    let tracker = UffdAsync::new(span(&memory)).unwrap();
    let mut p = Producer::with(Box::new(tracker), memory);
    p.tracked.allow_huge_pages(true);
    p.map(0..PAGES);
    p
}

fn pages_of(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}

fn huge(p: &Producer, chunk: usize) -> bool {
    is_huge(&p.addresses(pages_of(chunk))).unwrap()
}

/// Returns a producer whose chunk 1 was written, gathered and published.
fn gathered() -> Producer {
    let mut p = producer();
    p.store(&pages_of(1).collect::<Vec<_>>());
    gather(&p.addresses(pages_of(1))).unwrap();
    assert_eq!(p.publish(), pages_of(1).collect::<Vec<_>>());
    p
}

#[test]
fn huge_page_stays_while_nobody_writes_and_a_store_is_reported_as_one_page() {
    let mut p = gathered();
    for _ in 0..3 {
        assert_eq!(p.publish(), []);
        p.load(CHUNK_PAGES + 9);
        assert!(huge(&p, 1));
    }
    p.store(&[CHUNK_PAGES + 7]);
    assert_eq!(p.publish(), [CHUNK_PAGES + 7]);
    assert!(!huge(&p, 1));
    p.store(&[CHUNK_PAGES + 8, 2 * CHUNK_PAGES - 1]);
    assert_eq!(p.publish(), [CHUNK_PAGES + 8, 2 * CHUNK_PAGES - 1]);
}

#[test]
fn huge_page_that_was_dropped_is_reported() {
    let mut p = gathered();
    // SAFETY: nothing needs the bytes, and nothing is borrowed from them.
    unsafe { drop_copies(&p.addresses(pages_of(1))) }.unwrap();
    assert_eq!(p.publish(), pages_of(1).collect::<Vec<_>>());
}

#[test]
fn reserved_pages_are_refused_under_trackers_that_do_not_see_all_changes_of_them() {
    for kind in [TrackerKind::UffdAsync, TrackerKind::Cow] {
        let memory = Mapping::reserve_aligned(HUGE_PAGE).unwrap();
        let mut p = Producer::with(create(kind, span(&memory)).unwrap(), memory);
        let error = p.tracked.use_reserved_pages().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported, "{kind}");
        p.map(0..CHUNK_PAGES);
        p.store(&[7]);
        assert_eq!(p.publish(), [7]);
    }
}

/// Returns a producer whose chunks are shared with a file. `own` are the pages that are not. Chunk
/// 0 of the file is a huge page.
fn shared(own: &[usize]) -> (Producer, Object) {
    shared_pages(0..PAGES, own)
}

/// As [`shared`], with only `pages` shared, which are whole chunks.
fn shared_pages(pages: Range<usize>, own: &[usize]) -> (Producer, Object) {
    let mut p = producer();
    let all: Vec<usize> = (0..PAGES).collect();
    p.store(&all);
    p.publish();
    let live = p.bytes(0..CHUNKS * HUGE_PAGE).to_vec();
    let file = Object::create("plane", live.len() as u64).unwrap();
    // SAFETY: the buffer is a local one that nothing writes meanwhile.
    unsafe { file.write_from(live.as_ptr(), live.len(), 0) }.unwrap();
    let plane = Mapping::reserve_aligned(HUGE_PAGE).unwrap();
    // SAFETY: the reservation is new, and nothing is borrowed from it.
    unsafe { plane.put_shared(0, HUGE_PAGE, file.as_fd(), 0) }.unwrap();
    let range = plane.addr()..plane.addr() + HUGE_PAGE;
    // The kernel may refuse for a moment, for example while it moves pages.
    let mut tries = (0..100).map(|pause| {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        gather(&range)
    });
    tries.find(|gathered| gathered.is_ok()).unwrap().unwrap();
    let mut copies = PageSet::new(PAGES);
    own.iter().for_each(|page| copies.insert(*page));
    // SAFETY: only this thread uses the memory, no page is locked for DMA, and the file holds the
    // bytes of all pages. The tests never write it.
    unsafe { p.tracked.share(&pages, file.as_fd(), &copies) }.unwrap();
    (p, file)
}

#[test]
fn chunk_that_is_shared_with_a_huge_page_stays_huge_until_a_store() {
    let (mut p, _file) = shared(&[CHUNK_PAGES + 3]);
    for _ in 0..3 {
        assert_eq!(p.publish(), []);
        assert!(huge(&p, 0));
    }
    p.store(&[5, CHUNK_PAGES + 3, 2 * CHUNK_PAGES + 6]);
    assert_eq!(p.publish(), [5, CHUNK_PAGES + 3, 2 * CHUNK_PAGES + 6]);
    assert!(!huge(&p, 0));
    assert_eq!(p.publish(), []);
    p.store(&[5, 6]);
    assert_eq!(p.publish(), [5, 6]);
}

#[test]
fn run_that_is_shared_as_a_whole_is_one_mapping_and_begins_with_its_huge_page() {
    let (mut p, _file) = shared(&[]);
    assert_eq!(p.publish(), []);
    assert!(huge(&p, 0));
    let all = p.addresses(0..PAGES);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let inside = maps.lines().filter(|line| {
        let start = line.split('-').next().unwrap();
        all.contains(&usize::from_str_radix(start, 16).unwrap())
    });
    assert_eq!(inside.count(), 1);
}

#[test]
fn chunk_that_is_shared_alone_is_huge() {
    let (mut p, _file) = shared_pages(pages_of(0), &[]);
    for _ in 0..3 {
        assert_eq!(p.publish(), []);
        assert!(huge(&p, 0));
    }
    p.store(&[5]);
    assert_eq!(p.publish(), [5]);
    assert!(!huge(&p, 0));
}

#[test]
fn memory_that_was_mapped_over_a_shared_chunk_is_an_error_at_every_harvest() {
    let (mut p, _file) = shared(&[]);
    let at = p.pointer(CHUNK_PAGES + 7);
    // SAFETY: nothing is borrowed from the page, and any bytes in it are valid.
    let mapped = unsafe {
        let (access, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
        );
        libc::mmap(at.as_ptr(), page_size(), access, flags, -1, 0)
    };
    assert_eq!(mapped, at.as_ptr());
    assert!(p.harvest().is_err());
    assert!(p.harvest().is_err());
}

#[test]
fn shared_chunk_that_becomes_private_again_is_tracked() {
    let (mut p, _file) = shared(&[]);
    p.store(&[5]);
    // SAFETY: only this thread uses the memory, and no page is locked for DMA.
    unsafe { p.tracked.own(&(0..CHUNK_PAGES)) }.unwrap();
    p.store(&[6, 2 * CHUNK_PAGES]);
    assert_eq!(
        p.harvest().unwrap().iter().collect::<Vec<_>>(),
        [6, 2 * CHUNK_PAGES]
    );
}

/// A step of a sequence.
#[derive(Clone, Debug)]
enum Step {
    Store(Vec<usize>),
    Fill(usize),
    Gather(usize),
    Publish,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(0..PAGES, 1..8).prop_map(Step::Store),
        (0..CHUNKS).prop_map(Step::Fill),
        (0..CHUNKS).prop_map(Step::Gather),
        Just(Step::Publish),
    ]
}

#[test]
fn any_sequence_of_stores_and_gathering_reports_what_was_written() {
    proptest!(ProptestConfig::with_cases(48), |(
        steps in prop::collection::vec(step(), 1..24),
        file: bool,
    )| {
        let (mut p, _file) = match file {
            true => shared(&[3]),
            false => (producer(), Object::create("unused", 4096).unwrap()),
        };
        p.publish();
        let mut written = PageSet::new(PAGES);
        for step in steps.into_iter().chain([Step::Publish]) {
            let stores = match step {
                Step::Store(pages) => pages,
                Step::Fill(chunk) => pages_of(chunk).collect(),
                Step::Gather(chunk) => {
                    // The kernel refuses chunks that are protected or not whole.
                    let _ = gather(&p.addresses(pages_of(chunk)));
                    continue;
                }
                Step::Publish => {
                    let expected: Vec<usize> = written.iter().collect();
                    prop_assert_eq!(p.publish(), expected);
                    written.clear();
                    continue;
                }
            };
            // Each page is stored once before a publish, as in the other sequences.
            for page in stores {
                if !written.contains(page) {
                    p.store(&[page]);
                    written.insert(page);
                }
            }
        }
    });
}
