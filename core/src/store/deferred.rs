//! Captures that several threads share, inside `publish` or after it has returned.

use super::in_flight::{InFlight, Settled};
use super::publish::Written;
use super::state::Store;
use super::terms::Capture;
use crate::capture::{Compare, Copiers, Job, Newest, Outcome, Sweep};
use crate::format::index::{IndexError, IndexWriter};
use crate::format::protocol;
use crate::format::stamp::Stamp;
use crate::pageset::PageSet;
use crate::planes::Frames;
use crate::sys::copy::Stores;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Copies of at least this many bytes inside `publish` are spread over the copiers. To wake them
/// takes about as long as copying this much.
const SPREAD: usize = 4 << 20;

impl Store {
    /// Returns the number of the version that is still being captured, or whose capture has ended
    /// and has not been settled, if there is one. Until then the next version may lack its pages.
    /// (The keeper may note the end of a capture at any time.)
    pub fn capturing(&self) -> Option<u64> {
        let ended = self.settled.as_ref().map(|s| s.version);
        self.in_flight.as_ref().map(|f| f.version).or(ended)
    }

    /// Returns the sweep of the capture that is still running, if there is one.
    pub fn sweep(&self) -> Option<&Arc<Sweep>> {
        self.in_flight.as_ref().map(|f| &f.sweep)
    }

    /// Returns the result of the last deferred capture, once it has ended. Each result is returned
    /// once.
    pub fn settle(&mut self) -> Option<Settled> {
        self.take_note();
        self.settled.take()
    }

