//! Memory that changes while one registration replaces several.

mod common;

use common::{empty, map, map_over, must_end, pages};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use tcasm_registration::{
    Limits, Memory, Recording, RegisterError, Registrar, RegistrationCache, Token,
};

/// Changes a page when a registration ends, as a thread beside the caller can.
#[derive(Debug)]
struct Changing {
    inner: Recording,
    change: fn(usize),
    /// The number of the registration at whose end the page changes.
    at: u64,
    page: AtomicUsize,
}

impl Registrar for Changing {
    type Handle = Token;

    fn register(&self, range: &Range<usize>) -> Result<Token, RegisterError> {
        self.inner.register(range)
    }

    fn deregister(&self, range: &Range<usize>, token: &Token, memory: Memory) {
        if token.0 == self.at {
            (self.change)(self.page.load(Ordering::Relaxed));
        }
        self.inner.deregister(range, token, memory);
    }
}

/// Joins two registrations of two pages, with one page between them, by a request for the three
/// pages in the middle. When one of the two ends, a page of the other one changes. With room for
/// `room` pages, which four others take in the beginning.
fn is_noticed_with(room: usize, ends: u64, changed: usize, change: fn(usize)) {
    let registrar = Changing {
        inner: Recording::default(),
        change,
        at: 1 + ends,
        page: AtomicUsize::new(0),
    };
    let builder = RegistrationCache::builder(registrar);
    let limits = Limits::keep_at_most(100, pages(room));
    let cache = builder.limits(limits).build().unwrap();
    let (memory, others) = (map(pages(5)), map(pages(4)));
    let page = memory + pages(changed);
    cache.registrar().page.store(page, Ordering::Relaxed);
    let held = |addr, len| cache.get(addr, len).unwrap();
    drop(held(others, pages(4)));
    drop(held(memory, pages(2)));
    drop(held(memory + pages(3), pages(2)));

    let joined = held(memory + pages(1), pages(3));
    let evicted = usize::from(room < 9);
    assert_eq!(cache.stats().evicted, evicted as u64);
    assert!(joined.is_current());
    assert!(
        !joined.range().contains(&page),
        "the old page is registered"
    );
    let after = held(page, pages(1));
    assert_ne!(joined.handle(), after.handle());
}

fn is_noticed(ends: u64, changed: usize, change: fn(usize)) {
    is_noticed_with(100, ends, changed, change);
    // Others are evicted for the joined registration, and changes are taken then.
    is_noticed_with(8, ends, changed, change);
}

#[test]
fn a_page_that_is_emptied_while_registrations_are_joined_is_no_hit() {
    must_end(|| {
        is_noticed(1, 4, |page| empty(page, pages(1)));
        is_noticed(2, 0, |page| empty(page, pages(1)));
    });
}

#[test]
fn a_page_that_is_mapped_anew_while_registrations_are_joined_is_no_hit() {
    must_end(|| {
        is_noticed(1, 4, |page| map_over(page, pages(1)));
        is_noticed(2, 0, |page| map_over(page, pages(1)));
    });
}
