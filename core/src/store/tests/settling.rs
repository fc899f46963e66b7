//! The end of a capture, which the keeper may note before the producer asks for it.

use super::*;

#[test]
fn nothing_is_published_between_the_end_of_a_capture_and_the_call_that_settles_it() {
    let mut world = World::new(4 * PAGES * PAGE, 0);
    let (pages, none) = (world.compute(&[(0, CHUNK_PAGES)]), PageSet::new(PAGES));
    let publish = |world: &mut World, number: u64| {
        let capture = capture(&world.live, &pages, &pages, &none);
        let stamp = stamp(number);
        // SAFETY: `live` has all pages of the region, and nobody writes it.
        unsafe {
            Store::publish(&mut world.store, &stamp, &capture, &world.copiers, &|_| {
                false
            })
        }
    };
    let Ok(captured) = publish(&mut world, 1) else {
        panic!("there is room");
    };
    let Visibility::Deferred(sweep) = captured.visibility else {
        panic!("it is deferred");
    };
    sweep.work();
    assert_eq!(sweep.wait(Duration::from_secs(60)), Outcome::Saved);
    // This is what the keeper does.
    let _ = world.store.gather().unwrap();
    assert_eq!(world.store.capturing(), Some(1));
    let skipped = publish(&mut world, 2);
    let reason = Skip::Capturing { version: 1 };
    assert!(matches!(skipped, Err(NotPublished::Skipped(r)) if r == reason));
    assert_eq!(world.store.settle().map(|s| s.version), Some(1));
    assert_eq!(world.store.capturing(), None);
    assert!(publish(&mut world, 2).is_ok());
}
