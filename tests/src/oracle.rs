//! A naive model of a region that keeps a whole image of its memory for every version.
//!
//! The model knows nothing of planes, page maps or trackers. Each version is a copy of all bytes,
//! and records for each page which version captured it. From this the model derives what every byte
//! must be, which versions must exist, when a publish must be skipped, and the least memory that
//! the versions in use hold.

mod reports;
mod rollback;

pub use reports::Exactness;

use reports::Reports;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::pageset::CHUNK_PAGES;
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
    /// For each page, the version that captured it, or 0 if none did.
    captured_by: Arc<Vec<u64>>,
}

impl Expected {
    /// The bytes of one of its fields.
    pub fn bytes(&self, field: &(String, usize, usize)) -> &[u8] {
        &self.image[field.1..field.1 + field.2]
    }

    /// Checks that the fields of a version are where they must be.
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

/// A field, and the index of the buffer that it is bound to.
#[derive(Clone, Debug)]
struct FieldModel {
    name: String,
    buffer: usize,
}

/// The results of one call of `publish`, as the producer and its observers see them.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The value that the call returned.
    pub receipt: &'a Receipt,
    /// The step that was passed to the call.
    pub step: u64,
    /// The versions that exist after the call.
    pub available: Vec<u64>,
    /// The pages that the new version reports as changed, if there is a new version.
    pub changed: Option<PageSet>,
    /// The chunks of the new version that were captured after the call, or `None` if it was given
    /// up.
    pub deferred: Option<Vec<usize>>,
    /// The chunks of the new version that were assembled after the call.
    pub assembled: Vec<usize>,
    /// The bytes of memory held before and after the call.
    pub held: (u64, u64),
    /// All versions that some observer pins.
    pub pinned: BTreeSet<u64>,
}

impl Seen<'_> {
    fn ends_later(&self) -> bool {
        !self.chunks_deferred().is_empty() || !self.assembled.is_empty()
    }

    fn chunks_deferred(&self) -> &[usize] {
        self.deferred.as_deref().unwrap_or_default()
    }
}

/// The model of one region.
#[derive(Debug)]
pub struct Oracle {
    page: usize,
    bounds: Bounds,
    /// The bytes that the program has written.
    live: Vec<u8>,
    /// The bytes of the newest version, including pages that no field is bound to.
    image: Vec<u8>,
    captured_by: Vec<u64>,
    /// The bytes of each buffer. Buffers start on pages and follow one another.
    buffers: Vec<Range<usize>>,
    fields: Vec<FieldModel>,
    reports: Reports,
    /// The versions that must exist, oldest first.
    pub versions: Vec<Expected>,
    /// The number of the next version.
    pub next: u64,
    /// True if chunks may be deferred.
    gate: bool,
    /// True if a version was given up because the gate met a page that was replaced. This happens
    /// at most once, because there is no gate afterwards.
    gave_up: bool,
}

impl Oracle {
    /// Returns the model of an empty region of `pages` pages.
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

    /// Adds a buffer of `bytes` bytes and returns its index.
    pub fn add_buffer(&mut self, bytes: usize) -> usize {
        let start = self
            .buffers
            .last()
            .map_or(0, |b| b.end.next_multiple_of(self.page));
        self.buffers.push(start..start + bytes);
        self.buffers.len() - 1
    }

    /// Adds a field that is bound to `buffer`.
    pub fn add_field(&mut self, name: &str, buffer: usize) {
        self.fields.push(FieldModel {
            name: name.to_owned(),
            buffer,
        });
    }

    /// Returns the number of pages that are left for buffers.
    pub fn room(&self) -> usize {
        self.captured_by.len() - self.buffers.last().map_or(0, |b| b.end.div_ceil(self.page))
    }

    /// Returns the bytes of a buffer.
    pub fn len_of(&self, buffer: usize) -> usize {
        self.buffers[buffer].len()
    }

    /// Binds `field` to `buffer` from the next version on.
    pub fn bind(&mut self, field: usize, buffer: usize) {
        self.fields[field].buffer = buffer;
    }

    /// Writes `value` to some bytes of `buffer`.
    pub fn write(&mut self, buffer: usize, at: Range<usize>, value: u8) {
        let pages = self.pages_of(buffer, at.clone());
        self.reports.stored.insert_range(pages);
        let start = self.buffers[buffer].start;
        self.live[start + at.start..start + at.end].fill(value);
    }

    /// Declares some bytes of `buffer` as written.
    pub fn mark(&mut self, buffer: usize, at: Range<usize>) {
        let pages = self.pages_of(buffer, at);
        self.reports.marked.insert_range(pages);
    }

    /// Declares that every version from now on captures these bytes of `buffer`.
    pub fn stick(&mut self, buffer: usize, at: Range<usize>) {
        let pages = self.pages_of(buffer, at);
        self.reports.always.insert_range(pages);
    }

    /// Allows these bytes of `buffer` to be reported as written every time from now on.
    pub fn pin(&mut self, buffer: usize, at: Range<usize>) {
        let pages = self.pages_of(buffer, at);
        self.reports.pinned.insert_range(pages);
    }

    /// Makes the tracker give errors from now on. It may then report more than was written.
    pub fn break_tracker(&mut self) {
        self.reports.exact = Exactness::Broken;
    }

