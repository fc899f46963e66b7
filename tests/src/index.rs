//! The index of a region of this process, to change words of it as no producer would.

use std::sync::atomic::AtomicU64;

/// Returns the index of a region of this process, as a wild store of the simulation would find it.
///
/// # Safety
///
/// The producer of the region must live as long as the index is used.
pub unsafe fn index_of(name: &str) -> Result<&'static [AtomicU64], String> {
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|e| e.to_string())?;
    let wanted = format!("/memfd:tcasm-{name}-index (deleted)");
    let line = maps
        .lines()
        .find(|l| l.contains(" rw-s ") && l.ends_with(&wanted));
    let (start, rest) = line
        .and_then(|l| l.split_once('-'))
        .ok_or("no index is mapped")?;
    let end = rest.split(' ').next().unwrap_or_default();
    let address = |text| usize::from_str_radix(text, 16).map_err(|e| e.to_string());
    let (start, end) = (address(start)?, address(end)?);
    // SAFETY: the list of mappings says that the range is a shared, writable mapping. It stays as
    // long as the producer, so the caller guarantees that it is there. All accesses are by atomic
    // words.
    Ok(unsafe { std::slice::from_raw_parts(start as *const AtomicU64, (end - start) / 8) })
}
