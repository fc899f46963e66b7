//! Caches that register everything.

mod common;

use common::{empty, map, must_end, must_end_within, pages, unmap};
use std::time::Duration;
use tcasm_registration::{Everything, GetError, Limits, Recording, RegistrationCache};

fn cache() -> RegistrationCache<Recording> {
    RegistrationCache::builder(Recording::default())
        .build()
        .unwrap()
}

/// Lets only the test look for new mappings.
fn slow() -> Everything {
    Everything::default().every(Duration::from_secs(600))
}

fn is_registered(cache: &RegistrationCache<Recording>, addr: usize) -> bool {
    cache.registrar().live().values().any(|r| r.contains(&addr))
}

#[test]
fn all_of_the_memory_is_registered_apart_from_exceptions() {
    must_end(|| {
        let (cache, memory) = (cache(), map(pages(8)));
        let except = memory + pages(4)..memory + pages(8);
        cache.follow_all(slow().except(except.clone())).unwrap();
        let misses = cache.stats().misses;
        drop(cache.get(memory, pages(4)).unwrap());
        assert_eq!(cache.stats().misses, misses, "it is registered already");
        drop(cache.get(except.start, 1).unwrap());
        assert_eq!(cache.stats().misses, misses + 1, "it was left out");

        let later = map(pages(1000));
        cache.refresh().unwrap();
        let misses = cache.stats().misses;
        drop(cache.get(later, pages(1000)).unwrap());
        assert_eq!(cache.stats().misses, misses, "it was found");
        drop(cache);
        unmap(later, pages(1000));
        unmap(memory, pages(8));
    });
}

#[test]
fn memory_that_is_mapped_later_is_registered_though_nobody_asks() {
    // Shorter than the time that the thread sleeps if nobody wakes it.
    must_end_within(Duration::from_secs(40), || {
        let cache = cache();
        cache.follow_all(Everything::default()).unwrap();
        let later = map(pages(3));
        while !is_registered(&cache, later) {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(cache);
        unmap(later, pages(3));
    });
}

#[test]
fn memory_that_was_emptied_is_not_registered_before_its_pages_are_gone() {
    must_end(|| {
        let (cache, memory) = (cache(), map(pages(8)));
        cache.follow_all(slow()).unwrap();
        assert!(is_registered(&cache, memory));
        let emptied = memory + pages(3);
        empty(emptied, pages(2));
        cache.refresh().unwrap();
        assert!(is_registered(&cache, memory) && is_registered(&cache, memory + pages(5)));
        assert!(
            !is_registered(&cache, emptied),
            "the kernel may drop it yet"
        );
        let held = cache.get(emptied, 1).unwrap();
        assert!(
            held.is_current(),
            "a request says that the memory is in use"
        );
        let last = emptied + pages(1);
        while !is_registered(&cache, last) {
            cache.refresh().unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        drop((held, cache));
        unmap(memory, pages(8));
    });
}

#[test]
fn nothing_is_evicted_for_memory_that_nobody_asked_for() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::with_at_most(2));
        let (cache, memory) = (builder.build().unwrap(), map(pages(4)));
        drop(cache.get(memory, 1).unwrap());
        let refused = cache.follow_all(slow()).unwrap();
        assert!(refused > 0 && is_registered(&cache, memory));
        assert_eq!(cache.stats().evicted, 0);
        drop(cache);
        unmap(memory, pages(4));
    });
}

#[test]
fn limits_that_keep_nothing_are_refused() {
    let builder = RegistrationCache::builder(Recording::default());
    let cache = builder.limits(Limits::in_use()).build().unwrap();
    let error = cache.follow_all(slow()).unwrap_err();
    assert!(matches!(error, GetError::KeepsNothing), "{error}");
}
