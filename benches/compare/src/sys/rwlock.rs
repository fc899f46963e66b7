//! The lock that POSIX offers to processes: many readers, or one writer.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use crate::sys::memory::Memory;
use std::io;

/// A `pthread_rwlock_t` at the start of shared memory.
pub struct SharedLock<'a>(&'a Memory);

impl<'a> SharedLock<'a> {
    /// The lock that lies at the start of `memory`, which must have been initialised by one process.
    pub fn new(memory: &'a Memory) -> Self {
        assert!(memory.bytes().len() >= size_of::<libc::pthread_rwlock_t>());
        SharedLock(memory)
    }

    fn raw(&self) -> *mut libc::pthread_rwlock_t {
        self.0.address() as *mut libc::pthread_rwlock_t
    }

    /// Make it a lock. Once, before other processes map it.
    pub fn initialise(&self) -> Result<(), Failure> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before use and destroyed after; the lock lies in a live, writable, page
        // aligned mapping that is large enough (checked in `new`), and nobody uses it yet.
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

    /// Wait until no reader has it.
    pub fn write(&self) -> Result<(), Failure> {
        // SAFETY: an initialised lock in a live mapping.
        checked(
            unsafe { libc::pthread_rwlock_wrlock(self.raw()) },
            "locking to write",
        )
    }

    /// Wait until no writer has it.
    pub fn read(&self) -> Result<(), Failure> {
        // SAFETY: an initialised lock in a live mapping.
        checked(
            unsafe { libc::pthread_rwlock_rdlock(self.raw()) },
            "locking to read",
        )
    }

    /// Let go of it. Only by who has it.
    pub fn release(&self) -> Result<(), Failure> {
        // SAFETY: an initialised lock in a live mapping, which the callers have locked.
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