    fn pages_of(&self, buffer: usize, at: Range<usize>) -> Range<usize> {
        let start = self.buffers[buffer].start;
        (start + at.start) / self.page..(start + at.end).div_ceil(self.page)
    }

    /// Returns the bytes that the program has written to a buffer.
    pub fn live(&self, buffer: usize) -> &[u8] {
        &self.live[self.buffers[buffer].clone()]
    }

    /// Returns the version `number` if it must exist.
    pub fn expected(&self, number: u64) -> Option<&Expected> {
        self.versions.iter().find(|v| v.number == number)
    }

    /// Returns the numbers of the versions that must exist.
    pub fn numbers(&self) -> Vec<u64> {
        self.versions.iter().map(|v| v.number).collect()
    }

    /// Returns the memory that must be held, in bytes. It counts each page once for each version in
    /// use that captured it.
    pub fn busy_bytes(&self) -> u64 {
        let count = |page: usize| {
            let by: BTreeSet<u64> = self.versions.iter().map(|v| v.captured_by[page]).collect();
            by.into_iter().filter(|n| *n != 0).count()
        };
        ((0..self.captured_by.len()).map(count).sum::<usize>() * self.page) as u64
    }

    /// Returns the pages of the buffers that fields are bound to.
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

    /// Returns the pages that differ from the newest version.
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

    /// Returns the pages that the next version may report as changed.
    fn candidates(&self) -> PageSet {
        let mut set = self.different();
        set.union(&self.reports.unchanged_too());
        set.intersect(&self.bound());
        set
    }

    /// Returns the most pages that the next version may copy. A deferred chunk is copied as a
    /// whole.
    fn most(&self) -> usize {
        let (mut set, bound) = (self.candidates(), self.bound());
        let whole = |chunk: &usize| bound.chunk(*chunk).iter().all(|w| *w == !0);
        if self.gate {
            let chunks = (0..bound.chunks()).filter(whole);
            chunks.for_each(|chunk| set.insert_range(pages_of_chunk(chunk)));
        }
        set.len()
    }

    /// Removes the oldest versions that nobody pins until `keep` are left. The newest always stays.
    fn reclaim(&mut self, keep: usize, pinned: &BTreeSet<u64>) {
        let left = reclaimed(self.numbers(), keep, pinned);
        self.versions.retain(|v| left.contains(&v.number));
    }

    /// Checks the results of one call of `publish`, and updates the model.
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
            Receipt::Published(p) if seen.deferred.is_none() => {
                ensure(
                    self.reports.exact == Exactness::Broken && !self.gave_up,
                    || format!("version {} was given up", p.version),
                )?;
                ensure(p.version == self.next, || format!("version {}", p.version))?;
                self.gave_up = true;
                self.next += 1;
                if seen.available != self.numbers() {
                    self.reclaim(1, &seen.pinned); // to make room in memory
                }
            }
            Receipt::Published(p) => {
                let set = seen
                    .changed
                    .as_ref()
                    .ok_or("the new version is not there")?;
                let mut captured = set.clone();
                for chunk in seen.chunks_deferred() {
                    captured.insert_range(pages_of_chunk(*chunk));
                }
                let (pages, deferred) = (
                    captured.len() as u64,
                    seen.chunks_deferred().len() * CHUNK_PAGES,
                );
                let numbers = (p.version, p.pages, p.bytes, p.deferred);
                let expected = (self.next, pages, pages * self.page as u64, deferred as u64);
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

    /// Checks a publish that was skipped because of the bound on memory. The skip is right if the
    /// versions that must stay and the pages that may be new do not fit together.
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
        let mut placed = captured.clone();
        for chunk in &seen.assembled {
            let pages = pages_of_chunk(*chunk);
            placed.insert_range(pages.start..pages.end.min(placed.capacity()));
        }
        let new = (placed.len() * self.page) as u64;
        if seen.held.0 + new > self.bounds.bytes
            && seen.available != self.settled(&seen.pinned, seen.ends_later())
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
        }
        placed
            .iter()
            .for_each(|page| self.captured_by[page] = self.next);
        self.reports
            .learn(&self.bound(), changed, seen.chunks_deferred());
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
        if !seen.ends_later() {
            self.reclaim(self.bounds.history + 1, &seen.pinned);
        }
        Ok(())
    }

    /// Returns the versions after a publish for which there was enough memory.
    fn settled(&self, pinned: &BTreeSet<u64>, deferred: bool) -> Vec<u64> {
        let mut numbers = self.numbers();
        numbers.push(self.next);
        match deferred {
            // No version is reclaimed when the last chunk is saved. The next publish does that.
            true => numbers,
            false => reclaimed(numbers, self.bounds.history + 1, pinned),
        }
    }

    /// Checks the changed pages of a version. Every page that differs and every page that was
    /// declared must be among them. Any other page must have been reported as written.
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

    /// Checks that pages that are not in `pages` are the same in both versions.
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

/// Returns an error unless `fine`.
pub fn ensure(fine: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if fine { Ok(()) } else { Err(what()) }
}

fn pages_of_chunk(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}

/// Returns `numbers` without the oldest that nobody pins, so that `keep` are left. The newest
/// always stays.
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
