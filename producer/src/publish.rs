//! `publish`: harvest, capture, make visible. No other process has a part in it (I5).

use crate::capture::Dirty;
use crate::error::PublishError;
use crate::keeper::lock;
use crate::producer::{Producer, Stalled};
use crate::receipt::{Published, Receipt};
use std::time::{Duration, Instant};
use tcasm_core::fault;
use tcasm_core::sabotage::{Guard, off};
use tcasm_core::stamp::Stamp;
use tcasm_core::stats::Counter;
use tcasm_core::store::{Progress, Skip};
use tcasm_core::sys::heap;
use tcasm_core::sys::time::deadline;

/// A capture that has come no further for so long is helped.
const PATIENCE: Duration = Duration::from_secs(1);

impl Producer {
    /// Publish the fields as they are now as the next version, of simulation step `step` and time `time`.
    ///
    /// Never waits for an observer. Where the bounds leave no room the call returns at once and says so in the receipt;
    /// the changes go into the next version. When the call returns, everything may be written again, also what is captured
    /// later: the receipt says whether some of the version is, and can be waited for.
    pub fn publish(&mut self, step: u64, time: f64) -> Result<Receipt, PublishError> {
        let start = Instant::now();
        self.check_open()?;
        if off(Guard::NeverWait) {
            self.wait_for_observers();
        }
        self.finish_last();
        let capturing = lock(&self.store).capturing();
        if let Some(version) = capturing {
            // Nothing is harvested: the changes stay where they are.
            self.help_capture(version);
            let (reason, duration) = (Skip::Capturing { version }, start.elapsed());
            self.account_skip(&reason);
            return Ok(Receipt::Skipped { reason, duration });
        }
        if let Some(reason) = self.lacks_heap() {
            let duration = start.elapsed();
            self.account_skip(&reason);
            return Ok(Receipt::Skipped { reason, duration });
        }
        let sound = self.harvest();
        let mut dirty = self.changed_pages(sound)?;
        fault::pass("harvested");
        if off(Guard::KeepHarvest) {
            self.forget(&dirty.all);
        }
        let handed = self.rewritten();
        let stamp = Stamp {
            version: self.next_version,
            step,
            time,
        };
        let captured = self.capture(&stamp, &mut dirty, &handed)?;
        if captured.is_ok() && sound {
            self.share(&dirty);
        }
        let duration = start.elapsed();
        let progress = match captured {
            Ok(progress) => progress,
            Err(reason) => {
                self.account_skip(&reason);
                return Ok(Receipt::Skipped { reason, duration });
            }
        };
        let published = self.published(&dirty, &handed, progress, duration);
        self.account(&published);
        Ok(Receipt::Published(published))
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
        while lock(&self.store).versions().any(|n| self.service.pinned(n)) {
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

    /// Copies what is left of a capture that has come no further for a while. The threads that
    /// should do it may be starved by those of the program, or a filter keeps them from being
    /// woken: without help nothing would be published any more.
    fn help_capture(&mut self, version: u64) {
        let Some(sweep) = lock(&self.store).sweep().cloned() else {
            return;
        };
        let left = sweep.left();
        let now = Stalled { version, left };
        match self.stalled {
            Some((then, since)) if then == now => {
                if since.elapsed() >= PATIENCE {
                    sweep.help();
                }
            }
            _ => self.stalled = Some((now, Instant::now())),
        }
    }

    /// Why nothing can be published: an allocation that fails would end the simulation.
    fn lacks_heap(&self) -> Option<Skip> {
        let pages = self.region.tracked.len();
        let bytes = heap::for_sets(pages, lock(&self.store).most());
        (!heap::has(bytes)).then(|| Skip::NoMemory {
            error: heap::lacks(bytes),
        })
    }

    /// Take note of how the capture of the last version has ended, if it goes on no longer.
    fn finish_last(&mut self) {
        let sweep = lock(&self.store).sweep().cloned();
        if self.wait_for_capture
            && let Some(sweep) = sweep
        {
            sweep.work();
            sweep.wait(Duration::MAX);
        }
        self.settle_last();
    }

    fn account_skip(&self, reason: &Skip) {
        let counter = match reason {
            Skip::Capturing { .. } => Counter::SkipsCapturing,
            Skip::Versions { .. } => Counter::SkipsVersions,
            Skip::Bytes { .. } => Counter::SkipsBytes,
            Skip::NoMemory { .. } => Counter::SkipsNoMemory,
        };
        let held = lock(&self.store).held_bytes();
        self.count(|s| {
            s.set(Counter::HeldBytes, held)?;
            s.add(counter, 1)?;
            s.add(Counter::Skips, 1)
        });
    }

    fn account(&self, published: &Published) {
        let held = lock(&self.store).held_bytes();
        let (later, expected) = (
            self.adaptive.later() as u64,
            self.adaptive.prediction.expected().len() as u64,
        );
        let resting = (self.region.resting.pages().len() * self.region.span.page_size) as u64;
        self.count(|s| {
            s.set(Counter::HeldBytes, held)?;
            s.set(Counter::ChunksLater, later)?;
            s.set(Counter::PagesExpected, expected)?;
            s.set(Counter::RestingBytes, resting)?;
            s.add(Counter::Pages, published.pages - published.handed_over)?;
            s.add(Counter::HandedOver, published.handed_over)?;
            s.add(Counter::Bytes, published.bytes)?;
            s.add(Counter::Later, u64::from(published.later != 0))?;
            s.record_publish(published.duration.as_nanos() as u64)?;
            s.add(Counter::Publishes, 1)
        });
    }

    fn published(
        &self,
        dirty: &Dirty,
        handed: &[usize],
        progress: Progress,
        duration: Duration,
    ) -> Published {
        let (copied, handed_over) = (dirty.all.len() as u64, self.pages_handed(handed));
        Published {
            version: self.next_version - 1,
            pages: copied + handed_over,
            later: dirty.later.len() as u64,
            handed_over,
            bytes: copied * self.region.span.page_size as u64,
            duration,
            sweep: match progress {
                Progress::Visible => None,
                Progress::Later(sweep) => Some(sweep),
            },
        }
    }
}
