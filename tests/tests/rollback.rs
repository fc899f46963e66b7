//! Rollback: live memory gets the bytes of a version. Checks live memory, the next version, and the
//! older ones.

use ndarray::Ix1;
use tcasm_observer::{Observer, Version};
use tcasm_producer::{
    Buffer, CaptureMode, Field, HandedOver, Producer, Receipt, RollbackError, TrackerKind,
};
use tcasm_tests::child::{DEADLINE, poll_until};
use tcasm_tests::unmap::remove_page;
use tcasm_tests::{PublishVisible, name, on_all_trackers};

const PAGE: usize = 4096;
const CHUNK: usize = 512 * PAGE;

/// Runs a test with all trackers, and with the best one in all capture modes.
fn everywhere(test: impl Fn(TrackerKind, CaptureMode)) {
    on_all_trackers(|tracker| test(tracker, CaptureMode::Auto));
    test(TrackerKind::UffdAsync, CaptureMode::Inline);
    test(TrackerKind::UffdAsync, CaptureMode::Deferred);
}

/// Returns the bytes of a field in a version.
fn bytes(version: &Version, field: &str) -> Vec<u8> {
    version.view().unwrap().bytes(field).unwrap().to_vec()
}

fn fill(p: &mut Producer, buffer: Buffer<u8, Ix1>, every: usize, value: u8) {
    let mut view = p.view_mut(buffer).unwrap();
    view.iter_mut().step_by(every).for_each(|x| *x = value);
}

fn live(p: &Producer, buffer: Buffer<u8, Ix1>) -> Vec<u8> {
    p.view(buffer).unwrap().to_vec()
}

#[test]
fn rollback_restores_live_memory_and_the_next_publish_has_the_same_bytes() {
    everywhere(|tracker, mode| {
        let name = name("rollback");
        let builder = Producer::builder(&name).capacity(5 * CHUNK).history(3);
        let builder = builder.tracker(tracker).capture(mode);
        let mut p = builder.create().unwrap();
        let dense = p.field("dense", [2 * CHUNK]).add().unwrap().buffer();
        let sparse = p.field("sparse", [CHUNK + 100]).add().unwrap().buffer();
        let mut o = Observer::attach(&name).unwrap();
        let mut held = Vec::new();
        for step in 1..=4u8 {
            fill(&mut p, dense, 1, step);
            fill(&mut p, sparse, usize::from(step) * 10 * PAGE, step);
            p.publish_visible(step.into(), f64::from(step)).unwrap();
            let version = o.latest().unwrap();
            let images = [bytes(&version, "dense"), bytes(&version, "sparse")];
            held.push((version, images));
        }
        // These stores were not published, and the rollback discards them.
        fill(&mut p, sparse, 3 * PAGE, 99);
        let done = p.rollback(2).unwrap();
        assert_eq!((done.version, done.step, done.time), (2, 2, 2.0));
        assert!(done.pages >= 1024 + 171, "{done:?}, {tracker}, {mode:?}");
        assert_eq!(live(&p, dense), held[1].1[0]);
        assert_eq!(live(&p, sparse), held[1].1[1], "{tracker}, {mode:?}");
        assert_eq!(
            p.rollback(2).unwrap().pages,
            0,
            "live memory has these bytes already"
        );

        let receipt = p.publish_visible(20, 0.0).unwrap();
        assert_eq!(receipt.version(), Some(5));
        let next = o.latest().unwrap();
        assert_eq!(bytes(&next, "dense"), held[1].1[0]);
        assert_eq!(bytes(&next, "sparse"), held[1].1[1], "{tracker}, {mode:?}");
        // All that differs from version 4 is among the changed pages.
        let changed = next.changes_since(&held[3].0).unwrap();
        assert_eq!(changed.fields, ["dense", "sparse"]);
        for (version, images) in &held {
            assert_eq!(bytes(version, "dense"), images[0]);
            assert_eq!(bytes(version, "sparse"), images[1]);
        }
        assert!(p.check_store().unwrap());
    });
}

