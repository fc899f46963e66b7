//! The memory of one plane, and copying into it. [`super::Planes`] knows which frames are in use.

use super::access::Access;
use super::huge_chunks::HugeChunks;
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::segments::Segments;
use crate::sys::copy::{Stores, copy};
use crate::sys::live;
use crate::sys::mem::{MapError, Mapping};
use crate::sys::numa;
use crate::sys::object::Object;
use crate::sys::relocate::relocate;
use crate::testing::fault;
use nix::errno::Errno;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The largest number of runs of frames that are bound to nodes through one mapping, which has a
/// part for each of them meanwhile.
const BOUND_AT_ONCE: usize = 1024;

/// The reason why the planes could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaneError {
    /// The shared memory object of a plane could not be created.
    #[error(
        "cannot create a plane of {bytes} bytes: {source}; check the limits on memory and \
         descriptors"
    )]
    Create {
        /// The size of a plane.
        bytes: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// A plane could not be mapped.
    #[error("cannot map a plane: {0}")]
    Map(#[from] MapError),
}

/// A memfd as large as the region, with the producer's own mapping of it. Threads that copy share
/// it.
#[derive(Debug)]
pub struct PlaneMemory {
    object: Object,
    map: Mapping,
    access: Access,
    huge: HugeChunks,
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
            huge: HugeChunks::new(pages.div_ceil(CHUNK_PAGES)),
            map,
            page_size,
        })
    }

    /// Returns a read-only descriptor, for observers.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        self.object.read_only()
    }

    pub(super) fn huge(&self) -> &HugeChunks {
        &self.huge
    }

    /// Lets the plane's own mapping map `bytes` by huge pages.
    pub(super) fn allow_huge_pages(&self, bytes: &Range<usize>) {
        self.map.allow_huge_pages(bytes.start, bytes.len());
    }

    /// Returns the memfd, so that live memory can be mapped to it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.object.as_fd()
    }

    /// Returns the bytes of a frame.
    ///
    /// # Safety
    /// A live version must refer to the frame as long as the result is used. Then nobody writes the
    /// frame (I1), and it has memory.
    pub unsafe fn page(&self, page: usize) -> &[u8] {
        let at = page * self.page_size;
        assert!(at + self.page_size <= self.map.len());
        // SAFETY: the frame lies inside the mapping, as just checked. The caller promises that
        // nobody writes it.
        unsafe { std::slice::from_raw_parts(self.map.ptr().add(at), self.page_size) }
    }

    /// Copies `pages` of live memory into their frames, with such stores. `fresh` is true if some
    /// frames have no memory yet.
    ///
    /// # Safety
    /// The pages must be readable, unless they are adopted, and nobody may write them during the
    /// call. No version may refer to the frames, and nobody else may write them. If `fresh` is
    /// false, all frames must have memory.
    pub unsafe fn copy(
        &self,
        live: &Segments,
        pages: Range<usize>,
        fresh: bool,
        stores: Stores,
    ) -> io::Result<()> {
        let to = self.ready(&pages, fresh)?;
        // SAFETY: the target is these frames, which have memory, so storing to it raises no SIGBUS.
        // The caller promises the rest.
        unsafe { live.copy(&pages, to, stores) }
    }

    /// Copies `pages` of another plane into their frames. `fresh` is true if some frames have no
    /// memory yet.
    ///
    /// # Safety
    /// A live version must refer to the pages of the other plane. The rest is as for
    /// [`PlaneMemory::copy`].
    pub unsafe fn copy_frames(
        &self,
        other: &PlaneMemory,
        pages: Range<usize>,
        fresh: bool,
        stores: Stores,
    ) -> io::Result<()> {
        let to = self.ready(&pages, fresh)?;
        let from = other.map.ptr().wrapping_add(pages.start * self.page_size);
        assert!(pages.end * self.page_size <= other.map.len());
        // SAFETY: both ranges lie inside their mappings, as checked here and in `ready`, and these
        // do not overlap. The caller promises that nobody writes the source and that nobody else
        // uses the target, which has memory.
        unsafe { copy(from, to, pages.len() * self.page_size, stores) };
        Ok(())
    }

    /// Returns the first byte of the frames of `pages`, which have memory from now on. `fresh` is
    /// true if some have none yet.
    fn ready(&self, pages: &Range<usize>, fresh: bool) -> io::Result<*mut u8> {
        assert!(pages.end * self.page_size <= self.map.len());
        if fresh {
            // A system call allocates the memory, because it returns an error where there is none.
            // A store would raise a signal that ends the simulation.
            self.allocate_some_for_copy(pages)?;
        }
        Ok(self.map.ptr().wrapping_add(pages.start * self.page_size))
    }

    fn allocate_some_for_copy(&self, pages: &Range<usize>) -> io::Result<()> {
        if fault::lacks_memory() {
            // Behaves as if memory ran out half-way.
            self.allocate(&(pages.start..pages.start + pages.len() / 2))?;
            return Err(Errno::ENOMEM.into());
        }
        self.allocate(pages)
    }

    /// Takes memory for a chunk that has none, and of which all frames are copied to.
    pub fn allocate_for_copy(&self, chunk: usize) -> io::Result<()> {
        if fault::lacks_memory() {
            return Err(Errno::ENOMEM.into());
        }
        self.allocate_chunk(chunk)
    }

    /// Copies `pages` of another plane into their frames. The source is read by system calls,
    /// because its memory may be returned or written anew meanwhile. A lack of memory is an error.
    ///
    /// # Safety
    /// The frames must be the caller's alone.
    pub(super) unsafe fn copy_from(
        &self,
        other: &PlaneMemory,
        pages: &Range<usize>,
    ) -> io::Result<()> {
        self.allocate(pages)?;
        let bytes = pages.start * self.page_size..pages.end * self.page_size;
        assert!(bytes.end <= self.map.len());
        // SAFETY: the range lies inside the mapping, and is accessible since it was allocated. The
        // caller promises that the frames are its alone, so nothing else is borrowed from them.
        let frames =
            unsafe { std::slice::from_raw_parts_mut(self.map.ptr().add(bytes.start), bytes.len()) };
        other.object.read(frames, bytes.start as u64)
    }

    /// Makes frames accessible in the plane's own mapping. They need not have memory.
    pub(super) fn open(&self, pages: &Range<usize>) -> io::Result<()> {
        let bytes = pages.start * self.page_size..pages.end * self.page_size;
        self.access
            .open(&self.map, &bytes)
            .map_err(io::Error::other)
    }

    /// Takes memory for frames, and maps it. Frames that have memory keep their bytes. After an
    /// error some of the frames may have memory.
    pub fn allocate(&self, pages: &Range<usize>) -> io::Result<()> {
        let (at, end) = (pages.start * self.page_size, pages.end * self.page_size);
        self.open(pages)?;
        match self.map.populate(at, end - at) {
            // Linux before 5.14 cannot populate a mapping.
            Err(Errno::EINVAL) => self.object.allocate(at as u64..end as u64),
            done => Ok(done?),
        }
    }

    /// Returns how many pages of memory the kernel has allocated.
    pub(super) fn allocated(&self) -> io::Result<usize> {
        Ok(self.object.allocated()? as usize / self.page_size)
    }

    /// Returns the frames that have memory, as the kernel knows them.
    pub(crate) fn present(&self) -> io::Result<PageSet> {
        let all = self.map.len() / self.page_size;
        let mut present = PageSet::new(all);
        let runs = self.present_in(&(0..all))?;
        runs.into_iter().for_each(|run| present.insert_range(run));
        Ok(present)
    }

    /// Returns the runs of those frames of `pages` that have memory, as the kernel knows them.
    pub(super) fn present_in(&self, pages: &Range<usize>) -> io::Result<Vec<Range<usize>>> {
        let size = self.page_size;
        let bytes = (pages.start * size) as u64..(pages.end * size) as u64;
        let run = |part: Range<u64>| part.start as usize / size..(part.end as usize).div_ceil(size);
        Ok(self
            .object
            .extents_in(&bytes)?
            .into_iter()
            .map(run)
            .collect())
    }

    /// Returns the memory of `pages` to the system, as far as the kernel can split what it is in.
    pub(super) fn punch_object(&self, pages: &Range<usize>) -> io::Result<()> {
        let size = self.page_size;
        self.object
            .punch((pages.start * size) as u64..(pages.end * size) as u64)
    }

    /// Lets the frames of each run that get memory from now on lie on its node of memory, as far as
    /// it has room. `number` returns the kernel's number of a node.
    ///
    /// The setting belongs to the object. It is made through a mapping that exists only meanwhile,
    /// because it splits the mapping at its ends: the plane's own mapping must stay in one piece,
    /// so that its page tables can be moved, and mappings are limited.
    pub(crate) fn prefer<N: Copy>(
        &self,
        runs: &[(Range<usize>, N)],
        number: impl Fn(N) -> u32,
    ) -> io::Result<()> {
        for runs in runs.chunks(BOUND_AT_ONCE) {
            let map = Mapping::shared_closed(self.object.as_fd(), self.map.len());
            let map = map.map_err(io::Error::other)?;
            map.dont_fork_or_dump().map_err(io::Error::other)?;
            for (pages, node) in runs {
                let byte = |page: usize| map.addr() + page * self.page_size;
                numa::prefer(&(byte(pages.start)..byte(pages.end)), Some(number(*node)))?;
            }
        }
        Ok(())
    }

    /// Returns the address of a frame in the producer's own mapping.
    pub(crate) fn address(&self, page: usize) -> usize {
        self.map.addr() + page * self.page_size
    }

    /// Maps this plane over `bytes` of live memory at `base`, by moving page tables out of the
    /// producer's own mapping. That mapping can still be used afterwards, but has none of these
    /// pages mapped.
    ///
    /// # Safety
    /// `base` must be the region's live memory. This part of it must be the caller's alone, and
    /// nothing may be borrowed from it.
    pub unsafe fn move_to_live(&self, base: *mut u8, bytes: &Range<usize>) -> io::Result<()> {
        assert!(bytes.end <= self.map.len());
        let (own, at_live) = (
            self.map.ptr().wrapping_add(bytes.start),
            base.wrapping_add(bytes.start),
        );
        // SAFETY: the caller promises that nobody uses this part of live memory. Only the owner of
        // that live memory uses these frames of the plane.
        if unsafe { relocate(own, at_live, bytes.len()) }.is_ok() {
            // The pages come from a mapping that core dumps leave out, but live memory belongs in
            // them.
            live::dump(&(at_live as usize..at_live as usize + bytes.len()), true);
            return Ok(());
        }
        // Linux before 5.13 does not move shared mappings in this way. Map the pages anew, which
        // costs a fault for each page.
        let range = at_live as usize..at_live as usize + bytes.len();
        // SAFETY: as above: nobody else uses this part of live memory, or these frames of the
        // plane.
        unsafe { live::map_shared(&range, self.object.as_fd(), bytes.start) }
    }

    /// Reverses [`PlaneMemory::move_to_live`]: moves the page tables of live memory back to the
    /// producer's own mapping. Live memory stays mapped to this plane, but with none of its pages
    /// mapped.
    ///
    /// # Safety
    /// As for [`PlaneMemory::move_to_live`]. Live memory must also be mapped to this plane.
    pub unsafe fn move_from_live(&self, base: *mut u8, bytes: &Range<usize>) -> io::Result<()> {
        assert!(bytes.end <= self.map.len());
        let (own, at_live) = (
            self.map.ptr().wrapping_add(bytes.start),
            base.wrapping_add(bytes.start),
        );
        let range = own as usize..own as usize + bytes.len();
        // SAFETY: as for `move_to_live`. The same object is mapped at both places, so readers of
        // the plane see the same bytes.
        if unsafe { relocate(at_live, own, bytes.len()) }.is_err() {
            // The failed attempt may have left nothing mapped in the plane's own mapping.
            // SAFETY: this is a part of the plane's own mapping. Nobody uses it while live memory
            // is mapped to this plane.
            unsafe { live::map_shared(&range, self.object.as_fd(), bytes.start)? };
        }
        live::dump(&range, false);
        Ok(())
    }
}
