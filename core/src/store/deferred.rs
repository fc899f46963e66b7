//! Captures that several threads share: inside `publish`, and after it has returned.

use super::handover::Handed;
use super::{Capture, Store};
use crate::capture::{Compare, Copiers, Job, Newest, Outcome, Sweep};
use crate::index::{IndexError, IndexWriter};
use crate::pageset::PageSet;
use crate::planes::Slots;
use crate::stamp::Stamp;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Copies of at least so many bytes inside `publish` are spread over the copiers: waking them takes as long as this does.
const SPREAD: usize = 4 << 20;

/// A version whose capture goes on.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) sweep: Arc<Sweep>,
    version: u64,
    pub(super) slot: usize,
    slots: Slots,
    pages: PageSet,
    /// What it was handed, without a copy.
    pub(super) handed: Vec<Handed>,
}

/// What became of a version whose capture went on after `publish`.
#[derive(Debug)]
pub struct Settled {
    /// The version.
    pub version: u64,
    /// Its pages.
    pub pages: PageSet,
    /// Saved, or given up: then its pages belong into the next version.
    pub outcome: Outcome,
    /// Stores that came early: how many, and how long they waited.
    pub early: (u64, Duration),
    /// Per chunk that was captured later, how many of its pages have changed.
    pub changed: Vec<(usize, u32)>,
}

impl Store {
    /// The version that is still being captured, if one is.
    pub fn capturing(&self) -> Option<u64> {
        self.in_flight.as_ref().map(|f| f.version)
    }

    /// The capture that goes on.
    pub fn sweep(&self) -> Option<&Arc<Sweep>> {
        self.in_flight.as_ref().map(|f| &f.sweep)
    }

    /// What became of the capture that was going on, if it has ended and was not asked for yet.
    pub fn settle(&mut self) -> Option<Settled> {
        self.take_note();
        self.settled.take()
    }

    /// Take note of the end of the capture that was going on, if it has ended.
    pub(super) fn take_note(&mut self) {
        if let Some(settled) = self.end_of_capture() {
            self.settled = Some(settled);
        }
    }

    fn end_of_capture(&mut self) -> Option<Settled> {
        let mut in_flight = self.in_flight.take()?;
        let outcome = in_flight.sweep.state();
        match outcome {
            Outcome::Running => {
                self.in_flight = Some(in_flight);
                return None;
            }
            Outcome::Saved => {
                self.live.push((in_flight.version, in_flight.slot));
                self.ring.visible(in_flight.slot);
                self.compaction.end_use(true);
            }
            Outcome::GivenUp(_) => {
                // They never became those of a version.
                self.planes.set_free(&in_flight.slots);
                self.planes.unhold(&in_flight.slots);
                self.compaction.end_use(false);
                self.take_back(&in_flight.handed, &mut in_flight.pages);
            }
        }
        Some(Settled {
            version: in_flight.version,
            outcome,
            early: in_flight.sweep.early(),
            changed: in_flight.sweep.counts().collect(),
            pages: in_flight.pages,
        })
    }

    pub(super) fn slots_in_use(&self) -> impl Iterator<Item = usize> {
        let later = self.in_flight.iter().map(|f| f.slot);
        self.live.iter().map(|(_, slot)| *slot).chain(later)
    }

