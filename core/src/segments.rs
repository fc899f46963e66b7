//! The memory of the pages of a region: live memory is a list of segments.
//!
//! Most pages lie in the region itself, each at its own offset. An array that the program had
//! already is *adopted*: it lies elsewhere, and keeps its address. It has a range of pages of the
//! region too, so planes, page maps and versions treat it like all other memory. This file is the
//! only place that knows where a page is.
//!
//! An adopted array belongs to the program, which may unmap it at any time. So its bytes are read
//! and written by the kernel ([`checked`]), where a hole is an error and not a signal. Its first
//! and its last page may hold bytes of others. These are never read into a version: there the page
//! is zero.

use crate::sys::checked;
use crate::sys::copy::{Stores, copy};
use crate::testing::sabotage::{Guard, off};
use arc_swap::ArcSwap;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The bytes of an adopted array that are read at once to be compared: a page, or several small
/// ones. They lie on the stack.
const AT_ONCE: usize = 64 << 10;

/// An array that the program had already.
#[derive(Debug)]
pub struct Segment {
    /// The pages that it has in the region. The first and the last may be partly its own.
    pub pages: Range<usize>,
    /// The addresses of its bytes. The first lies as far from the beginning of its page as the
    /// field does in the region.
    pub bytes: Range<usize>,
    page_size: usize,
    unreadable: AtomicBool,
}

impl Segment {
    /// Returns the segment of the array at the addresses `bytes`, which takes the pages from
    /// `first` on.
    pub fn new(bytes: Range<usize>, first: usize, page_size: usize) -> Self {
        let spanned = bytes.end.div_ceil(page_size) - bytes.start / page_size;
        Segment {
            pages: first..first + spanned,
            bytes,
            page_size,
            unreadable: AtomicBool::new(false),
        }
    }

    /// Returns the address that the first page of the region would have if the whole region lay
    /// around the array. It may be negative, and then wraps.
    pub fn base(&self) -> usize {
        let page = self.bytes.start / self.page_size * self.page_size;
        page.wrapping_sub(self.pages.start * self.page_size)
    }

    /// Returns the pages of which every byte is the array's.
    pub fn whole(&self) -> Range<usize> {
        let size = self.page_size;
        let start = self.pages.start + usize::from(!self.bytes.start.is_multiple_of(size));
        let end = self.pages.end - usize::from(!self.bytes.end.is_multiple_of(size));
        start..end.max(start)
    }

    /// Returns true if the array could not be read or written.
    pub fn was_unreadable(&self) -> bool {
        self.unreadable.load(Relaxed)
    }

    fn address(&self, page: usize) -> usize {
        self.base().wrapping_add(page * self.page_size)
    }

    /// Returns the array's own addresses in `pages`.
    fn own(&self, pages: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.address(pages.start), self.address(pages.end));
        if off(Guard::AdoptedOnly) {
            return start..end;
        }
        start.max(self.bytes.start)..end.min(self.bytes.end)
    }

    /// Reads `pages` to `to`. Bytes that are not the array's become zeros.
    ///
    /// # Safety
    /// `to` must be valid for writes of all bytes of `pages`, and nobody else may use them.
    unsafe fn read(&self, pages: &Range<usize>, to: *mut u8) -> io::Result<()> {
        let (start, own) = (self.address(pages.start), self.own(pages));
        let (before, len) = (own.start - start, own.len());
        let after = pages.len() * self.page_size - before - len;
        // SAFETY: the three parts are those of `pages`, for which the caller has promised this.
        unsafe {
            to.write_bytes(0, before);
            to.add(before + len).write_bytes(0, after);
            self.note(checked::read(own.start, to.add(before), len))
        }
    }

    /// Writes the array's own bytes of a page: those of `bytes`, which begins with the page, or
    /// zeros.
    ///
    /// # Safety
    /// Nothing may be borrowed from the page.
    unsafe fn write(&self, page: usize, bytes: &[u8]) -> io::Result<()> {
        let own = self.own(&(page..page + 1));
        let skipped = own.start - self.address(page);
        let bytes = &bytes[skipped..skipped + own.len()];
        // SAFETY: `bytes` is borrowed. These addresses belong to the array, which the program has
        // allowed to be written, and nothing is borrowed from them.
        self.note(unsafe { checked::write(bytes.as_ptr(), own.start, own.len()) })
    }

    /// Remembers that the array could not be read or written. A kernel without memory says nothing
    /// about the array.
    fn note(&self, done: io::Result<()>) -> io::Result<()> {
        if done.as_ref().is_err_and(|e| !checked::is_passing(e)) {
            self.unreadable.store(true, Relaxed);
        }
        done
    }
}

