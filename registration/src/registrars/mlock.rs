//! Memory that is locked (`mlock`): it stays where it is, as far as the kernel counts that (VmLck).
#![allow(unsafe_code)]

use super::{limit, refused};
use crate::coverage::Coverage;
use crate::error::RegisterError;
use crate::registrar::{Memory, Registrar};
use nix::errno::Errno;
use nix::sys::mman::{MsFlags, mlock, msync, munlock};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcasm_core::sys::mem::{mapping_count, max_map_count};

/// Locks memory. Parts that two registrations cover stay locked until both have ended.
///
/// Memory that the program has locked itself is unlocked too when a registration of it ends. Memory
/// that was moved by `mremap` stays locked until it is unmapped. If the process has as many
/// mappings as it may have, a part of a mapping cannot be unlocked; that is done by a later call.
#[derive(Debug, Default)]
pub struct Mlock {
    locked: Mutex<Locked>,
}

/// The memory that is locked.
#[derive(Debug, Default)]
struct Locked {
    covered: Coverage,
    /// The parts that could not be unlocked.
    left: Vec<Range<usize>>,
}

impl Mlock {
    /// Returns the state, after trying again to unlock what could not be unlocked before.
    fn locked(&self) -> MutexGuard<'_, Locked> {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        for part in std::mem::take(&mut locked.left) {
            // Parts that were registered again meanwhile stay locked.
            locked.covered.add(&part);
            locked.remove(&part);
        }
        locked
    }
}

impl Locked {
    /// Removes a range, and unlocks the parts of it that no other one covers.
    fn remove(&mut self, range: &Range<usize>) {
        let bare = self.covered.remove(range);
        self.left.extend(bare.into_iter().filter(is_refused));
    }
}

/// Unlocks memory. Returns true if this needs a mapping more than the process may have.
fn is_refused(range: &Range<usize>) -> bool {
    let Some(at) = pointer(range) else {
        return false;
    };
    // SAFETY: unlocking changes no byte.
    let unlocked = unsafe { munlock(at, range.len()) };
    // Otherwise the memory is gone.
    unlocked == Err(Errno::ENOMEM) && is_mapped(range)
}

fn pointer(range: &Range<usize>) -> Option<NonNull<c_void>> {
    NonNull::new(range.start as *mut c_void)
}

fn lock(range: &Range<usize>) -> Result<(), Errno> {
    let at = pointer(range).ok_or(Errno::ENOMEM)?;
    // SAFETY: locking changes no byte. The kernel checks that the range is mapped.
    unsafe { mlock(at, range.len()) }
}

fn is_mapped(range: &Range<usize>) -> bool {
    let Some(at) = pointer(range) else {
        return false;
    };
    // SAFETY: with MS_ASYNC the kernel only checks that the range is mapped.
    unsafe { msync(at, range.len(), MsFlags::MS_ASYNC) }.is_ok()
}

/// Returns false if some page of the range cannot be touched: nothing may be read there, or a file
/// ends before. Before Linux 5.14 the kernel does not tell, and this returns true.
fn is_touchable(range: &Range<usize>) -> bool {
    let at = range.start as *mut c_void;
    // SAFETY: the request reads pages, and changes no byte.
    let populate = |len| unsafe { Errno::result(libc::madvise(at, len, libc::MADV_POPULATE_READ)) };
    let known = populate(0).is_ok();
    !(known && matches!(populate(range.len()), Err(Errno::EFAULT | Errno::EINVAL)))
}

/// Returns the limit that is reached if memory which is mapped cannot be locked. Locking a part of
/// a mapping can split it into three.
fn reached() -> &'static str {
    match mapping_count() + 2 > max_map_count() {
        true => "vm.max_map_count",
        false => "RLIMIT_MEMLOCK",
    }
}

impl Registrar for Mlock {
    type Handle = ();

    fn register(&self, range: &Range<usize>) -> Result<(), RegisterError> {
        let mut locked = self.locked();
        locked.covered.add(range);
        let Err(error) = lock(range) else {
            return Ok(());
        };
        // Some pages may be locked all the same.
        locked.remove(range);
        match error {
            Errno::ENOMEM if is_mapped(range) && !is_touchable(range) => {
                Err(refused(range, "mlock", Errno::EFAULT.into()))
            }
            Errno::ENOMEM | Errno::EAGAIN | Errno::EPERM if is_mapped(range) => {
                Err(limit(range, reached(), error))
            }
            _ => Err(refused(range, "mlock", error.into())),
        }
    }

    fn deregister(&self, range: &Range<usize>, _handle: &(), memory: Memory) {
        let mut locked = self.locked();
        match memory {
            Memory::Mapped => locked.remove(range),
            Memory::Gone => drop(locked.covered.remove(range)),
        }
    }

    fn device_may_write(&self) -> bool {
        false
    }
}
