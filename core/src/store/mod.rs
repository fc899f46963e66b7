//! The producer's store of versions: planes and index together. It captures pages, publishes versions and reclaims them.

mod audit;
mod compact;
mod deferred;
mod handover;
mod reclaim;
mod ring;
mod rollback;
mod room;
mod share;
mod terms;
#[cfg(test)]
mod tests;
mod tidy;
mod write;

pub use deferred::Settled;
pub use handover::{FEWEST_VERSIONS, HandOverError};
pub use rollback::{Patch, Place, Recalled};
pub use share::Bed;
pub use terms::{Bounds, Capture, Captured, Progress, Skip, StoreError};

use crate::capture::Copiers;
use crate::fault;
use crate::index::{HeaderInfo, IndexError, IndexWriter};
use crate::layout::Layout;
use crate::pagemap::{PageMap, ZERO};
use crate::pageset::PageSet;
use crate::planes::{Planes, Slots};
use crate::sabotage::{Guard, off};
use crate::stamp::Stamp;
use crate::sys::heap;
use crate::sys::mem::Mapping;
use crate::sys::object::Object;
use deferred::InFlight;
use ring::Ring;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tidy::Recent;

/// Planes and index of one region.
pub struct Store {
    index_object: Object,
    index_map: Arc<Mapping>,
    planes: Planes,
    /// The version whose capture goes on.
    in_flight: Option<InFlight>,
    /// What became of the last one, until the producer asks.
    settled: Option<Settled>,
    bounds: Bounds,
    /// Live versions and their slots, oldest first.
    live: Vec<(u64, usize)>,
    ring: Ring,
    recent: Recent,
    handovers: handover::HandOvers,
    compaction: compact::Compaction,
}

impl Store {
    /// An empty store for `pages` pages.
    pub fn create(
        info: &HeaderInfo,
        pages: usize,
        page_size: usize,
        bounds: Bounds,
    ) -> Result<Self, StoreError> {
        let layout = Layout::new(pages, page_size, bounds.versions)?;
        let bytes = layout.total as u64;
        let index_object = Object::create(&format!("tcasm-{}-index", info.name), bytes)
            .map_err(|source| StoreError::Create { bytes, source })?;
        let index_map = Mapping::shared(index_object.as_fd(), layout.total, true)?;
        index_map.dont_fork_or_dump()?;
        // SAFETY: mapped whole and writable from an object of that size, which is sealed.
        IndexWriter::create(unsafe { index_map.words() }, layout, info)?;
        let planes = Planes::create(&info.name, pages, page_size, bounds.versions)?;
        Ok(Store {
            index_object,
            index_map: Arc::new(index_map),
            planes,
            in_flight: None,
            settled: None,
            bounds,
            live: Vec::new(),
            ring: Ring::new(layout.slots, layout.chunks),
            recent: Recent::new(pages),
            handovers: Default::default(),
            compaction: Default::default(),
        })
    }

