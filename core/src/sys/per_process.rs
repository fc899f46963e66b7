//! A value that each process has for itself.

use super::fork::Process;
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value of the library in a static variable. A forked child begins with a new one: in the old
/// one it could find a lock that a thread held which the child does not have.
pub struct PerProcess<T>(AtomicPtr<Owned<T>>);

struct Owned<T> {
    process: Process,
    value: T,
}

impl<T: Default + Sync + Send> PerProcess<T> {
    /// Returns a variable without a value.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        PerProcess(AtomicPtr::new(null_mut()))
    }

    /// Returns the value of this process. The first call makes it, and it lives as long as the
    /// process.
    pub fn get(&'static self) -> &'static T {
        let known = self.0.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or `publish` has stored it: then it is a whole value that is
        // never freed or changed.
        match unsafe { known.as_ref() } {
            Some(owned) if owned.process.is_current() => &owned.value,
            _ => self.publish(known),
        }
    }

    /// Makes the value, unless another thread of this process has just made it. The value of the
    /// parent stays, because a copy of a thread's stack may refer to it.
    fn publish(&self, known: *mut Owned<T>) -> &'static T {
        let made = Box::into_raw(Box::new(Owned {
            process: Process::current(),
            value: T::default(),
        }));
        let stored = self
            .0
            .compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire);
        let own = match stored {
            Ok(_) => made,
            Err(other) => {
                // SAFETY: the box was made above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(made) });
                other
            }
        };
        // SAFETY: this is a whole value that is never freed or changed, from this thread or from
        // another one of this process: a process stores one value only.
        unsafe { &(*own).value }
    }
}

impl<T> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerProcess").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use std::sync::{Mutex, TryLockError};

    static NUMBER: PerProcess<Mutex<u32>> = PerProcess::new();

    #[test]
    fn all_threads_have_one_value_and_a_child_begins_with_an_unlocked_one() {
        let set = || *NUMBER.get().lock().unwrap() += 1;
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(set))));
        let held = NUMBER.get().lock().unwrap();
        assert_eq!(*held, 8);
        // SAFETY: the child only looks at the value and ends.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let fresh = NUMBER.get().try_lock().is_ok_and(|number| *number == 0);
                // SAFETY: `_exit` ends the child at once, and runs no exit handlers of the parent.
                unsafe { libc::_exit(i32::from(fresh)) }
            }
            ForkResult::Parent { child } => {
                let ended = waitpid(child, None).unwrap();
                assert_eq!(ended, WaitStatus::Exited(child, 1));
            }
        }
        let locked = NUMBER.get().try_lock();
        assert!(matches!(locked, Err(TryLockError::WouldBlock)));
    }
}
