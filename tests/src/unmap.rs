//! Changes to the mappings of a region that a program must not make, but that libraries make all
//! the same: replacing or removing a part of it.

use std::io;
use tcasm_core::sys::mem::page_size;
use tcasm_producer::Producer;

/// Replaces page `page` of the region by new memory with the same bytes, without telling the
/// tracker. Under `uffd-async` every harvest from now on is an error. The page must belong to a
/// field or buffer.
pub fn replace_page(producer: &mut Producer, page: usize) -> io::Result<()> {
    let at = (producer.base() + page * page_size()) as *mut u8;
    let mut bytes = vec![0; page_size()];
    // SAFETY: a page of a buffer is mapped readable, and `&mut` keeps others from writing it. The
    // vector has room for one page and does not overlap it.
    unsafe { at.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: nothing borrows from live memory while the producer is borrowed mutably here. The new
    // page takes the place of the old one with the same access.
    let mapped = unsafe { libc::mmap(at.cast(), bytes.len(), prot, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the page was just mapped writable, and `bytes` has one page of bytes.
    unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Unmaps page `page` of the region. The caller must not view it from then on.
pub fn remove_page(producer: &mut Producer, page: usize) -> io::Result<()> {
    let at = (producer.base() + page * page_size()) as *mut libc::c_void;
    // SAFETY: nothing borrows from live memory while the producer is borrowed mutably here. The
    // caller promises that nothing will view the page later.
    match unsafe { libc::munmap(at, page_size()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
