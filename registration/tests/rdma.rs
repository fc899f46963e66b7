//! Memory regions of an RDMA adapter. `ci/rdma.sh` runs these tests on a kernel with soft-RoCE,
//! where an adapter reads the memory as a peer does: by address and key. `TCASM_RDMA_READER` is the
//! library that lets it read (`rdma/adapter.c`).

mod common;

use common::{in_child, map, map_over, pages, status_kib, unmap};
use libloading::{Library, Symbol};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Uid, setuid};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use tcasm_registration::{
    Following, GetError, Ibverbs, Limits, RegisterError, Registrar, RegistrationCache,
};

/// A queue pair that reads memory of this process.
struct Reader {
    library: Library,
    at: NonNull<c_void>,
}

impl Reader {
    fn new(adapter: &Ibverbs) -> Self {
        let path = std::env::var_os("TCASM_RDMA_READER").expect("TCASM_RDMA_READER is not set");
        // SAFETY: the library only has the functions of rdma/adapter.c, with these types.
        unsafe {
            let library = Library::new(path).unwrap();
            let make: Symbol<'_, unsafe extern "C" fn(*mut c_void) -> *mut c_void> =
                library.get(b"reader_new").unwrap();
            let at = NonNull::new(make(adapter.domain())).expect("no queue pair");
            Reader { library, at }
        }
    }

    /// Returns what the adapter reads at an address, by a key.
    fn byte(&self, addr: usize, key: u32) -> Option<u8> {
        type Read = unsafe extern "C" fn(*mut c_void, u64, u32) -> c_int;
        // SAFETY: the type is that of the function, and the adapter checks address and key.
        let found = unsafe {
            let read: Symbol<'_, Read> = self.library.get(b"reader_read").unwrap();
            read(self.at.as_ptr(), addr as u64, key)
        };
        u8::try_from(found).ok()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: the reader is not used any more.
        unsafe {
            let end: Symbol<'_, unsafe extern "C" fn(*mut c_void)> =
                self.library.get(b"reader_free").unwrap();
            end(self.at.as_ptr());
        }
    }
}

fn fill(addr: usize, len: usize, byte: u8) {
    // SAFETY: the memory belongs to the test.
    unsafe { std::ptr::write_bytes(addr as *mut u8, byte, len) }
}

fn cache(following: Following) -> RegistrationCache<Ibverbs> {
    let builder = RegistrationCache::builder(Ibverbs::load(0).unwrap());
    builder.following(following).build().unwrap()
}

#[test]
#[ignore = "needs an RDMA adapter: ci/rdma.sh"]
fn pages_are_pinned_until_their_mapping_ends() {
    let (cache, memory) = (cache(Following::Kernel), map(pages(8)));
    let before = status_kib("VmPin");
    let region = cache.get(memory, pages(4)).unwrap();
    assert_eq!(status_kib("VmPin"), before + pages(4) / 1024);
    drop(region);
    drop(cache.get(memory + pages(1), 10).unwrap());
    assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));
    unmap(memory, pages(8));
    // The next request takes the events.
    let other = map(pages(1));
    drop(cache.get(other, pages(1)).unwrap());
    assert_eq!(status_kib("VmPin"), before + pages(1) / 1024);
    drop(cache);
    assert_eq!(status_kib("VmPin"), before);
}

#[test]
#[ignore = "needs an RDMA adapter: ci/rdma.sh"]
fn the_adapter_reads_what_is_mapped_now_however_often_it_changes() {
    let (cache, memory) = (cache(Following::Kernel), map(pages(4)));
    let reader = Reader::new(cache.registrar());
    for byte in 1..=200 {
        fill(memory, pages(4), byte);
        let region = cache.get(memory, pages(4)).unwrap();
        assert_eq!(
            reader.byte(memory + pages(3), region.handle().remote_key),
            Some(byte)
        );
        assert!(region.is_current());
        drop(region);
        match byte % 3 {
            0 => map_over(memory, pages(4)),
            1 => common::empty(memory, pages(4)),
            _ => {
                unmap(memory, pages(4));
                assert!(common::map_at(&(memory..memory + pages(4))));
            }
        }
    }
    assert_eq!(cache.stats().hits, 0, "{:?}", cache.stats());
    drop(reader);
}

