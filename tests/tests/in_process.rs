//! The public interfaces, with producer and observer in one process.

use std::time::Duration;
use tcasm_observer::{ObserveError, Observer, Status};
use tcasm_producer::{
    Access, CreateError, DefineError, Producer, PublishError, Receipt, Skip, TrackerKind, ViewError,
};
use tcasm_tests::{PublishVisible, name, on_all_trackers};

#[test]
fn a_version_shows_live_memory_as_it_was_at_publish() {
    on_all_trackers(|tracker| {
        let name = name("image");
        let mut p = Producer::builder(&name)
            .capacity(1 << 22)
            .tracker(tracker)
            .create()
            .unwrap();
        let a = p.field::<f64, _>("a", [100, 1000]).unit("m").add().unwrap();
        let b = p.field::<i32, _>("b", [777]).fortran_order().add().unwrap();
        let mut o = Observer::attach(&name).unwrap();
        assert!(matches!(o.latest(), Err(ObserveError::NotReady)));
        let mut held = Vec::new();
        for step in 0..6u64 {
            p.view_mut(a).unwrap()[[step as usize * 10, 3]] = step as f64 + 0.5;
            p.view_mut(b).unwrap().fill(step as i32);
            let receipt = p.publish_visible(step, step as f64 * 0.1).unwrap();
            assert_eq!(receipt.version(), Some(step + 1), "{receipt:?}");
            held.push(o.latest().unwrap());
        }
        for (step, version) in held.iter().enumerate() {
            assert_eq!(
                (version.step(), version.time()),
                (step as u64, step as f64 * 0.1)
            );
            let view = version.view().unwrap();
            let (a, b) = (
                view.array::<f64>("a").unwrap(),
                view.array::<i32>("b").unwrap(),
            );
            assert!(b.iter().all(|x| *x == step as i32));
            for s in 0..6 {
                let expected = if s <= step { s as f64 + 0.5 } else { 0.0 };
                assert_eq!(
                    a[[s * 10, 3]],
                    expected,
                    "version {step}, row {s}, {tracker}"
                );
            }
        }
        let changes = held[5].changes_since(&held[4]).unwrap();
        assert_eq!(changes.fields, ["a", "b"]);
        assert_eq!(changes.pages.len(), 2);
    });
}

#[test]
fn double_buffers_swap_and_scratch_is_never_captured() {
    on_all_trackers(|tracker| {
        let name = name("swap");
        let mut p = Producer::builder(&name)
            .capacity(1 << 22)
            .tracker(tracker)
            .create()
            .unwrap();
        let u = p.field::<f64, _>("u", [4096]).add().unwrap();
        let mut next = p.buffer_like(u).unwrap();
        let scratch = p.scratch::<f64, _>([4096]).unwrap();
        let mut o = Observer::attach(&name).unwrap();
        for step in 1..8 {
            {
                let (mut n, mut s) = p.views_mut((next, scratch)).unwrap();
                s.fill(-1.0);
                n.fill(step as f64);
            }
            next = p.bind(u, next).unwrap();
            let Receipt::Published(published) = p.publish_visible(step, 0.0).unwrap() else {
                panic!()
            };
            assert_eq!(published.pages, 8, "{tracker}");
            let view = o.latest().unwrap().view().unwrap();
            assert!(
                view.array::<f64>("u")
                    .unwrap()
                    .iter()
                    .all(|x| *x == step as f64)
            );
        }
    });
}

#[test]
fn an_unbound_buffer_that_was_written_long_ago_is_captured_when_it_is_bound() {
    on_all_trackers(|tracker| {
        let name = name("late");
        let mut p = Producer::builder(&name)
            .capacity(1 << 22)
            .tracker(tracker)
            .create()
            .unwrap();
        let u = p.field::<u8, _>("u", [10_000]).add().unwrap();
        let other = p.buffer_like(u).unwrap();
        p.view_mut(other).unwrap().fill(9);
        for step in 0..5 {
            p.view_mut(u).unwrap()[0] = step;
            p.publish_visible(step.into(), 0.0).unwrap();
        }
        p.bind(u, other).unwrap();
        p.publish_visible(6, 0.0).unwrap();
        let view = Observer::attach(&name)
            .unwrap()
            .latest()
            .unwrap()
            .view()
            .unwrap();
        assert!(
            view.array::<u8>("u").unwrap().iter().all(|x| *x == 9),
            "{tracker}"
        );
    });
}

