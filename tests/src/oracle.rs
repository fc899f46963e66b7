//! A naive model of a region: whole images of its memory, kept for every version that should be there.
//!
//! It knows nothing of planes, page maps or trackers. Each version is a copy of all bytes, and each page remembers which
//! version captured it: that is enough to say what every byte must be, which versions must be there, when a publish
//! must be skipped, and how much memory the versions in use hold at least.

mod rollback;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::predict::Prediction;
use tcasm_core::store::Bounds;
use tcasm_observer::{FieldTable, PageSet};
use tcasm_producer::{Receipt, Skip};

/// A version as it must be.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Its number.
    pub number: u64,
    /// Its step.
    pub step: u64,
    /// Its fields: name, first byte in the region, bytes.
    pub fields: Vec<(String, usize, usize)>,
    /// All bytes of the region, as the version shows them.
    pub image: Arc<Vec<u8>>,
    /// For each page, the version that captured it; 0: none did.
    captured_by: Arc<Vec<u64>>,
}

impl Expected {
    /// The bytes of one of its fields.
    pub fn bytes(&self, field: &(String, usize, usize)) -> &[u8] {
        &self.image[field.1..field.1 + field.2]
    }

    /// Whether fields of a version are where they must be.
    pub fn check_table(&self, table: &FieldTable) -> Result<(), String> {
        let found = table
            .fields
            .iter()
            .map(|f| (f.name.clone(), f.offset as usize, f.bytes() as usize));
        let found: Vec<_> = found.collect();
        ensure(found == self.fields, || {
            format!("fields {found:?}, expected {:?}", self.fields)
        })
    }
}

/// A field: the buffer it shows, and the one it can be bound to in turn.
#[derive(Clone, Debug)]
struct FieldModel {
    name: String,
    buffer: usize,
}

/// What the producer and its observers are seen to do in one call of publish.
#[derive(Debug)]
pub struct Seen<'a> {
    /// What the call returned.
    pub receipt: &'a Receipt,
    /// The step that was given to it.
    pub step: u64,
    /// The versions that are there after it.
    pub available: Vec<u64>,
    /// The pages that the new version says it changed, if there is one.
    pub changed: Option<PageSet>,
    /// The chunks of it that were captured after the call; none if that was given up.
    pub later: Option<Vec<usize>>,
    /// Bytes of memory held before and after it.
    pub held: (u64, u64),
    /// Every version that some observer pins.
    pub pinned: BTreeSet<u64>,
}

/// How well the oracle knows what a tracker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// The bytes decide.
    Bytes,
    /// Pages that are stored to, but for those that are expected to be: there, the bytes decide.
    Stores,
    /// The same; which chunks went behind the gate, and are learnt anew, the oracle does not know. In those captured later
    /// the bytes decide.
    Gate,
    /// It gives errors.
    Broken,
}

/// What the tracker may report, page by page.
#[derive(Debug)]
struct Reports {
    exact: Exactness,
    /// Stored to since the last harvest.
    stored: PageSet,
    /// Reported as stored to, and in no version since.
    pending: PageSet,
    /// Declared as written, and in no version since.
    marked: PageSet,
    /// Declared as written by devices: in every version.
    always: PageSet,
    /// Reported every time, stored to or not.
    pinned: PageSet,
    /// Not protected at the last harvest.
    unarmed: PageSet,
    /// The library's own, which has a model of its own.
    prediction: Prediction,
}

impl Reports {
    fn new(pages: usize, exact: Exactness) -> Self {
        let set = || PageSet::new(pages);
        Reports {
            exact,
            stored: set(),
            pending: set(),
            marked: set(),
            always: set(),
            pinned: set(),
            unarmed: set(),
            prediction: Prediction::new(pages),
        }
    }

    fn harvest(&mut self) {
        match self.exact {
            Exactness::Bytes => self.stored.clear(),
            Exactness::Stores => self.stored.subtract(&self.unarmed),
            Exactness::Gate | Exactness::Broken => {}
        }
        self.pending.union(&self.stored);
        self.stored.clear();
        self.unarmed = self.prediction.expected().clone();
    }

    /// Pages that may be reported although their bytes are the same.
    fn unchanged_too(&self) -> PageSet {
        let mut set = match self.exact {
            // Where protecting failed half-way, pages look as if they had come into being.
            Exactness::Broken => {
                let mut all = PageSet::new(self.pending.capacity());
                all.insert_range(0..all.capacity());
                all
            }
            _ => self.pending.clone(),
        };
        for other in [&self.marked, &self.always, &self.pinned] {
            set.union(other);
        }
        set
    }

