//! The counters of a producer.

use crate::producer::Producer;
use tcasm_core::format::index::IndexError;
use tcasm_core::format::stats::{Counter, Stats};

/// Counters of a producer, and how long `publish` took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProducerStats {
    /// Versions published.
    pub publishes: u64,
    /// Calls of publish that were skipped.
    pub skips: u64,
    /// Pages captured.
    pub pages: u64,
    /// Bytes captured.
    pub bytes: u64,
    /// Pages handed over: they became part of a version without a copy.
    pub handed_over: u64,
    /// Bytes of memory that versions hold now, with the live memory of handed-over fields.
    pub held_bytes: u64,
    /// Bytes of stray memory: other processes allocated it by reading holes of planes, and it could
    /// not be given back so far.
    pub stray_bytes: u64,
    /// Bytes of stray memory that were given back, in all.
    pub stray_bytes_returned: u64,
    /// Errors of the tracker. After each one every page was compared.
    pub tracker_errors: u64,
    /// Versions whose capture continued after publish.
    pub deferred: u64,
    /// Deferred captures that were given up. Their changes went into the next version.
    pub given_up: u64,
    /// Stores that waited because they came before their chunk was saved. Those of the last version
    /// are counted by the next publish. So are captures that were given up.
    pub early_stores: u64,
    /// Chunks whose capture is deferred now.
    pub chunks_deferred: u64,
    /// True if capture can be deferred in user mode only: a system call that writes into a field
    /// while it is captured fails. See [`no_kernel_writes`](crate::Builder::no_kernel_writes).
    pub user_mode_only: bool,
    /// Pages that are expected to be written now, and are left unprotected.
    pub pages_expected: u64,
    /// Bytes of live memory that are shared with planes now, so that they exist once.
    pub shared_bytes: u64,
    /// Pages that were compacted: copied next to their neighbours, so that observers need fewer
    /// mappings.
    pub pages_compacted: u64,
    /// Observers attached now.
    pub observers: usize,
    /// Median duration of publish, in microseconds.
    pub publish_us_p50: f64,
    /// 99th percentile of the duration of publish, in microseconds.
    pub publish_us_p99: f64,
    /// Longest publish, in microseconds.
    pub publish_us_max: f64,
}

impl Producer {
    /// Returns the counters.
    pub fn stats(&self) -> ProducerStats {
        if self.forked() {
            return ProducerStats::default();
        }
        let store = self.store.lock();
        let read = || -> Result<ProducerStats, IndexError> {
            let stats = Stats::new(store.index()?.stats()?);
            let us = |q| stats.publish_quantile_ns(q).map(|ns| ns as f64 / 1e3);
            Ok(ProducerStats {
                publishes: stats.get(Counter::Publishes)?,
                skips: stats.get(Counter::Skips)?,
                pages: stats.get(Counter::Pages)?,
                bytes: stats.get(Counter::Bytes)?,
                handed_over: stats.get(Counter::HandedOver)?,
                held_bytes: store.held_bytes(),
                stray_bytes: stats.get(Counter::StrayBytes)?,
                stray_bytes_returned: stats.get(Counter::StrayBytesReturned)?,
                tracker_errors: stats.get(Counter::TrackerErrors)?,
                deferred: stats.get(Counter::Deferred)?,
                given_up: stats.get(Counter::GivenUp)?,
                early_stores: stats.get(Counter::EarlyStores)?,
                chunks_deferred: stats.get(Counter::ChunksDeferred)?,
                user_mode_only: self.live.deferred.user_mode_only(),
                pages_expected: stats.get(Counter::PagesExpected)?,
                shared_bytes: stats.get(Counter::SharedBytes)?,
                pages_compacted: stats.get(Counter::PagesCompacted)?,
                observers: self.service.observers(),
                publish_us_p50: us(0.5)?,
                publish_us_p99: us(0.99)?,
                publish_us_max: stats.get(Counter::PublishMaxNs)? as f64 / 1e3,
            })
        };
        read().unwrap_or_default()
    }

    /// Returns true if planes and page maps agree, and live memory is shared with frames of the
    /// newest version only. For tests.
    #[cfg(feature = "test-knobs")]
    pub fn check_store(&self) -> Result<bool, IndexError> {
        let store = self.store.lock();
        for (plane, page) in self.live.shared.frames() {
            if !store.holds(plane, page)? {
                return Ok(false);
            }
        }
        store.check()
    }
}
