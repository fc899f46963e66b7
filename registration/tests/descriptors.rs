//! Processes that may have few descriptors, or none. The event of a fork brings one.

mod common;

use common::{in_child, map, must_end, pages, unmap};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tcasm_registration::{Recording, RegistrationCache, Token};

struct Followed {
    cache: RegistrationCache<Recording>,
    memory: usize,
}

impl Followed {
    fn new() -> Self {
        let builder = RegistrationCache::builder(Recording::default());
        let (cache, memory) = (builder.build().unwrap(), map(pages(2)));
        assert!(cache.follows_forks(), "this test needs CAP_SYS_PTRACE");
        Followed { cache, memory }
    }

    fn token(&self) -> Token {
        *self.cache.get(self.memory, pages(2)).unwrap().handle()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        unmap(self.memory, pages(2));
    }
}

/// Sets how many descriptors the process may have, and returns the old number.
fn allow(most: u64) -> u64 {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, hard).unwrap();
    soft
}

/// Takes all descriptors that the process may have.
fn take_all() -> Vec<OwnedFd> {
    let mut taken = Vec::with_capacity(1 << 12);
    while let Ok(one) = nix::unistd::dup(std::io::stdin()) {
        taken.push(one);
    }
    taken
}

/// Forks a child that ends at once. `fork` of the C library would hold the locks of its allocator
/// while it waits.
fn fork_with_an_unlocked_allocator() {
    // SAFETY: without flags but a signal this is a fork, and the child only ends.
    let child = unsafe {
        match libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
            0 => libc::_exit(0),
            child => Pid::from_raw(child as libc::pid_t),
        }
    };
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
}

#[test]
fn process_without_free_descriptors_forks_and_its_cache_works_on() {
    must_end(|| {
        let old = allow(200);
        let followed = Followed::new();
        let before = followed.token();
        let taken = take_all();
        for _ in 0..3 {
            assert!(in_child(|| true));
        }
        drop(taken);
        allow(old);
        assert_eq!(followed.token(), before, "it is followed all the time");
    });
}

#[test]
fn limit_below_all_numbers_in_use_stops_neither_forks_nor_the_cache() {
    must_end(|| {
        let old = allow(200);
        let taken = take_all();
        allow(400);
        // Its descriptors have numbers above 200 now, so that closing one makes no room.
        let followed = Followed::new();
        let before = followed.token();
        for most in [20, 3, 1] {
            allow(most);
            assert!(in_child(|| true));
        }
        allow(old);
        drop(taken);
        assert_eq!(followed.token(), before);
    });
}

#[test]
fn while_events_cannot_be_read_nothing_is_current_and_nothing_is_a_hit() {
    must_end(|| {
        let followed = Followed::new();
        let before = followed.token();
        let held = followed.cache.get(followed.memory, 1).unwrap();
        let old = allow(0);
        std::thread::scope(|scope| {
            let fork = scope.spawn(fork_with_an_unlocked_allocator);
            while held.is_current() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let (first, second) = (followed.token(), followed.token());
            assert!(first != before && second != before && first != second);
            assert!(!fork.is_finished(), "the event needs a descriptor");
            allow(old);
            fork.join().unwrap();
        });
        assert!(!held.is_current(), "its memory may have changed meanwhile");
        drop(held);
        // The thread notes a moment later that it reads again.
        while followed.token() != followed.token() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
