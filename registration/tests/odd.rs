//! Ranges that are odd, and devices that fail: errors, and nothing is left registered.

mod common;

use common::{map, must_end, pages, status_kib, unmap};
use std::os::fd::AsRawFd;
use tcasm_registration::{
    GetError, Limits, Memory, Mlock, Recording, RegisterError, Registrar, RegistrationCache,
};

fn locking() -> RegistrationCache<Mlock> {
    RegistrationCache::builder(Mlock::default())
        .build()
        .unwrap()
}

/// Ranges at the ends of the address space, in the kernel's half, and ones that wrap around.
#[test]
fn addresses_that_no_process_has_are_errors_for_every_registrar() {
    must_end(|| {
        let recording = RegistrationCache::builder(Recording::default());
        let (recording, locking) = (recording.build().unwrap(), locking());
        let kernel = 0xffff_8000_0000_0000_usize;
        let ranges = [
            (0, 1),
            (usize::MAX, 1),
            (usize::MAX - pages(1), pages(1)),
            (usize::MAX - pages(2), pages(1)),
            (kernel, pages(1)),
            (1 << 46, usize::MAX),
            (0, usize::MAX / 2),
            (pages(1), usize::MAX - pages(3)),
        ];
        for (addr, len) in ranges {
            assert!(
                recording.get(addr, len).is_err(),
                "{len} bytes at {addr:#x}"
            );
            assert!(locking.get(addr, len).is_err(), "{len} bytes at {addr:#x}");
            // Nothing is registered there, so this is no error, or one that says why.
            let _ = recording.invalidate(addr, len);
        }
        assert_eq!(recording.stats().entries, 0);
        assert_eq!(locking.stats().entries, 0);
    });
}

/// Memory that cannot be touched: nothing may be read, or the file is shorter than its mapping.
/// What is registered elsewhere stays.
#[test]
fn memory_that_cannot_be_touched_is_refused_by_the_device_and_never_kept() {
    must_end(|| {
        let (cache, memory) = (locking(), map(pages(4)));
        let before = status_kib("VmLck");
        // SAFETY: the memory belongs to the test.
        let done = unsafe { libc::mprotect(memory as *mut _, pages(2), libc::PROT_NONE) };
        assert_eq!(done, 0);
        drop(cache.get(memory + pages(2), pages(2)).unwrap());
        let kept = before + pages(2) / 1024;
        is_refused(&cache, memory, pages(2));
        assert_eq!((cache.stats().entries, status_kib("VmLck")), (1, kept));

        let file = tempfile();
        file.set_len(pages(1) as u64).unwrap();
        // SAFETY: the kernel chooses the address.
        let beyond = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let fd = file.as_raw_fd();
            libc::mmap(
                std::ptr::null_mut(),
                pages(4),
                access,
                libc::MAP_SHARED,
                fd,
                0,
            ) as usize
        };
        is_refused(&cache, beyond, pages(4));
        assert_eq!((cache.stats().entries, status_kib("VmLck")), (1, kept));
        unmap(beyond, pages(4));
        unmap(memory, pages(4));
    });
}

/// Checks that memory is refused, and not because of a limit: then the cache would evict others.
fn is_refused(cache: &RegistrationCache<Mlock>, addr: usize, len: usize) {
    let error = cache.get(addr, len).unwrap_err();
    let limit = matches!(error, GetError::Register(RegisterError::Limit { .. }));
    assert!(!limit && error.to_string().contains("mlock"), "{error}");
}

fn tempfile() -> std::fs::File {
    // SAFETY: the name ends with a null byte, and the descriptor is new.
    unsafe {
        let fd = libc::memfd_create(c"odd".as_ptr(), 0);
        assert!(fd >= 0);
        std::os::fd::FromRawFd::from_raw_fd(fd)
    }
}

/// A device whose driver panics for every second request.
#[derive(Default)]
struct Panics(std::sync::atomic::AtomicUsize);

impl Registrar for Panics {
    type Handle = ();

    fn register(&self, _: &std::ops::Range<usize>) -> Result<(), RegisterError> {
        let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert!(n.is_multiple_of(2), "the driver has a defect");
        Ok(())
    }

    fn deregister(&self, _: &std::ops::Range<usize>, (): &(), _: Memory) {}

    fn survives_fork(&self) -> bool {
        true
    }
}

#[test]
fn a_cache_goes_on_after_a_panic_of_its_registrar() {
    must_end(|| {
        let builder = RegistrationCache::builder(Panics::default()).limits(Limits::in_use());
        let (cache, memory) = (builder.build().unwrap(), map(pages(1)));
        for round in 0..6 {
            let call = || cache.get(memory, pages(1)).is_ok();
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
            assert_eq!(done.ok(), (round % 2 == 0).then_some(true));
            assert_eq!(cache.stats().entries, 0, "round {round}");
        }
        // The memory can still be unmapped, which waits for the thread that reads events.
        unmap(memory, pages(1));
        drop(cache);
    });
}
