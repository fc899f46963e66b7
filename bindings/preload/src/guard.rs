//! Guards the program from what this library does in its calls: errno stays as it was, panics end
//! here, and calls that the library itself makes are not its business.

use crate::say::say;
use nix::errno::Errno;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// True while the thread is in a call of this library. A call from inside one (from the
    /// producer, or from a signal handler that interrupted it) goes to the next function at once,
    /// so it cannot wait for a lock that this thread has.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, or returns `None` if this thread is inside already. Returns `None`, too, if `work`
/// panics. Leaves errno as it was.
pub fn guarded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    if INSIDE.replace(true) {
        return None;
    }
    let errno = Errno::last_raw();
    let done = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(false);
    Errno::set_raw(errno);
    done.unwrap_or_else(|_| {
        say("a defect of libtcasm_preload.so; this call goes on without it. Please report it");
        None
    })
}

/// Sets errno, and returns what a function returns with it.
pub fn fail<T>(errno: Errno, returned: T) -> T {
    errno.set();
    returned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_calls_are_refused_and_errno_stays() {
        Errno::set_raw(77);
        let inner = guarded(|| {
            Errno::set_raw(5);
            Some(guarded(|| Some(1)))
        });
        assert_eq!((inner, Errno::last_raw()), (Some(None), 77));
        assert_eq!(guarded(|| Some(2)), Some(2), "the first call has ended");
    }

    #[test]
    fn panics_end_at_the_guard() {
        assert_eq!(guarded::<()>(|| panic!("on purpose")), None);
        assert_eq!(guarded(|| Some(3)), Some(3));
    }
}
