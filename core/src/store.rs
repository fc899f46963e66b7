//! The producer's store of versions: planes and index together. It captures pages, publishes versions and reclaims them.

use crate::fault;
use crate::index::{HeaderInfo, IndexError, IndexWriter};
use crate::layout::{Layout, LayoutError};
use crate::pagemap::{Code, Entry, PageMap, ZERO};
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, PageSet};
use crate::planes::{Placement, PlaneError, Planes};
use crate::protocol;
use crate::sabotage::{Guard, off};
use crate::stamp::Stamp;
use crate::sys::mem::{MapError, Mapping};
use crate::sys::object::Object;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

/// The bounds of what versions may hold (I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most live versions, the newest included.
    pub versions: usize,
    /// Unpinned versions that are kept besides the newest.
    pub history: usize,
    /// Most bytes of memory in planes.
    pub bytes: u64,
}

/// What is captured, and from where.
#[derive(Debug)]
pub struct Capture<'a> {
    /// First byte of live memory.
    pub base: *const u8,
    /// The pages to capture.
    pub pages: &'a PageSet,
    /// The field table, encoded.
    pub table: &'a [u8],
    /// When (ns of the Unix epoch).
    pub now: u64,
}

/// Why a version was not published; the changes stay for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Every version that the bound allows is pinned.
    Versions {
        /// The bound.
        bound: usize,
    },
    /// The changed pages do not fit under the bound on memory.
    Bytes {
        /// Bytes needed.
        needed: u64,
        /// Bytes held by versions that are pinned or newest.
        held: u64,
        /// The bound.
        bound: u64,
    },
    /// The machine gave no memory.
    NoMemory {
        /// What it said.
        error: String,
    },
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Skip::Versions { bound } => write!(
                f,
                "all {bound} versions are pinned by observers; allow more versions, or let observers release theirs"
            ),
            Skip::Bytes {
                needed,
                held,
                bound,
            } => write!(
                f,
                "{needed} more bytes do not fit: versions in use hold {held} of at most {bound}; raise the bound, or let observers release versions"
            ),
            Skip::NoMemory { error } => write!(f, "the machine gave no memory: {error}"),
        }
    }
}

/// Why the store could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum StoreError {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Planes(#[from] PlaneError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("cannot map the index: {0}")]
    Map(#[from] MapError),
    #[error("cannot create the index of {bytes} bytes: {source}")]
    Create { bytes: u64, source: io::Error },
}

