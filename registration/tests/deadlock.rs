//! The program's own work must not make the cache and the program wait for each other.

mod common;

use common::{empty, map, map_over, must_end, pages, unmap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tcasm_core::sys::uffd::{self, Faults, WP_SYNC, WP_UNPOPULATED};
use tcasm_registration::{Everything, Recording, RegistrationCache};

fn cache() -> RegistrationCache<Recording> {
    RegistrationCache::builder(Recording::default())
        .build()
        .unwrap()
}

#[test]
fn a_handler_of_the_programs_own_userfaultfd_may_unmap_registered_memory() {
    must_end(|| {
        let cache = cache();
        let (own, _) = uffd::open(Faults::User, WP_SYNC | WP_UNPOPULATED).unwrap();
        let (watched, registered) = (map(pages(1)), map(pages(4)));
        let page = watched..watched + pages(1);
        uffd::watch(&own, &page).unwrap();
        let held = cache.get(registered, pages(4)).unwrap();
        std::thread::scope(|scope| {
            // SAFETY: the page is writable, and only this thread uses it until it is joined.
            scope.spawn(|| unsafe { (watched as *mut u8).write_volatile(7) });
            while uffd::next_fault(&own).unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            unmap(registered, pages(4));
            uffd::release(&own, &page).unwrap();
        });
        drop(held);
        while !cache.registrar().live().is_empty() {
            std::thread::yield_now();
        }
        drop(own);
        unmap(watched, pages(1));
    });
}

#[test]
fn memory_of_the_programs_own_userfaultfd_is_registered_anew_each_time() {
    must_end(|| {
        let cache = cache();
        let (own, _) = uffd::open(Faults::User, WP_SYNC | WP_UNPOPULATED).unwrap();
        let memory = map(pages(1));
        let page = memory..memory + pages(1);
        uffd::watch(&own, &page).unwrap();
        let first = *cache.get(memory, 1).unwrap().handle();
        assert_ne!(*cache.get(memory, 1).unwrap().handle(), first);
        assert_eq!((cache.stats().not_followed, cache.stats().entries), (2, 0));
        uffd::protect(&own, &page).expect("it is still registered with its owner");
        drop((cache, own));
        unmap(memory, pages(1));
    });
}

static MEMORY: AtomicUsize = AtomicUsize::new(0);
static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handler(_: libc::c_int) {
    empty(MEMORY.load(Ordering::Relaxed), pages(1));
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_signal_handler_may_drop_pages_of_registered_memory() {
    must_end(|| {
        let memory = map(pages(2));
        MEMORY.store(memory, Ordering::Relaxed);
        let action = handler as extern "C" fn(libc::c_int);
        // SAFETY: the handler makes one system call, and counts.
        unsafe { libc::signal(libc::SIGUSR1, action as libc::sighandler_t) };
        let (cache, stop) = (cache(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // SAFETY: the signal has a handler. Any thread of the process may run it.
                    unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
            while HANDLED.load(Ordering::Relaxed) < 200 {
                let _ = cache.get(memory, pages(2));
                map_over(memory + pages(1), pages(1));
            }
            stop.store(true, Ordering::Relaxed);
        });
        drop(cache);
    });
}

#[test]
fn a_program_whose_whole_memory_is_followed_allocates_and_starts_threads() {
    must_end(|| {
        let cache = cache();
        let every = Duration::from_millis(1);
        cache
            .follow_all(Everything::default().every(every))
            .unwrap();
        for round in 0..20 {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let sizes = [100, 5000, 200_000, 3_000_000];
                        let blocks: Vec<Vec<u8>> = sizes.map(|n| vec![1; n]).into();
                        drop(cache.get(blocks[3].as_ptr() as usize, 3_000_000));
                    });
                }
            });
            cache.refresh().unwrap();
            assert!(cache.stats().entries > 0, "round {round}");
        }
    });
}
