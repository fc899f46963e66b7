//! The memory of one plane, and copying into it. What lies where, and what is in use, [`super::Planes`] knows.

use super::PlaneError;
use super::access::Access;
use crate::fault;
use crate::pageset::PageSet;
use crate::sys::live;
use crate::sys::mem::Mapping;
use crate::sys::object::Object;
use crate::sys::relocate::relocate;
use nix::errno::Errno;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A memfd as large as the region, with the producer's own mapping of it. Shared with the threads that copy.
#[derive(Debug)]
pub struct PlaneMemory {
    object: Object,
    map: Mapping,
    access: Access,
    page_size: usize,
}

impl PlaneMemory {
    pub(super) fn create(name: &str, pages: usize, page_size: usize) -> Result<Self, PlaneError> {
        let bytes = (pages * page_size) as u64;
        let object =
            Object::create(name, bytes).map_err(|source| PlaneError::Create { bytes, source })?;
        let map = Mapping::shared_closed(object.as_fd(), pages * page_size)?;
        map.dont_fork_or_dump()?;
        map.no_huge_pages();
        Ok(PlaneMemory {
            object,
            access: Access::none(map.len()),
            map,
            page_size,
        })
    }

    /// A read-only descriptor, for observers.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        self.object.read_only()
    }

    /// The memory itself, for live memory to rest on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.object.as_fd()
    }

    /// The bytes of a slot.
    ///
    /// # Safety
    /// A live version must refer to the slot as long as the result is used: then nobody writes it (I1), and it has memory.
    pub unsafe fn page(&self, page: usize) -> &[u8] {
        let at = page * self.page_size;
        assert!(at + self.page_size <= self.map.len());
        // SAFETY: inside the mapping; nobody writes it, as the caller promises.
        unsafe { std::slice::from_raw_parts(self.map.ptr().add(at), self.page_size) }
    }

    /// Copy `pages` from live memory at `base` into their slots. `fresh` says that some have no memory yet.
    ///
    /// # Safety
    /// `base` must be the region's live memory, and nobody may write these pages of it during the call. No version may refer
    /// to the slots, nobody else write them; if not `fresh`, all must have memory.
    pub unsafe fn copy(&self, base: *const u8, pages: Range<usize>, fresh: bool) -> io::Result<()> {
        let (at, len) = (pages.start * self.page_size, pages.len() * self.page_size);
        assert!(at + len <= self.map.len());
        if fresh {
            // By a system call: where there is no memory, that is an error. A store would be a signal
            // that ends the simulation.
            self.allocate_for_copy(&pages)?;
        }
        // SAFETY: both ranges lie in their mappings, which are apart; the source keeps still, the target is ours alone and
        // has memory: no SIGBUS.
        unsafe { std::ptr::copy_nonoverlapping(base.add(at), self.map.ptr().add(at), len) };
        Ok(())
    }

    fn allocate_for_copy(&self, pages: &Range<usize>) -> io::Result<()> {
        if fault::lacks_memory() {
            // As where memory runs out half-way.
            self.allocate(&(pages.start..pages.start + pages.len() / 2))?;
            return Err(Errno::ENOMEM.into());
        }
        self.allocate(pages)
    }

    /// Copy `pages` of another plane into their slots. The source is read by system calls: it may be given back, or written
    /// anew, meanwhile. A lack of memory is an error.
    ///
    /// # Safety
    /// The slots must be the caller's alone.
    pub(super) unsafe fn copy_from(
        &self,
        other: &PlaneMemory,
        pages: &Range<usize>,
    ) -> io::Result<()> {
        self.allocate(pages)?;
        let bytes = pages.start * self.page_size..pages.end * self.page_size;
        assert!(bytes.end <= self.map.len());
        // SAFETY: inside the mapping, and accessible since it was allocated; the caller promises that
        // the slots are its alone, so nothing else is borrowed from them.
        let slots =
            unsafe { std::slice::from_raw_parts_mut(self.map.ptr().add(bytes.start), bytes.len()) };
        other.object.read(slots, bytes.start as u64)
    }

    /// Take memory for slots, and map it. What has some keeps its bytes. After an error some of the slots may have memory.
    pub fn allocate(&self, pages: &Range<usize>) -> io::Result<()> {
        let (at, end) = (pages.start * self.page_size, pages.end * self.page_size);
        self.access
            .open(&self.map, &(at..end))
            .map_err(io::Error::other)?;
        match self.map.populate(at, end - at) {
            // Linux before 5.14.
            Err(Errno::EINVAL) => self.object.allocate(at as u64..end as u64),
            done => Ok(done?),
        }
    }

    /// Pages of memory that the kernel has allocated.
    pub(super) fn allocated(&self) -> io::Result<usize> {
        Ok(self.object.allocated()? as usize / self.page_size)
    }

    /// Slots that have memory, as the kernel knows them.
    pub(super) fn present(&self) -> io::Result<PageSet> {
        let mut present = PageSet::new(self.map.len() / self.page_size);
        for extent in self.object.extents()? {
            let end = (extent.end as usize).div_ceil(self.page_size);
            present.insert_range(extent.start as usize / self.page_size..end);
        }
        Ok(present)
    }

    /// Let `bytes` of live memory at `base` be those of this plane: mapped as they were in the producer's own mapping, which
    /// has none of them mapped afterwards, though it still may be used.
    ///
    /// # Safety
    /// `base` must be the region's live memory; that part of it must be the caller's alone, and nothing borrowed from it.
    pub unsafe fn move_to_live(&self, base: *mut u8, bytes: &Range<usize>) -> io::Result<()> {
        assert!(bytes.end <= self.map.len());
        let (own, at_live) = (
            self.map.ptr().wrapping_add(bytes.start),
            base.wrapping_add(bytes.start),
        );
        // SAFETY: the caller's promise for live memory; of the plane nobody uses these slots but whoever has the live memory.
        if unsafe { relocate(own, at_live, bytes.len()) }.is_ok() {
            // It came from a mapping that core dumps leave out; live memory belongs into them.
            live::dump(&(at_live as usize..at_live as usize + bytes.len()), true);
            return Ok(());
        }
        // Linux before 5.13 moves no shared mappings so: map the pages anew, each of which takes a fault then.
        let range = at_live as usize..at_live as usize + bytes.len();
        // SAFETY: as above.
        unsafe { live::map_shared(&range, self.object.as_fd(), bytes.start) }
    }

    /// The reverse: what is mapped of this plane in live memory is mapped in the producer's own mapping again. Live memory
    /// stays mapped to this plane, though none of its pages is.
    ///
    /// # Safety
    /// As for [`PlaneMemory::move_to_live`]; and live memory must be this plane's.
    pub unsafe fn move_from_live(&self, base: *mut u8, bytes: &Range<usize>) -> io::Result<()> {
        assert!(bytes.end <= self.map.len());
        let (own, at_live) = (
            self.map.ptr().wrapping_add(bytes.start),
            base.wrapping_add(bytes.start),
        );
        let range = own as usize..own as usize + bytes.len();
        // SAFETY: as for `move_to_live`; the same object is mapped at both, so readers of the plane see the same bytes.
        if unsafe { relocate(at_live, own, bytes.len()) }.is_err() {
            // The failed attempt may have left nothing in the plane's own mapping.
            // SAFETY: a part of the plane's own mapping, which nobody uses while live memory is this plane's.
            unsafe { live::map_shared(&range, self.object.as_fd(), bytes.start)? };
        }
        live::dump(&range, false);
        Ok(())
    }

    /// Give the memory of slots back that no version refers to.
    pub fn punch(&self, pages: &Range<usize>) -> io::Result<()> {
        let byte = |page: usize| (page * self.page_size) as u64;
        self.object.punch(byte(pages.start)..byte(pages.end))
    }
}