    /// A version was captured, of the pages `bound`; it changed `changed`.
    fn learn(&mut self, bound: &PageSet, changed: &PageSet, later: &[usize]) {
        self.pending.subtract(bound);
        self.marked.subtract(bound);
        let (mut seen, mut changed) = (bound.clone(), changed.clone());
        for chunk in later {
            seen.remove_range(pages_of_chunk(*chunk));
        }
        changed.intersect(&seen);
        self.prediction.learn(&seen, &changed);
    }
}

impl Seen<'_> {
    fn chunks_later(&self) -> &[usize] {
        self.later.as_deref().unwrap_or_default()
    }
}

/// The model of one region.
#[derive(Debug)]
pub struct Oracle {
    page: usize,
    bounds: Bounds,
    /// What the program has written.
    live: Vec<u8>,
    /// What the newest version shows, unbound pages included.
    image: Vec<u8>,
    captured_by: Vec<u64>,
    /// Bytes of each buffer; they start on pages, one after the other.
    buffers: Vec<Range<usize>>,
    fields: Vec<FieldModel>,
    reports: Reports,
    /// The versions that must be there, oldest first.
    pub versions: Vec<Expected>,
    /// Number of the next version.
    pub next: u64,
    /// Whether chunks may be captured later.
    gate: bool,
    /// A version was given up, because the gate met a page that was replaced: once at most, there is no gate any more.
    gave_up: bool,
}

impl Oracle {
    /// An empty region of `pages` pages.
    pub fn new(pages: usize, page: usize, bounds: Bounds, exact: Exactness) -> Self {
        Oracle {
            page,
            bounds,
            live: vec![0; pages * page],
            image: vec![0; pages * page],
            captured_by: vec![0; pages],
            buffers: Vec::new(),
            fields: Vec::new(),
            reports: Reports::new(pages, exact),
            versions: Vec::new(),
            next: 1,
            gate: exact == Exactness::Gate,
            gave_up: false,
        }
    }

    /// A buffer of `bytes` bytes is handed out.
    pub fn add_buffer(&mut self, bytes: usize) -> usize {
        let start = self
            .buffers
            .last()
            .map_or(0, |b| b.end.next_multiple_of(self.page));
        self.buffers.push(start..start + bytes);
        self.buffers.len() - 1
    }

    /// A field is added, bound to `buffer`.
    pub fn add_field(&mut self, name: &str, buffer: usize) {
        self.fields.push(FieldModel {
            name: name.to_owned(),
            buffer,
        });
    }

    /// Pages that are left for buffers.
    pub fn room(&self) -> usize {
        self.captured_by.len() - self.buffers.last().map_or(0, |b| b.end.div_ceil(self.page))
    }

    /// Bytes of a buffer.
    pub fn len_of(&self, buffer: usize) -> usize {
        self.buffers[buffer].len()
    }

    /// Field `field` shows `buffer` from the next version on.
    pub fn bind(&mut self, field: usize, buffer: usize) {
        self.fields[field].buffer = buffer;
    }

    /// Bytes of `buffer` are written.
    pub fn write(&mut self, buffer: usize, at: Range<usize>, value: u8) {
        let pages = self.pages_of(buffer, at.clone());
        self.reports.stored.insert_range(pages);
        let start = self.buffers[buffer].start;
        self.live[start + at.start..start + at.end].fill(value);
    }

    /// Bytes of `buffer` are declared to be written.
    pub fn mark(&mut self, buffer: usize, at: Range<usize>) {
        let pages = self.pages_of(buffer, at);
        self.reports.marked.insert_range(pages);
    }

    /// Bytes of `buffer` are captured by every version from now on.
    pub fn stick(&mut self, buffer: usize, at: Range<usize>) {
        let pages = self.pages_of(buffer, at);
        self.reports.always.insert_range(pages);
    }

    /// Bytes of `buffer` may be reported as written every time from now on.
    pub fn pin(&mut self, buffer: usize, at: Range<usize>) {
        let pages = self.pages_of(buffer, at);
        self.reports.pinned.insert_range(pages);
    }

    /// From now on the tracker gives errors, and may report more than was written.
    pub fn break_tracker(&mut self) {
        self.reports.exact = Exactness::Broken;
    }

    fn pages_of(&self, buffer: usize, at: Range<usize>) -> Range<usize> {
        let start = self.buffers[buffer].start;
        (start + at.start) / self.page..(start + at.end).div_ceil(self.page)
    }

    /// What the program has written to a buffer.
    pub fn live(&self, buffer: usize) -> &[u8] {
        &self.live[self.buffers[buffer].clone()]
    }

    /// The version `number`, which must be there.
    pub fn expected(&self, number: u64) -> Option<&Expected> {
        self.versions.iter().find(|v| v.number == number)
    }

    /// Numbers of the versions that must be there.
    pub fn numbers(&self) -> Vec<u64> {
        self.versions.iter().map(|v| v.number).collect()
    }

