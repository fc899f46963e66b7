//! The time of day is set forwards and backwards while a producer publishes.
//!
//! The changed clock holds for this whole process, so this file has one test only.

use std::time::Duration;
use tcasm_core::sys::time::{pretend, unix_ns};
use tcasm_observer::{Observer, Status};
use tcasm_producer::Producer;
use tcasm_tests::{PublishVisible, name};

const SECOND: u64 = 1_000_000_000;
/// Times of day: later, long ago, the epoch itself, the latest possible time, and one that stands
/// still.
const TIMES: [u64; 8] = [
    2_000_000_000 * SECOND,
    2_000_000_001 * SECOND,
    1_000_000_000 * SECOND,
    0,
    u64::MAX,
    1,
    1_500_000_000 * SECOND,
    1_500_000_000 * SECOND,
];

/// Publishes at each time. An observer must see each version, in order, with its time and bytes.
fn publish_at_all_times(name: &str) {
    let builder = Producer::builder(name).capacity(1 << 16).history(3);
    let mut producer = builder.cold_versions(1).create().unwrap();
    let created = unix_ns();
    let field = producer.field::<u64, _>("a", [1000]).add().unwrap();
    let mut observer = Observer::attach(name).unwrap();
    for (version, time) in (1..).zip(TIMES) {
        pretend(time);
        producer.view_mut(field).unwrap().fill(time ^ version);
        producer.publish_visible(version, 0.0).unwrap();
        let next = observer.next(Duration::from_secs(60)).unwrap();
        assert_eq!((next.number(), next.published()), (version, time));
        let view = next.view().unwrap();
        let array = view.array::<u64>("a").unwrap();
        assert!(array.iter().all(|value| *value == time ^ version));
        let newest = observer.available().unwrap();
        assert!(newest.is_sorted() && newest.last() == Some(&version));
        assert_eq!(observer.info().unwrap().created, created);
        assert_eq!(observer.status().unwrap(), Status::Ok);
        // An observer can attach at any time of day.
        let mut late = Observer::attach(name).unwrap();
        assert_eq!(late.latest().unwrap().number(), version);
    }
    drop(producer);
    assert_eq!(observer.status().unwrap(), Status::EndOfStream);
}

#[test]
fn changes_of_the_clock_do_not_affect_versions_and_waiting() {
    let name = name("clock");
    // The second region is created at the same time of day as the first.
    for _ in 0..2 {
        pretend(TIMES[0]);
        publish_at_all_times(&name);
    }
}
