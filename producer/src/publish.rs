//! `publish`: harvest, capture, make visible. No other process has a part in it (I5).

use crate::builder::unix_ns;
use crate::error::PublishError;
use crate::handles::Buffer;
use crate::producer::Producer;
use crate::views::Viewable;
use std::ops::Range;
use std::time::{Duration, Instant};
use tcasm_core::fault;
use tcasm_core::pageset::PageSet;
use tcasm_core::sabotage::{Guard, off};
use tcasm_core::stamp::Stamp;
use tcasm_core::stats::Counter;
use tcasm_core::store::{Capture, Skip};
use tcasm_core::sys::time::deadline;
use tcasm_core::track::TrackerKind;

/// A version that was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Number of the version.
    pub version: u64,
    /// Pages that changed since the version before.
    pub pages: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// How long the call took.
    pub duration: Duration,
}

/// What became of a call of `publish`.
#[derive(Clone, Debug, PartialEq)]
pub enum Receipt {
    /// Observers can see the version.
    Published(Published),
    /// Nothing was published; the changes are in the next version.
    Skipped {
        /// Why.
        reason: Skip,
        /// How long the call took.
        duration: Duration,
    },
}

impl Receipt {
    /// The version, if there is one.
    pub fn version(&self) -> Option<u64> {
        match self {
            Receipt::Published(p) => Some(p.version),
            Receipt::Skipped { .. } => None,
        }
    }
}

impl Producer {
    /// Publish the fields as they are now as the next version, of simulation step `step` and time `time`.
    ///
    /// Never waits for an observer. Where the bounds leave no room the call returns at once and says so in the receipt;
    /// the changes go into the next version. When the call returns, everything may be written again.
    pub fn publish(&mut self, step: u64, time: f64) -> Result<Receipt, PublishError> {
        let start = Instant::now();
        self.check_open()?;
        if off(Guard::NeverWait) {
            self.wait_for_observers();
        }
        let sound = self.harvest();
        let mut pages = self.changed_pages(sound)?;
        fault::pass("harvested");
        if off(Guard::KeepHarvest) {
            self.forget(&pages);
        }
        let published = self.capture(
            &Stamp {
                version: self.next_version,
                step,
                time,
            },
            &mut pages,
        )?;
        let duration = start.elapsed();
        self.account(&published, pages.len() as u64, duration);
        match published {
            Ok(()) => Ok(Receipt::Published(
                self.receipt(pages.len() as u64, duration),
            )),
            Err(reason) => Ok(Receipt::Skipped { reason, duration }),
        }
    }

