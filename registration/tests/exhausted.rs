//! Processes that have no descriptors, addresses or mappings left when they build or use a cache.

mod common;

use common::{in_child, map, must_end, pages, status_kib, unmap};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::os::fd::OwnedFd;
use tcasm_core::sys::mem::page_size;
use tcasm_registration::{
    BuildError, GetError, IoUring, Limits, Mlock, Recording, RegisterError, RegistrationCache,
};

fn build() -> Result<RegistrationCache<Recording>, BuildError> {
    RegistrationCache::builder(Recording::default()).build()
}

/// Returns true if the cache keeps what it has registered.
fn keeps(cache: &RegistrationCache<Recording>, memory: usize) -> bool {
    let token = || *cache.get(memory, pages(1)).unwrap().handle();
    token() == token()
}

/// Returns the number of open descriptors, without using one.
fn descriptors() -> usize {
    // SAFETY: F_GETFD takes no argument, and fails if the number is not open.
    let open = |number: &i32| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0;
    (0..400).filter(open).count()
}

/// Leaves so many descriptors free.
fn take_all_but(free: usize) -> Vec<OwnedFd> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 300, hard).unwrap();
    let mut taken = Vec::with_capacity(400);
    while let Ok(one) = nix::unistd::dup(std::io::stdin()) {
        taken.push(one);
    }
    taken.truncate(taken.len() - free);
    taken
}

#[test]
fn cache_without_descriptors_is_refused_with_the_reason_and_leaves_none_open() {
    must_end(|| {
        let memory = map(pages(1));
        let done = in_child(|| {
            let mut taken = take_all_but(0);
            let mut refused = 0;
            loop {
                let before = descriptors();
                match build() {
                    Ok(cache) => return refused >= 2 && keeps(&cache, memory),
                    Err(error) => {
                        let text = error.to_string();
                        let limit = matches!(error, BuildError::Thread(_));
                        let clear = limit && text.contains("Too many open files");
                        if !clear || descriptors() != before || refused > 9 {
                            eprintln!("{error}: {before} before, {} now", descriptors());
                            return false;
                        }
                    }
                }
                refused += 1;
                taken.pop();
            }
        });
        assert!(done);
        unmap(memory, pages(1));
    });
}

#[test]
fn ring_without_descriptors_is_absent_for_that_reason() {
    must_end(|| {
        assert!(in_child(|| {
            let taken = take_all_but(0);
            let error = IoUring::with_own_ring(1).unwrap_err().to_string();
            drop(taken);
            let later = IoUring::with_own_ring(1);
            error.contains("Too many open files") && later.is_ok()
        }));
    });
}

#[test]
fn cache_without_addresses_for_its_threads_is_refused_and_can_be_built_later() {
    must_end(|| {
        let memory = map(pages(1));
        let mut refused = 0;
        for kib in [
            64,
            512,
            1 << 10,
            2 << 10,
            3 << 10,
            4 << 10,
            8 << 10,
            1 << 20,
        ] {
            let allowed = status_kib("VmSize") + kib;
            let built = in_child(|| {
                let (soft, hard) = getrlimit(Resource::RLIMIT_AS).unwrap();
                setrlimit(Resource::RLIMIT_AS, allowed as u64 * 1024, hard).unwrap();
                let first = build();
                setrlimit(Resource::RLIMIT_AS, soft, hard).unwrap();
                let works = keeps(&build().unwrap(), memory);
                if let Err(error) = &first {
                    eprintln!("{kib} KiB: {error}");
                }
                assert!(works);
                first.is_ok()
            });
            refused += usize::from(!built);
        }
        assert!((1..8).contains(&refused), "{refused}");
        unmap(memory, pages(1));
    });
}

/// The mappings that `exhaust` makes of one block, or fewer.
const MANY: usize = 4000;

/// Takes all mappings that the process may have, but leaves so many.
fn exhaust(leave: usize) -> Vec<usize> {
    let mut taken = Vec::with_capacity(100);
    while let Some(block) = reserve(2 * MANY) {
        taken.push(block);
        let refused = |i: &usize| !protect(block, *i, libc::PROT_READ);
        if let Some(last) = (1..MANY).find(refused) {
            // Each page that is as its neighbours again gives back two.
            let back = last - leave.div_ceil(2)..last;
            assert!(back.into_iter().all(|i| protect(block, i, libc::PROT_NONE)));
            break;
        }
    }
    taken
}