#[test]
fn pointers_in_raw_structures_can_be_followed() {
    use bytemuck::{Pod, Zeroable};
    use tcasm_producer::RegionPtr;
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Node {
        value: u64,
        next: RegionPtr<Node>,
    }
    let name = name("list");
    let mut p = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let nodes = p.raw::<Node>("nodes", 1000).add().unwrap();
    for i in 0..1000 {
        let next = p.raw_ptr(nodes, i + 7).unwrap();
        p.raw_mut(nodes).unwrap()[i] = Node {
            value: i as u64,
            next,
        };
    }
    p.publish_visible(0, 0.0).unwrap();
    let version = Observer::attach(&name).unwrap().latest().unwrap();
    let view = version.view().unwrap();
    let mut node = &view.raw::<Node>("nodes").unwrap()[3];
    let mut seen = vec![node.value];
    while !node.next.is_null() {
        node = view.deref(node.next).unwrap();
        seen.push(node.value);
    }
    assert_eq!(seen, (0..1000).skip(3).step_by(7).collect::<Vec<u64>>());
    assert!(view.deref(RegionPtr::<Node>::new(8)).is_err());
    assert!(view.raw::<u64>("nodes").is_err());
    // The producer itself is mapped at this address. The error must say that it is taken.
    let error = version.view_at_base().unwrap_err().to_string();
    assert!(error.contains("taken by the mapping"), "{error}");
}

#[test]
fn at_its_bounds_publish_skips_and_loses_nothing() {
    on_all_trackers(|tracker| {
        let name = name("bound");
        let mut p = Producer::builder(&name)
            .capacity(1 << 20)
            .versions(3)
            .tracker(tracker)
            .create()
            .unwrap();
        let a = p.field::<u64, _>("a", [8192]).add().unwrap();
        let mut o = Observer::attach(&name).unwrap();
        let mut held = Vec::new();
        for step in 0..3 {
            p.view_mut(a).unwrap().fill(step);
            p.publish_visible(step, 0.0).unwrap();
            held.push(o.latest().unwrap());
        }
        p.view_mut(a).unwrap().fill(99);
        let receipt = p.publish_visible(3, 0.0).unwrap();
        assert!(
            matches!(
                receipt,
                Receipt::Skipped {
                    reason: Skip::Versions { bound: 3 },
                    ..
                }
            ),
            "{receipt:?}"
        );
        for (step, v) in held.iter().enumerate() {
            assert!(
                v.view()
                    .unwrap()
                    .array::<u64>("a")
                    .unwrap()
                    .iter()
                    .all(|x| *x == step as u64)
            );
        }
        held.remove(0);
        assert_eq!(p.publish_visible(4, 0.0).unwrap().version(), Some(4));
        assert!(
            o.latest()
                .unwrap()
                .view()
                .unwrap()
                .array::<u64>("a")
                .unwrap()
                .iter()
                .all(|x| *x == 99)
        );
        assert_eq!((p.stats().publishes, p.stats().skips), (4, 1));
    });
}

#[test]
fn the_bound_on_memory_holds() {
    let name = name("bytes");
    let page = 4096;
    let mut p = Producer::builder(&name)
        .capacity(1 << 20)
        .memory(100 * page)
        .create()
        .unwrap();
    let a = p.field::<u8, _>("a", [64 * page as usize]).add().unwrap();
    let mut o = Observer::attach(&name).unwrap();
    p.view_mut(a).unwrap().fill(1);
    p.publish_visible(1, 0.0).unwrap();
    let held = o.latest().unwrap();
    p.view_mut(a).unwrap().fill(2);
    let receipt = p.publish_visible(2, 0.0).unwrap();
    assert!(
        matches!(
            receipt,
            Receipt::Skipped {
                reason: Skip::Bytes { .. },
                ..
            }
        ),
        "{receipt:?}"
    );
    assert!(p.stats().held_bytes <= 100 * page);
    assert!(
        held.view()
            .unwrap()
            .array::<u8>("a")
            .unwrap()
            .iter()
            .all(|x| *x == 1)
    );
    // The newest version is kept even if no observer pins it, and its 64 pages do not fit twice. A
    // smaller change fits.
    drop(held);
    assert!(p.publish_visible(3, 0.0).unwrap().version().is_none());
    p.view_mut(a).unwrap().fill(1);
}

