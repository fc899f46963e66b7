//! userfaultfd: opening the descriptor and agreeing on features. The `userfaultfd` crate cannot do
//! this for ordinary users and newer features. It does the registration and protection.
//!
//! No events are ever requested. An event blocks the caller of munmap or fork until it is read, and
//! makes protecting fail meanwhile. The owner of the memory must not unmap it; if it does, the next
//! scan detects it.

use linux_raw_sys::general as raw;
use nix::errno::Errno;
use serde::Serialize;
use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use thiserror::Error;
use userfaultfd::{Event, RegisterMode, Uffd};

const UFFDIO_API: libc::c_ulong = 0xC018_AA3F;
const USERFAULTFD_IOC_NEW: libc::c_ulong = 0xAA00;
const DEVICE: &std::ffi::CStr = c"/dev/userfaultfd";

// The number of the request contains the size of the struct that the kernel reads.
const _: () = assert!(size_of::<raw::uffdio_api>() == (UFFDIO_API as usize >> 16) & 0x3FFF);

/// The feature by which the kernel itself resolves write-protect faults, and remembers the page as
/// written.
pub const WP_ASYNC: u64 = raw::UFFD_FEATURE_WP_ASYNC as u64;
/// The feature by which pages that do not exist yet can be protected.
pub const WP_UNPOPULATED: u64 = raw::UFFD_FEATURE_WP_UNPOPULATED as u64;
/// The feature by which write-protect faults are reported to the descriptor.
pub const WP_SYNC: u64 = raw::UFFD_FEATURE_PAGEFAULT_FLAG_WP as u64;

/// The faults that a descriptor handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Faults of user code only. This needs no privilege. In asynchronous mode writes of the kernel
    /// are tracked too.
    User,
    /// Faults of user code and from inside system calls. This needs CAP_SYS_PTRACE,
    /// vm.unprivileged_userfaultfd=1, or access to the device.
    All,
}

/// The way in which the descriptor was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// By the system call.
    Syscall,
    /// From /dev/userfaultfd, because the system call was refused.
    Device,
}

/// The reason why there is no usable userfaultfd. The probe adds what to do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system call failed for a reason for which the device would fail too.
    #[error("userfaultfd(2) failed: {0}")]
    Syscall(io::Error),
    /// The system call is refused, and the device cannot be used.
    #[error("userfaultfd(2) is refused ({syscall}) and /dev/userfaultfd cannot be used ({device})")]
    Refused {
        /// The error of the system call.
        syscall: io::Error,
        /// The error of the device.
        device: io::Error,
    },
    /// The kernel does not know a feature that was asked for.
    #[error("the kernel lacks userfaultfd features {features:#x}: {source}")]
    Features {
        /// All features that were asked for.
        features: u64,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// Opens a descriptor and agrees on all of `features` with the kernel.
pub fn open(faults: Faults, features: u64) -> Result<(Uffd, Origin), OpenError> {
    let (fd, origin) = open_descriptor(faults)?;
    agree(&fd, features).map_err(|source| OpenError::Features { features, source })?;
    // SAFETY: the descriptor is a userfaultfd, and `into_raw_fd` gives up its ownership.
    Ok((unsafe { Uffd::from_raw_fd(fd.into_raw_fd()) }, origin))
}

fn open_descriptor(faults: Faults) -> Result<(OwnedFd, Origin), OpenError> {
    let user_only = if faults == Faults::User {
        raw::UFFD_USER_MODE_ONLY as i32
    } else {
        0
    };
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | user_only;
    // SAFETY: userfaultfd takes one integer, and touches no memory.
    match owned(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as RawFd) {
        Ok(fd) => Ok((fd, Origin::Syscall)),
        Err(e) if !refused(&e) => Err(OpenError::Syscall(e)),
        Err(syscall) => match open_by_device(flags) {
            Ok(fd) => Ok((fd, Origin::Device)),
            Err(device) => Err(OpenError::Refused { syscall, device }),
        },
    }
}

/// Returns true if the system call itself is denied (no privilege, a seccomp filter). Then the
/// device may still work.
fn refused(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES)
    )
}

