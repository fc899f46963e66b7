//! userfaultfd: opening the descriptor and agreeing on features, which the `userfaultfd` crate
//! cannot do for ordinary users and newer features; registration and protection are that crate's.
//!
//! No events are ever requested: an event blocks the caller of munmap or fork until somebody reads
//! it, and makes protecting fail meanwhile. The owner of the memory must not unmap it; that it did
//! shows in the next scan.

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

// The size is part of the request's number: a struct that differs would not fit what the kernel
// reads.
const _: () = assert!(size_of::<raw::uffdio_api>() == (UFFDIO_API as usize >> 16) & 0x3FFF);

/// Write-protect faults are resolved by the kernel itself, which remembers the page as written.
pub const WP_ASYNC: u64 = raw::UFFD_FEATURE_WP_ASYNC as u64;
/// Pages that do not exist yet can be protected.
pub const WP_UNPOPULATED: u64 = raw::UFFD_FEATURE_WP_UNPOPULATED as u64;
/// Write-protect faults are reported to the descriptor.
pub const WP_SYNC: u64 = raw::UFFD_FEATURE_PAGEFAULT_FLAG_WP as u64;

/// Which faults a descriptor handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Those of user code only: needs no privilege. (In asynchronous mode the kernel's own writes
    /// are tracked too.)
    User,
    /// Those from inside system calls as well: needs CAP_SYS_PTRACE, vm.unprivileged_userfaultfd=1,
    /// or access to the device.
    All,
}

/// How the descriptor was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// By the system call.
    Syscall,
    /// From /dev/userfaultfd, the system call being refused.
    Device,
}

/// Why there is no usable userfaultfd. (What to do about it is the probe's to say.)
#[derive(Debug, Error)]
pub enum OpenError {
    /// The system call failed for a reason that the device does not cure.
    #[error("userfaultfd(2) failed: {0}")]
    Syscall(io::Error),
    /// Neither of the two ways is open.
    #[error("userfaultfd(2) is refused ({syscall}) and /dev/userfaultfd cannot be used ({device})")]
    Refused {
        /// What the system call said.
        syscall: io::Error,
        /// What the device said.
        device: io::Error,
    },
    /// The kernel does not know a feature that was asked for.
    #[error("the kernel lacks userfaultfd features {features:#x}: {source}")]
    Features {
        /// The features, all together.
        features: u64,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Open a descriptor and agree on `features`: all of them, or an error.
pub fn open(faults: Faults, features: u64) -> Result<(Uffd, Origin), OpenError> {
    let (fd, origin) = open_descriptor(faults)?;
    agree(&fd, features).map_err(|source| OpenError::Features { features, source })?;
    // SAFETY: the descriptor is a userfaultfd, and ours to give away.
    Ok((unsafe { Uffd::from_raw_fd(fd.into_raw_fd()) }, origin))
}

fn open_descriptor(faults: Faults) -> Result<(OwnedFd, Origin), OpenError> {
    let user_only = if faults == Faults::User {
        raw::UFFD_USER_MODE_ONLY as i32
    } else {
        0
    };
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | user_only;
    // SAFETY: userfaultfd takes one integer.
    match owned(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as RawFd) {
        Ok(fd) => Ok((fd, Origin::Syscall)),
        Err(e) if !refused(&e) => Err(OpenError::Syscall(e)),
        Err(syscall) => match open_by_device(flags) {
            Ok(fd) => Ok((fd, Origin::Device)),
            Err(device) => Err(OpenError::Refused { syscall, device }),
        },
    }
}

/// Whether the system call itself is denied (no privilege, a seccomp filter): then the device may
/// still work.
fn refused(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES)
    )
}

fn open_by_device(flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: the path is a C string.
    let device = owned(unsafe { libc::open(DEVICE.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
    // SAFETY: this request takes the flags by value, and returns a new descriptor.
    owned(unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW as _, flags) })
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the caller just got the descriptor from the kernel: it is new, and nobody else's.
    Ok(Errno::result(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })?)
}

/// The handshake: once per descriptor, the kernel refuses a second one.
fn agree(fd: &OwnedFd, features: u64) -> io::Result<()> {
    let mut api = raw::uffdio_api {
        api: raw::UFFD_API.into(),
        features,
        ioctls: 0,
    };
    // SAFETY: the argument is the struct that the request's number stands for, and lives through
    // the call.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API as _, &raw mut api) };
    Errno::result(result)?;
    Ok(())
}

/// Have writes to the pages in `range` of addresses noticed, from now on.
pub fn watch(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    register(uffd, range)?;
    // Registered but not yet protected pages would all count as written.
    protect(uffd, range)
}

/// Stop noticing writes to `range`, at which nobody may wait.
pub fn unwatch(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.unregister(range.start as *mut c_void, range.len())
        .map_err(os_error)
}

/// Have writes to `range` noticed once pages of it are protected: none is yet.
pub fn register(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.register_with_mode(
        range.start as *mut c_void,
        range.len(),
        RegisterMode::WRITE_PROTECT,
    )
    .map_err(os_error)?;
    Ok(())
}

/// Protect the pages of a registered range.
pub fn protect(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.write_protect(range.start as *mut c_void, range.len())
        .map_err(os_error)
}

/// Take the protection off; whoever waits at a page of the range goes on.
pub fn release(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.remove_write_protection(range.start as *mut c_void, range.len(), true)
        .map_err(os_error)
}

/// Have whoever waits at a page of the range look again.
pub fn wake(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    uffd.wake(range.start as *mut c_void, range.len())
        .map_err(os_error)
}

/// The address of the next write that waits, if one does.
pub fn next_fault(uffd: &Uffd) -> io::Result<Option<usize>> {
    match uffd.read_event().map_err(os_error)? {
        Some(Event::Pagefault { addr, .. }) => Ok(Some(addr as usize)),
        _ => Ok(None),
    }
}

/// Close what the descriptor stands for and keep its number, which other threads may be using: every range is let go of,
/// and whoever uses the descriptor afterwards gets an error.
pub fn close_in_place(uffd: &Uffd) {
    let Ok(null) = std::fs::File::open("/dev/null") else {
        return;
    };
    // SAFETY: both descriptors are open, and ours.
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
    fn a_descriptor_for_user_faults_is_there_for_everyone_and_closes_on_exec() {
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
