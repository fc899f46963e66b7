//! Waits for a counter in shared memory.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Waits until `counter` differs from `seen`, for at most `timeout`. May also return early without
/// a reason.
pub fn wait(counter: &AtomicU64, seen: u64, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    // SAFETY: the address is that of a live, aligned 32-bit word: the low half of the counter,
    // because the machine is little-endian. `time` outlives the call. FUTEX_WAIT does not use the
    // arguments after it.
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

/// Adds one to `counter`, and wakes all threads that wait for it.
pub fn advance(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the address is valid as in `wait`. FUTEX_WAKE uses no argument after the number of
    // waiters.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            counter.as_ptr(),
            libc::FUTEX_WAKE,
            i32::MAX,
        )
    };
}