/// Where the pages of live memory are. Arrays can be adopted and released while it is shared.
#[derive(Debug)]
pub struct Segments {
    base: usize,
    page_size: usize,
    /// The adopted arrays, in the order of their pages.
    adopted: ArcSwap<Vec<Arc<Segment>>>,
}

impl Segments {
    /// Returns the list of a region at `base` without adopted arrays.
    pub fn new(base: usize, page_size: usize) -> Self {
        Segments {
            base,
            page_size,
            adopted: ArcSwap::default(),
        }
    }

    /// Returns the size of a page in bytes.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Returns the address of the region itself.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Returns the first byte of the region itself.
    pub fn first_byte(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.base)
    }

    /// Adds an adopted array. No other segment may have pages of it.
    pub fn insert(&self, segment: Arc<Segment>) {
        let mut list = Vec::clone(&self.adopted.load());
        let at = list.partition_point(|s| s.pages.start < segment.pages.start);
        list.insert(at, segment);
        self.adopted.store(Arc::new(list));
    }

    /// Removes the adopted array that has these pages.
    pub fn remove(&self, pages: &Range<usize>) {
        let mut list = Vec::clone(&self.adopted.load());
        list.retain(|s| s.pages != *pages);
        self.adopted.store(Arc::new(list));
    }

    /// Returns the adopted arrays.
    pub fn adopted(&self) -> Arc<Vec<Arc<Segment>>> {
        self.adopted.load_full()
    }

    /// Returns the address of a page.
    pub fn address(&self, page: usize) -> usize {
        let mut address = self.base + page * self.page_size;
        // One page is one part, and this never fails.
        let _ = self.each_part(&(page..page + 1), |_, segment| {
            address = segment.map_or(address, |segment| segment.address(page));
            Ok(())
        });
        address
    }

    /// Copies `pages` to `to`.
    ///
    /// # Safety
    /// `to` must be valid for writes of all bytes of `pages`, and nobody else may use them. The
    /// pages must be readable, unless they are adopted: then it is an error if they are not. Nobody
    /// may write them during the call.
    pub unsafe fn copy(&self, pages: &Range<usize>, to: *mut u8, stores: Stores) -> io::Result<()> {
        self.each_part(pages, |part, segment| {
            let at = (part.start - pages.start) * self.page_size;
            // SAFETY: the part lies inside `pages`, for which the caller has promised this.
            unsafe {
                match segment {
                    Some(segment) => segment.read(&part, to.add(at))?,
                    None => copy(self.own(&part), to.add(at), self.bytes(&part), stores),
                }
            }
            Ok(())
        })
    }

    /// Calls `look` with each page and its bytes. Pages of adopted arrays that cannot be read are
    /// passed over.
    ///
    /// # Safety
    /// The pages must be readable, unless they are adopted. Nobody may write them during the call.
    pub unsafe fn look_at(
        &self,
        pages: &Range<usize>,
        mut look: impl FnMut(usize, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.each_part(pages, |part, segment| {
            let Some(segment) = segment else {
                // SAFETY: the caller promises that these pages are readable and that nobody writes
                // them.
                let bytes =
                    unsafe { std::slice::from_raw_parts(self.own(&part), self.bytes(&part)) };
                let mut pages = part.zip(bytes.chunks_exact(self.page_size));
                return pages.try_for_each(|(page, bytes)| look(page, bytes));
            };
            let step = (AT_ONCE / self.page_size).max(1);
            let mut starts = part.clone().step_by(step);
            starts.try_for_each(|start| {
                self.look_at_adopted(segment, start..part.end.min(start + step), &mut look)
            })
        })
    }

    /// Does the same for a few pages of an adopted array.
    fn look_at_adopted(
        &self,
        segment: &Segment,
        pages: Range<usize>,
        look: &mut impl FnMut(usize, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut room = [const { MaybeUninit::<u8>::uninit() }; AT_ONCE];
        let to = room.as_mut_ptr().cast::<u8>();
        // SAFETY: there is room for these pages, and nobody else uses it.
        if unsafe { segment.read(&pages, to) }.is_err() {
            return Ok(());
        }
        // SAFETY: all bytes of the pages were just written.
        let bytes = unsafe { std::slice::from_raw_parts(to, self.bytes(&pages)) };
        let mut pages = pages.zip(bytes.chunks_exact(self.page_size));
        pages.try_for_each(|(page, bytes)| look(page, bytes))
    }

    /// Writes a page of live memory. Of a page of an adopted array, only the array's own bytes are
    /// written; it is an error if they cannot be.
    ///
    /// # Safety
    /// `bytes` must be a whole page. A page of the region itself must be writable, and nothing may
    /// be borrowed from the page.
    pub unsafe fn write(&self, page: usize, bytes: &[u8]) -> io::Result<()> {
        self.each_part(&(page..page + 1), |part, segment| {
            // SAFETY: the caller promises that the page may be written.
            unsafe {
                match segment {
                    Some(segment) => segment.write(page, bytes)?,
                    None => self
                        .own(&part)
                        .copy_from_nonoverlapping(bytes.as_ptr(), self.page_size),
                }
            }
            Ok(())
        })
    }

    /// Calls `each` with the parts of `pages` that lie in one segment: an adopted array, or `None`
    /// for the region itself.
    fn each_part(
        &self,
        pages: &Range<usize>,
        mut each: impl FnMut(Range<usize>, Option<&Segment>) -> io::Result<()>,
    ) -> io::Result<()> {
        let adopted = self.adopted.load();
        let mut at = pages.start;
        let first = adopted.partition_point(|segment| segment.pages.end <= at);
        for segment in &adopted[first..] {
            let part = segment.pages.start.max(at)..segment.pages.end.min(pages.end);
            if part.is_empty() {
                break;
            }
            if at < part.start {
                each(at..part.start, None)?;
            }
            at = part.end;
            each(part, Some(segment))?;
        }
        match at < pages.end {
            true => each(at..pages.end, None),
            false => Ok(()),
        }
    }

    fn own(&self, pages: &Range<usize>) -> *mut u8 {
        self.first_byte().wrapping_add(pages.start * self.page_size)
    }

    fn bytes(&self, pages: &Range<usize>) -> usize {
        pages.len() * self.page_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::page_size;
    use proptest::prelude::*;

    const PAGES: usize = 24;

    /// A region of `PAGES` pages of ones, and arrays in memory of twos.
    fn list(arrays: &[(usize, usize, usize)]) -> (Segments, Vec<u8>, Vec<u8>) {
        let size = page_size();
        let own = vec![1; (PAGES + 1) * size];
        let other = vec![2; (PAGES + 1) * size];
        let aligned = |memory: &[u8]| memory.as_ptr().expose_provenance().next_multiple_of(size);
        let segments = Segments::new(aligned(&own), size);
        for (first, start, len) in arrays {
            let at = aligned(&other) + first * size + start;
            segments.insert(Arc::new(Segment::new(at..at + len, *first, size)));
        }
        (segments, own, other)
    }

    proptest! {
        #[test]
        fn pages_have_the_bytes_of_their_segment_and_zeros_beside_arrays(
            (a, b) in ((0usize..4000, 1usize..20_000), (0usize..4000, 1usize..20_000)),
            (first, len) in (0..PAGES, 1..PAGES),
        ) {
            let size = page_size();
            // Two arrays with room for six pages each, from pages 3 and 12 on.
            let arrays = [(3, a.0, a.1), (12, b.0, b.1)];
            let (segments, _own, _other) = list(&arrays);
            let pages = first..(first + len).min(PAGES);
            let mut wanted = vec![1u8; PAGES * size];
            for (first, start, len) in arrays {
                let last = first + (start + len).div_ceil(size);
                wanted[first * size..last * size].fill(0);
                wanted[first * size + start..first * size + start + len].fill(2);
            }
            let wanted = &wanted[pages.start * size..pages.end * size];
            let mut copied = vec![9u8; pages.len() * size];
            // SAFETY: the buffer has room for the pages, and all memory is that of this test.
            unsafe { segments.copy(&pages, copied.as_mut_ptr(), Stores::Cached) }.unwrap();
            prop_assert!(copied == wanted);
            let mut seen = Vec::new();
            let mut numbers = Vec::new();
            let mut look = |page, bytes: &[u8]| {
                numbers.push(page);
                seen.extend_from_slice(bytes);
                Ok(())
            };
            // SAFETY: as above.
            unsafe { segments.look_at(&pages, &mut look) }.unwrap();
            prop_assert!(seen == wanted);
            prop_assert!(numbers.into_iter().eq(pages));
        }

        #[test]
        fn writing_a_page_changes_the_array_and_nothing_beside_it(
            start in 0usize..4000, len in 1usize..9000, page in 0usize..3,
        ) {
            let size = page_size();
            let (segments, _own, other) = list(&[(5, start, len)]);
            let pages = (start + len).div_ceil(size);
            let page = page.min(pages - 1);
            // SAFETY: the page is an adopted one, of memory of this test.
            unsafe { segments.write(5 + page, &vec![7; size]) }.unwrap();
            let base = segments.adopted()[0].bytes.start - start - other.as_ptr().addr();
            let inside = |i: usize| (page * size..(page + 1) * size).contains(&i);
            let own = |i: usize| (start..start + len).contains(&i);
            let wanted = |i: usize| if inside(i) && own(i) { 7 } else { 2 };
            prop_assert!((0..pages * size).all(|i| other[base + i] == wanted(i)));
        }
    }

    #[test]
    fn arrays_know_which_of_their_pages_are_whole() {
        let size = page_size();
        let whole = |bytes: Range<usize>| Segment::new(bytes, 10, size).whole();
        assert_eq!(whole(0..3 * size), 10..13);
        assert_eq!(whole(8..3 * size), 11..13);
        assert_eq!(whole(8..3 * size - 8), 11..12);
        assert_eq!(whole(8..16), 11..11);
        assert_eq!(whole(8..size + 8), 11..11);
    }

    #[test]
    fn arrays_at_low_addresses_lie_before_the_region_that_would_surround_them() {
        let size = page_size();
        let segment = Segment::new(3 * size + 5..9 * size, 1000, size);
        assert_eq!(segment.address(1000), 3 * size);
        assert_eq!(segment.own(&(1000..1001)), 3 * size + 5..4 * size);
    }

    #[test]
    fn array_that_is_not_there_is_an_error_and_is_remembered() {
        let (segments, ..) = list(&[]);
        let size = page_size();
        segments.insert(Arc::new(Segment::new(size..2 * size, 4, size)));
        let mut to = vec![0; size];
        // SAFETY: the buffer has room for the page.
        let copied = unsafe { segments.copy(&(4..5), to.as_mut_ptr(), Stores::Cached) };
        assert_eq!(copied.unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert!(segments.adopted()[0].was_unreadable());
        segments.remove(&(4..5));
        assert_eq!(segments.address(4), segments.base() + 4 * size);
    }
}
