//! Changes to the mappings of a region that a program must not make, but that libraries make all
//! the same: replacing or removing a part of it, or memory that is adopted.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Memory of the program's own that is adopted as a field of `f64`.
pub struct Adopted {
    at: *mut f64,
    len: usize,
}

impl Adopted {
    /// Maps memory for `len` values, where neither the kernel nor a region maps anything later, and
    /// adopts it.
    pub fn new(producer: &mut Producer, name: &str, len: usize) -> io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0x3000_0000_0000);
        let at = NEXT.fetch_add(1 << 30, Ordering::Relaxed) as *mut libc::c_void;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: without MAP_FIXED, the new mapping takes the place of no other.
        let at = unsafe { libc::mmap(at, len * size_of::<f64>(), prot, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = at.cast();
        // SAFETY: the memory is mapped, and holds values of any type. Only this value accesses it,
        // by `&mut self`, so not during a call of the producer that uses views of it.
        unsafe { producer.adopt(name, at, [len]) }.map_err(io::Error::other)?;
        Ok(Adopted { at, len })
    }

    /// Sets all values.
    pub fn fill(&mut self, value: f64) {
        // SAFETY: the memory has `len` values, and `&mut self` keeps others from it.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }.fill(value);
    }

    /// Unmaps the memory without telling the producer.
    pub fn unmap(self) -> io::Result<()> {
        // SAFETY: nothing borrows from the memory, and `self` ends.
        match unsafe { libc::munmap(self.at.cast(), self.len * size_of::<f64>()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