/// Planes and index of one region.
pub struct Store {
    index_object: Object,
    index_map: Mapping,
    planes: Planes,
    bounds: Bounds,
    /// Live versions and their slots, oldest first.
    live: Vec<(u64, usize)>,
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
        index_map.dont_fork()?;
        // SAFETY: mapped whole and writable from an object of that size, which is sealed.
        IndexWriter::create(unsafe { index_map.words() }, layout, info)?;
        let planes = Planes::create(&info.name, pages, page_size, bounds.versions)?;
        Ok(Store {
            index_object,
            index_map,
            planes,
            bounds,
            live: Vec::new(),
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

    /// Capture pages and publish them as version `stamp.version`; `pinned` says whether any lease names a version.
    /// Whatever the outcome, nothing of another version is touched.
    ///
    /// # Safety
    /// `capture.base` must be the region's live memory, readable, which nobody writes during the call.
    pub unsafe fn publish(
        &mut self,
        stamp: &Stamp,
        capture: &Capture<'_>,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<(), Skip>, IndexError> {
        // The newest stays until the new version is there; so, of the history, one version less is kept beside both.
        self.reclaim_beyond(self.bounds.history, pinned)?;
        fault::pass("reclaimed");
        let Some(slot) = self.free_slot(pinned)? else {
            return Ok(Err(Skip::Versions {
                bound: self.bounds.versions,
            }));
        };
        let placements = match self.make_room(capture.pages, pinned)? {
            Ok(placements) => placements,
            Err(skip) => return Ok(Err(skip)),
        };
        if off(Guard::VisibleLast) {
            self.index()?.make_visible(slot, stamp.version)?;
        }
        // SAFETY: the caller's promise.
        if let Err(error) = unsafe { self.planes.copy(capture.base, &placements) } {
            return Ok(Err(Skip::NoMemory {
                error: error.to_string(),
            }));
        }
        fault::pass("copied");
        self.write_version(slot, stamp, capture, &placements)?;
        self.planes.set_busy(&placements);
        fault::pass("mapped");
        self.index()?.make_visible(slot, stamp.version)?;
        self.live.push((stamp.version, slot));
        fault::pass("visible");
        self.reclaim_beyond(self.bounds.history + 1, pinned)?;
        Ok(Ok(()))
    }

    /// Slots for the pages, with memory for them under the bound; older versions go first if need be.
    fn make_room(
        &mut self,
        pages: &PageSet,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<Vec<Placement>, Skip>, IndexError> {
        let page_size = self.index()?.layout().page_size as u64;
        for attempt in 0..3 {
            let placements = self.place(pages);
            let needed = self.planes.fresh_pages(&placements) as u64 * page_size;
            let over = (self.held_bytes() + needed).saturating_sub(self.bounds.bytes);
            if over == 0 || off(Guard::Bound) {
                return Ok(Ok(placements));
            }
            match attempt {
                0 => self.reclaim_beyond(1, pinned)?,
                // Free slots at other pages hold memory that is of no use here.
                1 => self.trim_but(&placements, over.div_ceil(page_size) as usize),
                _ => {
                    let (held, bound) = (self.held_bytes(), self.bounds.bytes);
                    return Ok(Err(Skip::Bytes {
                        needed,
                        held,
                        bound,
                    }));
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    fn trim_but(&mut self, placements: &[Placement], pages: usize) {
        self.planes.set_busy(placements);
        // A failure to give back leaves the memory held, which the next check sees.
        let _ = self.planes.trim(pages);
        for p in placements {
            for run in crate::pageset::runs_of(&p.bits) {
                let start = p.chunk * CHUNK_PAGES;
                self.planes
                    .set_free(p.plane, start + run.start..start + run.end);
            }
        }
    }

    fn place(&self, pages: &PageSet) -> Vec<Placement> {
        let mut placements = Vec::new();
        for chunk in 0..pages.chunks() {
            let bits = pages.chunk(chunk);
            if bits.iter().any(|w| *w != 0) {
                self.planes.place(chunk, bits, &mut placements);
            }
        }
        placements
    }

    /// A slot for one more version, reclaiming the oldest that can be if all are taken.
    fn free_slot(&mut self, pinned: &dyn Fn(u64) -> bool) -> Result<Option<usize>, IndexError> {
        if self.live.len() >= self.bounds.versions {
            self.reclaim_beyond(self.bounds.versions - 1, pinned)?;
        }
        Ok((0..self.bounds.versions).find(|s| self.live.iter().all(|(_, used)| used != s)))
    }

    /// Reclaim unpinned versions, oldest first, until `keep` versions are live. The newest always stays.
    pub fn reclaim_beyond(
        &mut self,
        keep: usize,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<(), IndexError> {
        let mut i = 0;
        while self.live.len() > keep.max(1) && i + 1 < self.live.len() {
            let (n, slot) = self.live[i];
            // Free before the state says so: the planes are ours alone, and no observer reads the maps of this version.
            if protocol::reclaim(self.index()?.state(slot)?, n, || pinned(n)) {
                self.free_pages(i)?;
                self.live.remove(i);
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    /// Free the slots that only live version `i` refers to. A slot is used by versions that follow each other, so the
    /// neighbours tell.
    fn free_pages(&mut self, i: usize) -> Result<(), IndexError> {
        // SAFETY: as in `index`; borrowed from the mapping alone, so that the planes can change meanwhile.
        let index = *IndexWriter::reopen(unsafe { self.index_map.words() })?;
        let map = |k: usize| PageMap::new(index, self.live[k].1);
        let (gone, next) = (map(i), map(i + 1));
        let before = i.checked_sub(1).map(map);
        for chunk in 0..index.layout().chunks {
            let entries = (gone.entry(chunk)?, next.entry(chunk)?);
            let before = before.map(|b| b.entry(chunk).map(|e| (b, e))).transpose()?;
            if entries.0 == entries.1 || before.is_some_and(|(_, e)| e == entries.0) {
                continue;
            }
            for w in 0..CHUNK_PAGES / 8 {
                let mine = gone.word(chunk, entries.0, w)?;
                let after = next.word(chunk, entries.1, w)?;
                let earlier = before.map(|(b, e)| b.word(chunk, e, w)).transpose()?;
                free_word(
                    &mut self.planes,
                    chunk * CHUNK_PAGES + w * 8,
                    mine,
                    after,
                    earlier,
                );
            }
        }
        Ok(())
    }

    /// Write map, changed pages, table and head of the new version.
    fn write_version(
        &self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        placements: &[Placement],
    ) -> Result<(), IndexError> {
        let index = self.index()?;
        let previous = self.newest()?;
        let mut rest = placements;
        for chunk in 0..index.layout().chunks {
            let n = rest.iter().take_while(|p| p.chunk == chunk).count();
            let (mine, later) = rest.split_at(n);
            rest = later;
            let old = previous.map_or(Ok(Entry::Whole(ZERO)), |p| p.entry(chunk))?;
            let entry = if n == 0 {
                old
            } else {
                self.write_chunk(index, chunk, old, mine)?
            };
            index.set_root(slot, chunk, entry.encode(n != 0))?;
            if n != 0 {
                let bits = index.changed_bits(slot, chunk)?;
                bits.iter()
                    .zip(capture.pages.chunk(chunk))
                    .for_each(|(to, b)| to.store(*b, Ordering::Relaxed));
            }
        }
        index.set_table(slot, capture.table)?;
        index.set_head(slot, stamp, capture.pages.len() as u64, capture.now)
    }

    /// The entry of a chunk after `placements`: whole if one plane has it all, else a fresh leaf.
    fn write_chunk(
        &self,
        index: IndexWriter<'_>,
        chunk: usize,
        old: Entry,
        placements: &[Placement],
    ) -> Result<Entry, IndexError> {
        let pages = index.layout().pages_in(chunk);
        if let [only] = placements
            && only
                .bits
                .iter()
                .map(|w| w.count_ones() as usize)
                .sum::<usize>()
                == pages
        {
            return Ok(Entry::Whole(only.plane as Code + 1));
        }
        let mut codes = [ZERO; CHUNK_PAGES];
        match old {
            Entry::Whole(code) => codes[..pages].fill(code),
            Entry::Leaf(leaf) => {
                for (eight, word) in codes.chunks_exact_mut(8).zip(index.leaf(chunk, leaf)?) {
                    eight.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
                }
            }
        }
        for p in placements {
            for run in crate::pageset::runs_of(&p.bits) {
                codes[run].fill(p.plane as Code + 1);
            }
        }
        if codes[..pages].iter().all(|c| *c == codes[0]) {
            return Ok(Entry::Whole(codes[0]));
        }
        let leaf = self.free_leaf(index, chunk)?;
        for (word, eight) in index.leaf(chunk, leaf)?.iter().zip(codes.chunks_exact(8)) {
            word.store(
                u64::from_le_bytes(eight.try_into().expect("eight bytes")),
                Ordering::Relaxed,
            );
        }
        Ok(Entry::Leaf(leaf))
    }

    /// A leaf of `chunk` that no live version refers to. There are as many leaves as versions, and the new version is
    /// not live yet, so one is free.
    fn free_leaf(&self, index: IndexWriter<'_>, chunk: usize) -> Result<usize, IndexError> {
        let mut used = 0u64;
        for (_, slot) in &self.live {
            if let Entry::Leaf(leaf) = PageMap::new(*index, *slot).entry(chunk)? {
                used |= 1 << leaf;
            }
        }
        Ok((!used).trailing_zeros() as usize)
    }

    /// Give memory of free slots back.
    pub fn trim(&mut self) -> io::Result<usize> {
        self.planes.trim(usize::MAX)
    }

    /// Check that the busy slots are exactly those that live versions refer to: for tests.
    pub fn check(&self) -> Result<bool, IndexError> {
        let index = self.index()?;
        let layout = *index.layout();
        for page in 0..layout.pages {
            let mut used = 0u64;
            for (_, slot) in &self.live {
                let code = PageMap::new(*index, *slot).code(page)?;
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

/// Free the slots of eight pages from `page` where the code `mine` is neither `after` nor `earlier`.
fn free_word(planes: &mut Planes, page: usize, mine: u64, after: u64, earlier: Option<u64>) {
    if mine == after {
        return;
    }
    for j in 0..8 {
        let byte = |word: u64| word.to_le_bytes()[j];
        let code = byte(mine);
        if code != ZERO && code != byte(after) && earlier.is_none_or(|e| byte(e) != code) {
            planes.set_free(usize::from(code) - 1, page + j..page + j + 1);
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    let (head, words, tail) = bytemuck::pod_align_to::<u8, u64>(bytes);
    head.iter().all(|b| *b == 0) && words.iter().all(|w| *w == 0) && tail.iter().all(|b| *b == 0)
}

// The words of a chunk's bitmap and of its changed bits are the same eight.
const _: () = assert!(CHUNK_WORDS * 64 == CHUNK_PAGES);
