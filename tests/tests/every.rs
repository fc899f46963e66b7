//! Observers that take every version in order.

use std::sync::atomic::Ordering;
use std::time::Duration;
use tcasm_core::format::layout::header;
use tcasm_observer::{EveryVersion, ObserveError, Observer, Version};
use tcasm_producer::{Buffer, Builder, Producer};
use tcasm_tests::index::index_of;
use tcasm_tests::{PublishVisible, name};

type Bytes = Buffer<u8, ndarray::Ix1>;

const DEADLINE: Duration = Duration::from_secs(60);

/// Returns a builder of a region with at most three versions, of which only the newest is kept.
fn tight(name: &str) -> Builder {
    Producer::builder(name)
        .capacity(4096)
        .versions(3)
        .history(0)
}

fn create(builder: Builder) -> (Producer, Bytes) {
    let mut p = builder.create().unwrap();
    let field = p.field::<u8, _>("b", [100]).add().unwrap();
    (p, field.buffer())
}

/// Publishes a version whose bytes are all `n`, without waiting. Returns its number.
fn publish(p: &mut Producer, field: Bytes, n: u64) -> Option<u64> {
    p.view_mut(field).unwrap().fill(n as u8);
    p.publish_visible(n, 0.0).unwrap().version()
}

/// Takes the versions that are there, and returns their numbers.
fn take(every: &mut EveryVersion<'_>) -> Vec<u64> {
    let mut taken = Vec::new();
    loop {
        match every.next(Duration::ZERO) {
            Ok(version) => taken.push(version.number()),
            Err(ObserveError::NotReady) => return taken,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn slow_observer_takes_every_version_of_a_producer_that_waits() {
    let name = name("every");
    let (mut p, f) = create(tight(&name));
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for n in 1..=200 {
                p.view_mut(f).unwrap().fill(n as u8);
                let receipt = p.publish_wait(n, 0.0, DEADLINE).unwrap();
                assert_eq!(receipt.version(), Some(n));
            }
        });
        for n in 1..=200_u64 {
            if n.is_multiple_of(10) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let version = every.next(DEADLINE).unwrap();
            assert_eq!((version.number(), version.step()), (n, n));
            let view = version.view().unwrap();
            assert!(view.bytes("b").unwrap().iter().all(|b| *b == n as u8));
        }
    });
    assert!(matches!(
        every.next(DEADLINE),
        Err(ObserveError::EndOfStream)
    ));
    assert!(every.missed().is_empty());
}

#[test]
fn producer_that_does_not_wait_skips_until_a_version_is_released() {
    let name = name("every-skips");
    let (mut p, f) = create(tight(&name));
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    let numbers: Vec<_> = (1..=5).map(|n| publish(&mut p, f, n)).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3), None, None]);
    let held = every.next(Duration::ZERO).unwrap();
    assert_eq!((held.number(), publish(&mut p, f, 6)), (1, None));
    drop(held);
    assert_eq!(publish(&mut p, f, 7), Some(4));
    assert_eq!(take(&mut every), [2, 3, 4]);
    assert!(every.missed().is_empty());
    // When it is gone, versions are reclaimed as before.
    drop(every);
    let numbers: Vec<_> = (8..=20).map(|n| publish(&mut p, f, n)).collect();
    assert_eq!(numbers, (5..=17).map(Some).collect::<Vec<_>>());
}

#[test]
fn it_begins_with_the_versions_that_exist_and_have_not_been_seen() {
    let name = name("every-late");
    let (mut p, f) = create(tight(&name).versions(8).history(3));
    let mut o = Observer::attach(&name).unwrap();
    for n in 1..=10 {
        publish(&mut p, f, n);
    }
    let mut other = Observer::attach(&name).unwrap();
    let held = other.version(7).unwrap();
    for n in 11..=20 {
        publish(&mut p, f, n);
    }
    assert_eq!(o.version(18).unwrap().number(), 18);
    let mut every = o.every_version().unwrap();
    // Version 7 is one of the three that are kept besides the newest.
    assert_eq!(take(&mut every), [7, 18, 19, 20]);
    assert!(
        every.missed().is_empty(),
        "what was gone before is not missed"
    );
    drop((every, held));
    publish(&mut p, f, 21);
    assert_eq!(o.latest().unwrap().number(), 21);
    publish(&mut p, f, 22);
    assert_eq!(take(&mut o.every_version().unwrap()), [22]);
}

