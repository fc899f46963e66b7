//! Checks whether memory of this process can be read. The kernel does the check, because a load
//! from unreadable memory would be a signal.

use nix::errno::Errno;

/// The number of bytes that one call of the kernel checks, which is the most that it accepts.
const AT_ONCE: usize = 1024;

/// Returns true if the byte at `at` can be read, or if the kernel refuses the check.
pub fn readable(at: *const u8) -> bool {
    unreadable([at]).is_empty()
}

/// Returns those of `addresses` whose byte cannot be read, or none if the kernel refuses the check.
pub fn unreadable(addresses: impl IntoIterator<Item = *const u8>) -> Vec<*const u8> {
    let mut addresses = addresses.into_iter().map(|at| libc::iovec {
        iov_base: at.cast_mut().cast(),
        iov_len: 1,
    });
    let (mut found, mut batch) = (Vec::new(), Vec::new());
    loop {
        batch.clear();
        batch.extend(addresses.by_ref().take(AT_ONCE));
        if batch.is_empty() {
            return found;
        }
        let mut rest = &batch[..];
        while let Some(first) = rest.first() {
            let read = match read(rest) {
                Ok(read) if read > 0 => read,
                Ok(_) | Err(Errno::EFAULT) => {
                    found.push(first.iov_base.cast_const().cast());
                    1
                }
                Err(_) => return found,
            };
            rest = &rest[read.min(rest.len())..];
        }
    }
}

/// Reads `bytes` up to the first one that cannot be read, and returns how many were read. An error
/// concerns the first byte.
fn read(bytes: &[libc::iovec]) -> nix::Result<usize> {
    let mut out = [0u8; AT_ONCE];
    let here = libc::iovec {
        iov_base: out.as_mut_ptr().cast(),
        iov_len: bytes.len().min(out.len()),
    };
    // SAFETY: the kernel writes at most as many bytes as the local array has, and it checks the
    // addresses that it reads.
    let n = unsafe {
        let (there, count) = (bytes.as_ptr(), bytes.len() as libc::c_ulong);
        libc::process_vm_readv(libc::getpid(), &raw const here, 1, there, count, 0)
    };
    Ok(Errno::result(n)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping, page_size};

    /// Returns a reservation of `pages` pages, of which those in `holes` cannot be read.
    fn with_holes(pages: usize, holes: &[usize]) -> Mapping {
        let range = Mapping::reserve(pages * page_size()).unwrap();
        for page in (0..pages).filter(|page| !holes.contains(page)) {
            // SAFETY: nothing is borrowed from the reservation.
            unsafe { range.put_zero(page * page_size(), page_size(), false) }.unwrap();
        }
        range
    }

    #[test]
    fn readable_bytes_are_distinguished_from_unreadable_ones() {
        let range = with_holes(2, &[1]);
        assert!(readable(range.ptr()) && !readable(range.ptr().wrapping_add(page_size())));
        assert!(!readable(std::ptr::null()));
    }

    #[test]
    fn exactly_the_unreadable_pages_are_found_at_any_position() {
        let pages = 2 * AT_ONCE + 100;
        let holes = [0, 1, 500, AT_ONCE - 1, AT_ONCE, 2 * AT_ONCE + 7, pages - 1];
        let range = with_holes(pages, &holes);
        let at = |page: usize| range.ptr().wrapping_add(page * page_size()).cast_const();
        assert_eq!(unreadable((0..pages).map(at)), holes.map(at));
        assert_eq!(unreadable((2..499).map(at)), []);
        assert_eq!(unreadable([]), []);
    }
}
