//! The state of a store: its planes, its index and its live versions.

use super::appointed::Reserve;
use super::batch::Compaction;
use super::handed::HandOvers;
use super::in_flight::{InFlight, Settled};
use super::recent::Recent;
use super::ring::Ring;
use super::terms::{Bounds, StoreError};
use crate::format::index::{HeaderInfo, IndexError, IndexWriter};
use crate::format::layout::Layout;
use crate::format::pagemap::{PageMap, ZERO};
use crate::planes::{Frames, Machine, Planes};
use crate::segments::Segments;
use crate::sys::heap;
use crate::sys::mem::Mapping;
use crate::sys::object::Object;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The planes and the index of one region.
pub struct Store {
    pub(super) index_object: Object,
    pub(super) index_map: Arc<Mapping>,
    pub(super) planes: Planes,
    /// Where the pages of live memory are.
    pub(super) segments: Arc<Segments>,
    /// The version whose capture is still running.
    pub(super) in_flight: Option<InFlight>,
    /// The result of the last capture that ended, until the producer asks for it.
    pub(super) settled: Option<Settled>,
    pub(super) bounds: Bounds,
    /// Live versions, oldest first: the number of each, and its slot in the ring.
    pub(super) live: Vec<(u64, usize)>,
    pub(super) ring: Ring,
    pub(super) recent: Recent,
    pub(super) handovers: HandOvers,
    pub(super) compaction: Compaction,
    pub(super) reserve: Reserve,
    /// The pages of live memory that are being gathered into huge pages.
    pub(super) gathering: Option<Range<usize>>,
}

impl Store {
    /// Creates an empty store for `pages` pages.
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
        // SAFETY: the whole object is mapped, and writable. Its size is sealed, so the mapping
        // stays valid.
        IndexWriter::create(unsafe { index_map.words() }, layout, info)?;
        let mut planes = Planes::create(&info.name, pages, page_size, bounds.versions)?;
        let segments = Arc::new(Segments::new(info.base as usize, page_size));
        if let Some(machine) = Machine::with_several_nodes(segments.clone()) {
            planes.set_topology(machine);
        }
        #[cfg(feature = "fault-points")]
        if let Some(pretended) = crate::testing::nodes::Pretended::of_environment() {
            planes.set_topology(pretended);
        }
        Ok(Store {
            index_object,
            index_map: Arc::new(index_map),
            planes,
            segments,
            in_flight: None,
            settled: None,
            bounds,
            live: Vec::new(),
            ring: Ring::new(layout.slots, layout.chunks),
            recent: Recent::new(pages),
            handovers: Default::default(),
            compaction: Default::default(),
            reserve: Reserve::default(),
            gathering: None,
        })
    }

    /// Returns the index, for reading and writing.
    pub fn index(&self) -> Result<IndexWriter<'_>, IndexError> {
        // SAFETY: the whole object is mapped, and writable. Its size is sealed, so the mapping
        // stays valid.
        IndexWriter::reopen(unsafe { self.index_map.words() })
    }

    /// Returns read-only descriptors for observers: the index, then the planes in order.
    pub fn read_only(&self) -> io::Result<Vec<OwnedFd>> {
        let mut fds = vec![self.index_object.read_only()?];
        fds.extend(self.planes.read_only()?);
        Ok(fds)
    }

    /// Returns the bytes of memory that the planes hold.
    pub fn held_bytes(&self) -> u64 {
        self.planes.held_bytes()
    }

    /// Returns where the pages of live memory are.
    pub fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// Returns the largest number of live versions, which is also the number of planes.
    pub fn most(&self) -> usize {
        self.bounds.versions
    }

    /// Returns the bytes of heap that the keeper needs for one scan of the store.
    pub fn heap(&self) -> usize {
        let pages = self.held_bytes() as usize / self.planes.page_size();
        heap::for_sets(pages, self.bounds.versions)
    }

    /// Returns the numbers of the live versions, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = u64> + '_ {
        self.live.iter().map(|(n, _)| *n)
    }

    /// Returns the page map of the newest version, if there is a version.
    pub(super) fn newest(&self) -> Result<Option<PageMap<'_>>, IndexError> {
        let Some((_, slot)) = self.live.last() else {
            return Ok(None);
        };
        Ok(Some(PageMap::new(*self.index()?, *slot)))
    }

    /// Returns the memory of all free frames to the system. The result is the number of pages
    /// returned.
    pub fn trim(&mut self) -> io::Result<usize> {
        self.planes.trim(usize::MAX, &Frames::default())
    }

    /// Returns true if the busy frames are exactly those that are in use: by live versions, by live
    /// memory or by a batch of the compaction. For tests.
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