#[test]
fn only_pages_that_differ_are_written_and_changed_in_the_next_version() {
    on_all_trackers(|tracker| {
        let name = name("rollback-few");
        let builder = Producer::builder(&name).capacity(CHUNK).tracker(tracker);
        let mut p = builder.capture(CaptureMode::Inline).create().unwrap();
        let a = p.field::<u8, _>("a", [300 * PAGE]).add().unwrap().buffer();
        let mut o = Observer::attach(&name).unwrap();
        fill(&mut p, a, 1, 1);
        p.publish_visible(1, 0.0).unwrap();
        p.view_mut(a).unwrap()[7 * PAGE] = 2;
        p.view_mut(a).unwrap()[9 * PAGE] = 1; // written with the same value
        p.publish_visible(2, 0.0).unwrap();
        p.view_mut(a).unwrap()[200 * PAGE] = 3;
        assert_eq!(p.rollback(1).unwrap().pages, 2, "{tracker}");
        p.publish_visible(3, 0.0).unwrap();
        let changed: Vec<usize> = o
            .latest()
            .unwrap()
            .changes()
            .unwrap()
            .pages
            .iter()
            .collect();
        assert!(changed.contains(&7), "{changed:?}, {tracker}");
        assert!(
            changed.iter().all(|page| [7, 200].contains(page)),
            "{changed:?}"
        );
    });
}

#[test]
fn rollback_works_while_a_version_is_being_captured() {
    let name = name("rollback-hurry");
    let builder = Producer::builder(&name).capacity(17 * CHUNK).history(6);
    let mut p = builder.capture(CaptureMode::Deferred).create().unwrap();
    let a = p.field::<u8, _>("a", [16 * CHUNK]).add().unwrap().buffer();
    let mut o = Observer::attach(&name).unwrap();
    for step in 1..=3 {
        fill(&mut p, a, 1, step);
        p.publish_visible(step.into(), 0.0).unwrap();
    }
    for back in [0u64, 1] {
        fill(&mut p, a, 1, 50 + back as u8);
        let Receipt::Published(published) = p.publish(4, 0.0).unwrap() else {
            panic!("skipped")
        };
        assert_ne!(published.deferred, 0);
        p.view_mut(a).unwrap()[5] = 99;
        let done = p.rollback(published.version - back).unwrap();
        assert_eq!(published.wait_visible(DEADLINE), Ok(true));
        let version = o.version(done.version).unwrap();
        assert_eq!(live(&p, a), bytes(&version, "a"));
        let newest = o.latest().unwrap();
        assert_eq!(newest.number(), published.version);
        assert!(bytes(&newest, "a").iter().all(|x| *x == 50 + back as u8));
        p.publish_visible(5, 0.0).unwrap();
        assert_eq!(live(&p, a), bytes(&o.latest().unwrap(), "a"));
    }
}

#[test]
fn rollback_to_a_version_works_as_long_as_an_observer_holds_it() {
    let name = name("rollback-held");
    let builder = Producer::builder(&name).capacity(CHUNK).history(0);
    let mut p = builder.create().unwrap();
    let a = p.field::<u8, _>("a", [100 * PAGE]).add().unwrap().buffer();
    let held = (1..6).map(|step| {
        fill(&mut p, a, 1, step);
        p.publish_visible(step.into(), 0.0).unwrap();
        (step == 1).then(|| Observer::attach(&name).unwrap().latest().unwrap())
    });
    let held: Vec<_> = held.flatten().collect();
    assert!(matches!(p.rollback(2), Err(RollbackError::Gone { .. })));
    p.rollback(1).unwrap();
    assert!(live(&p, a).iter().all(|x| *x == 1));
    drop(held);
    poll_until("the version is gone", || {
        matches!(p.rollback(1), Err(RollbackError::Gone { .. })).then_some(())
    });
}