/// The control: without events, the adapter has the old pages.
#[test]
#[ignore = "needs an RDMA adapter: ci/rdma.sh"]
fn without_following_the_adapter_reads_pages_that_are_gone() {
    let (cache, memory) = (cache(Following::ByHand), map(pages(4)));
    let reader = Reader::new(cache.registrar());
    fill(memory, pages(4), 1);
    drop(cache.get(memory, pages(4)).unwrap());
    map_over(memory, pages(4));
    fill(memory, pages(4), 2);
    let stale = cache.get(memory, pages(4)).unwrap();
    assert_eq!(reader.byte(memory, stale.handle().remote_key), Some(1));
    drop(stale);
    cache.invalidate(memory, pages(4)).unwrap();
    let fresh = cache.get(memory, pages(4)).unwrap();
    assert_eq!(reader.byte(memory, fresh.handle().remote_key), Some(2));
    drop((fresh, reader));
}

#[test]
#[ignore = "needs an RDMA adapter: ci/rdma.sh"]
fn a_key_ends_with_its_registration() {
    let (adapter, memory) = (Ibverbs::load(0).unwrap(), map(pages(2)));
    // SAFETY: the domain lives as long as `adapter`, which is dropped last.
    let second = unsafe { Ibverbs::in_domain(NonNull::new(adapter.domain()).unwrap()) }.unwrap();
    let limits = Limits::in_use();
    let cache = RegistrationCache::builder(second)
        .limits(limits)
        .build()
        .unwrap();
    let reader = Reader::new(&adapter);
    fill(memory, pages(2), 7);
    let region = cache.get(memory, pages(2)).unwrap();
    let key = region.handle().remote_key;
    assert_eq!(reader.byte(memory, key), Some(7));
    assert_eq!(cache.registrar().domain(), adapter.domain());
    drop(region);
    assert_eq!(reader.byte(memory, key), None);
    drop((reader, cache, adapter));
}

/// Registers memory as a user without rights, who may lock 16 pages.
fn register_as_a_user_with_a_limit() -> bool {
    let limit = pages(16) as u64;
    setrlimit(Resource::RLIMIT_MEMLOCK, limit, limit).unwrap();
    setuid(Uid::from_raw(65534)).unwrap();
    let (cache, memory) = (cache(Following::Kernel), map(pages(64)));
    let at = |part: usize| memory + pages(16 * part);
    // Registrations that nobody uses go when the limit is reached.
    let kept = (0..4).all(|part| cache.get(at(part), pages(8)).is_ok());
    let held = [0, 1].map(|part| cache.get(at(part), pages(6)));
    let error = cache.get(at(2), pages(8)).unwrap_err();
    let named = matches!(error, GetError::Register(RegisterError::Limit { .. }))
        && error.to_string().contains("RLIMIT_MEMLOCK");
    let evicted = cache.stats().evicted;
    eprintln!("kept {kept}, evicted {evicted}: {error}");
    drop(held);
    kept && named && evicted > 0 && cache.get(at(3), pages(8)).is_ok()
}

#[test]
#[ignore = "needs an RDMA adapter: ci/rdma.sh"]
fn a_limit_on_locked_memory_evicts_and_is_named_if_that_does_not_help() {
    assert!(in_child(register_as_a_user_with_a_limit));
}

#[test]
#[ignore = "needs an RDMA adapter: ci/rdma.sh"]
fn an_adapter_that_is_not_there_is_refused() {
    let absent = Ibverbs::load(99).unwrap_err().to_string();
    assert!(absent.contains("adapter 99 of 1"), "{absent}");
    let verdicts = tcasm_registration::probe();
    let verdict = verdicts.iter().find(|v| v.registrar == "ibverbs").unwrap();
    assert_eq!(verdict.problem, None);
    let adapter = Ibverbs::load(0).unwrap();
    let hole = map(pages(1));
    unmap(hole, pages(1));
    let refused = adapter.register(&(hole..hole + pages(1))).unwrap_err();
    assert!(refused.to_string().contains("ibv_reg_mr"), "{refused}");
}