    /// As [`Producer::publish`], but where there is no room wait up to `timeout` for observers to let go of versions.
    pub fn publish_wait(
        &mut self,
        step: u64,
        time: f64,
        timeout: Duration,
    ) -> Result<Receipt, PublishError> {
        let deadline = deadline(timeout);
        let mut pause = Duration::from_micros(50);
        loop {
            let receipt = self.publish(step, time)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if receipt.version().is_some() || left.is_zero() {
                return Ok(receipt);
            }
            // Observers let go by a store to their lease, which wakes nobody: look again, ever less often.
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// What publish must never do: for the test of I5.
    fn wait_for_observers(&self) {
        while self.store.versions().any(|n| self.service.pinned(n)) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn check_open(&self) -> Result<(), PublishError> {
        match (self.forked(), self.closed) {
            (true, _) => Err(PublishError::Forked),
            (_, true) => Err(PublishError::Closed),
            _ => Ok(()),
        }
    }

    /// Add what was written since the last harvest to the pending pages. False: tracking failed, so that everything may have
    /// changed, and parts of the region may not even be there.
    fn harvest(&mut self) -> bool {
        let start = Instant::now();
        // Straight into the sets: what a tracker reports before it fails is not lost either.
        let candidates = self.region.tracker.kind() == TrackerKind::Compare;
        let set = if candidates {
            &mut self.suspect
        } else {
            &mut self.pending
        };
        let harvested = self.region.tracker.harvest(set);
        if let Err(error) = &harvested {
            tracing::warn!(%error, "tracking failed; every page is compared with the last version");
            if !off(Guard::ErrorMeansAll) {
                self.suspect.union(&self.region.tracked);
            }
            self.count(|s| s.add(Counter::TrackerErrors, 1));
        }
        self.pending.union(&self.always);
        let ns = start.elapsed().as_nanos() as u64;
        self.count(|s| s.add(Counter::HarvestNs, ns));
        harvested.is_ok()
    }

    /// The pages of bound buffers that changed. Pages of others stay pending until a field is bound to them.
    #[allow(unsafe_code)]
    fn changed_pages(&mut self, sound: bool) -> Result<PageSet, PublishError> {
        let mut pages = self.pending.clone();
        pages.union(&self.suspect);
        pages.intersect(&self.bound);
        if !sound {
            self.region.keep_readable(&mut pages);
        }
        let mut suspects = pages.clone();
        suspects.subtract(&self.pending);
        if !suspects.is_empty() {
            pages.subtract(&suspects);
            // SAFETY: the region's live memory; tracked pages are mapped, or were found readable just now; `&mut self`
            // excludes writers.
            unsafe {
                self.store
                    .drop_unchanged(self.region.ptr(), &mut suspects)?
            };
            pages.union(&suspects);
        }
        Ok(pages)
    }

    #[allow(unsafe_code)]
    fn capture(
        &mut self,
        stamp: &Stamp,
        pages: &mut PageSet,
    ) -> Result<Result<(), Skip>, PublishError> {
        if self.table.is_none() {
            self.encode_table()?;
        }
        let (table, base) = (self.table.as_deref().unwrap_or_default(), self.region.ptr());
        let capture = Capture {
            base,
            pages,
            table,
            now: unix_ns(),
        };
        let service = &self.service;
        // SAFETY: the region's live memory; `&mut self` excludes writers.
        let published = unsafe {
            self.store
                .publish(stamp, &capture, &|n| service.pinned(n))?
        };
        if published.is_ok() {
            self.next_version += 1;
            self.service.notify();
            fault::pass("notified");
            self.forget(pages);
            if let Err(error) = self.region.tracker.settle(pages) {
                tracing::warn!(%error, "pages could not be re-armed; they are captured again next time");
            }
        }
        Ok(published)
    }

    /// The pages are in a version that is visible.
    fn forget(&mut self, pages: &PageSet) {
        self.pending.subtract(pages);
        // Suspects that were compared and found equal need no second look either.
        self.suspect.subtract(&self.bound);
    }

    fn account(&self, published: &Result<(), Skip>, pages: u64, duration: Duration) {
        let bytes = pages * self.region.span.page_size as u64;
        let held = self.store.held_bytes();
        self.count(|s| {
            s.set(Counter::HeldBytes, held)?;
            let reason = match published {
                Ok(()) => {
                    s.add(Counter::Pages, pages)?;
                    s.add(Counter::Bytes, bytes)?;
                    s.record_publish(duration.as_nanos() as u64)?;
                    return s.add(Counter::Publishes, 1);
                }
                Err(Skip::Versions { .. }) => Counter::SkipsVersions,
                Err(Skip::Bytes { .. }) => Counter::SkipsBytes,
                Err(Skip::NoMemory { .. }) => Counter::SkipsNoMemory,
            };
            s.add(reason, 1)?;
            s.add(Counter::Skips, 1)
        });
    }

    fn receipt(&self, pages: u64, duration: Duration) -> Published {
        let bytes = pages * self.region.span.page_size as u64;
        Published {
            version: self.next_version - 1,
            pages,
            bytes,
            duration,
        }
    }

    /// Say that `buffer` was written in a way that no tracker sees: by a device, or through another mapping. Here and below
    /// a field stands for the buffer that it is bound to, as in [`Producer::view_mut`].
    pub fn mark_dirty<T, D>(&mut self, buffer: impl Viewable<T, D>) {
        let pages = self.pages_of(buffer.buffer_in(self));
        self.mark(pages);
    }

    /// As [`Producer::mark_dirty`], for bytes `range` of the buffer only.
    pub fn mark_dirty_bytes<T, D>(&mut self, buffer: impl Viewable<T, D>, range: Range<usize>) {
        let pages = self.pages_of(buffer.buffer_in(self));
        let size = self.region.span.page_size;
        let end = pages
            .start
            .saturating_add(range.end.div_ceil(size))
            .min(pages.end);
        self.mark((pages.start + range.start / size).min(end)..end);
    }

    /// Devices write `buffer` from now on (RDMA, GPU, registered I/O buffers): it is captured in every version.
    pub fn register_dma<T, D>(&mut self, buffer: impl Viewable<T, D>) {
        let pages = self.pages_of(buffer.buffer_in(self));
        self.region.tracker.pin(pages.clone());
        self.always.insert_range(pages);
    }

    fn mark(&mut self, pages: Range<usize>) {
        // The `cow` tracker re-arms by replacing pages, under a device that still writes the old one: never here.
        if self.region.tracker.kind() == TrackerKind::Cow {
            self.region.tracker.pin(pages.clone());
        }
        self.pending.insert_range(pages);
    }

    /// Pages of a buffer; none for a handle of another producer.
    fn pages_of<T, D>(&self, buffer: Buffer<T, D>) -> Range<usize> {
        let own = self
            .buffers
            .get(buffer.buffer)
            .filter(|b| buffer.region == self.id && !b.scratch);
        own.map_or(0..0, |b| b.pages.clone())
    }
}