#[test]
fn all_versions_since_the_beginning_are_taken_whatever_their_numbers() {
    let name = name("every-first");
    let first = 1 << 40;
    let (mut p, f) = create(tight(&name).first_version(first));
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    // A restarted simulation publishes often before the observer looks for the first time.
    let published: Vec<_> = (1..=10).filter_map(|n| publish(&mut p, f, n)).collect();
    assert_eq!(published, [first, first + 1, first + 2]);
    assert_eq!(take(&mut every), published);
    let published: Vec<_> = (11..=20).filter_map(|n| publish(&mut p, f, n)).collect();
    assert_eq!(published[0], first + 3);
    assert_eq!(take(&mut every), published);
    assert!(every.missed().is_empty());
}

#[test]
fn first_version_of_an_older_producer_may_have_any_number() {
    let name = name("every-older");
    let first = 1 << 40;
    let (mut p, f) = create(tight(&name).first_version(first));
    // SAFETY: the producer lives until the end of the test.
    let index = unsafe { index_of(&name) }.unwrap();
    assert_eq!(index[header::FIRST / 8].swap(0, Ordering::SeqCst), first);
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    assert!(take(&mut every).is_empty());
    assert_eq!(publish(&mut p, f, 1), Some(first));
    assert_eq!(take(&mut every), [first]);
    let published: Vec<_> = (2..=9).filter_map(|n| publish(&mut p, f, n)).collect();
    assert_eq!(take(&mut every), published);
    assert_eq!(published[0], first + 1);
    assert!(every.missed().is_empty());
}

#[test]
fn observer_that_holds_as_many_versions_as_it_can_takes_the_next_when_it_drops_some() {
    let name = name("every-most");
    let (mut p, f) = create(tight(&name).versions(64).memory(1 << 24));
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    let one = |n: u64| {
        assert_eq!(publish(&mut p, f, n), Some(n));
        every.next(Duration::ZERO).unwrap()
    };
    let mut held: Vec<Version> = (1..=64).map(one).collect();
    let numbers: Vec<_> = held.iter().map(Version::number).collect();
    assert_eq!(numbers, (1..=64).collect::<Vec<_>>());
    assert_eq!(publish(&mut p, f, 65), None);
    assert!(take(&mut every).is_empty());
    held.truncate(60);
    assert_eq!(publish(&mut p, f, 65), Some(65));
    assert_eq!(take(&mut every), [65]);
    assert!(every.missed().is_empty());
}

#[test]
fn number_that_is_not_taken_is_missed() {
    let name = name("every-missed");
    let (mut p, f) = create(tight(&name).versions(4).memory(1 << 24));
    publish(&mut p, f, 1);
    let mut o = Observer::attach(&name).unwrap();
    let mut other = Observer::attach(&name).unwrap();
    // One pin is left.
    let mut held: Vec<_> = (0..63).map(|_| o.version(1).unwrap()).collect();
    let mut every = o.every_version().unwrap();
    held.push(every.next(Duration::ZERO).unwrap());
    (2..=5).for_each(|n| assert_eq!(publish(&mut p, f, n), Some(n)));
    let kept = other.version(5).unwrap();
    (6..=9).for_each(|n| assert_eq!(publish(&mut p, f, n), Some(n)));
    let full = every.next(Duration::ZERO).unwrap_err();
    assert!(
        matches!(full, ObserveError::TooManyPins { .. }),
        "there is a version, but no pin for it: {full}"
    );
    drop(held);
    let mut all = take(&mut every);
    assert!(all.starts_with(&[5]) && all.ends_with(&[9]), "{all:?}");
    assert_eq!(every.missed().len(), 2, "{:?}", every.missed());
    all.extend(every.missed().iter().cloned().flatten());
    all.sort_unstable();
    assert_eq!(all, (2..=9).collect::<Vec<_>>());
    drop(kept);
}

#[test]
fn reservations_are_not_told_as_pins_of_versions() {
    let name = name("every-pins");
    let (mut p, f) = create(tight(&name));
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    let mut pinned = || {
        let rows = every.observer().observers().unwrap();
        rows[0].pinned.clone()
    };
    assert!(pinned().is_empty());
    publish(&mut p, f, 1);
    assert_eq!(pinned(), [1]);
}
