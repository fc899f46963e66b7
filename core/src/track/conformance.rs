//! Tests of what every tracker has to do, which run against each of the three trackers.
//!
//! `compare` reports candidates only, so the tests compare the bytes of candidates with a shadow
//! copy, as the capture does. A tracker that cannot be used fails these tests; none is skipped.

use super::trial_producer::{Producer, faults, in_child, pages, reserve, set, span};
use super::{Harvest, TrackedMemory, TrackerKind};
use crate::pageset::PageSet;
use crate::sys::live::check_mapped;
use crate::sys::mem::page_size;
use nix::sys::mman::munmap;
use std::io::Read;

fn without_writes_nothing_is_reported(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..64);
    assert_eq!(p.publish(), []);
    (0..64)
        .step_by(3)
        .for_each(|page| assert_eq!(p.load(page), 0));
    assert_eq!(p.publish(), []);
}

fn stores_to_untouched_read_and_written_pages_are_found(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..64);
    p.load(5);
    p.store(&[5, 6, 40]);
    assert_eq!(p.publish(), [5, 6, 40]);
    p.load(41);
    p.store(&[6, 41, 63]);
    assert_eq!(p.publish(), [6, 41, 63]);
    assert_eq!(p.publish(), []);
}

fn stores_at_both_ends_of_a_range_are_found(kind: TrackerKind) {
    let mut p = Producer::new(kind, 600, 3..597);
    p.store_at(3, 0);
    p.store_at(596, page_size() - 1);
    assert_eq!(p.publish(), [3, 596]);
    let at = 100 * page_size() - 1;
    p.bytes(at..at + 2).fill(9); // across the border of two pages
    assert_eq!(p.publish(), [99, 100]);
}

fn writes_by_system_calls_are_found(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..64);
    let len = 4 * page_size();
    for _ in 0..2 {
        let mut random = std::fs::File::open("/dev/urandom").unwrap();
        random.read_exact(p.bytes(len + 10..2 * len)).unwrap();
        assert_eq!(p.publish(), [4, 5, 6, 7]);
    }
}

fn each_range_is_tracked_from_the_moment_it_is_mapped(kind: TrackerKind) {
    let mut p = Producer::new(kind, 2000, 10..20);
    p.store(&[15]);
    p.map(1030..1999);
    p.map(20..30); // directly behind the first range
    p.store(&[19, 20, 1030, 1998]);
    assert_eq!(p.publish(), [15, 19, 20, 1030, 1998]);
    assert_eq!(p.publish(), []);
    p.map(500..501);
    p.store(&[12, 500]);
    assert_eq!(p.publish(), [12, 500]);
}

fn range_is_mapped_only_once_and_only_inside_the_span(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 10..20);
    p.store(&[15]);
    for pages in [15..16, 5..11, 60..65, 64..64, 30..30, 0..usize::MAX] {
        assert!(p.tracked.map(pages.clone()).is_err(), "{pages:?}");
    }
    assert_eq!(p.publish(), [15]);
}

fn thousands_of_scattered_pages_are_all_found(kind: TrackerKind) {
    let mut p = Producer::new(kind, 12_000, 0..12_000);
    let odd: Vec<usize> = (1..12_000).step_by(2).collect();
    p.store(&odd);
    assert_eq!(p.publish(), odd);
    assert_eq!(p.publish(), []);
}

fn no_store_to_expected_pages_is_lost_and_they_are_tracked_again_later(kind: TrackerKind) {
    let mut p = Producer::new(kind, 1100, 0..1100);
    let habit = [3, 4, 600];
    p.store(&habit);
    p.publish();
    for _ in 0..3 {
        p.store(&[3, 600, 9]);
        let written = p.harvest_but(&habit).unwrap();
        assert!([3, 9, 600].iter().all(|page| written.contains(*page)));
        assert!(!written.contains(5) && !written.contains(700));
        // Expected pages are not settled, as in publish.
        let mut captured = written.clone();
        captured.subtract(&set(1100, &habit));
        p.capture(&captured);
    }
    // Pages that are no longer expected are reported once more, whether they were written or not.
    // After that they are reported only when they were written.
    p.store(&[4, 700]);
    let written = p.harvest().unwrap();
    assert!(written.contains(4) && written.contains(700));
    p.capture(&set(1100, &[3, 4, 600, 700, 9]));
    assert_eq!(p.publish(), []);
    p.store(&[3, 601]);
    assert_eq!(p.publish(), [3, 601]);
}

fn harvest_that_is_not_settled_loses_nothing(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..64);
    p.store(&[1, 2]);
    let kept = p.harvest().unwrap(); // its version never became visible
    p.store(&[2, 3]);
    let mut written = p.harvest().unwrap();
    written.union(&kept);
    assert_eq!(written.iter().collect::<Vec<_>>(), [1, 2, 3]);
}

