//! The four modes, and what happens at each limit.

mod common;

use common::{map, must_end, pages, unmap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tcasm_registration::{
    GetError, Limits, Memory, Recording, RegisterError, Registrar, RegistrationCache, Token,
};

fn cache(limits: Limits) -> RegistrationCache<Recording> {
    let builder = RegistrationCache::builder(Recording::default());
    builder.limits(limits).build().unwrap()
}

/// Returns the number of a registration that is used and released at once.
fn touch(cache: &RegistrationCache<Recording>, addr: usize, count: usize) -> Token {
    *cache.get(addr, pages(count)).unwrap().handle()
}

#[test]
fn without_leave_pinned_only_what_is_in_use_is_registered() {
    let (cache, memory) = (cache(Limits::in_use()), map(pages(4)));
    let first = cache.get(memory, pages(2)).unwrap();
    let same = cache.get(memory, pages(1)).unwrap();
    assert_eq!(first.handle(), same.handle());
    drop(first);
    assert_eq!(cache.registrar().live().len(), 1);
    drop(same);
    assert!(cache.registrar().live().is_empty());
    assert_ne!(touch(&cache, memory, 2), touch(&cache, memory, 2));
    unmap(memory, pages(4));
}

#[test]
fn with_leave_pinned_the_next_request_is_a_hit() {
    let (cache, memory) = (cache(Limits::keep()), map(pages(4)));
    let first = touch(&cache, memory, 4);
    assert_eq!(touch(&cache, memory + pages(1) + 3, 1), first);
    assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));
    drop(cache);
    unmap(memory, pages(4));
}

#[test]
fn a_full_cache_of_registrations_in_use_is_an_error() {
    let (cache, memory) = (cache(Limits::in_use_at_most(1, usize::MAX)), map(pages(4)));
    let held = cache.get(memory, pages(1)).unwrap();
    let error = cache.get(memory + pages(2), pages(1)).unwrap_err();
    assert!(
        matches!(
            error,
            GetError::Full {
                entries: 1,
                max_entries: 1,
                ..
            }
        ),
        "{error}"
    );
    drop(held);
    cache.get(memory + pages(2), pages(1)).unwrap();
    unmap(memory, pages(4));
}

#[test]
fn a_full_cache_lets_callers_wait_if_that_was_chosen() {
    let limits = Limits::in_use_at_most(usize::MAX, pages(1)).or_wait();
    let (cache, memory) = (cache(limits), map(pages(4)));
    let held = cache.get(memory, pages(1)).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| drop(cache.get(memory + pages(2), pages(1)).unwrap()));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished(), "there is no room yet");
        drop(held);
        waiting.join().unwrap();
    });
    let error = cache.get(memory, pages(2)).unwrap_err();
    assert!(
        matches!(error, GetError::Full { .. }),
        "it would wait for ever: {error}"
    );
    unmap(memory, pages(4));
}

#[test]
fn a_full_cache_of_unused_registrations_evicts_what_was_not_used_for_longest() {
    let (cache, memory) = (cache(Limits::keep_at_most(2, usize::MAX)), map(pages(8)));
    let first = touch(&cache, memory, 1);
    let second = touch(&cache, memory + pages(2), 1);
    assert_eq!(touch(&cache, memory, 1), first, "it is the newer one now");
    touch(&cache, memory + pages(4), 1);
    assert_eq!(touch(&cache, memory, 1), first);
    assert_eq!(cache.stats().evicted, 1);
    assert_ne!(touch(&cache, memory + pages(2), 1), second);
    unmap(memory, pages(8));
}

#[test]
fn bytes_are_limited_too() {
    let (cache, memory) = (cache(Limits::keep_at_most(9, pages(3))), map(pages(8)));
    touch(&cache, memory, 2);
    touch(&cache, memory + pages(4), 2);
    assert_eq!((cache.stats().bytes, cache.stats().entries), (pages(2), 1));
    assert!(matches!(
        cache.get(memory, pages(4)),
        Err(GetError::Full { .. })
    ));
    unmap(memory, pages(8));
}

