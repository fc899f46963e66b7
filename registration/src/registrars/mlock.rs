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

/// Locks memory. Parts that two registrations cover stay locked until both have ended.
///
/// Memory that the program has locked itself is unlocked too when a registration of it ends. Memory
/// that was moved by `mremap` stays locked until it is unmapped.
#[derive(Debug, Default)]
pub struct Mlock {
    covered: Mutex<Coverage>,
}

impl Mlock {
    fn covered(&self) -> MutexGuard<'_, Coverage> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pointer(range: &Range<usize>) -> Option<NonNull<c_void>> {
    NonNull::new(range.start as *mut c_void)
}

fn lock(range: &Range<usize>) -> Result<(), Errno> {
    let at = pointer(range).ok_or(Errno::ENOMEM)?;
    // SAFETY: locking changes no byte. The kernel checks that the range is mapped.
    unsafe { mlock(at, range.len()) }
}

fn unlock(ranges: Vec<Range<usize>>) {
    for range in ranges {
        if let Some(at) = pointer(&range) {
            // SAFETY: unlocking changes no byte. A failure means that the memory is gone.
            let _ = unsafe { munlock(at, range.len()) };
        }
    }
}

fn is_mapped(range: &Range<usize>) -> bool {
    let Some(at) = pointer(range) else {
        return false;
    };
    // SAFETY: with MS_ASYNC the kernel only checks that the range is mapped.
    unsafe { msync(at, range.len(), MsFlags::MS_ASYNC) }.is_ok()
}

/// Returns the limit that is reached if memory which is mapped cannot be locked. Locking a part of
/// a mapping can split it into three.
fn reached() -> &'static str {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let most = read("/proc/sys/vm/max_map_count").trim().parse();
    match most {
        Ok(most) if read("/proc/self/maps").lines().count() + 2 > most => "vm.max_map_count",
        _ => "RLIMIT_MEMLOCK",
    }
}

impl Registrar for Mlock {
    type Handle = ();

    fn register(&self, range: &Range<usize>) -> Result<(), RegisterError> {
        let mut covered = self.covered();
        covered.add(range);
        let Err(error) = lock(range) else {
            return Ok(());
        };
        // Some pages may be locked all the same.
        unlock(covered.remove(range));
        match error {
            Errno::ENOMEM | Errno::EAGAIN | Errno::EPERM if is_mapped(range) => {
                Err(limit(range, reached(), error))
            }
            _ => Err(refused(range, "mlock", error.into())),
        }
    }

    fn deregister(&self, range: &Range<usize>, _handle: &(), memory: Memory) {
        let bare = self.covered().remove(range);
        if memory == Memory::Mapped {
            unlock(bare);
        }
    }

    fn device_may_write(&self) -> bool {
        false
    }
}