#[test]
fn rollback_writes_the_buffer_that_a_field_is_bound_to() {
    everywhere(|tracker, mode| {
        let name = name("rollback-double");
        let builder = Producer::builder(&name).capacity(6 * CHUNK).history(4);
        let builder = builder.tracker(tracker).capture(mode);
        let mut p = builder.create().unwrap();
        let u = p.field::<u8, _>("u", [CHUNK + 10]).add().unwrap();
        let (mut now, mut next) = (u.buffer(), p.buffer_like(u).unwrap());
        let mut o = Observer::attach(&name).unwrap();
        for step in 1..=4u8 {
            fill(&mut p, next, 1, step);
            now = next;
            next = p.bind(u, next).unwrap();
            p.publish_visible(step.into(), 0.0).unwrap();
        }
        for (version, value) in [(3, 3), (2, 2), (4, 4)] {
            let free = live(&p, next);
            p.rollback(version).unwrap();
            let right = live(&p, now).iter().all(|x| *x == value);
            assert!(right, "{version}, {tracker}, {mode:?}");
            assert_eq!(
                live(&p, next),
                free,
                "a buffer that no field is bound to stays"
            );
        }
        p.rollback(2).unwrap();
        p.publish_visible(5, 0.0).unwrap();
        assert!(bytes(&o.latest().unwrap(), "u").iter().all(|x| *x == 2));
        // The field is bound to a buffer that was not written since. Its bytes differ from those of
        // version 5 all the same, so the rollback must write them.
        p.bind(u, next).unwrap();
        p.publish_visible(6, 0.0).unwrap();
        assert_eq!(live(&p, next)[0], 3);
        p.rollback(5).unwrap();
        let right = live(&p, next).iter().all(|x| *x == 2);
        assert!(right, "{tracker}, {mode:?}");
    });
}

type HandedBuffer = Buffer<u8, Ix1, HandedOver>;

#[test]
fn rollback_of_a_handed_over_field_changes_no_version() {
    on_all_trackers(|tracker| {
        let name = name("rollback-handed");
        let builder = Producer::builder(&name).capacity(8 * CHUNK).history(4);
        let mut p = builder.tracker(tracker).versions(8).create().unwrap();
        let u: Field<u8, Ix1, HandedOver> = p.field("u", [700 * PAGE]).handed_over().add().unwrap();
        let w: HandedBuffer = p.field("w", [99]).handed_over().add().unwrap().buffer();
        let (mut now, mut next) = (u.buffer(), p.buffer_like(u).unwrap());
        let mut o = Observer::attach(&name).unwrap();
        let mut held = Vec::new();
        for step in 1..=4u8 {
            p.rewrite(next).unwrap().map_inplace(|x| x.write(step));
            now = next;
            next = p.bind(u, next).unwrap();
            p.rewrite(w).unwrap().map_inplace(|x| x.write(step / 2));
            p.publish_visible(step.into(), 0.0).unwrap();
            held.push(o.latest().unwrap());
        }
        let is =
            |p: &Producer, of: HandedBuffer, value| p.view(of).unwrap().iter().all(|x| *x == value);
        // `w` is the same in versions 3 and 5, so the rollback leaves it published and frozen.
        p.rewrite(w).unwrap().map_inplace(|x| x.write(1));
        p.publish_visible(5, 0.0).unwrap();
        let done = p.rollback(3).unwrap();
        assert_eq!(done.pages, 700, "{tracker}");
        assert!(is(&p, now, 3) && is(&p, w, 1));
        assert!(p.view_mut(w).is_err() && p.view_mut(now).is_ok());
        p.view_mut(now).unwrap()[0] = 77;
        // The field is begun anew already, so only the page that differs is written.
        assert_eq!(p.rollback(3).unwrap().pages, 1);
        p.publish_visible(6, 0.0).unwrap();
        assert!(bytes(&o.latest().unwrap(), "u").iter().all(|x| *x == 3));
        // One page differs, and the field is frozen. So the field is begun anew, and the other
        // pages are copied as well.
        p.rewrite(now).unwrap().map_inplace(|x| x.write(3));
        p.view_mut(now).unwrap()[PAGE] = 4;
        p.publish_visible(7, 0.0).unwrap();
        assert_eq!(p.rollback(3).unwrap().pages, 700);
        assert!(is(&p, now, 3), "{tracker}");
        for (version, value) in held.iter().zip(1..) {
            assert!(bytes(version, "u").iter().all(|x| *x == value), "{tracker}");
            assert!(bytes(version, "w").iter().all(|x| *x == value / 2));
        }
        assert!(p.check_store().unwrap());
    });
}