fn open_by_device(flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: the path is a C string that lives during the call.
    let device = owned(unsafe { libc::open(DEVICE.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
    // SAFETY: this request takes the flags by value, touches no memory, and returns a new
    // descriptor.
    owned(unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW as _, flags) })
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just returned the descriptor to the caller, so it is new, and nothing
    // else owns it.
    Ok(Errno::result(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })?)
}

/// Agrees on features with the kernel. The kernel allows this once per descriptor.
fn agree(fd: &OwnedFd, features: u64) -> io::Result<()> {
    let mut api = raw::uffdio_api {
        api: raw::UFFD_API.into(),
        features,
        ioctls: 0,
    };
    // SAFETY: the argument is the struct that belongs to this request, and lives during the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API as _, &raw mut api) };
    Errno::result(result)?;
    Ok(())
}

/// Registers and protects the pages in `range`, so that writes to them are noticed from now on.
pub fn watch(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    register(uffd, range)?;
    // Pages that are registered but not protected would all count as written.
    protect(uffd, range)
}

/// Ends the registration of `range`, so that writes to it are no longer noticed. No thread may be
/// waiting at a page of it.
pub fn unwatch(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.unregister(range.start as *mut c_void, range.len())
        .map_err(os_error)
}

/// Registers `range`, so that writes are noticed once its pages are protected. This protects none.
pub fn register(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.register_with_mode(
        range.start as *mut c_void,
        range.len(),
        RegisterMode::WRITE_PROTECT,
    )
    .map_err(os_error)?;
    Ok(())
}

/// Write-protects the pages of a registered range.
pub fn protect(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.write_protect(range.start as *mut c_void, range.len())
        .map_err(os_error)
}

/// Removes the write-protection of a range. Threads that wait at a page of it continue.
pub fn release(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.remove_write_protection(range.start as *mut c_void, range.len(), true)
        .map_err(os_error)
}

/// Wakes the threads that wait at a page of the range, so that they try their access again.
pub fn wake(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.wake(range.start as *mut c_void, range.len())
        .map_err(os_error)
}

/// Returns the address of the next write that waits, if one does.
pub fn next_fault(uffd: &Uffd) -> io::Result<Option<usize>> {
    match uffd.read_event().map_err(os_error)? {
        Some(Event::Pagefault { addr, .. }) => Ok(Some(addr as usize)),
        _ => Ok(None),
    }
}

/// Closes the userfaultfd and keeps the number of its descriptor, which other threads may be using.
/// All ranges are released, and later uses of the descriptor give an error.
pub fn close_in_place(uffd: &Uffd) {
    let Ok(null) = std::fs::File::open("/dev/null") else {
        return;
    };
    // SAFETY: both descriptors are open, and belong to the library. The number stays open, and its
    // owner closes it later.
    unsafe { libc::dup3(null.as_raw_fd(), uffd.as_raw_fd(), libc::O_CLOEXEC) };
}

fn os_error(error: userfaultfd::Error) -> io::Error {
    match error {
        userfaultfd::Error::SystemError(errno) => io::Error::from_raw_os_error(errno as i32),
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_user_gets_a_descriptor_for_user_faults_and_it_closes_on_exec() {
        let (uffd, _) = open(Faults::User, WP_ASYNC | WP_UNPOPULATED).unwrap();
        // SAFETY: F_GETFD takes no argument.
        let flags = unsafe { libc::fcntl(uffd.as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }

    #[test]
    fn an_unknown_feature_is_named_in_the_error() {
        let error = open(Faults::User, 1 << 63).map(|_| ()).unwrap_err();
        assert!(matches!(error, OpenError::Features { .. }), "{error}");
        assert!(error.to_string().contains("0x8000000000000000"), "{error}");
    }
}