#[test]
fn end_of_stream_is_reported_and_the_last_version_stays() {
    let name = name("end");
    let mut p = Producer::builder(&name).capacity(4096).create().unwrap();
    let a = p.field::<f32, _>("a", [16]).add().unwrap();
    let mut o = Observer::attach(&name).unwrap();
    p.view_mut(a).unwrap().fill(2.5);
    p.publish_visible(1, 1.0).unwrap();
    assert_eq!(o.status().unwrap(), Status::Ok);
    p.close();
    assert!(matches!(
        p.publish_visible(2, 2.0),
        Err(PublishError::Closed)
    ));
    drop(p);
    assert_eq!(o.status().unwrap(), Status::EndOfStream);
    assert!(
        o.wait_newer(Duration::from_secs(9)).is_ok(),
        "this observer has not seen the last version yet"
    );
    assert!(matches!(
        o.wait_newer(Duration::from_secs(9)),
        Err(ObserveError::EndOfStream)
    ));
    assert_eq!(
        o.latest()
            .unwrap()
            .view()
            .unwrap()
            .array::<f32>("a")
            .unwrap()[[3]],
        2.5
    );
    assert!(
        Observer::attach(&name)
            .unwrap_err()
            .to_string()
            .contains("there is no region")
    );
}

#[test]
fn bad_input_gets_a_clear_error() {
    let text = |e: CreateError| e.to_string();
    let name = name("bad");
    assert!(text(Producer::builder("a/b").capacity(1).create().unwrap_err()).contains("A-Z"));
    assert!(text(Producer::builder(&name).create().unwrap_err()).contains("capacity"));
    assert!(
        text(
            Producer::builder(&name)
                .capacity(usize::MAX)
                .create()
                .unwrap_err()
        )
        .contains("beyond")
    );
    assert!(
        text(
            Producer::builder(&name)
                .capacity(1)
                .versions(1)
                .create()
                .unwrap_err()
        )
        .contains("2 to 64")
    );
    let mut p = Producer::builder(&name)
        .capacity(1 << 20)
        .allow(Access::SameUser)
        .create()
        .unwrap();
    let error = Producer::builder(&name).capacity(1).create().unwrap_err();
    assert!(
        matches!(error, CreateError::InUse { pid, .. } if pid == std::process::id() as i32),
        "{error}"
    );
    let other = format!("{name}-2");
    let taken = Producer::builder(&other)
        .capacity(1)
        .base(p.base())
        .create()
        .unwrap_err();
    assert!(text(taken).contains("are taken by the mapping"));
    p.field::<f64, _>("x", [10]).add().unwrap();
    let define = |r: Result<_, DefineError>| {
        r.map(|_: tcasm_producer::Field<f64, _>| ())
            .unwrap_err()
            .to_string()
    };
    assert!(define(p.field::<f64, _>("x", [10]).add()).contains("exists already"));
    assert!(define(p.field::<f64, _>("y", [0]).add()).contains("zero size"));
    assert!(define(p.field::<f64, _>("y", [1 << 30]).add()).contains("free"));
    assert!(define(p.field::<f64, _>("y/z", [1]).add()).contains("A-Z"));
    assert!(define(p.field::<f64, _>("y", [4]).ghosts(&[[2, 2]]).add()).contains("leave nothing"));
    let x = p.field::<f64, _>("z", [10]).add().unwrap().buffer();
    assert!(matches!(p.views_mut([x, x]), Err(ViewError::Twice)));
    let mut q = Producer::builder(&other).capacity(1).create().unwrap();
    assert!(matches!(q.view_mut(x), Err(ViewError::Foreign)));
}

#[test]
fn every_tracker_can_be_requested() {
    for kind in [
        TrackerKind::UffdAsync,
        TrackerKind::Cow,
        TrackerKind::Compare,
    ] {
        let p = Producer::builder(&name("kind"))
            .capacity(1)
            .tracker(kind)
            .create()
            .unwrap();
        assert_eq!(p.tracker(), kind);
    }
}

#[test]
fn versions_begin_with_the_requested_number() {
    let name = name("first");
    for version in [0, u64::MAX, u64::MAX >> 1] {
        let builder = Producer::builder(&name).capacity(1).first_version(version);
        let error = builder.create().unwrap_err();
        assert!(matches!(error, CreateError::FirstVersion { .. }), "{error}");
    }
    for first in [1, 1000, u64::MAX >> 2] {
        let builder = Producer::builder(&name).capacity(1).first_version(first);
        let mut p = builder.create().unwrap();
        let a = p.field::<u8, _>("a", [1]).add().unwrap();
        let mut o = Observer::attach(&name).unwrap();
        for n in first..first + 20 {
            p.view_mut(a).unwrap()[0] = n as u8;
            assert_eq!(p.publish_visible(n, 0.0).unwrap().version(), Some(n));
            let version = o.next(Duration::from_secs(9)).unwrap();
            assert_eq!((version.number(), version.step()), (n, n));
            assert_eq!(version.view().unwrap().bytes("a").unwrap(), [n as u8]);
        }
        assert_eq!(p.stats().publishes, 20);
    }
}
