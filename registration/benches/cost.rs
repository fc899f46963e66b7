//! The cost of a hit, a miss, an eviction and an invalidation, and of following everything.
//!
//! Each line has the median, the 99th percentile and the maximum of single operations, in us. The
//! clock is part of each (some tens of ns). `ucx_rcache.c` beside this file measures UCX alike.

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use tcasm_registration::{
    Everything, IoUring, Limits, Mlock, Recording, Registrar, RegistrationCache,
};

const SAMPLES: usize = 5000;
const PAGE: usize = 4096;
const BUFFER: usize = 64 << 10;

/// Memory of the bench, at an address that the kernel chooses.
#[derive(Clone, Copy)]
struct Buffer(NonNull<c_void>, usize);

impl Buffer {
    fn map(len: usize) -> Self {
        let size = NonZeroUsize::new(len).expect("some bytes");
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_POPULATE;
        // SAFETY: nothing is replaced, because the kernel chooses the address.
        let at = unsafe { mmap_anonymous(None, size, access, flags) };
        Buffer(at.expect("memory"), len)
    }

    fn addr(self) -> usize {
        self.0.as_ptr() as usize
    }

    fn empty(self) {
        // SAFETY: nothing is borrowed from the memory.
        unsafe { madvise(self.0, self.1, MmapAdvise::MADV_DONTNEED) }.expect("emptied");
    }

    fn unmap(self) {
        // SAFETY: nothing is borrowed from the memory, which is not used any more.
        unsafe { munmap(self.0, self.1) }.expect("unmapped");
    }
}

/// Prints what single calls of `work` cost. `prepare` is not counted, and gives each its argument.
fn measure<T>(name: &str, mut prepare: impl FnMut() -> T, mut work: impl FnMut(T)) {
    let mut times: Vec<Duration> = (0..SAMPLES)
        .map(|_| {
            let argument = prepare();
            let before = Instant::now();
            work(argument);
            before.elapsed()
        })
        .collect();
    print(name, &mut times);
}

fn print(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let last = times.len() - 1;
    let (median, p99) = (times[last / 2], times[last * 99 / 100]);
    println!(
        "{name:<52} {:>9.2} {:>9.2} {:>9.2}",
        us(median),
        us(p99),
        us(times[last])
    );
}

fn cache<R: Registrar>(registrar: R, limits: Limits) -> RegistrationCache<R> {
    let builder = RegistrationCache::builder(registrar).limits(limits);
    builder.build().expect("a cache")
}

fn take<R: Registrar>(cache: &RegistrationCache<R>, buffer: Buffer) {
    drop(cache.get(buffer.addr(), buffer.1).expect("registered"));
}

fn hits() {
    for count in [1, 1000] {
        let cache = cache(Recording::default(), Limits::keep());
        let buffers: Vec<Buffer> = (0..count).map(|_| Buffer::map(2 * PAGE)).collect();
        let parts: Vec<Buffer> = buffers.iter().map(|b| Buffer(b.0, PAGE)).collect();
        parts.iter().for_each(|part| take(&cache, *part));
        let mut turn = parts.iter().cycle();
        measure(
            &format!("hit, {count} registrations"),
            || *turn.next().expect("a buffer"),
            |part| take(&cache, part),
        );
        assert_eq!(cache.stats().hits, SAMPLES as u64);
        drop(cache);
        buffers.into_iter().for_each(Buffer::unmap);
    }
}

/// Misses and evictions of one registrar: the cache keeps one registration, and two are asked for
/// in turn. In the end as many were evicted as were registered, but for the last.
fn misses<R: Registrar>(name: &str, registrar: impl Fn() -> R) {
    let buffers = [Buffer::map(BUFFER), Buffer::map(BUFFER)];
    let alone = cache(registrar(), Limits::in_use());
    measure(
        &format!("miss and end, {name}, 64 KiB"),
        || buffers[0],
        |buffer| take(&alone, buffer),
    );
    drop(alone);
    let one = cache(registrar(), Limits::keep_at_most(1, usize::MAX));
    let mut turn = buffers.iter().cycle();
    measure(
        &format!("miss with eviction, {name}, 64 KiB"),
        || *turn.next().expect("a buffer"),
        |buffer| take(&one, buffer),
    );
    assert_eq!(one.stats().evicted, SAMPLES as u64 - 1);
    drop(one);
    buffers.into_iter().for_each(Buffer::unmap);
}

fn invalidations() {
    let map = || Buffer::map(BUFFER);
    measure(
        "munmap of memory that is not registered",
        map,
        Buffer::unmap,
    );
    let cache = cache(Recording::default(), Limits::keep());
    let registered = || {
        let buffer = map();
        take(&cache, buffer);
        buffer
    };
    measure("munmap of registered memory", registered, Buffer::unmap);
    let first = map();
    measure(
        "madvise of memory that is not registered",
        || first,
        Buffer::empty,
    );
    let registered = || {
        take(&cache, first);
        first
    };
    measure("madvise of registered memory", registered, Buffer::empty);
    measure(
        "munmap, and the next request (a hit)",
        || {
            take(&cache, first);
            let gone = map();
            take(&cache, gone);
            gone
        },
        |gone| {
            gone.unmap();
            take(&cache, first);
        },
    );
    assert!(cache.stats().invalidated >= 2 * SAMPLES as u64);
    drop(cache);
    first.unmap();
}

fn everything() {
    let pair = || {
        let buffer = Buffer::map(BUFFER);
        buffer.unmap();
    };
    measure("mmap and munmap, not followed", || (), |()| pair());
    let cache = cache(Recording::default(), Limits::keep());
    let all = Everything::default();
    cache.follow_all(all.clone()).expect("followed");
    measure(
        "mmap and munmap under follow_all (10 ms)",
        || (),
        |()| pair(),
    );
    let one = Everything::default().every(Duration::from_millis(1));
    cache.follow_all(one).expect("followed");
    measure(
        "mmap and munmap under follow_all (1 ms)",
        || (),
        |()| pair(),
    );
    window(&cache, "1 ms");
    cache.follow_all(all).expect("followed");
    window(&cache, "10 ms");
    let entries = cache.stats().entries;
    measure(
        &format!("refresh, {entries} registrations"),
        || (),
        |()| {
            cache.refresh().expect("followed");
        },
    );
}

/// Prints how long new memory is not registered.
fn window(cache: &RegistrationCache<Recording>, every: &str) {
    let (mut times, mut buffers) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let buffer = Buffer::map(BUFFER);
        let (before, at) = (Instant::now(), buffer.addr());
        while !cache.registrar().live().values().any(|r| r.contains(&at)) {
            std::thread::sleep(Duration::from_micros(20));
        }
        times.push(before.elapsed());
        // Unmapped later, so that each has an address of its own.
        buffers.push(buffer);
    }
    buffers.into_iter().for_each(Buffer::unmap);
    print(
        &format!("until new memory is registered, every {every}"),
        &mut times,
    );
}

fn main() {
    println!("{:<52} {:>9} {:>9} {:>9}", "us", "median", "p99", "max");
    hits();
    misses("no device", Recording::default);
    misses("mlock", Mlock::default);
    misses("io_uring", || IoUring::with_own_ring(4).expect("a ring"));
    invalidations();
    everything();
}
