//! userfaultfd: opening the descriptor, agreeing on features, registering and protecting memory,
//! and reading which stores wait. Structures and numbers of requests come from the kernel's headers
//! (`linux-raw-sys`).
//!
//! No tracker ever requests events. An event blocks the caller of munmap or fork until it is read,
//! and makes protecting fail meanwhile. The owner of the memory must not unmap it; if it does, the
//! next scan detects it. (`uffd_events.rs` is for memory that others may unmap.)

use linux_raw_sys::{general as raw, ioctl};
use nix::errno::Errno;
use nix::unistd::read;
use serde::Serialize;
use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use thiserror::Error;

const USERFAULTFD_IOC_NEW: libc::c_ulong = 0xAA00;
const DEVICE: &std::ffi::CStr = c"/dev/userfaultfd";

const API: Request<raw::uffdio_api> = Request::new(ioctl::UFFDIO_API);
const REGISTER: Request<raw::uffdio_register> = Request::new(ioctl::UFFDIO_REGISTER);
const UNREGISTER: Request<raw::uffdio_range> = Request::new(ioctl::UFFDIO_UNREGISTER);
const WAKE: Request<raw::uffdio_range> = Request::new(ioctl::UFFDIO_WAKE);
const WRITEPROTECT: Request<raw::uffdio_writeprotect> = Request::new(ioctl::UFFDIO_WRITEPROTECT);

/// The mode of WRITEPROTECT that protects pages (`UFFDIO_WRITEPROTECT_MODE_WP`).
const PROTECT: u64 = 1;
/// The mode that removes the protection, and wakes the threads that wait at these pages.
const RELEASE: u64 = 0;

/// The size of a message that is read from a userfaultfd, and the parts of it that are used.
pub(super) const MESSAGE: usize = size_of::<raw::uffd_msg>();
pub(super) const EVENT: usize = offset_of!(raw::uffd_msg, event);
const ADDRESS: usize = offset_of!(raw::uffd_msg, arg.pagefault.address);
const _: () = assert!(MESSAGE == 32 && EVENT == 0 && ADDRESS == 16);

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
    /// are tracked too. In synchronous mode a system call that writes into a protected page fails
    /// with EFAULT, and the page stays as it is.
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

/// An open userfaultfd, which never blocks. Dropping it closes the descriptor. That ends the
/// registration of its ranges, and threads that wait continue, unless a forked child still has the
/// descriptor.
#[derive(Debug)]
pub struct Uffd(OwnedFd);

impl AsFd for Uffd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A request to a userfaultfd (an ioctl), with the type of its argument.
struct Request<T> {
    number: u32,
    argument: PhantomData<T>,
}

impl<T> Request<T> {
    /// `T` must be the structure of this request in the kernel's headers.
    const fn new(number: u32) -> Self {
        // The number contains the size of the structure that the kernel reads and writes.
        assert!(size_of::<T>() == (number as usize >> 16) & 0x3FFF);
        Request {
            number,
            argument: PhantomData,
        }
    }
}

/// Makes a request. The kernel writes its answer into the argument.
fn ask<T>(uffd: &Uffd, request: &Request<T>, argument: &mut T) -> io::Result<()> {
    let number = request.number as _;
    // SAFETY: the argument has the type that belongs to this request, and is borrowed during the
    // call. No request of this file changes a byte of any other memory.
    let result = unsafe { libc::ioctl(uffd.0.as_raw_fd(), number, &raw mut *argument) };
    Errno::result(result)?;
    Ok(())
}

