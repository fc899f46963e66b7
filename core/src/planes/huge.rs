//! Makes chunks of planes huge pages.
//!
//! Planes get their memory page by page, unless all frames of a chunk get it at the same time. A
//! chunk of which no page will change for a while can be gathered into a huge page. A program whose
//! live memory is mapped to the plane then computes in a huge page too. Gathering takes longer than
//! copying the chunk, so the keeper does it.

use super::frames::Frames;
use super::huge_chunks::Gathered;
use super::memory::PlaneMemory;
use super::plane::Planes;
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::live;
use crate::sys::mem::{HUGE_PAGE, Mapping};
use std::io;
use std::ops::Range;
use std::sync::Arc;

impl PlaneMemory {
    /// Returns whether `chunk` is a huge page. If that is not known, asks for one. All frames of
    /// the chunk must have memory.
    pub fn ask_for_huge_page(&self, chunk: usize) -> Gathered {
        self.huge().ask(chunk)
    }

    /// Asks for huge pages for all whole chunks in `pages`, whose frames have memory and are used
    /// together.
    pub(super) fn ask_for_huge_pages(&self, pages: &Range<usize>) {
        let chunks = pages.start.div_ceil(CHUNK_PAGES)..pages.end / CHUNK_PAGES;
        if !chunks.is_empty() {
            self.huge().ask_all(chunks);
        }
    }

    /// Takes memory for `pages`, of which none has any: huge pages for whole chunks, where the
    /// kernel has them. After an error some of the frames may have memory.
    pub(super) fn allocate_huge(&self, pages: &Range<usize>) -> io::Result<()> {
        let mut chunks = pages.start.div_ceil(CHUNK_PAGES)..pages.end / CHUNK_PAGES;
        if chunks.is_empty() {
            return self.allocate(pages);
        }
        let beside = [
            pages.start..chunks.start * CHUNK_PAGES,
            chunks.end * CHUNK_PAGES..pages.end,
        ];
        let mut beside = beside.iter().filter(|pages| !pages.is_empty());
        beside.try_for_each(|pages| self.allocate(pages))?;
        chunks.try_for_each(|chunk| self.allocate_chunk(chunk))
    }

    /// Takes memory for a chunk that has none. It is gathered when it has one page: the kernel
    /// fills the rest of the huge page with zeros. This takes a tenth of the time that 512 small
    /// pages take.
    pub(super) fn allocate_chunk(&self, chunk: usize) -> io::Result<()> {
        let first = chunk * CHUNK_PAGES;
        self.allocate(&(first..first + 1))?;
        let gather = || self.gather_chunk(chunk).is_ok();
        match self.huge().begin_with(chunk, gather) {
            true => Ok(()),
            false => self.allocate(&(first..first + CHUNK_PAGES)),
        }
    }

    /// Gathers a chunk through a mapping of its own, because huge pages are kept out of that of the
    /// whole plane.
    #[allow(unsafe_code)]
    fn gather_chunk(&self, chunk: usize) -> io::Result<()> {
        let map = Mapping::reserve_aligned(HUGE_PAGE).map_err(io::Error::other)?;
        // SAFETY: the reservation is new, and nothing is borrowed from it.
        let mapped = unsafe { map.put_shared(0, HUGE_PAGE, self.fd(), chunk * HUGE_PAGE) };
        mapped.map_err(io::Error::other)?;
        map.dont_fork_or_dump().map_err(io::Error::other)?;
        live::gather(&(map.addr()..map.addr() + HUGE_PAGE))
    }
}

/// A chunk of a plane that is being gathered. None of its memory is returned meanwhile: frames
/// without memory would get some.
#[derive(Debug)]
pub struct Becoming {
    memory: Arc<PlaneMemory>,
    chunk: usize,
}

impl Becoming {
    /// Gathers the chunk. The bytes stay the same, for all processes.
    pub fn gather(&self) -> io::Result<()> {
        self.memory.gather_chunk(self.chunk)
    }
}

impl PlaneMemory {
    /// Returns the parts of `pages` that are returned to the system one by one. If the kernel
    /// cannot split a huge page, all of the part that lies in it keeps its memory, and no other
    /// page does.
    pub(super) fn parts(&self, pages: Range<usize>) -> Vec<Range<usize>> {
        let chunks = pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES);
        if !self.huge().may_split(&chunks) {
            return vec![pages];
        }
        let part = |chunk: usize| {
            pages.start.max(chunk * CHUNK_PAGES)..pages.end.min((chunk + 1) * CHUNK_PAGES)
        };
        chunks.map(part).collect()
    }
}

impl Planes {
    /// Asks for huge pages for those of `chunks` of which one plane has all frames in `frames`. All
    /// observers map these frames as a whole, so each of them has one page fault instead of many.
    pub fn ask_for_huge_pages(&self, chunks: impl Iterator<Item = usize>, frames: &Frames) {
        for chunk in chunks {
            for (plane, bits) in frames.in_chunk(chunk) {
                if bits.iter().all(|word| *word == !0) {
                    let _ = self.planes[plane].memory.ask_for_huge_page(chunk);
                }
            }
        }
    }