fn pages_written_by_devices_are_reported_every_time_and_keep_their_content(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..32);
    p.store(&[7, 8]);
    p.tracker().pin(7..9);
    p.tracker().pin(31..40); // some of these are not mapped
    for _ in 0..3 {
        let mut found = Harvest::new(64);
        p.tracker().harvest(&PageSet::new(64), &mut found).unwrap();
        let mut written = found.written;
        written.union(&found.maybe);
        assert!([7, 8, 31].iter().all(|page| written.contains(*page)));
        assert!((32..64).all(|page| !written.contains(page)));
        p.tracker().settle(&written).unwrap();
        p.store(&[7]);
    }
    assert_eq!(p.bytes(7 * page_size()..8 * page_size())[100], 4);
}

fn unmapped_memory_is_an_error_at_every_harvest(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..64);
    p.store(&[1, 60]);
    // SAFETY: nothing is borrowed from the page.
    unsafe { munmap(p.pointer(30), page_size()) }.unwrap();
    assert!(p.harvest().is_err());
    assert!(p.harvest().is_err());
}

fn pages_reported_without_a_store_were_said_to_be_unarmed(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..64);
    p.store(&[3, 9, 20]);
    p.publish();
    p.store(&[3, 9]);
    let mut unarmed = PageSet::new(64);
    for expected in [&[9, 20][..], &[]] {
        let mut found = Harvest::new(64);
        let harvested = p.tracker().harvest(&set(64, expected), &mut found);
        harvested.unwrap();
        found.written.subtract(&unarmed);
        let stored = if unarmed.is_empty() { &[3, 9][..] } else { &[] };
        let reported = if kind == TrackerKind::Compare {
            &[]
        } else {
            stored
        };
        assert_eq!(pages(&found.written), reported);
        unarmed = found.unarmed;
        assert!(expected.iter().all(|page| unarmed.contains(*page)));
    }
}

fn forked_child_is_refused_and_disturbs_nothing(kind: TrackerKind) {
    let mut p = Producer::new(kind, 64, 0..40);
    p.store(&[3, 4]);
    in_child(|| {
        let refused = p
            .tracker()
            .harvest(&PageSet::new(64), &mut Harvest::new(64))
            .is_err()
            && p.tracker().settle(&PageSet::new(64)).is_err()
            && p.tracked.map(50..51).is_err();
        let absent = check_mapped(&p.addresses(3..4)).is_err();
        if refused && absent {
            Ok(())
        } else {
            Err(format!("refused {refused}, absent {absent}"))
        }
    });
    p.store(&[5]);
    assert_eq!(p.publish(), [3, 4, 5]);
}