/// Changes the access to a page of a block. With another access than its neighbours, it is a
/// mapping of its own. Returns false if there can be none.
fn protect(block: usize, i: usize, access: libc::c_int) -> bool {
    let at = (block + pages(2 * i)) as *mut libc::c_void;
    // SAFETY: the page belongs to a block that nobody uses.
    unsafe { libc::mprotect(at, page_size(), access) == 0 }
}

fn reserve(count: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let null = std::ptr::null_mut();
    // SAFETY: nothing is replaced, because the kernel chooses the address.
    let got = unsafe { libc::mmap(null, pages(count), libc::PROT_NONE, flags, -1, 0) };
    (got != libc::MAP_FAILED).then_some(got as usize)
}

/// Gives back what `exhaust` has taken.
fn recover(taken: &[usize]) {
    for block in taken {
        unmap(*block, pages(2 * MANY));
    }
}

#[test]
fn cache_without_mappings_for_its_threads_is_refused_and_can_be_built_later() {
    must_end(|| {
        let memory = map(pages(1));
        let mut refused = 0;
        for leave in (0..16).step_by(2) {
            let built = in_child(|| {
                let taken = exhaust(leave);
                let first = build();
                recover(&taken);
                if let Err(error) = &first {
                    eprintln!("{leave} mappings: {error}");
                }
                assert!(keeps(&build().unwrap(), memory));
                first.is_ok()
            });
            refused += usize::from(!built);
        }
        assert!((1..8).contains(&refused), "{refused}");
        unmap(memory, pages(1));
    });
}

#[test]
fn memory_that_cannot_be_split_from_its_mapping_is_not_followed_and_not_kept() {
    must_end(|| {
        let memory = map(pages(3));
        assert!(in_child(|| {
            let cache = build().unwrap();
            let taken = exhaust(0);
            let inside = memory + pages(1);
            let kept = keeps(&cache, inside);
            let stats = cache.stats();
            recover(&taken);
            let later = keeps(&cache, inside);
            !kept && (stats.not_followed, stats.entries) == (2, 0) && later
        }));
        unmap(memory, pages(3));
    });
}

#[test]
fn locking_without_mappings_is_an_error_with_the_limit_and_locks_nothing() {
    must_end(|| {
        let memory = map(pages(3));
        assert!(in_child(|| {
            let builder = RegistrationCache::builder(Mlock::default());
            let cache = builder.limits(Limits::in_use()).build().unwrap();
            let before = status_kib("VmLck");
            let taken = exhaust(0);
            let error = cache.get(memory + pages(1), pages(1)).unwrap_err();
            let named = match &error {
                GetError::Register(RegisterError::Limit { limit, .. }) => *limit,
                _ => "",
            };
            recover(&taken);
            let locked = status_kib("VmLck");
            eprintln!("{error}: {locked} KiB locked");
            named == "vm.max_map_count" && locked == before && cache.stats().entries == 0
        }));
        unmap(memory, pages(3));
    });
}

#[test]
fn memory_that_could_not_be_unlocked_is_unlocked_later() {
    must_end(|| {
        let memory = map(pages(8));
        assert!(in_child(|| {
            let builder = RegistrationCache::builder(Mlock::default());
            let cache = builder.limits(Limits::in_use()).build().unwrap();
            let before = status_kib("VmLck");
            let halves = [0, 4].map(|at| cache.get(memory + pages(at), pages(4)).unwrap());
            let [first, second] = halves;
            let taken = exhaust(0);
            drop(first);
            let entries = cache.stats().entries;
            let left = status_kib("VmLck") - before;
            recover(&taken);
            drop(second);
            let after = status_kib("VmLck") - before;
            eprintln!("{entries} registered, {left} KiB locked, {after} KiB later");
            // Without a mapping more, the first half cannot be unlocked.
            (entries, left, after) == (1, pages(8) / 1024, 0)
        }));
        unmap(memory, pages(8));
    });
}