/// Opens a descriptor and agrees on all of `features` with the kernel.
pub fn open(faults: Faults, features: u64) -> Result<(Uffd, Origin), OpenError> {
    let (fd, origin) = open_descriptor(faults)?;
    let uffd = Uffd(fd);
    agree(&uffd, features).map_err(|source| OpenError::Features { features, source })?;
    Ok((uffd, origin))
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
fn agree(uffd: &Uffd, features: u64) -> io::Result<()> {
    let mut api = raw::uffdio_api {
        api: raw::UFFD_API.into(),
        features,
        ioctls: 0,
    };
    ask(uffd, &API, &mut api)?;
    // The kernel refuses features that it does not know. It answers with those that it has: some
    // older kernels know features that they were built without.
    if api.features & features == features {
        Ok(())
    } else {
        Err(Errno::EINVAL.into())
    }
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
    ask(uffd, &UNREGISTER, &mut raw_range(range))
}

/// Registers `range`, so that writes are noticed once its pages are protected. This protects none.
pub fn register(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    requests(uffd, range).map(drop)
}

/// Does the same as [`register`], but refuses reserved huge pages: the kernel reports a page of
/// them that the program has dropped as not written.
pub fn register_small(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    // The kernel offers to fill missing pages with zeros in all other memory.
    if requests(uffd, range)? & 1 << raw::_UFFDIO_ZEROPAGE != 0 {
        return Ok(());
    }
    let _ = unwatch(uffd, range);
    let text = "it consists of reserved huge pages, whose stores cannot be tracked";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Registers `range`. Returns the requests that can be made for it, a bit for the number of each.
fn requests(uffd: &Uffd, range: &Range<usize>) -> io::Result<u64> {
    let mut register = raw::uffdio_register {
        range: raw_range(range),
        mode: raw::UFFDIO_REGISTER_MODE_WP.into(),
        ioctls: 0,
    };
    ask(uffd, &REGISTER, &mut register)?;
    Ok(register.ioctls)
}

/// Write-protects the pages of a registered range.
pub fn protect(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    write_protect(uffd, range, PROTECT)
}

/// Removes the write-protection of a range. Threads that wait at a page of it continue.
pub fn release(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    write_protect(uffd, range, RELEASE)
}

fn write_protect(uffd: &Uffd, range: &Range<usize>, mode: u64) -> io::Result<()> {
    let mut argument = raw::uffdio_writeprotect {
        range: raw_range(range),
        mode,
    };
    ask(uffd, &WRITEPROTECT, &mut argument)
}

/// Wakes the threads that wait at a page of the range, so that they try their access again.
pub fn wake(uffd: &Uffd, range: &Range<usize>) -> io::Result<()> {
    ask(uffd, &WAKE, &mut raw_range(range))
}

fn raw_range(range: &Range<usize>) -> raw::uffdio_range {
    raw::uffdio_range {
        start: range.start as u64,
        len: range.len() as u64,
    }
}

/// Returns the address of the next write that waits, if one does.
pub fn next_fault(uffd: &Uffd) -> io::Result<Option<usize>> {
    let mut message = [0; MESSAGE];
    let len = loop {
        match read(uffd, &mut message) {
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::EINTR) => {}
            result => break result?,
        }
    };
    if len != MESSAGE {
        let text = format!("reading from a userfaultfd returned {len} bytes instead of {MESSAGE}");
        return Err(io::Error::other(text));
    }
    let address: u64 = bytemuck::pod_read_unaligned(&message[ADDRESS..ADDRESS + size_of::<u64>()]);
    let is_fault = u32::from(message[EVENT]) == raw::UFFD_EVENT_PAGEFAULT;
    Ok(is_fault.then_some(address as usize))
}

/// Closes the userfaultfd and keeps the number of its descriptor, which other threads may be using.
/// All ranges are released, and later uses of the descriptor give an error.
pub fn close_in_place(uffd: &Uffd) {
    if let Ok(null) = std::fs::File::open("/dev/null") {
        // SAFETY: both descriptors are open, and belong to the library. The number stays open, and
        // its owner closes it later.
        unsafe { libc::dup3(null.as_raw_fd(), uffd.0.as_raw_fd(), libc::O_CLOEXEC) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping, page_size};
    use std::time::Duration;

    #[test]
    fn any_user_gets_a_descriptor_for_user_faults_and_it_closes_on_exec() {
        let (uffd, _) = open(Faults::User, WP_ASYNC | WP_UNPOPULATED).unwrap();
        // SAFETY: F_GETFD takes no argument.
        let flags = unsafe { libc::fcntl(uffd.0.as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }

    #[test]
    fn an_unknown_feature_is_named_in_the_error() {
        let error = open(Faults::User, 1 << 63).map(|_| ()).unwrap_err();
        assert!(matches!(error, OpenError::Features { .. }), "{error}");
        assert!(error.to_string().contains("0x8000000000000000"), "{error}");
    }

    /// Returns one page of memory, writes to which wait for the descriptor.
    fn protected_page() -> (Uffd, Mapping, Range<usize>) {
        let (uffd, _) = open(Faults::User, WP_SYNC | WP_UNPOPULATED).unwrap();
        let memory = Mapping::reserve(page_size()).unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, memory.len(), true) }.unwrap();
        let page = memory.addr()..memory.addr() + memory.len();
        watch(&uffd, &page).unwrap();
        (uffd, memory, page)
    }

    #[test]
    fn waiting_write_is_reported_by_its_page_and_continues_after_the_release() {
        let (uffd, memory, page) = protected_page();
        assert_eq!(next_fault(&uffd).unwrap(), None);
        std::thread::scope(|scope| {
            // SAFETY: the page is writable, and only this thread uses it until it is joined.
            let writer = scope.spawn(|| unsafe { memory.ptr().add(5).write_volatile(7) });
            let fault = (0..60_000).find_map(|_| {
                std::thread::sleep(Duration::from_millis(1));
                next_fault(&uffd).unwrap()
            });
            assert_eq!(fault, Some(page.start));
            wake(&uffd, &page).unwrap();
            assert!(!writer.is_finished(), "the page is still protected");
            release(&uffd, &page).unwrap();
            writer.join().unwrap();
            unwatch(&uffd, &page).unwrap();
            assert!(protect(&uffd, &page).is_err(), "it is registered no more");
            drop(uffd); // owned by this closure, so that a failure above lets the writer continue
        });
        // SAFETY: the page is readable, and nothing writes it any more.
        assert_eq!(unsafe { memory.ptr().add(5).read() }, 7);
    }

    #[test]
    fn closed_in_place_the_descriptor_gives_errors() {
        let (uffd, _memory, page) = protected_page();
        close_in_place(&uffd);
        let error = next_fault(&uffd).unwrap_err();
        assert!(error.to_string().contains("0 bytes"), "{error}");
        let error = protect(&uffd, &page).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{error}");
    }
}
