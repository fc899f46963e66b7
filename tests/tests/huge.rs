//! Huge pages in live memory: it gets them while nobody waits, keeps them as long as it can, and
//! versions are the same.

use std::ops::Range;
use std::time::{Duration, Instant};
use tcasm_core::sys::huge::is_huge;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_core::track::{Verdict, probe};
use tcasm_observer::Observer;
use tcasm_producer::{Builder, CaptureMode, Field, HandedOver, HugePages, Producer, Receipt};
use tcasm_tests::PublishVisible;
use tcasm_tests::name;
use tcasm_tests::puppet::Puppet;

const HUGE_PAGES: usize = 4;
const ELEMENTS: usize = HUGE_PAGES * HUGE_PAGE / size_of::<u64>();
const IN_PAGE: usize = 512;
/// A time that is longer than any change of the size of pages may take.
const LIMIT: Duration = Duration::from_secs(60);

type Data = Field<u64, ndarray::Ix1>;

/// Returns the settings of a region with room for the field and for several versions of it.
fn builder(name: &str) -> Builder {
    assert_eq!(
        probe().huge_pages,
        Verdict::Usable,
        "these tests need a kernel that tracks huge pages"
    );
    Producer::builder(name).capacity(2 * HUGE_PAGES * HUGE_PAGE)
}

/// Publishes, waits until the version is visible, and returns how many pages it captured.
fn publish(p: &mut Producer, step: u64) -> u64 {
    match p.publish_visible(step, 0.0).unwrap() {
        Receipt::Published(published) => published.pages,
        other => panic!("{other:?}"),
    }
}

fn fill(p: &mut Producer, field: Data, value: u64) {
    let values = p.view_mut(field).unwrap().into_iter().enumerate();
    values.for_each(|(i, x)| *x = i as u64 ^ value);
}

/// Returns the whole huge pages in the memory of an array.
fn huge_pages_of(array: &[u64]) -> Vec<Range<usize>> {
    let bytes = array.as_ptr_range();
    let first = (bytes.start as usize).next_multiple_of(HUGE_PAGE);
    let last = bytes.end as usize / HUGE_PAGE * HUGE_PAGE;
    let pages = (first..last).step_by(HUGE_PAGE);
    pages.map(|at| at..at + HUGE_PAGE).collect()
}

/// Returns how many of the huge pages that an array could have it has, and how many it could have.
fn count(array: &[u64]) -> (usize, usize) {
    let pages = huge_pages_of(array);
    let huge = pages.iter().filter(|range| is_huge(range).unwrap());
    (huge.count(), pages.len())
}

/// Does the same for live memory of a field.
fn count_of(p: &Producer, field: Data) -> (usize, usize) {
    count(p.view(field).unwrap().as_slice().unwrap())
}

fn all_huge(array: &[u64]) -> bool {
    let (huge, all) = count(array);
    assert!(all >= HUGE_PAGES - 1);
    huge == all
}

/// Returns true if live memory of the field has all huge pages that it could have.
fn field_is_huge(p: &Producer, field: Data) -> bool {
    all_huge(p.view(field).unwrap().as_slice().unwrap())
}

/// Checks that the newest version has the bytes of live memory.
fn check(p: &Producer, observer: &mut Observer, field: Data) {
    let version = observer.latest().unwrap();
    let view = version.view().unwrap();
    let (seen, live) = (view.array::<u64>("a").unwrap(), p.view(field).unwrap());
    assert!(seen.iter().eq(live.iter()), "version {}", version.number());
}

