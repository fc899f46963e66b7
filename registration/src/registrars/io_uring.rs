//! Registered buffers of io_uring.
//!
//! Three requests to the kernel are all that this needs. A crate for io_uring would bring queues,
//! operations and an interface of its own, which the program has chosen for itself already.
#![allow(unsafe_code)]

use super::{Absent, limit, refused};
use crate::error::RegisterError;
use crate::registrar::{Memory, Registrar};
use nix::errno::Errno;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

const REGISTER_BUFFERS2: libc::c_uint = 15;
const REGISTER_BUFFERS_UPDATE: libc::c_uint = 16;
/// The table begins with empty slots (Linux 5.19).
const SPARSE: u32 = 1;
const DRIVER: &str = "io_uring";

/// `struct io_uring_rsrc_register`.
#[repr(C)]
#[derive(Default)]
struct Table {
    slots: u32,
    flags: u32,
    reserved: u64,
    data: u64,
    tags: u64,
}

/// `struct io_uring_rsrc_update2`.
#[repr(C)]
#[derive(Default)]
struct Update {
    first: u32,
    reserved: u32,
    data: u64,
    tags: u64,
    slots: u32,
    reserved2: u32,
}

const _: () = assert!(size_of::<Table>() == 32 && size_of::<Update>() == 32);

/// The 120 bytes of `struct io_uring_params`.
const PARAMS: usize = 30;

/// Registers memory as fixed buffers of a ring. The handle is the number of the buffer, for
/// `IORING_OP_READ_FIXED` and `IORING_OP_WRITE_FIXED`.
#[derive(Debug)]
pub struct IoUring {
    ring: OwnedFd,
    free: Mutex<Vec<u32>>,
}

impl IoUring {
    /// Takes over the table of buffers of a ring of the program (of a duplicate of its descriptor),
    /// which must have no buffers yet.
    pub fn of(ring: OwnedFd, slots: u32) -> Result<Self, Absent> {
        let table = Table {
            slots,
            flags: SPARSE,
            ..Table::default()
        };
        // SAFETY: the argument is the structure of this request, and is empty: there is no data.
        unsafe { register(ring.as_fd(), REGISTER_BUFFERS2, &raw const table) }
            .map_err(|e| Absent::new(DRIVER, format!("no table of {slots} buffers: {e}")))?;
        Ok(IoUring {
            ring,
            free: Mutex::new((0..slots).rev().collect()),
        })
    }

    /// Makes a ring that has nothing but this table.
    pub fn with_own_ring(slots: u32) -> Result<Self, Absent> {
        let mut params = [0u32; PARAMS];
        // SAFETY: the kernel reads and writes the structure, which has the right size.
        let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
        let ring = Errno::result(ring).map_err(|e| Absent::new(DRIVER, e))?;
        // SAFETY: the kernel has just returned the descriptor, so nothing else owns it.
        IoUring::of(unsafe { OwnedFd::from_raw_fd(ring as RawFd) }, slots)
    }

    /// Returns the ring.
    pub fn ring(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    fn free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a buffer into a slot, or none if the buffer is empty.
    fn put(&self, slot: u32, buffer: libc::iovec) -> Result<(), Errno> {
        let update = Update {
            first: slot,
            slots: 1,
            data: &raw const buffer as u64,
            ..Update::default()
        };
        // SAFETY: the argument is the structure of this request. Its data is one buffer, which
        // lives during the call. The kernel checks the memory of the buffer.
        unsafe {
            register(
                self.ring.as_fd(),
                REGISTER_BUFFERS_UPDATE,
                &raw const update,
            )
        }
    }
}

/// # Safety
/// The argument must be the structure of 32 bytes that belongs to the request.
unsafe fn register<T>(
    ring: BorrowedFd<'_>,
    request: libc::c_uint,
    argument: *const T,
) -> Result<(), Errno> {
    let size = size_of::<T>();
    // SAFETY: the caller vouches for the argument.
    let done = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            ring.as_raw_fd(),
            request,
            argument,
            size,
        )
    };
    Errno::result(done).map(drop)
}

impl Registrar for IoUring {
    type Handle = u32;

    fn register(&self, range: &Range<usize>) -> Result<u32, RegisterError> {
        let Some(slot) = self.free().pop() else {
            return Err(limit(range, "buffers of the ring", Errno::ENOSPC));
        };
        let buffer = libc::iovec {
            iov_base: range.start as *mut libc::c_void,
            iov_len: range.len(),
        };
        self.put(slot, buffer).map(|()| slot).map_err(|error| {
            self.free().push(slot);
            match error {
                Errno::ENOMEM => limit(range, "RLIMIT_MEMLOCK", error),
                _ => refused(range, "io_uring_register, up to 1 GiB", error.into()),
            }
        })
    }

    fn deregister(&self, _range: &Range<usize>, slot: &u32, _memory: Memory) {
        let none = libc::iovec {
            iov_base: null_mut(),
            iov_len: 0,
        };
        // If the slot cannot be emptied it is not used again.
        if self.put(*slot, none).is_ok() {
            self.free().push(*slot);
        }
    }
}