    /// Copy what is captured inside the call to `slots`, with the copiers' help if it is much. Returns the pages that were to be
    /// compared, and are the same: they are not copied.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    pub(super) unsafe fn copy_now(
        &mut self,
        capture: &Capture<'_>,
        slots: Slots,
        copiers: &Copiers,
    ) -> Result<PageSet, String> {
        let mut same = PageSet::new(capture.pages.capacity());
        if slots.len() * self.page_size() < SPREAD && capture.maybe.is_empty() {
            // SAFETY: the caller's promise.
            let copied = unsafe { self.planes.copy(capture.base, &slots) };
            return copied.map(|()| same).map_err(|e| e.to_string());
        }
        let mut pages = capture.pages.clone();
        pages.subtract(capture.later);
        let job = self.job(
            capture,
            &pages,
            slots.clone(),
            Compare::Those(capture.maybe.clone()),
        );
        let fresh = job.fresh.clone();
        // SAFETY: nobody writes the pages during the call, by the caller's promise, and the sweep ends within it; the slots
        // are free and no two pieces share one.
        let sweep = Arc::new(unsafe { Sweep::new(job, None, Box::new(|_| Ok(()))) });
        if let Outcome::GivenUp(error) = copiers.run(&sweep) {
            self.planes.unhold(&slots);
            return Err(error);
        }
        same.union(&pages);
        sweep.take_changed(&mut same);
        self.planes.forget(&fresh.within(&same));
        Ok(same)
    }

    /// Protect the later chunks and have them saved from now on.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    pub(super) unsafe fn begin_sweep(
        &mut self,
        slot: usize,
        stamp: &Stamp,
        capture: &Capture<'_>,
        slots: Slots,
        copiers: &Copiers,
    ) -> Result<Arc<Sweep>, IndexError> {
        let later = slots.within(capture.later);
        let job = self.job(capture, capture.later, later, Compare::All);
        let finish = self.finish(slot, stamp, capture);
        // SAFETY: the caller promises that nobody writes until `begin` has protected the pieces; the slots are free but for
        // this version; the newest version's slots stay, because nothing is reclaimed while a capture goes on.
        let sweep = Arc::new(unsafe { Sweep::new(job, capture.gate.cloned(), finish) });
        self.in_flight = Some(InFlight {
            sweep: sweep.clone(),
            version: stamp.version,
            slot,
            slots,
            pages: capture.pages.clone(),
            handed: Vec::new(),
        });
        // An error has given the sweep up, which whoever asks for its state is told.
        let _ = copiers.begin(&sweep);
        Ok(sweep)
    }

    /// What is to be saved of `pages` in `slots`, which count as held from now on.
    fn job(
        &mut self,
        capture: &Capture<'_>,
        pages: &PageSet,
        slots: Slots,
        compare: Compare,
    ) -> Job {
        Job {
            base: capture.base,
            page_size: self.page_size(),
            chunks: pages.chunk_numbers().iter().collect(),
            fresh: self.planes.hold(&slots),
            slots,
            planes: self.planes.memory(),
            newest: Newest::new(
                self.index_map.clone(),
                self.live.last().map(|(_, slot)| *slot),
            ),
            compare,
        }
    }

    /// What makes the version visible: with the changes that the sweep has found, counted into what was captured at once.
    fn finish(&self, slot: usize, stamp: &Stamp, capture: &Capture<'_>) -> crate::capture::Finish {
        let at_once = capture.pages.len() - capture.later.len();
        let (map, stamp, now) = (self.index_map.clone(), *stamp, capture.now);
        let visible = capture.visible.clone();
        Box::new(move |sweep| {
            // SAFETY: mapped whole and writable from an object of that size, which is sealed.
            let index = IndexWriter::reopen(unsafe { map.words() }).map_err(|e| e.to_string())?;
            let changed = note_changes(&index, slot, sweep).map_err(|e| e.to_string())?;
            let total = at_once as u64 + changed;
            let written = index
                .set_head(slot, &stamp, total, now)
                .and_then(|()| index.make_visible(slot, stamp.version));
            written.map_err(|e| e.to_string())?;
            visible();
            crate::fault::pass("visible");
            Ok(())
        })
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.planes.page_size()
    }
}

/// Write which pages of the later chunks have changed, and count them.
fn note_changes(index: &IndexWriter<'_>, slot: usize, sweep: &Sweep) -> Result<u64, IndexError> {
    let mut total = 0;
    for ((chunk, bits), (_, count)) in sweep.changes().zip(sweep.counts()) {
        total += u64::from(count);
        let words = index.changed_bits(slot, chunk)?;
        for (word, bits) in words.iter().zip(bits) {
            word.store(bits, Ordering::Relaxed);
        }
    }
    Ok(total)
}