    /// Chooses a chunk that is to be gathered. [`Planes::has_become_huge`] must be called later.
    /// Chunks of which not all frames are busy any more are passed over.
    pub fn begin_huge(&mut self) -> Option<Becoming> {
        for (plane, p) in self.planes.iter().enumerate() {
            while let Some(chunk) = p.memory.huge().take() {
                if p.busy.is_full(chunk) && p.account.held().is_full(chunk) {
                    self.becoming = Some((plane, chunk));
                    let memory = p.memory.clone();
                    return Some(Becoming { memory, chunk });
                }
            }
        }
        None
    }

    /// Ends what [`Planes::begin_huge`] began.
    ///
    /// A capture that failed meanwhile has returned the memory of its frames. Some of them may
    /// have memory again, because the kernel fills holes when it gathers. It is returned, because
    /// it does not count.
    pub fn has_become_huge(&mut self, chunk: &Becoming, gathered: bool) {
        let becoming = self.becoming.take();
        chunk.memory.huge().done(chunk.chunk, gathered);
        let Some((plane, chunk)) = becoming.filter(|_| gathered) else {
            return;
        };
        let p = &self.planes[plane];
        let mut lost = PageSet::new(self.pages());
        lost.insert_range(chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES);
        lost.subtract(p.account.held());
        lost.subtract(p.account.leaving());
        for run in lost.runs() {
            // The audit returns frames that somebody uses at this moment.
            let _ = p.memory.punch(&run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn whole_chunks_get_their_memory_as_huge_pages_where_the_kernel_has_them() {
        let plane = || PlaneMemory::create("fresh", 4 * CHUNK_PAGES, 4096).unwrap();
        let (memory, other) = (plane(), plane());
        other.allocate(&(0..1)).unwrap();
        let kernel_has_them = other.gather_chunk(0).is_ok();
        let pages = 10..3 * CHUNK_PAGES + 5;
        memory.allocate_huge(&pages).unwrap();
        assert_eq!(memory.allocated().unwrap(), pages.len());
        assert!(memory.present().unwrap().runs().eq([pages]));
        assert!(!memory.huge().may_split(&(0..1)) && !memory.huge().may_split(&(3..4)));
        for chunk in 1..3 {
            let gathered = memory.huge().may_split(&(chunk..chunk + 1));
            assert_eq!(gathered, kernel_has_them, "chunk {chunk}");
        }
    }

    #[test]
    #[allow(unsafe_code)]
    fn pages_in_use_are_reported_also_after_other_pages_of_their_huge_page_left() {
        let memory = PlaneMemory::create("split", CHUNK_PAGES, 4096).unwrap();
        memory.allocate(&(0..CHUNK_PAGES)).unwrap();
        let gathered = memory.gather_chunk(0).is_ok();
        memory.huge().done(0, gathered);
        memory.punch(&(0..1)).unwrap();
        // The pipe refers to page 384. If what is left is in large pages (since Linux 6.15), the
        // kernel cannot split the one around it.
        let (from, to) = std::io::pipe().unwrap();
        // SAFETY: the plane exists as long as the pipe, and nobody else uses its memory.
        let page = unsafe { memory.page(384) };
        let part = libc::iovec {
            iov_base: page.as_ptr().cast_mut().cast(),
            iov_len: page.len(),
        };
        // SAFETY: `part` is a page that can be read.
        let spliced = unsafe { libc::vmsplice(to.as_raw_fd(), &raw const part, 1, 0) };
        assert_eq!(spliced, 4096);
        let kept = match memory.punch(&(250..300)) {
            Ok(()) => 0,
            Err(error) => error.kept.iter().map(|pages| pages.len()).sum(),
        };
        assert_eq!(memory.allocated().unwrap(), CHUNK_PAGES - 51 + kept);
        drop((from, to));
        memory.punch(&(250..300)).unwrap();
        assert_eq!(memory.allocated().unwrap(), CHUNK_PAGES - 51);
        memory.punch(&(1..CHUNK_PAGES)).unwrap();
        assert!(!memory.huge().may_split(&(0..1)));
    }

    #[test]
    fn frames_that_lose_their_memory_while_their_chunk_is_gathered_have_none_afterwards() {
        let mut planes = Planes::create("lost", CHUNK_PAGES, 4096, 1).unwrap();
        let (all, lost) = (0..CHUNK_PAGES, 100..140);
        planes.secure(0, &all).unwrap();
        planes.set_busy(&planes.frames(0, &all));
        let asked = planes.planes[0].memory.ask_for_huge_page(0);
        assert_eq!(asked, Gathered::NotYet);
        let chunk = planes.begin_huge().unwrap();
        let frames = planes.frames(0, &lost);
        planes.set_free(&frames);
        planes.unhold(&frames);
        let gathered = chunk.gather().is_ok();
        planes.has_become_huge(&chunk, gathered);
        let left = all.len() - lost.len();
        let found = planes.audit().unwrap();
        assert_eq!((found.allocated, found.accounted), (left, left));
    }

    #[test]
    fn pages_leave_chunk_by_chunk_where_one_was_gathered() {
        let memory = PlaneMemory::create("parts", 4 * CHUNK_PAGES, 4096).unwrap();
        let pages = 10..2 * CHUNK_PAGES + 5;
        assert_eq!(memory.parts(pages.clone()), std::slice::from_ref(&pages));
        memory.huge().done(1, true);
        let middle = CHUNK_PAGES..2 * CHUNK_PAGES;
        let parts = [10..CHUNK_PAGES, middle.clone(), middle.end..pages.end];
        assert_eq!(memory.parts(pages), parts);
    }
}
