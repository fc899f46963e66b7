//! A few values of a version of any region, read without mapping it: by an observer, and by peers
//! that do not attach. There is one test, because it counts the mappings of the process.
#![cfg(feature = "versions")]

use std::time::Duration;
use tcasm_observer::{Observer, ViewError};
use tcasm_producer::{CaptureMode, Producer};
use tcasm_transfer::{
    Allowed, Declaration, DeclareError, FieldError, Owner, Peer, Status, TransferError, Transport,
};

const ROWS: usize = 700;
const COLUMNS: usize = 3000;
/// The places of the values that are read.
const PLACES: [usize; 4] = [0, 511, 1_000_003, ROWS * COLUMNS - 3];

fn value(step: u64, at: usize) -> f64 {
    step as f64 * 1e7 + at as f64
}

fn values(bytes: &[u8]) -> Vec<f64> {
    let words = bytes.chunks_exact(8);
    words
        .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
        .collect()
}

fn shared_mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("memfd:")).count()
}

#[test]
fn few_values_of_a_version_are_read_by_cookie_or_by_an_observer_and_nothing_is_mapped() {
    let name = format!("fields-{}", std::process::id());
    let builder = Producer::builder(&name).capacity(20 << 20).history(4);
    let mut producer = builder.capture(CaptureMode::Inline).create().unwrap();
    let _before = producer.field::<u8, _>("a", [77]).add().unwrap();
    let field = producer
        .field::<f64, _>("u", [ROWS, COLUMNS])
        .add()
        .unwrap();
    let mut publish = |step: u64| {
        let mut view = producer.view_mut(field).unwrap();
        let all = view.as_slice_mut().unwrap().iter_mut().enumerate();
        all.for_each(|(at, to)| *to = value(step, at));
        assert_eq!(producer.publish(step, 0.0).unwrap().version(), Some(step));
    };
    publish(1);
    let mut observer = Observer::attach(&name).unwrap();
    let mut version = observer.latest().unwrap();
    let owner = Owner::create(Allowed::SameUser).unwrap();
    let cookie = owner
        .declare(Declaration::field(&version, "u").unwrap())
        .unwrap();
    // Another one, because the views of the first one may share mappings.
    let mut reader = Observer::attach(&name).unwrap();
    let mut peer = Peer::connect(owner.address()).unwrap();
    peer.use_only(Some(Transport::Ring));
    peer.read_version(cookie, 0, &mut [0]).unwrap();
    for step in 1..6 {
        let (before, seen) = (shared_mappings(), reader.latest().unwrap());
        for (at, transport) in PLACES
            .into_iter()
            .zip([Transport::Direct, Transport::Ring].repeat(2))
        {
            let wanted: Vec<f64> = (at..at + 3).map(|at| value(step, at)).collect();
            let mut bytes = [0; 24];
            peer.use_only(Some(transport));
            let number = peer
                .read_version(cookie, 8 * at as u64, &mut bytes)
                .unwrap();
            assert_eq!((number.get(), values(&bytes)), (step, wanted.clone()));
            bytes.fill(0);
            seen.read_bytes("u", 8 * at as u64, &mut bytes).unwrap();
            assert_eq!(values(&bytes), wanted, "an observer reads others");
        }
        assert_eq!(shared_mappings(), before, "something was mapped");
        publish(step + 1);
        // The cookie still stands for the version before.
        assert_eq!(peer.read_version(cookie, 0, &mut [0]).unwrap().get(), step);
        version = observer.latest().unwrap();
        let newer = Declaration::field(&version, "u").unwrap();
        owner.set_version(cookie, newer).unwrap();
    }
    let beyond = peer.read_version(cookie, 8 * (ROWS * COLUMNS) as u64, &mut [0]);
    let out_of_range = matches!(beyond, Err(TransferError::Refused(Status::OutOfRange)));
    assert!(out_of_range, "{beyond:?}");
    let none = Declaration::field(&version, "v");
    assert!(
        matches!(none, Err(FieldError::Map(ViewError::NoField { .. }))),
        "{none:?}"
    );
    let other = owner.set_version(cookie, Declaration::field(&version, "a").unwrap().once());
    assert!(matches!(other, Err(DeclareError::NoVersion)), "{other:?}");

    drop(version);
    assert!(owner.revoke(cookie, Duration::from_secs(20)));
    let ended = peer.read_version(cookie, 0, &mut [0]);
    assert!(
        matches!(ended, Err(TransferError::Refused(Status::Revoked))),
        "{ended:?}"
    );
}