    /// The pages that are at least one version's, each as often as it was captured: memory that must be held.
    pub fn busy_bytes(&self) -> u64 {
        let count = |page: usize| {
            let by: BTreeSet<u64> = self.versions.iter().map(|v| v.captured_by[page]).collect();
            by.into_iter().filter(|n| *n != 0).count()
        };
        ((0..self.captured_by.len()).map(count).sum::<usize>() * self.page) as u64
    }

    /// Pages of buffers that fields are bound to.
    fn bound(&self) -> PageSet {
        let mut set = self.no_pages();
        for field in &self.fields {
            set.insert_range(self.pages_of(field.buffer, 0..self.len_of(field.buffer)));
        }
        set
    }

    fn no_pages(&self) -> PageSet {
        PageSet::new(self.captured_by.len())
    }

    /// The pages that differ from the newest version.
    fn different(&self) -> PageSet {
        let mut set = self.no_pages();
        let pages = self
            .live
            .chunks(self.page)
            .zip(self.image.chunks(self.page));
        let differ = pages.enumerate().filter(|(_, (live, old))| live != old);
        differ.for_each(|(page, _)| set.insert(page));
        set
    }

    /// The pages that the next version may say it changed.
    fn candidates(&self) -> PageSet {
        let mut set = self.different();
        set.union(&self.reports.unchanged_too());
        set.intersect(&self.bound());
        set
    }

    /// Pages that the next version may copy at most: where chunks are captured later, they are copied as a whole.
    fn most(&self) -> usize {
        let (mut set, bound) = (self.candidates(), self.bound());
        let whole = |chunk: &usize| bound.chunk(*chunk).iter().all(|w| *w == !0);
        if self.gate {
            let chunks = (0..bound.chunks()).filter(whole);
            chunks.for_each(|chunk| set.insert_range(pages_of_chunk(chunk)));
        }
        set.len()
    }

    /// The oldest versions that nobody pins go, until `keep` are left; the newest stays.
    fn reclaim(&mut self, keep: usize, pinned: &BTreeSet<u64>) {
        let left = reclaimed(self.numbers(), keep, pinned);
        self.versions.retain(|v| left.contains(&v.number));
    }

    /// Check one call of publish, and follow it.
    pub fn publish(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.reports.harvest();
        ensure(seen.held.1 <= self.bounds.bytes.max(seen.held.0), || {
            format!(
                "{} bytes are held, the bound is {}",
                seen.held.1, self.bounds.bytes
            )
        })?;
        self.reclaim(self.bounds.history, &seen.pinned);
        if self.versions.len() >= self.bounds.versions {
            self.reclaim(self.bounds.versions - 1, &seen.pinned);
        }
        let full = self.versions.len() >= self.bounds.versions;
        match seen.receipt {
            Receipt::Skipped {
                reason: Skip::Versions { bound },
                ..
            } => {
                ensure(full, || {
                    format!(
                        "skipped with versions {:?}, pinned {:?}",
                        self.numbers(),
                        seen.pinned
                    )
                })?;
                ensure(*bound == self.bounds.versions, || format!("bound {bound}"))?;
            }
            _ if full => {
                return Err(format!(
                    "{:?} with {} pinned versions",
                    seen.receipt,
                    self.versions.len()
                ));
            }
            Receipt::Skipped {
                reason:
                    Skip::Bytes {
                        needed,
                        held,
                        bound,
                    },
                ..
            } => {
                self.skipped_for_memory(seen, *needed + *held, *bound)?;
            }
            Receipt::Published(p) if seen.later.is_none() => {
                ensure(
                    self.reports.exact == Exactness::Broken && !self.gave_up,
                    || format!("version {} was given up", p.version),
                )?;
                ensure(p.version == self.next, || format!("version {}", p.version))?;
                self.gave_up = true;
                self.next += 1;
                if seen.available != self.numbers() {
                    self.reclaim(1, &seen.pinned); // for want of memory
                }
            }
            Receipt::Published(p) => {
                let set = seen
                    .changed
                    .as_ref()
                    .ok_or("the new version is not there")?;
                let mut captured = set.clone();
                for chunk in seen.chunks_later() {
                    captured.insert_range(pages_of_chunk(*chunk));
                }
                let (pages, later) = (
                    captured.len() as u64,
                    seen.chunks_later().len() * CHUNK_PAGES,
                );
                let numbers = (p.version, p.pages, p.bytes, p.later);
                let expected = (self.next, pages, pages * self.page as u64, later as u64);
                ensure(numbers == expected, || {
                    format!("receipt {p:?}, expected {expected:?}")
                })?;
                self.check_changed(set)?;
                self.published(seen, &captured, set)?;
            }
            other => return Err(format!("{other:?}: nothing here runs out of memory")),
        }
        let numbers = self.numbers();
        ensure(seen.available == numbers, || {
            format!("versions {:?}, expected {numbers:?}", seen.available)
        })
    }

