//! Caches that have registered the same memory.

mod common;

use common::{map, map_over, must_end, pages, unmap};
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_registration::{Limits, Recording, RegistrationCache};

const ROUNDS: usize = 40_000;

fn cache(limits: Limits) -> RegistrationCache<Recording> {
    let builder = RegistrationCache::builder(Recording::default());
    builder.limits(limits).build().unwrap()
}

#[test]
fn cache_that_lets_memory_go_does_not_end_what_another_one_follows() {
    must_end(|| {
        let (one, other) = (cache(Limits::in_use()), cache(Limits::in_use()));
        let (memory, stop) = (map(pages(2)), AtomicBool::new(false));
        let mut stale = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _ = other.get(memory, pages(2));
                }
            });
            // They keep the kernel's lock of the address space busy, so that others wait for it.
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        unmap(map(pages(1)), pages(1));
                    }
                });
            }
            for _ in 0..ROUNDS {
                // Fails if a change of the round before was seen late.
                let Ok(held) = one.get(memory, pages(2)) else {
                    continue;
                };
                map_over(memory, pages(2));
                let again = one.get(memory, pages(2));
                let same = again.is_ok_and(|again| again.handle() == held.handle());
                stale += usize::from(same || held.is_current());
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(stale, 0, "stale hits");
        unmap(memory, pages(2));
    });
}
