//! Waiting for a word of a shared object to change.

use nix::errno::Errno;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The futex word: the low half of an event counter.
fn word(counter: &AtomicU64) -> *const u32 {
    let first = std::ptr::from_ref(counter).cast::<u32>();
    if cfg!(target_endian = "little") {
        first
    } else {
        first.wrapping_add(1)
    }
}

/// Sleep until somebody wakes `counter`, or it is no longer `seen`, or `timeout` has passed. May return early.
pub fn wait(counter: &AtomicU64, seen: u64, timeout: Duration) {
    wait_as(counter, seen, timeout, libc::FUTEX_WAIT);
}

/// The same for a counter that only threads of this process wait for, and wake by [`wake_private`].
pub fn wait_private(counter: &AtomicU64, seen: u64, timeout: Duration) {
    wait_as(
        counter,
        seen,
        timeout,
        libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
    );
}

fn wait_as(counter: &AtomicU64, seen: u64, timeout: Duration, operation: libc::c_int) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: the word and the time outlive the call; a read-only mapping is enough to wait on.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word(counter),
            operation,
            seen as u32,
            &raw const time,
        )
    };
    // EAGAIN: it changed already. ETIMEDOUT, EINTR: the caller looks anyway. Nothing else can happen to a mapped word.
    let _ = Errno::result(result);
}

/// Wake everybody who waits on `counter`, in every process.
pub fn wake(counter: &AtomicU64) {
    wake_as(counter, libc::FUTEX_WAKE);
}

/// Wake the threads of this process that wait on `counter` by [`wait_private`]. Nobody else can make that last long.
pub fn wake_private(counter: &AtomicU64) {
    wake_as(counter, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
}

fn wake_as(counter: &AtomicU64, operation: libc::c_int) {
    // SAFETY: the word is mapped; waking touches no memory.
    unsafe { libc::syscall(libc::SYS_futex, word(counter), operation, i32::MAX) };
}