#[test]
fn rollback_copies_no_pages_that_were_only_compacted_and_restores_shared_memory() {
    let name = name("rollback-rest");
    let builder = Producer::builder(&name).capacity(5 * CHUNK);
    let builder = builder.capture(CaptureMode::Inline).cold_versions(1);
    let mut p = builder.compact_after(2).create().unwrap();
    let a = p.field::<u8, _>("a", [4 * CHUNK]).add().unwrap().buffer();
    let mut o = Observer::attach(&name).unwrap();
    let mut held = Vec::new();
    for (first, every) in [(0, 1), (1, 3), (2, 3), (0, 512)] {
        let mut view = p.view_mut(a).unwrap();
        let bytes = view.iter_mut().skip(first * PAGE);
        bytes.step_by(every * PAGE).for_each(|x| *x += 1);
        p.publish_visible(1, 0.0).unwrap();
        held.push(o.latest().unwrap());
    }
    // Its pages are in three planes. Only this version and the next need the frames in two of them.
    let before = held.swap_remove(2);
    drop(held);
    poll_until("pages are shared and were compacted", || {
        p.view_mut(a).unwrap()[4 * CHUNK - 1] ^= 1;
        p.publish_visible(7, 0.0).unwrap();
        let stats = p.stats();
        (stats.pages_compacted != 0 && stats.shared_bytes != 0).then_some(())
    });
    p.view_mut(a).unwrap()[CHUNK + 1] = 9;
    p.view_mut(a).unwrap()[4 * CHUNK - 1] = 1;
    let done = p.rollback(before.number()).unwrap();
    // The four pages that version 4 changed, and the last page. The store to byte `CHUNK + 1` was
    // to one of the four.
    assert_eq!(done.pages, 5);
    let image = bytes(&before, "a");
    assert!(live(&p, a) == image);
    assert!(p.check_store().unwrap());
    p.publish_visible(8, 0.0).unwrap();
    assert!(bytes(&o.latest().unwrap(), "a") == image);
    assert!(p.check_store().unwrap());
}

#[test]
fn impossible_rollback_is_a_clear_error_and_changes_nothing() {
    let name = name("rollback-errors");
    let mut p = Producer::builder(&name).capacity(CHUNK).create().unwrap();
    let a = p.field::<u8, _>("a", [10 * PAGE]).add().unwrap().buffer();
    let text = |p: &mut Producer, n| p.rollback(n).unwrap_err().to_string();
    assert!(text(&mut p, 1).contains("not published yet"));
    for step in 1..=4 {
        fill(&mut p, a, 1, step);
        p.publish_visible(step.into(), 0.0).unwrap();
    }
    fill(&mut p, a, 1, 9);
    assert!(text(&mut p, 1).contains("not there any more, of [3, 4]"));
    assert!(text(&mut p, 0).contains("not there any more"));
    assert!(text(&mut p, 5).contains("the newest is 4"));
    p.field::<u8, _>("b", [1]).add().unwrap();
    p.field::<u8, _>("c", [1]).add().unwrap();
    let error = p.rollback(3).unwrap_err();
    let RollbackError::NewFields { version, fields } = &error else {
        panic!("{error}")
    };
    assert_eq!((*version, fields.join(", ")), (3, "b, c".to_owned()));
    assert!(live(&p, a).iter().all(|x| *x == 9));
    p.publish_visible(5, 0.0).unwrap();
    p.close();
    assert!(matches!(p.rollback(5), Err(RollbackError::Closed)));
}

#[test]
fn rollback_of_unmapped_memory_is_a_clear_error_and_changes_nothing() {
    let name = name("rollback-unmapped");
    let builder = Producer::builder(&name).capacity(CHUNK);
    let mut p = builder.tracker(TrackerKind::UffdAsync).create().unwrap();
    let a = p.field::<u8, _>("a", [10 * PAGE]).add().unwrap().buffer();
    let b = p.field::<u8, _>("b", [10 * PAGE]).add().unwrap().buffer();
    for step in 1..=2 {
        fill(&mut p, a, 1, step);
        fill(&mut p, b, 1, step);
        p.publish_visible(step.into(), 0.0).unwrap();
    }
    remove_page(&mut p, 13).unwrap();
    let error = p.rollback(1).unwrap_err();
    assert!(
        matches!(&error, RollbackError::Unmapped { field } if field == "b"),
        "{error}"
    );
    assert!(live(&p, a).iter().all(|x| *x == 2));
}