#[test]
fn a_larger_request_at_the_same_base_replaces_the_smaller_registration() {
    let (cache, memory) = (cache(Limits::keep()), map(pages(8)));
    let small = touch(&cache, memory, 2);
    let large = touch(&cache, memory, 4);
    assert_ne!(small, large);
    assert_eq!(
        cache.registrar().live().into_keys().collect::<Vec<_>>(),
        [large]
    );
    assert_eq!(touch(&cache, memory, 2), large);
    unmap(memory, pages(8));
}

#[test]
fn a_registration_that_is_replaced_while_it_is_used_ends_when_it_is_released() {
    let (cache, memory) = (cache(Limits::keep()), map(pages(8)));
    let small = cache.get(memory, pages(2)).unwrap();
    let large = cache.get(memory + pages(1), pages(4)).unwrap();
    assert_eq!(
        large.range(),
        memory..memory + pages(5),
        "both buffers fit in it"
    );
    assert_eq!(cache.registrar().live().len(), 2);
    let token = *small.handle();
    drop(small);
    assert!(!cache.registrar().live().contains_key(&token));
    assert!(large.is_current());
    drop(large);
    unmap(memory, pages(8));
}

#[test]
fn when_the_device_has_no_room_unused_registrations_end() {
    let builder = RegistrationCache::builder(Recording::with_at_most(1));
    let (cache, memory) = (builder.build().unwrap(), map(pages(4)));
    touch(&cache, memory, 1);
    let held = cache.get(memory + pages(2), pages(1)).unwrap();
    assert_eq!(cache.stats().evicted, 1);
    let error = cache.get(memory, pages(1)).unwrap_err();
    assert!(matches!(error, GetError::Register(_)), "{error}");
    drop(held);
    unmap(memory, pages(4));
}

/// Unmaps a page when memory is registered, as a thread beside the caller can.
#[derive(Debug)]
struct Unmapping {
    inner: Recording,
    page: AtomicUsize,
}

impl Registrar for Unmapping {
    type Handle = Token;

    fn register(&self, range: &Range<usize>) -> Result<Token, RegisterError> {
        match self.page.swap(0, Ordering::Relaxed) {
            0 => {}
            page => unmap(page, pages(1)),
        }
        self.inner.register(range)
    }

    fn deregister(&self, range: &Range<usize>, token: &Token, memory: Memory) {
        self.inner.deregister(range, token, memory);
    }
}

#[test]
fn memory_that_goes_while_the_device_has_no_room_is_gone() {
    must_end(|| {
        let registrar = Unmapping {
            inner: Recording::with_at_most(1),
            page: AtomicUsize::new(0),
        };
        let cache = RegistrationCache::builder(registrar).build().unwrap();
        let (first, second) = (map(pages(1)), map(pages(1)));
        let token = *cache.get(first, pages(1)).unwrap().handle();
        cache.registrar().page.store(first, Ordering::Relaxed);

        let held = cache.get(second, pages(1)).unwrap();
        assert_eq!(cache.registrar().inner.ended(), [(token, Memory::Gone)]);
        assert_eq!((cache.stats().evicted, cache.stats().invalidated), (0, 1));
        drop((held, cache));
        unmap(second, pages(1));
    });
}

#[test]
fn ranges_that_are_none_are_refused() {
    let cache = cache(Limits::keep());
    assert!(matches!(
        cache.get(4096, 0),
        Err(GetError::Empty { addr: 4096 })
    ));
    assert!(matches!(
        cache.get(usize::MAX - 9, 5),
        Err(GetError::Wraps { .. })
    ));
    assert!(matches!(
        cache.get(4096, usize::MAX),
        Err(GetError::Wraps { .. })
    ));
    assert!(cache.registrar().live().is_empty());
}
