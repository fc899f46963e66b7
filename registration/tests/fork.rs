//! Forked children, which must not use what belongs to their parent.

mod common;

use common::{in_child, map, must_end, pages, unmap};
use nix::sys::resource::{Resource, setrlimit};
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_registration::{GetError, Recording, RegistrationCache};

#[test]
fn a_child_gets_an_error_and_ends_nothing_of_its_parent() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::default());
        let (cache, memory) = (builder.build().unwrap(), map(pages(2)));
        let held = cache.get(memory, pages(2)).unwrap();
        let mut held = Some(held);
        assert!(in_child(|| {
            drop(held.take());
            let refused = matches!(cache.get(memory, 1), Err(GetError::Forked));
            // Blocks if anybody had to read an event of the child.
            unmap(memory, pages(2));
            refused
        }));
        let held = held.unwrap();
        assert!(held.is_current());
        let again = cache.get(memory, pages(2)).unwrap();
        assert_eq!(again.handle(), held.handle());
        drop((held, again, cache));
        unmap(memory, pages(2));
    });
}

#[test]
fn registrations_that_do_not_survive_a_fork_end_at_it() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::that_ends_at_a_fork());
        let (cache, memory) = (builder.build().unwrap(), map(pages(2)));
        assert!(cache.follows_forks(), "this test needs CAP_SYS_PTRACE");
        let held = cache.get(memory, pages(2)).unwrap();
        assert!(in_child(|| true));
        let again = cache.get(memory, pages(2)).unwrap();
        assert_ne!(again.handle(), held.handle());
        assert!(again.is_current() && !held.is_current());
        drop((held, again, cache));
        unmap(memory, pages(2));
    });
}

/// Takes all descriptors that the process may have, runs `work`, and closes them.
fn without_descriptors<T>(work: impl FnOnce() -> T) -> T {
    let mut taken = Vec::with_capacity(1 << 16);
    while let Ok(one) = nix::unistd::dup(std::io::stdin()) {
        taken.push(one);
    }
    work()
}

#[test]
fn a_process_without_free_descriptors_forks_and_its_cache_works_on() {
    must_end(|| {
        // A low limit, so that few descriptors reach it. Tests of this file run one by one.
        setrlimit(Resource::RLIMIT_NOFILE, 200, 200).unwrap();
        let builder = RegistrationCache::builder(Recording::default());
        let (cache, memory) = (builder.build().unwrap(), map(pages(2)));
        assert!(cache.follows_forks(), "this test needs CAP_SYS_PTRACE");
        let token = || *cache.get(memory, pages(2)).unwrap().handle();
        let before = token();
        for _ in 0..3 {
            assert!(without_descriptors(|| in_child(|| true)));
        }
        assert_eq!(token(), before, "it is followed all the time");
        unmap(memory, pages(2));
    });
}

#[test]
fn threads_fork_and_unmap_while_others_use_the_cache() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::that_ends_at_a_fork());
        let cache = builder.build().unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let memory = map(pages(4));
                        let _ = cache.get(memory, pages(4));
                        unmap(memory, pages(4));
                    }
                });
            }
            for _ in 0..200 {
                assert!(in_child(|| true));
            }
            stop.store(true, Ordering::Relaxed);
        });
        drop(cache);
    });
}
