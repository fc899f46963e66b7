//! A lock with priority inheritance.
//!
//! A real-time thread that waits for a lock must not also wait for all threads that compute
//! meanwhile. So the thread that holds the lock runs with the priority of the thread that waits.
//! The locks of the standard library do not do this.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A lock that guards a value which threads of different priorities use.
///
/// A thread that panics while it holds the lock releases it, and leaves the value as it is.
pub struct Lock<T> {
    /// The lock is boxed because it must not move while a thread uses it.
    raw: Box<UnsafeCell<libc::pthread_mutex_t>>,
    value: UnsafeCell<T>,
}

// SAFETY: only one thread at a time has access to the value, and `T: Send` allows it to be another
// thread. The boxed mutex may be used by any thread.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as for Send. `&Lock` gives access to the value only while the lock is held.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// Creates a lock that no thread holds.
    pub fn new(value: T) -> Self {
        Lock::with_protocol(value, libc::PTHREAD_PRIO_INHERIT)
    }

    fn with_protocol(value: T, protocol: libc::c_int) -> Self {
        let raw = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let mut attr = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed once. The
        // mutex has its final address, and no thread uses it yet. If the system does not know the
        // protocol, the mutex stays an ordinary one, as it was initialised.
        unsafe {
            if libc::pthread_mutexattr_init(attr.as_mut_ptr()) == 0 {
                if libc::pthread_mutexattr_setprotocol(attr.as_mut_ptr(), protocol) == 0 {
                    libc::pthread_mutex_init(raw.get(), attr.as_ptr());
                }
                libc::pthread_mutexattr_destroy(attr.as_mut_ptr());
            }
        }
        Lock {
            raw,
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock, and holds it until the result is dropped.
    ///
    /// # Panics
    /// Panics if the calling thread holds the lock already and the system detects this.
    pub fn lock(&self) -> Guard<'_, T> {
        loop {
            // SAFETY: the mutex is initialised, and it is boxed, so it does not move.
            match unsafe { libc::pthread_mutex_lock(self.raw.get()) } {
                0 => break,
                libc::EDEADLK => panic!("a lock is taken twice by one thread"),
                // A filter refuses the system calls for waiting, so the lock is tried repeatedly.
                _ => std::thread::yield_now(),
            }
        }
        Guard {
            lock: self,
            not_send: PhantomData,
        }
    }
}

impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        // SAFETY: there is no other reference to the lock, so no thread holds it or waits for it.
        unsafe { libc::pthread_mutex_destroy(self.raw.get()) };
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lock").field(&*self.lock()).finish()
    }
}

/// Access to the value of a [`Lock`]. Dropping it releases the lock.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// Makes the guard `!Send`: the thread that took the lock must release it.
    not_send: PhantomData<*const ()>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock, so no other thread has access to the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock, and `&mut self` makes this the only reference to the
        // value.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this thread holds the lock, because the guard is `!Send`.
        unsafe { libc::pthread_mutex_unlock(self.lock.raw.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::thread::run_on;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
    use std::time::{Duration, Instant};

    /// Makes the calling thread a real-time thread on the first processor.
    fn real_time(priority: i32) {
        run_on(&[0]).unwrap();
        let parameters = libc::sched_param {
            sched_priority: priority,
        };
        // SAFETY: 0 stands for the calling thread, and the call only reads the parameters.
        let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
        let error = std::io::Error::last_os_error();
        assert_eq!(set, 0, "this test needs CAP_SYS_NICE: {error}");
    }

    fn compute(time: Duration, stop: &AtomicBool) {
        let mut computed = Duration::ZERO;
        while computed < time && !stop.load(SeqCst) {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(50) {}
            // Time during which the thread did not run must not count, so each round counts only up
            // to a limit.
            computed += start.elapsed().min(Duration::from_micros(100));
        }
    }

    /// Returns true if a real-time thread gets a lock from an ordinary thread while another
    /// real-time thread computes for two seconds on the only processor.
    fn gets_through(protocol: libc::c_int) -> bool {
        let lock = Lock::with_protocol(0, protocol);
        let (stage, never, got) = (
            AtomicU32::new(0),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        let wait_for = |n| {
            while stage.load(SeqCst) < n {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                run_on(&[0]).unwrap();
                let held = lock.lock();
                stage.store(1, SeqCst);
                // The kernel leaves ordinary threads 5 % of a busy processor. With that share, this
                // takes longer than the other thread computes.
                compute(Duration::from_millis(400), &never);
                drop(held);
            });
            scope.spawn(|| {
                real_time(20);
                wait_for(1);
                stage.store(2, SeqCst);
                let _held = lock.lock();
                got.store(true, SeqCst);
            });
            let computing = scope.spawn(|| {
                real_time(10);
                wait_for(2);
                compute(Duration::from_secs(2), &got);
                got.load(SeqCst)
            });
            computing.join().unwrap()
        })
    }

    #[test]
    fn a_real_time_thread_waits_only_for_the_holder_and_not_for_computing_threads() {
        assert!(gets_through(libc::PTHREAD_PRIO_INHERIT));
        assert!(
            !gets_through(libc::PTHREAD_PRIO_NONE),
            "an ordinary lock passes too, so this test shows nothing here"
        );
    }

    #[test]
    fn only_one_thread_at_a_time_changes_the_value() {
        let lock = Lock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 40_000);
    }

    #[test]
    fn a_panic_releases_the_lock() {
        let lock = Lock::new(0);
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let _held = lock.lock();
                panic!("while the lock is held");
            });
            thread.join().is_err()
        });
        assert!(panicked);
        *lock.lock() += 1;
    }
}