    /// The publish was skipped for want of memory: rightly so if what must stay and what may be new do not fit.
    fn skipped_for_memory(
        &mut self,
        seen: &Seen<'_>,
        wanted: u64,
        bound: u64,
    ) -> Result<(), String> {
        self.reclaim(1, &seen.pinned);
        let most = self.busy_bytes() + (self.most() * self.page) as u64;
        ensure(bound == self.bounds.bytes && wanted > bound, || {
            format!("skipped at {wanted} of {bound} bytes")
        })?;
        ensure(most > bound, || {
            format!("skipped, although all would fit: {most} of {bound} bytes")
        })
    }

    fn published(
        &mut self,
        seen: &Seen<'_>,
        captured: &PageSet,
        changed: &PageSet,
    ) -> Result<(), String> {
        let new = (captured.len() * self.page) as u64;
        if seen.held.0 + new > self.bounds.bytes
            && seen.available != self.calm(&seen.pinned, !seen.chunks_later().is_empty())
        {
            self.reclaim(1, &seen.pinned);
        }
        let least = self.busy_bytes() + new;
        ensure(least <= self.bounds.bytes, || {
            format!("published, with {least} bytes in use")
        })?;
        ensure(seen.held.1 >= least, || {
            format!("{} bytes held for {least} in use", seen.held.1)
        })?;
        for page in captured.iter() {
            let bytes = page * self.page..(page + 1) * self.page;
            self.image[bytes.clone()].copy_from_slice(&self.live[bytes]);
            self.captured_by[page] = self.next;
        }
        self.reports
            .learn(&self.bound(), changed, seen.chunks_later());
        let field = |f: &FieldModel| {
            let place = &self.buffers[f.buffer];
            (f.name.clone(), place.start, place.len())
        };
        self.versions.push(Expected {
            number: self.next,
            step: seen.step,
            fields: self.fields.iter().map(field).collect(),
            image: Arc::new(self.image.clone()),
            captured_by: Arc::new(self.captured_by.clone()),
        });
        self.next += 1;
        if seen.chunks_later().is_empty() {
            self.reclaim(self.bounds.history + 1, &seen.pinned);
        }
        Ok(())
    }

    /// The versions after a publish for which there was memory enough.
    fn calm(&self, pinned: &BTreeSet<u64>, later: bool) -> Vec<u64> {
        let mut numbers = self.numbers();
        numbers.push(self.next);
        match later {
            // Nobody reclaims when the last chunk is saved; the next publish does.
            true => numbers,
            false => reclaimed(numbers, self.bounds.history + 1, pinned),
        }
    }

    /// Every page that differs, and every page that was declared, must be among the changed ones; of the others only those
    /// that were reported as written.
    fn check_changed(&self, changed: &PageSet) -> Result<(), String> {
        let mut missed = self.different();
        missed.union(&self.reports.marked);
        missed.union(&self.reports.always);
        missed.intersect(&self.bound());
        missed.subtract(changed);
        let runs = |set: &PageSet| set.runs().collect::<Vec<_>>();
        ensure(missed.is_empty(), || {
            format!("version {} misses pages {:?}", self.next, runs(&missed))
        })?;
        let mut idle = changed.clone();
        idle.subtract(&self.candidates());
        ensure(idle.is_empty(), || {
            format!(
                "version {} says it changed pages {:?}, which it did not",
                self.next,
                runs(&idle)
            )
        })
    }

    /// The pages that are not in `pages` must be the same in both versions.
    pub fn check_changes(
        &self,
        older: &Expected,
        newer: &Expected,
        pages: &PageSet,
    ) -> Result<(), String> {
        let differs = |page: &usize| {
            let bytes = page * self.page..(page + 1) * self.page;
            older.image[bytes.clone()] != newer.image[bytes]
        };
        let missed = (0..self.captured_by.len())
            .filter(|p| !pages.contains(*p))
            .find(differs);
        ensure(missed.is_none(), || {
            format!(
                "changes from {} to {} miss page {missed:?}",
                older.number, newer.number
            )
        })
    }
}

/// An error unless `fine`.
pub fn ensure(fine: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if fine { Ok(()) } else { Err(what()) }
}

fn pages_of_chunk(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}

/// What is left of `numbers` when the oldest that nobody pins go, until `keep` are left; the newest stays.
fn reclaimed(mut numbers: Vec<u64>, keep: usize, pinned: &BTreeSet<u64>) -> Vec<u64> {
    let mut i = 0;
    while numbers.len() > keep.max(1) && i + 1 < numbers.len() {
        match pinned.contains(&numbers[i]) {
            true => i += 1,
            false => {
                numbers.remove(i);
            }
        }
    }
    numbers
}
