//! The receipts of publish, and the counters that it updates.

use super::receipt::{Published, Receipt};
use crate::dirty::Selection;
use crate::producer::Producer;
use std::time::Instant;
use tcasm_core::format::stats::Counter;
use tcasm_core::store::{Skip, Visibility};

impl Producer {
    /// Counts a version, and returns its receipt. `start` is when the call began.
    pub(crate) fn published(
        &mut self,
        selection: &Selection,
        handed: &[usize],
        visibility: Visibility,
        start: Instant,
    ) -> Receipt {
        let (copied, handed_over) = (selection.all.len() as u64, self.table.pages_handed(handed));
        let published = Published {
            version: self.stream.next_version - 1,
            pages: copied + handed_over,
            deferred: selection.deferred.len() as u64,
            handed_over,
            bytes: copied * self.live.span.page_size as u64,
            lost: std::mem::take(&mut self.stream.lost),
            duration: start.elapsed(),
            #[cfg(feature = "test-knobs")]
            chunks: super::receipt::chunks(&visibility),
            ending: match visibility {
                Visibility::Immediate => None,
                Visibility::Deferred(sweep) => Some(sweep.ending()),
            },
        };
        self.account(&published);
        Receipt::Published(published)
    }

    /// Counts a call that published nothing because of `reason`, and returns its receipt.
    pub(crate) fn skipped(&self, reason: Skip, start: Instant) -> Receipt {
        let duration = start.elapsed();
        self.account_skip(&reason);
        Receipt::Skipped { reason, duration }
    }

    fn account_skip(&self, reason: &Skip) {
        let counter = match reason {
            Skip::Capturing { .. } => Counter::SkipsCapturing,
            Skip::Versions { .. } => Counter::SkipsVersions,
            Skip::Bytes { .. } => Counter::SkipsBytes,
            Skip::NoMemory { .. } => Counter::SkipsNoMemory,
        };
        let held = self.store.lock().held_bytes();
        self.count(|s| {
            s.set(Counter::HeldBytes, held)?;
            s.add(counter, 1)?;
            s.add(Counter::Skips, 1)
        });
    }

    fn account(&self, published: &Published) {
        let held = self.store.lock().held_bytes();
        let (deferred, expected) = (
            self.live.deferred.len() as u64,
            self.policy.expected().len() as u64,
        );
        let user_mode_only = u64::from(self.live.deferred.user_mode_only());
        let shared = (self.live.shared.pages().len() * self.live.span.page_size) as u64;
        self.count(|s| {
            s.set(Counter::HeldBytes, held)?;
            s.set(Counter::ChunksDeferred, deferred)?;
            s.set(Counter::UserModeOnly, user_mode_only)?;
            s.set(Counter::PagesExpected, expected)?;
            s.set(Counter::SharedBytes, shared)?;
            s.add(Counter::Pages, published.pages - published.handed_over)?;
            s.add(Counter::HandedOver, published.handed_over)?;
            s.add(Counter::Bytes, published.bytes)?;
            s.add(Counter::Deferred, u64::from(published.deferred != 0))?;
            s.record_publish(published.duration.as_nanos() as u64)?;
            s.add(Counter::Publishes, 1)
        });
    }
}
