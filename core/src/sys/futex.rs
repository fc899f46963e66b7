//! Futexes: waiting until a word of a shared object changes, and waking the threads that wait.

use nix::errno::Errno;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Returns the futex word, which is the low half of an event counter.
fn word(counter: &AtomicU64) -> *const u32 {
    let first = std::ptr::from_ref(counter).cast::<u32>();
    if cfg!(target_endian = "little") {
        first
    } else {
        first.wrapping_add(1)
    }
}

/// Sleeps until `counter` is woken, its value is no longer `seen`, or `timeout` has passed. May
/// return early.
pub fn wait(counter: &AtomicU64, seen: u64, timeout: Duration) {
    wait_as(counter, seen, timeout, libc::FUTEX_WAIT);
}

/// Does the same as [`wait`] for a counter on which only threads of this process wait, and which
/// they wake by [`wake_private`].
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
    // SAFETY: the word and the time outlive the call. A read-only mapping is enough to wait on.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word(counter),
            operation,
            seen as u32,
            &raw const time,
        )
    };
    // EAGAIN means that the word changed before the wait. After ETIMEDOUT and EINTR the caller
    // checks the counter anyway. A mapped word gives no other error.
    let _ = Errno::result(result);
}

/// Wakes all threads that wait on `counter`, in every process.
pub fn wake(counter: &AtomicU64) {
    wake_as(counter, libc::FUTEX_WAKE);
}

/// Wakes the threads of this process that wait on `counter` by [`wait_private`]. Other processes
/// cannot make this call take long.
pub fn wake_private(counter: &AtomicU64) {
    wake_as(counter, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
}

fn wake_as(counter: &AtomicU64, operation: libc::c_int) {
    // SAFETY: the word is mapped, and waking does not access it.
    unsafe { libc::syscall(libc::SYS_futex, word(counter), operation, i32::MAX) };
}