macro_rules! for_each_tracker {
    ($($test:ident)*) => {
        for_each_tracker!(@one uffd_async, UffdAsync, $($test)*);
        for_each_tracker!(@one cow, Cow, $($test)*);
        for_each_tracker!(@one compare, Compare, $($test)*);
    };
    (@one $module:ident, $kind:ident, $($test:ident)*) => {
        mod $module {
            use super::TrackerKind;
            $(#[test] fn $test() { super::$test(TrackerKind::$kind) })*
        }
    };
}

for_each_tracker! {
    without_writes_nothing_is_reported
    stores_to_untouched_read_and_written_pages_are_found
    stores_at_both_ends_of_a_range_are_found
    writes_by_system_calls_are_found
    each_range_is_tracked_from_the_moment_it_is_mapped
    range_is_mapped_only_once_and_only_inside_the_span
    thousands_of_scattered_pages_are_all_found
    no_store_to_expected_pages_is_lost_and_they_are_tracked_again_later
    harvest_that_is_not_settled_loses_nothing
    pages_written_by_devices_are_reported_every_time_and_keep_their_content
    unmapped_memory_is_an_error_at_every_harvest
    pages_reported_without_a_store_were_said_to_be_unarmed
    forked_child_is_refused_and_disturbs_nothing
}

#[test]
fn expected_pages_do_not_fault_and_are_reported_every_time_under_uffd_async() {
    let mut p = Producer::new(TrackerKind::UffdAsync, 1100, 0..1100);
    let habit: Vec<usize> = (0..1100).step_by(3).collect();
    for round in 0..5 {
        let before = faults();
        p.store(&habit);
        let faults = faults() - before;
        match round {
            0 | 1 => assert!(faults >= habit.len() as i64, "round {round}: {faults}"),
            _ => assert_eq!(faults, 0, "round {round}"),
        }
        let expected = if round == 0 { &[][..] } else { &habit };
        assert_eq!(pages(&p.harvest_but(expected).unwrap()), habit);
    }
    assert_eq!(
        pages(&p.harvest_but(&habit).unwrap()),
        habit,
        "not stored to"
    );
    assert_eq!(pages(&p.harvest().unwrap()), habit, "dropped");
    assert_eq!(pages(&p.harvest().unwrap()), []);
}

#[test]
fn suspended_pages_are_not_reported_until_they_are_resumed_and_written() {
    let mut p = Producer::new(TrackerKind::UffdAsync, 2048, 0..2048);
    p.store(&[5, 600, 1100]);
    assert_eq!(p.publish(), [5, 600, 1100]);
    p.tracker().suspend(&(512..1536)).unwrap();
    p.store(&[6, 601, 1101, 1600]);
    assert_eq!(pages(&p.harvest().unwrap()), [6, 1600]);
    p.tracker().resume(&(512..1024)).unwrap();
    p.store(&[7, 602, 1102]);
    assert_eq!(pages(&p.harvest().unwrap()), [7, 602]);
    p.store(&[601, 1023, 1101]);
    assert_eq!(pages(&p.harvest().unwrap()), [601, 1023]);
    p.tracker().resume(&(1024..1536)).unwrap();
    assert_eq!(pages(&p.harvest().unwrap()), []);
    p.store(&[1024, 1535]);
    assert_eq!(pages(&p.harvest().unwrap()), [1024, 1535]);
}

#[test]
fn trackers_that_cannot_suspend_continue_tracking() {
    for kind in [TrackerKind::Cow, TrackerKind::Compare] {
        let mut p = Producer::new(kind, 1024, 0..1024);
        p.tracker().suspend(&(0..512)).unwrap_err();
        p.store(&[5, 600]);
        assert_eq!(p.publish(), [5, 600], "{kind}");
    }
}

#[test]
fn in_a_sparse_tebibyte_stores_are_found_and_loads_are_not_reported() {
    let all = (1 << 40) / page_size();
    let memory = reserve(all);
    // SAFETY: the reservation belongs to this test alone, and outlives the tracked memory, because
    // it is declared before it.
    let tracked = unsafe { TrackedMemory::create(TrackerKind::UffdAsync, span(&memory)) };
    let mut tracked = tracked.unwrap();
    tracked.map(0..all).unwrap();
    let at = |page: usize| (memory.addr() + page * page_size() + 8) as *mut u64;
    // SAFETY: the pages are mapped writable, and only this thread uses them.
    let store = |page: usize| unsafe { at(page).write_volatile(at(page).read_volatile() + 1) };
    // SAFETY: as above.
    let load = |page: usize| unsafe { at(page).read_volatile() };
    let mut harvest = || {
        let mut found = Harvest::new(all);
        let harvested = tracked.tracker().harvest(&PageSet::new(all), &mut found);
        harvested.map(|()| pages(&found.written)).unwrap()
    };
    let written: Vec<usize> = (0..40).map(|i| i * (all / 40) + i).collect();
    for round in 0..3 {
        written.iter().for_each(|page| store(*page));
        // Loads of pages in the same chunks, and in others.
        written
            .iter()
            .for_each(|page| assert_eq!(load(page + 1) + load(page + 5000), 0));
        assert_eq!(harvest(), written, "round {round}");
        written
            .iter()
            .for_each(|page| assert_eq!(load(page + 2) + load(page + 9000), 0));
        assert_eq!(harvest(), [], "round {round}");
    }
    // First stores to pages that were only read.
    let others: Vec<usize> = written
        .iter()
        .flat_map(|page| [page + 1, page + 5000])
        .collect();
    others.iter().for_each(|page| store(*page));
    assert_eq!(harvest(), others);
}

#[test]
fn any_sequence_of_stores_and_publishes_gives_the_same_with_every_tracker() {
    use proptest::prelude::*;
    let steps = proptest::collection::vec(proptest::collection::vec(0usize..300, 0..40), 1..8);
    proptest!(ProptestConfig::with_cases(48), |(steps in steps)| {
        for kind in TrackerKind::ALL {
            let mut p = Producer::new(kind, 300, 0..300);
            for pages in &steps {
                let mut expected = PageSet::new(300);
                pages.iter().for_each(|page| expected.insert(*page));
                // Each page is stored once. A second store could restore the byte, and `compare`
                // is right to report the page as unchanged then.
                p.store(&expected.iter().collect::<Vec<_>>());
                prop_assert_eq!(p.publish(), expected.iter().collect::<Vec<_>>(), "{}", kind);
            }
        }
    });
}