    /// The index, to read and write.
    pub fn index(&self) -> Result<IndexWriter<'_>, IndexError> {
        // SAFETY: mapped whole and writable from an object of that size, which is sealed.
        IndexWriter::reopen(unsafe { self.index_map.words() })
    }

    /// Read-only descriptors for observers: the index, then the planes.
    pub fn read_only(&self) -> io::Result<Vec<OwnedFd>> {
        let mut fds = vec![self.index_object.read_only()?];
        fds.extend(self.planes.read_only()?);
        Ok(fds)
    }

    /// Bytes of memory in planes.
    pub fn held_bytes(&self) -> u64 {
        self.planes.held_bytes()
    }

    /// Returns the most versions that there can be at once, which is the number of planes.
    pub fn most(&self) -> usize {
        self.bounds.versions
    }

    /// Returns the bytes of heap that looking after the store takes.
    pub fn heap(&self) -> usize {
        let pages = self.held_bytes() as usize / self.planes.page_size();
        heap::for_sets(pages, self.bounds.versions)
    }

    /// The live versions, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = u64> + '_ {
        self.live.iter().map(|(n, _)| *n)
    }

    /// The newest version's page map.
    fn newest(&self) -> Result<Option<PageMap<'_>>, IndexError> {
        let Some((_, slot)) = self.live.last() else {
            return Ok(None);
        };
        Ok(Some(PageMap::new(*self.index()?, *slot)))
    }

    /// Take out of `pages` those whose live bytes are what the newest version holds; before the first: zeros.
    ///
    /// # Safety
    /// `base` must be the region's live memory; the pages readable, and written by nobody during the call.
    pub unsafe fn drop_unchanged(
        &self,
        base: *const u8,
        pages: &mut PageSet,
    ) -> Result<(), IndexError> {
        let page_size = self.index()?.layout().page_size;
        let newest = self.newest()?;
        let candidates = pages.clone();
        for page in candidates.iter() {
            // SAFETY: inside live memory, readable and still by the caller's promise.
            let now = unsafe { std::slice::from_raw_parts(base.add(page * page_size), page_size) };
            let code = newest.map_or(Ok(ZERO), |map| map.code(page))?;
            let same = match code {
                ZERO => is_zero(now),
                code => self.planes.page(usize::from(code) - 1, page) == now,
            };
            if same {
                pages.remove_range(page..page + 1);
            }
        }
        Ok(())
    }

    /// Capture pages and publish them as version `stamp.version`; `pinned` says whether any lease names a version. Chunks that
    /// are to be captured later are handed to `copiers`, and the version becomes visible when the last of them is saved.
    ///
    /// # Safety
    /// `capture.base` must be the region's live memory, mapped until the version is visible or given up; the captured pages
    /// readable, and written by nobody during the call. Later chunks must be watched by `capture.gate` alone.
    pub unsafe fn publish(
        &mut self,
        stamp: &Stamp,
        capture: &Capture<'_>,
        copiers: &Copiers,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<Captured, Skip>, IndexError> {
        if let Some(version) = self.capturing() {
            return Ok(Err(Skip::Capturing { version }));
        }
        self.leave_out(capture.pages);
        // The newest stays until the new version is there; so, of the history, one version less is kept beside both.
        self.reclaim_beyond(self.bounds.history, pinned)?;
        fault::pass("reclaimed");
        let Some(slot) = self.free_slot(pinned)? else {
            return Ok(Err(Skip::Versions {
                bound: self.most_versions(),
            }));
        };
        let spares = match self.secure_spares(capture.handed, pinned)? {
            Ok(spares) => spares,
            Err(skip) => return Ok(Err(skip)),
        };
        // SAFETY: the caller's promise.
        let published = unsafe { self.publish_in(slot, stamp, capture, copiers, pinned) };
        match published {
            Ok(Ok(_)) => self.freeze(spares),
            _ => self.release(spares),
        }
        if let Ok(Ok(Captured {
            progress: Progress::Visible,
            ..
        })) = published
        {
            self.reclaim_beyond(self.bounds.history + 1, pinned)?;
        }
        published
    }

    /// Publish in `slot`, which is free.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    unsafe fn publish_in(
        &mut self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        copiers: &Copiers,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<Captured, Skip>, IndexError> {
        let mut slots = match self.make_room(|s| s.planes.place(capture.pages), pinned)? {
            Ok(slots) => slots,
            Err(skip) => return Ok(Err(skip)),
        };
        if off(Guard::VisibleLast) {
            self.index()?.make_visible(slot, stamp.version)?;
        }
        let mut now = slots.clone();
        now.subtract(capture.later);
        // SAFETY: the caller's promise.
        let same = match unsafe { self.copy_now(capture, now, copiers) } {
            Ok(same) => same,
            Err(error) => return Ok(Err(Skip::NoMemory { error })),
        };
        fault::pass("copied");
        slots.subtract(&same);
        let changed = self.changed_pages(capture, &same);
        let capture = &capture.of_pages(&changed);
        self.write_version(slot, stamp, capture, &self.with_handed(capture, &slots))?;
        self.planes.set_busy(&slots);
        self.recent.note(&changed);
        self.compaction.begin_use();
        fault::pass("mapped");
        if !capture.later.is_empty() {
            // SAFETY: the caller's promise.
            let sweep = unsafe { self.begin_sweep(slot, stamp, capture, slots, copiers)? };
            let progress = Progress::Later(sweep);
            return Ok(Ok(Captured { progress, same }));
        }
        self.index()?.make_visible(slot, stamp.version)?;
        self.live.push((stamp.version, slot));
        self.ring.visible(slot);
        self.compaction.end_use(true);
        (capture.visible)();
        fault::pass("visible");
        let progress = Progress::Visible;
        Ok(Ok(Captured { progress, same }))
    }

    /// Give memory of free slots back.
    pub fn trim(&mut self) -> io::Result<usize> {
        self.planes.trim(usize::MAX, &Slots::default())
    }

    /// Check that the busy slots are exactly those that live versions refer to, live memory, and what is being put together: for
    /// tests.
    pub fn check(&self) -> Result<bool, IndexError> {
        let index = self.index()?;
        let layout = *index.layout();
        for page in 0..layout.pages {
            let mut used = self.handovers.planes_of(page) | self.compaction.planes_of(page);
            for slot in self.slots_in_use() {
                let code = PageMap::new(*index, slot).code(page)?;
                if code != ZERO {
                    used |= 1 << (code - 1);
                }
            }
            if (0..layout.slots).any(|p| self.planes.is_busy(p, page) != (used >> p & 1 == 1)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (head, words, tail) = bytemuck::pod_align_to::<u8, u64>(bytes);
    head.iter().all(|b| *b == 0) && words.iter().all(|w| *w == 0) && tail.iter().all(|b| *b == 0)
}
