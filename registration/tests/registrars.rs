//! Registrars, where the kernel says what they have done.

mod common;

use common::{in_child, map, pages, status_kib, unmap};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Uid, setuid};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcasm_registration::{
    Cuda, GetError, Ibverbs, IoUring, Limits, Mlock, RegisterError, Registrar, RegistrationCache,
};

/// The kernel counts locked memory per process, so these tests run one after the other.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cache<R: Registrar>(registrar: R) -> RegistrationCache<R> {
    RegistrationCache::builder(registrar).build().unwrap()
}

#[test]
fn memory_is_locked_until_the_last_registration_of_it_ends() {
    let _alone = alone();
    let (cache, memory) = (cache(Mlock::default()), map(pages(8)));
    let before = status_kib("VmLck");
    let kib = |count| before + pages(count) / 1024;
    let low = cache.get(memory, pages(4)).unwrap();
    assert_eq!(status_kib("VmLck"), kib(4));
    let both = cache.get(memory + pages(2), pages(4)).unwrap();
    assert_eq!(status_kib("VmLck"), kib(6));
    drop(low);
    assert_eq!(status_kib("VmLck"), kib(6));
    drop(both);
    assert_eq!(status_kib("VmLck"), kib(6), "it stays registered");
    unmap(memory, pages(8));
    assert_eq!(status_kib("VmLck"), before);
    drop(cache);
    assert_eq!(status_kib("VmLck"), before);
}

#[test]
fn a_cache_that_ends_unlocks_what_it_kept() {
    let _alone = alone();
    let (cache, memory) = (cache(Mlock::default()), map(pages(4)));
    let before = status_kib("VmLck");
    drop(cache.get(memory, pages(4)).unwrap());
    assert!(status_kib("VmLck") > before);
    drop(cache);
    assert_eq!(status_kib("VmLck"), before);
    unmap(memory, pages(4));
}

#[test]
fn memory_that_is_not_mapped_is_refused_and_evicts_nothing() {
    let _alone = alone();
    let (cache, memory) = (cache(Mlock::default()), map(pages(4)));
    drop(cache.get(memory, pages(1)).unwrap());
    unmap(memory + pages(2), pages(1));
    let error = cache.get(memory + pages(2), pages(1)).unwrap_err();
    let refused = matches!(error, GetError::Register(RegisterError::Unmapped { .. }));
    assert!(refused, "{error}");
    assert_eq!(cache.stats().entries, 1);
    drop(cache);
    unmap(memory, pages(4));
}

/// Locks memory as a user without rights who may lock 16 pages, and returns true if all was as it
/// should be.
fn lock_as_a_user_with_a_limit() -> bool {
    let limit = pages(16) as u64;
    setrlimit(Resource::RLIMIT_MEMLOCK, limit, limit).unwrap();
    setuid(Uid::from_raw(65534)).unwrap();
    let (cache, memory) = (cache(Mlock::default()), map(pages(64)));
    let at = |part: usize| memory + pages(16 * part);
    // Registrations that nobody uses go when the limit is reached.
    let kept = (0..4).all(|part| cache.get(at(part), pages(8)).is_ok());
    let evicted = cache.stats().evicted == 2 && status_kib("VmLck") == pages(16) / 1024;
    let held = (cache.get(at(0), pages(8)), cache.get(at(1), pages(8)));
    let error = cache.get(at(2), pages(8)).unwrap_err();
    let named = matches!(error, GetError::Register(RegisterError::Limit { .. }))
        && error.to_string().contains("RLIMIT_MEMLOCK");
    let unchanged = status_kib("VmLck") == pages(16) / 1024 && cache.stats().entries == 2;
    drop((held, cache));
    kept && evicted && named && unchanged && status_kib("VmLck") == 0
}

#[test]
fn a_limit_on_locked_memory_evicts_and_is_named_if_that_does_not_help() {
    let _alone = alone();
    assert!(
        nix::unistd::geteuid().is_root(),
        "only root can change the user"
    );
    assert!(in_child(lock_as_a_user_with_a_limit));
}

/// Locks every second page until the process has as many mappings as it may have.
fn lock_until_there_are_too_many_mappings() -> bool {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let most: usize = most.trim().parse().unwrap();
    let (registrar, memory) = (Mlock::default(), map(pages(most)));
    let mut even = (0..most).step_by(2).map(|page| memory + pages(page));
    let refused = even.find_map(|at| registrar.register(&(at..at + pages(1))).err());
    let locked = status_kib("VmLck");
    let named = refused.is_some_and(|e| e.to_string().contains("vm.max_map_count"));
    named && locked > 0
}

#[test]
fn limit_on_mappings_is_named_if_it_keeps_memory_from_being_locked() {
    let _alone = alone();
    assert!(in_child(lock_until_there_are_too_many_mappings));
}

#[test]
fn buffers_of_io_uring_are_pinned_and_their_slots_are_used_again() {
    let _alone = alone();
    let limits = Limits::in_use();
    let builder = RegistrationCache::builder(IoUring::with_own_ring(2).unwrap());
    let (cache, memory) = (builder.limits(limits).build().unwrap(), map(pages(8)));
    let before = status_kib("VmPin");
    for _ in 0..5 {
        let first = cache.get(memory, pages(2)).unwrap();
        let second = cache.get(memory + pages(4), pages(2)).unwrap();
        assert_ne!(first.handle(), second.handle());
        assert_eq!(status_kib("VmPin"), before + pages(4) / 1024);
        let error = cache.get(memory + pages(7), 1).unwrap_err();
        assert!(error.to_string().contains("buffers of the ring"), "{error}");
    }
    assert_eq!(status_kib("VmPin"), before);
    unmap(memory, pages(8));
}

#[test]
fn drivers_that_are_not_there_are_reported_by_name() {
    let _alone = alone();
    match Cuda::load(0) {
        Ok(cuda) => register_once(cuda),
        Err(absent) => assert!(absent.to_string().contains("libcuda.so.1"), "{absent}"),
    }
    match Ibverbs::load(0) {
        Ok(adapter) => register_once(adapter),
        Err(absent) => assert!(absent.to_string().contains("libibverbs.so.1"), "{absent}"),
    }
}

fn register_once<R: Registrar>(registrar: R) {
    let (cache, memory) = (cache(registrar), map(pages(4)));
    let got = cache.get(memory, pages(4));
    assert!(got.as_ref().is_ok_and(|r| r.is_current()));
    drop(got);
    drop(cache);
    unmap(memory, pages(4));
}
