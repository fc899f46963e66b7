//! Observers that take every version in order.

use std::time::Duration;
use tcasm_observer::{EveryVersion, ObserveError, Observer};
use tcasm_producer::{Buffer, Builder, Producer};
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
fn first_version_may_have_any_number() {
    let name = name("every-first");
    let (mut p, f) = create(tight(&name).first_version(1 << 40));
    let mut o = Observer::attach(&name).unwrap();
    let mut every = o.every_version().unwrap();
    assert!(take(&mut every).is_empty());
    assert!(publish(&mut p, f, 1).is_some());
    let first = 1 << 40;
    assert_eq!(take(&mut every), [first]);
    let published: Vec<_> = (2..=9).filter_map(|n| publish(&mut p, f, n)).collect();
    assert_eq!(take(&mut every), published);
    assert_eq!(published[0], first + 1);
    assert!(every.missed().is_empty());
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
