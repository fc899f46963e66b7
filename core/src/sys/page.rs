//! The size of a page.

/// Returns the bytes per page of this machine.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    let n = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(n).expect("sysconf knows the page size")
}
