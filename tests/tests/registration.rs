//! Memory of a region that is registered for devices.

use tcasm_producer::{Producer, Receipt};
use tcasm_registration::{Limits, Recording, RegistrationCache};
use tcasm_tests::{PublishVisible, name, on_all_trackers};

#[test]
fn registered_memory_is_captured_in_every_version_without_a_declaration() {
    on_all_trackers(|tracker| {
        let mut p = Producer::builder(&name("registered"))
            .capacity(1 << 20)
            .tracker(tracker)
            .create()
            .unwrap();
        let u = p.field::<u8, _>("u", [3 * 4096]).add().unwrap();
        p.field::<u8, _>("v", [3 * 4096]).add().unwrap();
        p.publish_visible(0, 0.0).unwrap();
        let pages = |p: &mut Producer, step| match p.publish_visible(step, 0.0).unwrap() {
            Receipt::Published(published) => published.pages,
            Receipt::Skipped { reason, .. } => panic!("{reason:?}"),
        };
        assert_eq!(pages(&mut p, 1), 0, "{tracker}: nothing was written");

        let builder = RegistrationCache::builder(Recording::default());
        let cache = builder.limits(Limits::in_use()).build().unwrap();
        let addr = p.view_mut(u).unwrap().as_ptr() as usize;
        let held = cache.get(addr, 2 * 4096).unwrap();
        // A device may write at any time from now on.
        let taken: Vec<_> = (2..5).map(|step| pages(&mut p, step)).collect();
        assert!(taken.iter().all(|n| *n >= 2), "{tracker}: {taken:?}");
        assert_eq!(
            cache.stats().not_followed,
            1,
            "the region follows its memory itself"
        );
        drop(held);
    });
}