    /// Records the end of the deferred capture if it has ended.
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
                self.planes
                    .ask_for_huge_pages(in_flight.sweep.assembled(), &in_flight.frames);
            }
            Outcome::GivenUp(_) => {
                // No visible version ever had these frames.
                self.planes.set_free(&in_flight.frames);
                self.planes.unhold(&in_flight.frames);
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
            assembled: !in_flight.assembled.is_empty(),
        })
    }

    pub(super) fn slots_in_use(&self) -> impl Iterator<Item = usize> {
        let deferred = self.in_flight.iter().map(|f| f.slot);
        self.live.iter().map(|(_, slot)| *slot).chain(deferred)
    }

    /// Copies to `frames` what is captured inside the call. The copiers help if there is much to
    /// copy. Returns the pages that were compared and found unchanged; these are not copied.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    pub(super) unsafe fn copy_now(
        &mut self,
        capture: &Capture<'_>,
        frames: Frames,
        copiers: &Copiers,
    ) -> Result<PageSet, String> {
        let mut same = PageSet::new(capture.pages.capacity());
        if frames.len() * self.page_size() < SPREAD && capture.maybe.is_empty() {
            // SAFETY: the caller promises that nobody writes the pages. No version refers to the
            // frames, which were placed for this capture.
            let copied = unsafe { self.planes.copy(&capture.live, &frames) };
            return copied.map(|()| same).map_err(|e| e.to_string());
        }
        let mut pages = capture.pages.clone();
        pages.subtract(capture.deferred);
        let job = self.job(
            capture,
            (&pages, &PageSet::new(pages.capacity())),
            frames.clone(),
            Compare::Those(capture.maybe.clone()),
        );
        let fresh = job.fresh.clone();
        // SAFETY: the caller promises that nobody writes the pages during the call, and the sweep
        // ends within it. The frames are free, and no two pieces share one.
        let sweep = Arc::new(unsafe { Sweep::new(job, None, Box::new(|_| Ok(()))) });
        if let Outcome::GivenUp(error) = copiers.run(&sweep) {
            self.planes.unhold(&frames);
            return Err(error);
        }
        same.union(&pages);
        sweep.take_changed(&mut same);
        self.planes.forget(&fresh.within(&same));
        Ok(same)
    }

    /// Write-protects the deferred chunks, and lets the copiers save them from now on, as well as
    /// the rest of the chunks that are assembled.
    ///
    /// # Safety
    /// As for [`Store::publish`].
    pub(super) unsafe fn begin_sweep(
        &mut self,
        written: Written,
        stamp: &Stamp,
        capture: &Capture<'_>,
        copiers: &Copiers,
    ) -> Result<Arc<Sweep>, IndexError> {
        let Written {
            slot,
            frames,
            changed,
            rest,
            ..
        } = written;
        let capture = &capture.of_pages(&changed);
        let mut later = capture.deferred.clone();
        later.union(&rest);
        let pages = (capture.deferred, &rest);
        let job = self.job(capture, pages, frames.within(&later), Compare::All);
        let finish = self.finish(slot, stamp, capture);
        // SAFETY: the caller promises that nobody writes until `begin` has protected the pieces.
        // Only this version has the frames. The newest version's frames stay, because nothing is
        // reclaimed while a capture is running.
        let sweep = Arc::new(unsafe { Sweep::new(job, capture.gate.cloned(), finish) });
        self.in_flight = Some(InFlight {
            sweep: sweep.clone(),
            version: stamp.version,
            slot,
            frames,
            pages: changed.clone(),
            assembled: rest,
            handed: Vec::new(),
        });
        // An error gives the sweep up. The producer learns of it when it asks for the sweep's
        // state.
        let _ = copiers.begin(&sweep);
        Ok(sweep)
    }

    /// Returns the job that saves pages of live memory into `frames`, and copies others from the
    /// newest version. The frames count as held from now on.
    fn job(
        &mut self,
        capture: &Capture<'_>,
        (live, assembled): (&PageSet, &PageSet),
        frames: Frames,
        compare: Compare,
    ) -> Job {
        let mut chunks: Vec<usize> = live.chunk_numbers().iter().collect();
        // They come last: stores wait for pieces of live memory.
        let live = chunks.len();
        chunks.extend(assembled.chunk_numbers().iter());
        // This also asks for the nodes of chunks that need memory.
        let fresh = self.planes.hold(&frames);
        Job {
            stores: Stores::of(frames.len() * self.page_size()),
            memory: capture.live.clone(),
            nodes: self.planes.nodes_of(&chunks),
            chunks,
            live,
            fresh,
            frames,
            planes: self.planes.memory(),
            newest: self.newest_for_threads(),
            compare,
            huge_pages: self.planes.allows_huge_pages(),
        }
    }

    /// Returns the newest version for threads that must not allocate.
    pub(super) fn newest_for_threads(&self) -> Newest {
        let slot = self.live.last().map(|(_, slot)| *slot);
        Newest::new(self.index_map.clone(), slot)
    }

    /// Returns the function that makes the version visible once all pieces are saved. It writes the
    /// number of changed pages first: those captured inside the call, and those that the sweep has
    /// found.
    fn finish(&self, slot: usize, stamp: &Stamp, capture: &Capture<'_>) -> crate::capture::Finish {
        let at_once = capture.changes() - capture.deferred.len();
        let (map, stamp, now) = (self.index_map.clone(), *stamp, capture.now);
        let visible = capture.visible.clone();
        Box::new(move |sweep| {
            // SAFETY: the whole object is mapped, and writable. Its size is sealed, so the mapping
            // stays valid.
            let index = IndexWriter::reopen(unsafe { map.words() }).map_err(|e| e.to_string())?;
            let changed = note_changes(&index, slot, sweep).map_err(|e| e.to_string())?;
            let total = at_once as u64 + changed;
            let written = index
                .set_head(slot, &stamp, total, now)
                .and_then(|()| index.make_visible(slot, stamp.version));
            written.map_err(|e| e.to_string())?;
            visible();
            crate::testing::fault::pass("visible");
            Ok(())
        })
    }

    /// Returns the size of a page in bytes.
    pub fn page_size(&self) -> usize {
        self.planes.page_size()
    }
}

/// Writes which pages of the deferred chunks have changed. Returns how many these are.
fn note_changes(index: &IndexWriter<'_>, slot: usize, sweep: &Sweep) -> Result<u64, IndexError> {
    protocol::begin_writing();
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
