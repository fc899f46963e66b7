//! What a program must not do to its region, and what libraries in it do all the same: map over a part of it, or unmap it.

use std::io;
use tcasm_core::sys::mem::page_size;
use tcasm_producer::Producer;

/// Replace page `page` of the region by fresh memory with the same bytes, which the tracker does not know of: under
/// `uffd-async` every harvest from now on is an error. The page must belong to a field or buffer.
pub fn replace_page(producer: &mut Producer, page: usize) -> io::Result<()> {
    let at = (producer.base() + page * page_size()) as *mut u8;
    let mut bytes = vec![0; page_size()];
    // SAFETY: a page of a buffer is mapped readable, and `&mut` keeps others from writing it.
    unsafe { at.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: nothing is borrowed from live memory while the producer is borrowed mutably here, and the fresh page takes
    // the place of the old one with the same access.
    let mapped = unsafe { libc::mmap(at.cast(), bytes.len(), prot, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the page that was just mapped writable.
    unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Unmap page `page` of the region, which nobody may view from then on.
pub fn remove_page(producer: &mut Producer, page: usize) -> io::Result<()> {
    let at = (producer.base() + page * page_size()) as *mut libc::c_void;
    // SAFETY: nothing is borrowed from live memory while the producer is borrowed mutably here, and by the caller's promise
    // nothing will be.
    match unsafe { libc::munmap(at, page_size()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
