//! Reads and writes memory of this process that another part of the program may unmap at any time.
//! The kernel does the access, so memory that is not mapped is an error (EFAULT) and not a signal.

use nix::errno::Errno;
use std::io;

/// Returns an error if the kernel refuses such accesses, as filters of system calls may do.
pub fn allowed() -> io::Result<()> {
    let (from, mut to) = ([1u8], [0u8]);
    // SAFETY: both arrays are local, and have one byte.
    unsafe { read(from.as_ptr().addr(), to.as_mut_ptr(), 1) }
}

/// Returns true if the kernel had no memory for an access or for tracking. That says nothing about
/// the memory that was asked for.
pub fn is_passing(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// Copies `len` bytes at address `from` to `to`.
///
/// # Safety
/// `to` must be valid for writes of `len` bytes, and nobody else may use them during the call.
pub unsafe fn read(from: usize, to: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the kernel writes only to `to`, as the caller promises, and checks the addresses that
    // it reads.
    in_steps(len, |done, left| unsafe {
        let here = part(to.expose_provenance() + done, left);
        let there = part(from + done, left);
        libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0)
    })
}

/// Copies `len` bytes at `from` to address `to`. After an error a part of them may be written.
///
/// # Safety
/// `from` must be valid for reads of `len` bytes. This process must allow that its memory at `to`
/// is written.
pub unsafe fn write(from: *const u8, to: usize, len: usize) -> io::Result<()> {
    // SAFETY: the kernel reads only from `from`, as the caller promises. It checks that the
    // addresses that it writes are writable, and the caller allows that they are written.
    in_steps(len, |done, left| unsafe {
        let here = part(from.expose_provenance() + done, left);
        let there = part(to + done, left);
        libc::process_vm_writev(libc::getpid(), &raw const here, 1, &raw const there, 1, 0)
    })
}

/// Calls `copy` with the number of bytes that are done and left until none is left. The kernel
/// stops early at memory that cannot be accessed, and after 2 GiB.
fn in_steps(len: usize, copy: impl Fn(usize, usize) -> isize) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match Errno::result(copy(done, len - done)) {
            Ok(0) => return Err(Errno::EFAULT.into()),
            Ok(n) => done += n as usize,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn part(at: usize, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(at),
        iov_len: len,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping, page_size};

    #[test]
    fn bytes_are_read_and_written_and_a_hole_is_an_error() {
        allowed().unwrap();
        let (size, memory) = (page_size(), Mapping::reserve(3 * page_size()).unwrap());
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, 2 * size, true) }.unwrap();
        let bytes: Vec<u8> = (0..2 * size).map(|i| i as u8).collect();
        let mut back = vec![0; 2 * size];
        // SAFETY: the buffers are local ones of this size, and the memory belongs to this test.
        unsafe {
            write(bytes.as_ptr(), memory.addr(), bytes.len()).unwrap();
            read(memory.addr(), back.as_mut_ptr(), back.len()).unwrap();
            assert_eq!(bytes, back);
            for at in [memory.addr() + size + 1, memory.addr() + 2 * size] {
                let error = read(at, back.as_mut_ptr(), size).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
                let error = write(bytes.as_ptr(), at, size).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
            }
        }
    }
}
