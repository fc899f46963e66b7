//! The read-write lock that POSIX offers to processes. Many readers or one writer can hold it.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use crate::sys::memory::Memory;
use std::io;

/// A `pthread_rwlock_t` at the start of shared memory.
pub struct SharedLock<'a>(&'a Memory);

impl<'a> SharedLock<'a> {
    /// Returns the lock at the start of `memory`. Before it is locked, one process must have called
    /// [`SharedLock::initialise`].
    pub fn new(memory: &'a Memory) -> Self {
        assert!(memory.bytes().len() >= size_of::<libc::pthread_rwlock_t>());
        SharedLock(memory)
    }

    fn raw(&self) -> *mut libc::pthread_rwlock_t {
        self.0.address() as *mut libc::pthread_rwlock_t
    }

    /// Initialises the lock. Call it once, before other processes map the memory.
    pub fn initialise(&self) -> Result<(), Failure> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed afterwards.
        // The lock lies in a live, writable, page-aligned mapping that is large enough (checked in
        // `new`). No process uses it yet.
        unsafe {
            libc::pthread_rwlockattr_init(attributes.as_mut_ptr());
            libc::pthread_rwlockattr_setpshared(
                attributes.as_mut_ptr(),
                libc::PTHREAD_PROCESS_SHARED,
            );
            let result = libc::pthread_rwlock_init(self.raw(), attributes.as_ptr());
            libc::pthread_rwlockattr_destroy(attributes.as_mut_ptr());
            checked(result, "making the lock")
        }
    }

    /// Locks for writing. Waits until no other process holds the lock.
    pub fn write(&self) -> Result<(), Failure> {
        // SAFETY: the lock is initialised and lies in a live mapping.
        checked(
            unsafe { libc::pthread_rwlock_wrlock(self.raw()) },
            "locking to write",
        )
    }

    /// Locks for reading. Waits until no writer holds the lock.
    pub fn read(&self) -> Result<(), Failure> {
        // SAFETY: the lock is initialised and lies in a live mapping.
        checked(
            unsafe { libc::pthread_rwlock_rdlock(self.raw()) },
            "locking to read",
        )
    }

    /// Releases the lock. The caller must hold it.
    pub fn release(&self) -> Result<(), Failure> {
        // SAFETY: the lock is initialised and lies in a live mapping. The callers hold it.
        checked(
            unsafe { libc::pthread_rwlock_unlock(self.raw()) },
            "unlocking",
        )
    }
}

fn checked(result: i32, what: &str) -> Result<(), Failure> {
    match result {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)).context(what),
    }
}
