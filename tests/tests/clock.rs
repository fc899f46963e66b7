//! The time of day is set, forwards and backwards, while a producer publishes.
//!
//! The clock is this process's only: so this is one test, in a process of its own.

use std::time::Duration;
use tcasm_core::sys::time::{pretend, unix_ns};
use tcasm_observer::{Observer, Status};
use tcasm_producer::Producer;
use tcasm_tests::{PublishVisible, name};

const SECOND: u64 = 1_000_000_000;
/// Times of day: later, long ago, the epoch itself, as late as can be told, and standing still.
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

/// Publishes at each time; an observer must see each version, in order, with its time and bytes.
fn publish_at_all_times(name: &str) {
    let builder = Producer::builder(name).capacity(1 << 16).history(3);
    let mut producer = builder.calm_versions(1).create().unwrap();
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
        // Others come at any time.
        let mut late = Observer::attach(name).unwrap();
        assert_eq!(late.latest().unwrap().number(), version);
    }
    drop(producer);
    assert_eq!(observer.status().unwrap(), Status::EndOfStream);
}

#[test]
fn versions_follow_each_other_whatever_the_time_of_day_is_set_to() {
    let name = name("clock");
    // The second region begins at the very moment at which the first did.
    for _ in 0..2 {
        pretend(TIMES[0]);
        publish_at_all_times(&name);
    }
}