/// Calls `step` until `done` returns true.
fn until(p: &mut Producer, mut step: impl FnMut(&mut Producer), done: impl Fn(&Producer) -> bool) {
    let start = Instant::now();
    while !done(p) {
        assert!(start.elapsed() < LIMIT, "it takes too long");
        step(p);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn field_that_was_written_whole_becomes_huge_pages_before_it_is_published() {
    let name = name("fresh-huge");
    let mut p = builder(&name).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    until(&mut p, |_| (), |p| field_is_huge(p, a));
    assert_eq!(publish(&mut p, 1), (ELEMENTS / IN_PAGE) as u64);
    let mut observer = Observer::attach(&name).unwrap();
    check(&p, &mut observer, a);
    assert!(field_is_huge(&p, a), "protecting splits none");
    assert_eq!(publish(&mut p, 2), 0);
}

#[test]
fn store_splits_one_huge_page_and_is_captured_as_one_page() {
    let name = name("split-huge");
    let mut p = builder(&name).shared_backing(false).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    until(&mut p, |_| (), |p| field_is_huge(p, a));
    publish(&mut p, 1);
    p.view_mut(a).unwrap()[ELEMENTS / 2] = 7;
    assert_eq!(publish(&mut p, 2), 1);
    let (huge, all) = count_of(&p, a);
    assert_eq!(huge, all - 1);
    check(&p, &mut Observer::attach(&name).unwrap(), a);
}

#[test]
fn cold_memory_is_shared_with_huge_pages_of_a_plane() {
    let name = name("shared-huge");
    let mut p = builder(&name).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    let mut observer = Observer::attach(&name).ok();
    fill(&mut p, a, 1);
    let mut step = 0;
    let next = |p: &mut Producer| {
        step += 1;
        publish(p, step);
    };
    let bytes = (ELEMENTS * size_of::<u64>() - 2 * HUGE_PAGE) as u64;
    until(&mut p, next, |p| {
        p.stats().shared_bytes >= bytes && field_is_huge(p, a)
    });
    let observer = observer.get_or_insert_with(|| Observer::attach(&name).unwrap());
    check(&p, observer, a);
    for value in 1..20u64 {
        p.view_mut(a).unwrap()[(value * 7919) as usize % ELEMENTS] ^= value << 32;
        assert_eq!(publish(&mut p, 1000 + value), 1);
        check(&p, observer, a);
    }
}

#[test]
fn cold_memory_that_is_not_shared_becomes_huge_pages_again() {
    let name = name("again-huge");
    let mut p = builder(&name).shared_backing(false).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    // One page of each huge page is written, before any of them is gathered or after it.
    let mut step = 0;
    for _ in 0..2 {
        publish(&mut p, step);
        let view = p.view_mut(a).unwrap().into_slice().unwrap();
        view.iter_mut().step_by(HUGE_PAGE / 8).for_each(|x| *x += 1);
        step += 1;
    }
    let next = |p: &mut Producer| {
        step += 1;
        publish(p, step);
    };
    let mut observer = Observer::attach(&name).unwrap();
    until(&mut p, next, |p| field_is_huge(p, a));
    check(&p, &mut observer, a);
    fill(&mut p, a, 3);
    publish(&mut p, 1 << 20);
    check(&p, &mut observer, a);
}

#[test]
fn stores_while_a_chunk_is_gathered_are_in_the_next_version() {
    let name = name("stores-huge");
    let builder = builder(&name).shared_backing(false).cold_versions(1);
    let mut p = builder.create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    publish(&mut p, 0);
    let mut observer = Observer::attach(&name).unwrap();
    for step in 1..200u64 {
        if step % 3 == 0 {
            p.view_mut(a).unwrap()[(step * 104_729) as usize % ELEMENTS] = step;
        }
        publish(&mut p, step);
        check(&p, &mut observer, a);
    }
}

#[test]
fn field_that_is_handed_over_becomes_huge_pages() {
    let name = name("handed-huge");
    let mut p = builder(&name).memory(64 << 20).create().unwrap();
    let field = p.field::<u64, _>("a", [ELEMENTS]).handed_over();
    let a: Field<u64, ndarray::Ix1, HandedOver> = field.add().unwrap();
    let mut step = 0;
    let rewrite = |p: &mut Producer| {
        step += 1;
        let values = ndarray::Array1::from_iter(0..ELEMENTS as u64);
        ndarray::Zip::from(&values).map_assign_into(p.rewrite(a).unwrap(), |i| i ^ step);
        publish(p, step);
    };
    let mut observer = Observer::attach(&name).ok();
    // All planes that take turns must have huge pages.
    let turns = std::cell::Cell::new(0);
    until(&mut p, rewrite, |p| {
        let huge = p.view(a).is_ok_and(|v| all_huge(v.as_slice().unwrap()));
        turns.set(if huge { turns.get() + 1 } else { 0 });
        turns.get() > 20
    });
    let observer = observer.get_or_insert_with(|| Observer::attach(&name).unwrap());
    let version = observer.latest().unwrap();
    let view = version.view().unwrap();
    let seen = view.array::<u64>("a").unwrap();
    let right = |(i, x): (usize, &u64)| *x == i as u64 ^ version.step();
    assert!(seen.iter().enumerate().all(right));
}

#[test]
fn assembled_chunks_become_huge_pages_of_observers() {
    let name = name("assembled-huge");
    let mut p = builder(&name).always_assemble().create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    publish(&mut p, 1);
    let mut observer = Observer::attach(&name).unwrap();
    let start = Instant::now();
    for step in 2.. {
        let mut live = p.view_mut(a).unwrap();
        // So few pages that no capture is deferred.
        (0..ELEMENTS)
            .step_by(20 * IN_PAGE)
            .for_each(|i| live[i] = step);
        publish(&mut p, step);
        check(&p, &mut observer, a);
        let version = observer.latest().unwrap();
        let view = version.view().unwrap();
        let seen = view.array::<u64>("a").unwrap();
        // Reading maps pages that are not mapped yet.
        assert_eq!(seen.sum(), p.view(a).unwrap().sum());
        if all_huge(seen.as_slice().unwrap()) {
            break;
        }
        assert!(
            start.elapsed() < LIMIT,
            "it takes too long: {:?} huge pages, {:?}",
            count(seen.as_slice().unwrap()),
            p.stats()
        );
    }
}

#[test]
fn sparse_memory_that_is_cold_stays_small_pages() {
    let name = name("sparse-cold");
    let builder = builder(&name).cold_versions(1).gather_often();
    let mut p = builder.create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    for page in (0..ELEMENTS / IN_PAGE).step_by(2) {
        p.view_mut(a).unwrap()[page * IN_PAGE] = 1;
    }
    for step in 0..40 {
        publish(&mut p, step);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count_of(&p, a).0, 0);
}

#[test]
fn without_huge_pages_live_memory_stays_small_pages() {
    let name = name("off-huge");
    let builder = builder(&name).huge_pages(HugePages::Off).gather_often();
    let mut p = builder.cold_versions(1).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    for step in 0..40 {
        publish(&mut p, step);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(p.stats().shared_bytes > 0);
    assert_eq!(count_of(&p, a).0, 0);
}

#[test]
fn variables_with_unknown_values_are_errors_that_name_them() {
    let program = env!("CARGO_BIN_EXE_puppet");
    for variable in ["TCASM_HUGE_PAGES", "TCASM_SHARED_BACKING"] {
        let dir = tempfile::tempdir().unwrap();
        let mut puppet = Puppet::with_env(program, dir.path(), &[(variable, "2")]);
        let error = puppet.error("create region");
        assert!(error.contains(&format!("{variable}=\"2\"")), "{error}");
    }
}

#[test]
fn sparse_memory_has_huge_pages_only_where_plain_memory_has_them() {
    let name = name("sparse-huge");
    let mut p = builder(&name).create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    let mut plain = vec![0; ELEMENTS];
    for element in (0..ELEMENTS).step_by(2 * IN_PAGE) {
        p.view_mut(a).unwrap()[element] = 1;
        plain[element] = 1;
    }
    std::thread::sleep(Duration::from_secs(1));
    // The system gives huge pages to all programs if `enabled` is `always`.
    let (huge, _) = count_of(&p, a);
    assert!(huge == 0 || count(&plain).0 != 0);
    // Each of them has pages that were not stored to.
    let more = huge * HUGE_PAGE / page_size() / 2;
    assert_eq!(publish(&mut p, 1), (ELEMENTS / IN_PAGE / 2 + more) as u64);
    assert_eq!(page_size(), IN_PAGE * size_of::<u64>());
}

#[test]
fn shared_memory_that_was_copied_as_a_whole_is_not_gathered_in_its_plane() {
    let name = name("copied-huge");
    let builder = builder(&name).capture(CaptureMode::Inline);
    let mut p = builder.gather_often().create().unwrap();
    let a = p.field::<u64, _>("a", [ELEMENTS]).add().unwrap();
    fill(&mut p, a, 1);
    let mut step = 0;
    let next = |p: &mut Producer| {
        step += 1;
        publish(p, step);
    };
    until(&mut p, next, |p| p.stats().shared_bytes > HUGE_PAGE as u64);
    // All pages become copies. The frames of every second page are given back. A version that is
    // held needs the others.
    let mut observer = Observer::attach(&name).unwrap();
    let write = |p: &mut Producer, first: usize| {
        let view = p.view_mut(a).unwrap().into_slice().unwrap();
        let values = view.iter_mut().skip(first * IN_PAGE);
        values.step_by(2 * IN_PAGE).for_each(|x| *x += 1);
        publish(p, 1000 + first as u64);
    };
    write(&mut p, 0);
    let _held = observer.latest().unwrap();
    write(&mut p, 1);
    publish(&mut p, 2000);
    assert!(p.trim().unwrap() > HUGE_PAGE as u64);
    // Now none of the copies is protected.
    fill(&mut p, a, 3);
    std::thread::sleep(Duration::from_secs(1));
    let stats = p.stats();
    assert_eq!((stats.stray_bytes, stats.stray_bytes_returned), (0, 0));
}
