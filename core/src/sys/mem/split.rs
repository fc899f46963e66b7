//! Mappings that are split, and unmapped with an answer.

use super::{MapError, Mapping, page_size};
use nix::errno::Errno;
use nix::sys::mman::munmap;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

impl Mapping {
    /// Splits the mapping: keeps the bytes before `at`, and returns the others. One of both may be
    /// empty. Nothing is mapped or unmapped.
    ///
    /// # Panics
    /// If `at` is not a page of the mapping, or its end.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Mapping {
        let fits = at <= self.len && at.is_multiple_of(page_size());
        assert!(fits, "byte {at} of a mapping of {} bytes", self.len);
        let first = NonNull::new(self.ptr().wrapping_add(at).cast());
        let rest = Mapping {
            ptr: first.expect("an address in a mapping"),
            len: self.len - at,
            process: self.process,
        };
        self.len = at;
        rest
    }

    /// Unmaps the range, as dropping the mapping does, but returns the mapping if that fails. The
    /// kernel refuses if the process has as many mappings as it may have, because unmapping the
    /// middle of one leaves two. Then the whole range is still mapped.
    pub fn unmap(self) -> Result<(), (Self, MapError)> {
        let failed = |errno| MapError::os("unmap", self.addr(), self.len, errno);
        if !self.process.is_current() {
            let error = failed(Errno::EPERM);
            return Err((self, error));
        }
        // SAFETY: the range belongs to this mapping alone, and everything that was borrowed from
        // the mapping has ended, because this owns it. It is not dropped afterwards.
        match unsafe { munmap(self.ptr, self.len) } {
            Ok(()) => {
                let _unmapped = ManuallyDrop::new(self);
                Ok(())
            }
            Err(errno) => {
                let error = failed(errno);
                Err((self, error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::addresses;

    /// Reserves pages at an address that the kernel gives to nobody.
    fn reserve(name: &str, pages: usize) -> Mapping {
        let bytes = pages * page_size();
        let at = addresses(name, bytes as u64).next().unwrap();
        Mapping::reserve_at(at as usize, bytes).unwrap()
    }

    #[test]
    fn only_the_part_that_was_split_off_and_unmapped_is_free() {
        let page = page_size();
        let mut first = reserve("split", 3);
        let mut middle = first.split_off(page);
        let last = middle.split_off(page);
        let at = middle.addr();
        assert_eq!((first.len(), middle.len(), last.len()), (page, page, page));
        assert!(Mapping::reserve_at(at, page).is_err());
        middle.unmap().unwrap();
        let again = Mapping::reserve_at(at, page).unwrap();
        for other in [&first, &last] {
            assert!(Mapping::reserve_at(other.addr(), page).is_err());
        }
        drop((first, last));
        // Dropping the others left this one alone.
        assert!(Mapping::reserve_at(again.addr(), page).is_err());
    }

    #[test]
    fn empty_part_unmaps_nothing() {
        let mut all = reserve("split-empty", 1);
        drop(all.split_off(page_size()));
        let rest = all.split_off(0);
        assert!(all.is_empty() && !rest.is_empty());
        drop(all);
        assert!(Mapping::reserve_at(rest.addr(), page_size()).is_err());
    }
}
