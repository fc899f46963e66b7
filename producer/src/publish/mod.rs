//! `publish`: harvests dirty pages, selects those to capture, stores them as a version, and notes
//! them as clean it. It waits for no other process (I5).

mod account;
mod apply;
mod capture;
mod dropped;
mod harvest;
mod receipt;
mod share;

pub use receipt::{GivenUp, Published, Receipt};

use crate::error::PublishError;
use crate::producer::Producer;
use std::time::{Duration, Instant};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::store::{NotPublished, Skip, Visibility};
use tcasm_core::sys::heap;
use tcasm_core::sys::time::deadline;
use tcasm_core::testing::fault;
use tcasm_core::testing::sabotage::{Guard, off};

impl Producer {
    /// Publishes the fields as they are now, as the next version, of simulation step `step` and
    /// time `time`.
    ///
    /// Never waits for an observer. If the bounds or the system leave no room, or the last capture
    /// still runs, the call returns at once, the receipt gives the reason, and the changes go into
    /// the next version. When the call returns, all fields
    /// may be written again, even those whose capture is deferred. The receipt says whether a part
    /// of the version is deferred, and can wait for it.
    pub fn publish(&mut self, step: u64, time: f64) -> Result<Receipt, PublishError> {
        let start = Instant::now();
        self.check_open()?;
        if off(Guard::NeverWait) {
            self.wait_for_observers();
        }
        self.finish_last(step);
        if let Some(reason) = self.hindrance() {
            return Ok(self.skipped(reason, start));
        }
        self.declare_announced();
        let stamp = Stamp {
            version: self.stream.next_version,
            step,
            time,
        };
        loop {
            let sound = self.harvest();
            let mut selection = self.select(sound)?;
            fault::pass("harvested");
            let handed = self.rewritten();
            self.table.update()?;
            match self.capture(&stamp, &mut selection, &handed) {
                Ok(visibility) => {
                    self.commit(&selection, matches!(visibility, Visibility::Immediate));
                    self.apply_policy(&selection, sound);
                    return Ok(self.published(&selection, &handed, visibility, start));
                }
                // Each round loses a field, so this ends.
                Err(NotPublished::Skipped(_)) if self.lost_meanwhile() => {}
                Err(NotPublished::Skipped(reason)) => {
                    self.abort(&reason);
                    return Ok(self.skipped(reason, start));
                }
                Err(NotPublished::Index(error)) => return Err(error.into()),
            }
        }
    }

    /// Marks fields as lost whose arrays have gone since the harvest. Returns true if there are
    /// some.
    fn lost_meanwhile(&mut self) -> bool {
        let gone = self.live.memory.adopted().gone();
        let some = !gone.is_empty();
        self.lose(gone);
        some
    }

    /// Publishes like [`Producer::publish`]. If nothing was published, tries again until `timeout`
    /// is over. So it waits for observers that hold all versions that there may be, for example
    /// those that take every version.
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
            // Observers release versions by a store to their lease, which wakes no thread. So this
            // tries again, with longer and longer pauses.
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// Waits until no version is pinned. Publish must never do this; it is for the test of I5.
    fn wait_for_observers(&self) {
        while self.store.lock().versions().any(|n| self.service.pinned(n)) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn check_open(&self) -> Result<(), PublishError> {
        match (self.forked(), self.stream.closed) {
            (true, _) => Err(PublishError::Forked),
            (_, true) => Err(PublishError::Closed),
            _ => Ok(()),
        }
    }

    /// Returns why nothing can be published now. Called before the harvest, so no change is lost.
    /// Also helps a capture that makes no progress.
    fn hindrance(&mut self) -> Option<Skip> {
        let capturing = self.store.lock().capturing();
        if let Some(version) = capturing {
            self.help_capture(version);
            return Some(Skip::Capturing { version });
        }
        self.lacks_heap()
    }

    /// Copies the rest of a capture that makes no progress. The copier threads may be starved by
    /// those of the program, or a filter of system calls may keep them from being woken. Without
    /// this, nothing would be published any more.
    fn help_capture(&mut self, version: u64) {
        let Some(sweep) = self.store.lock().sweep().cloned() else {
            return;
        };
        if self.stream.stalls(version, sweep.left()) {
            sweep.help();
        }
    }

    /// Returns why nothing can be published if there is too little heap. An allocation that fails
    /// would end the simulation.
    fn lacks_heap(&self) -> Option<Skip> {
        let pages = self.live.memory.tracked_pages();
        let bytes = heap::for_sets(pages, self.store.lock().most());
        (!heap::has(bytes)).then(|| Skip::NoMemory {
            error: heap::lacks(bytes),
        })
    }

    /// Takes the result of the capture of the last version, if it has ended. Waits for its end
    /// first if the builder asked for that, or has reserved room for this step, which must not be
    /// skipped.
    fn finish_last(&mut self, step: u64) {
        let (sweep, appointed) = {
            let store = self.store.lock();
            if store.is_assembling() {
                self.policy.assembly.was_in_the_way();
            }
            (store.sweep().cloned(), store.is_appointed(step))
        };
        if (self.stream.wait_for_capture || appointed)
            && let Some(sweep) = sweep
        {
            sweep.work();
            sweep.wait(Duration::MAX);
        }
        self.settle_last();
    }
}
