//! Waiting for a counter in shared memory.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Wait until `counter` is no longer `seen`, for at most `timeout`; may also return for no reason.
pub fn wait(counter: &AtomicU64, seen: u64, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    // SAFETY: the address is that of a live, aligned 32-bit word, the low half of the counter on these little-endian
    // machines; `time` outlives the call, and the arguments after it are not used by FUTEX_WAIT.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            counter.as_ptr(),
            libc::FUTEX_WAIT,
            seen as u32,
            &raw const time,
        )
    };
}

/// Count one up, and wake all who wait.
pub fn advance(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::SeqCst);
    // SAFETY: as in `wait`; FUTEX_WAKE uses no argument after the number of waiters.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            counter.as_ptr(),
            libc::FUTEX_WAKE,
            i32::MAX,
        )
    };
}
