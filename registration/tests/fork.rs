//! Forked children, which must not use what belongs to their parent.

mod common;

use common::{Waiting, empty, in_child, map, map_over, must_end, pages, unmap};
use nix::unistd::execv;
use std::ops::Range;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_registration::{
    GetError, Limits, Memory, Recording, RegisterError, Registrar, RegistrationCache,
};

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

/// Notes when it ends, as a driver does.
#[derive(Debug, Default)]
struct Ends(Arc<AtomicBool>);

impl Registrar for Ends {
    type Handle = ();

    fn register(&self, _range: &Range<usize>) -> Result<(), RegisterError> {
        Ok(())
    }

    fn deregister(&self, _range: &Range<usize>, _handle: &(), _memory: Memory) {}
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn registrar_of_the_parent_does_not_end_in_a_child() {
    must_end(|| {
        let registrar = Ends::default();
        let ended = registrar.0.clone();
        let cache = RegistrationCache::builder(registrar).build().unwrap();
        let memory = map(pages(2));
        let held = cache.get(memory, pages(2)).unwrap();
        let mut both = Some((held, cache));
        assert!(in_child(|| {
            // The cache ends first, so that its registration is the last user of the registrar.
            if let Some((held, cache)) = both.take() {
                drop(cache);
                drop(held);
            }
            !ended.load(Ordering::Relaxed)
        }));
        drop(both);
        unmap(memory, pages(2));
    });
}

/// Memory of four pages that is registered, of which the second one was dropped: the registration
/// ends with that, and the kernel goes on following the memory.
fn left_behind(cache: &RegistrationCache<Recording>) -> usize {
    let memory = map(pages(4));
    drop(cache.get(memory, pages(4)).unwrap());
    empty(memory + pages(1), pages(1));
    memory
}

#[test]
fn memory_can_be_unmapped_when_the_last_cache_has_ended_and_a_child_lives() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::default());
        let cache = builder.build().unwrap();
        let memory = left_behind(&cache);
        let child = Waiting::fork(|| {
            unmap(memory, pages(4));
            true
        });
        drop(cache);
        unmap(memory, pages(4));
        assert!(child.finish());
    });
}

#[test]
fn children_that_are_forked_at_the_same_time_and_live_on_may_unmap_memory() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::default());
        let cache = builder.build().unwrap();
        let memory = map(pages(4));
        let held = cache.get(memory, pages(4)).unwrap();
        let family = || {
            let child = || {
                Waiting::fork(|| {
                    unmap(memory, pages(4));
                    true
                })
            };
            let children: Vec<Waiting> = (0..60).map(|_| child()).collect();
            assert!(children.into_iter().all(Waiting::finish));
        };
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(family)));
        });
        assert!(held.is_current());
        drop((held, cache));
        unmap(memory, pages(4));
    });
}

#[test]
fn processes_are_forked_and_executed_while_caches_begin_and_end() {
    must_end(|| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let builder = RegistrationCache::builder(Recording::default());
                    let cache = builder.build().unwrap();
                    let memory = left_behind(&cache);
                    drop(cache);
                    unmap(memory, pages(4));
                }
            });
            for round in 0..100 {
                let inherited = map(pages(2));
                let builder = RegistrationCache::builder(Recording::default());
                let cache = builder.build().unwrap();
                drop(cache.get(inherited, pages(2)).unwrap());
                assert!(in_child(|| {
                    unmap(inherited, pages(2));
                    round % 2 == 0 || execute_true()
                }));
                assert!(Command::new("true").status().unwrap().success());
                unmap(inherited, pages(2));
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// Replaces this process by a program that returns 1. Returns if that fails.
fn execute_true() -> bool {
    let _ = execv(c"/bin/sh", &[c"sh", c"-c", c"exit 1"]);
    false
}

#[test]
fn child_builds_a_cache_of_its_own_that_follows_its_memory() {
    must_end(|| {
        let builder = RegistrationCache::builder(Recording::default());
        let (cache, memory) = (builder.build().unwrap(), map(pages(2)));
        drop(cache.get(memory, pages(2)).unwrap());
        assert!(in_child(|| {
            let builder = RegistrationCache::builder(Recording::default());
            let own = builder.build().unwrap();
            let token = || *own.get(memory, pages(2)).unwrap().handle();
            let before = token();
            let hit = token() == before;
            map_over(memory, pages(2));
            hit && token() != before
        }));
        drop(cache);
        unmap(memory, pages(2));
    });
}

#[test]
fn child_builds_a_cache_while_threads_of_its_parent_register_memory() {
    must_end(|| {
        let stop = AtomicBool::new(false);
        let build = || {
            let builder = RegistrationCache::builder(Recording::default());
            builder.limits(Limits::in_use()).build().unwrap()
        };
        let (cache, memory) = (build(), map(pages(2)));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let _ = cache.get(memory, pages(2));
                    }
                });
            }
            let child = || in_child(|| build().get(memory, pages(2)).is_ok());
            let all = (0..200).all(|_| child());
            stop.store(true, Ordering::Relaxed);
            assert!(all, "a child could not register memory");
        });
        drop(cache);
        unmap(memory, pages(2));
    });
}
