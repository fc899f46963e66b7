//! Copies between memory at any addresses of this process and a shared object. The kernel checks
//! the addresses, so memory that is not mapped is an error and not a signal.

use super::thread::without_file_size_signal;
use nix::errno::Errno;
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The largest number of ranges in one call of the kernel.
const AT_ONCE: usize = 1024;

/// A range of addresses: the first address and the number of bytes.
pub type Range = (usize, usize);

/// Copies the bytes of `from`, one range after another, to `object` at `offset`. Other threads may
/// write them meanwhile: then the copy has old and new bytes.
pub fn gather(object: BorrowedFd<'_>, from: &[Range], offset: u64) -> io::Result<()> {
    without_file_size_signal(|| {
        in_batches(from, offset, |batch, at| {
            let (parts, count) = (batch.as_ptr(), batch.len() as libc::c_int);
            // SAFETY: the list outlives the call. The kernel only reads the memory that the list
            // names, and checks that it is readable.
            unsafe { libc::pwritev(object.as_raw_fd(), parts, count, at) }
        })
    })
}

/// Copies bytes of `object` at `offset` to the ranges `to`, one after another. After an error, a
/// part of them may be written.
///
/// # Safety
/// This process must allow that its memory at `to` is written at any time. What is not mapped
/// there, or not writable, is an error and not undefined behaviour.
pub unsafe fn scatter(object: BorrowedFd<'_>, to: &[Range], offset: u64) -> io::Result<()> {
    in_batches(to, offset, |batch, at| {
        let (parts, count) = (batch.as_ptr(), batch.len() as libc::c_int);
        // SAFETY: the list outlives the call. By the caller's promise the memory that it names may
        // be written, and the kernel checks that it is writable.
        unsafe { libc::preadv(object.as_raw_fd(), parts, count, at) }
    })
}

/// Calls `copy` with the ranges and the position of the object until nothing is left.
fn in_batches(
    ranges: &[Range],
    offset: u64,
    copy: impl Fn(&[libc::iovec], libc::off_t) -> libc::ssize_t,
) -> io::Result<()> {
    let part = |&(addr, len): &Range| libc::iovec {
        iov_base: addr as *mut c_void,
        iov_len: len,
    };
    let mut parts: Vec<libc::iovec> = ranges.iter().map(part).collect();
    let (mut left, mut at) = (&mut parts[..], offset);
    while !left.is_empty() {
        let batch = &left[..left.len().min(AT_ONCE)];
        match Errno::result(copy(batch, at as libc::off_t)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                at += n as u64;
                left = after(left, n as usize);
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns what is left of a list after its first `bytes` bytes.
fn after(list: &mut [libc::iovec], mut bytes: usize) -> &mut [libc::iovec] {
    let mut whole = 0;
    while whole < list.len() && list[whole].iov_len <= bytes {
        bytes -= list[whole].iov_len;
        whole += 1;
    }
    let left = &mut list[whole..];
    if let Some(first) = left.first_mut() {
        first.iov_base = first.iov_base.wrapping_byte_add(bytes);
        first.iov_len -= bytes;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::object::Object;
    use std::os::fd::AsFd;

    #[test]
    fn more_ranges_than_one_call_takes_are_copied_both_ways() {
        let object = Object::create("tcasm-test", 8192).unwrap();
        let source: Vec<u8> = (0..6000u32).map(|i| i as u8).collect();
        let mut target = vec![0u8; 6000];
        let from: Vec<Range> = source.chunks(2).map(|c| (c.as_ptr().addr(), 2)).collect();
        let to: Vec<Range> = target
            .chunks_mut(2)
            .map(|c| (c.as_mut_ptr().expose_provenance(), 2))
            .collect();
        gather(object.as_fd(), &from, 100).unwrap();
        // SAFETY: the ranges are those of `target`, which nothing else uses during the call.
        unsafe { scatter(object.as_fd(), &to, 100) }.unwrap();
        assert_eq!(source, target);
    }

    #[test]
    fn memory_that_is_not_mapped_is_an_error() {
        let object = Object::create("tcasm-test", 4096).unwrap();
        let error = gather(object.as_fd(), &[(8, 8)], 0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        // SAFETY: nothing is mapped at this address, so nothing is written.
        let error = unsafe { scatter(object.as_fd(), &[(8, 8)], 0) }.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
