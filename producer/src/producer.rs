//! The producer: its parts, its statistics and its end.

use crate::builder::Builder;
use crate::dirty::DirtyPages;
use crate::error::DefineError;
use crate::fields::{BufferInfo, FieldInfo};
use crate::keeper::{Keeper, lock};
use crate::live::LiveMemory;
use crate::policy::CapturePolicy;
use crate::service::Service;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tcasm_core::capture::Copiers;
use tcasm_core::field::{Attr, FieldTable};
use tcasm_core::index::IndexError;
use tcasm_core::layout::TABLE_BYTES;
use tcasm_core::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::lock::Lock;
use tcasm_core::track::TrackerKind;

/// A region of memory whose versions observers can map. See the documentation of the crate.
pub struct Producer {
    /// Identifies the producer, so that handles of another producer are refused.
    pub(crate) id: u64,
    pub(crate) name: String,
    /// The process that created it. A forked child must not touch what it inherited.
    process: Process,
    pub(crate) attrs: BTreeMap<String, Attr>,
    /// The copier threads. They are declared before the store and the region on which they work, so
    /// they are dropped first.
    pub(crate) copiers: Copiers,
    pub(crate) policy: CapturePolicy,
    /// True if publish waits for the capture of the last version.
    pub(crate) wait_for_capture: bool,
    pub(crate) live: LiveMemory,
    /// The pages that the next version must capture.
    pub(crate) dirty: DirtyPages,
    pub(crate) buffers: Vec<BufferInfo>,
    pub(crate) fields: Vec<FieldInfo>,
    /// The encoded field table, or `None` if it must be encoded again.
    pub(crate) table: Option<Vec<u8>>,
    pub(crate) store: Arc<Lock<Store>>,
    /// The thread that returns memory to the system meanwhile.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) service: Service,
    /// Called when a version has become visible, to notify observers.
    pub(crate) notifier: Arc<dyn Fn() + Send + Sync>,
    /// True if the last call of publish found no room under the bound on memory.
    pub(crate) tight: bool,
    /// The progress of the running capture, and when a call of publish first found it there.
    pub(crate) stalled: Option<(Stalled, Instant)>,
    pub(crate) next_version: u64,
    pub(crate) closed: bool,
}

/// The progress of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) version: u64,
    /// Pieces that are not saved yet.
    pub(crate) left: usize,
}

/// The parts that a producer consists of.
pub(crate) struct Parts {
    pub(crate) copiers: Copiers,
    pub(crate) policy: CapturePolicy,
    pub(crate) wait_for_capture: bool,
    pub(crate) first_version: u64,
    pub(crate) live: LiveMemory,
    pub(crate) store: Arc<Lock<Store>>,
    pub(crate) keeper: Option<Keeper>,
    pub(crate) service: Service,
}

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
    /// Begins a region called `name`: `Producer::builder("run").capacity(bytes).create()`.
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }

    pub(crate) fn new(name: String, attrs: BTreeMap<String, Attr>, parts: Parts) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Producer {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name,
            process: Process::current(),
            attrs,
            buffers: Vec::new(),
            fields: Vec::new(),
            table: None,
            copiers: parts.copiers,
            policy: parts.policy,
            wait_for_capture: parts.wait_for_capture,
            dirty: DirtyPages::new(parts.live.span.pages),
            live: parts.live,
            store: parts.store,
            keeper: parts.keeper,
            notifier: parts.service.notifier(),
            service: parts.service,
            tight: false,
            stalled: None,
            next_version: parts.first_version,
            closed: false,
        }
    }

    /// Returns the region's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the region's address, which is the same in every process.
    pub fn base(&self) -> usize {
        self.live.span.base
    }

    /// Returns how writes are tracked.
    pub fn tracker(&self) -> TrackerKind {
        self.live.tracker.kind()
    }

    /// Returns true if this process is a forked child of the one that created the producer.
    pub(crate) fn forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Sets an attribute of the region under any name, from the next version on.
    pub fn set_attr(&mut self, name: &str, value: impl Into<Attr>) {
        self.attrs.insert(name.to_owned(), value.into());
        self.table = None;
    }

    /// Encodes the field table.
    pub(crate) fn encode_table(&mut self) -> Result<(), DefineError> {
        let fields = self.fields.iter().map(|f| f.desc.clone()).collect();
        let bytes = FieldTable {
            fields,
            attrs: self.attrs.clone(),
        }
        .encode()?;
        if bytes.len() > TABLE_BYTES {
            return Err(DefineError::TableSize {
                bytes: bytes.len(),
                limit: TABLE_BYTES,
            });
        }
        self.table = Some(bytes);
        Ok(())
    }

    /// Updates counters. The counters are for people, so an index that cannot be written is logged
    /// and is not an error.
    pub(crate) fn count(
        &self,
        change: impl Fn(&Stats<'_>) -> Result<(), tcasm_core::words::OutOfRange>,
    ) {
        let counted = lock(&self.store)
            .index()
            .and_then(|index| Ok(change(&Stats::new(index.stats()?))?));
        if let Err(error) = counted {
            tracing::warn!(%error, "a counter could not be written");
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> ProducerStats {
        if self.forked() {
            return ProducerStats::default();
        }
        let store = lock(&self.store);
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
    #[doc(hidden)]
    pub fn check_store(&self) -> Result<bool, IndexError> {
        let store = lock(&self.store);
        for (plane, page) in self.live.shared.frames() {
            if !store.holds(plane, page)? {
                return Ok(false);
            }
        }
        store.check()
    }

    /// Returns memory that no version uses to the system. Call it after a burst of pinned versions,
    /// or before a phase that needs memory. Returns the number of bytes.
    pub fn trim(&mut self) -> std::io::Result<u64> {
        if self.forked() {
            return Ok(0);
        }
        self.settle_last();
        let mut store = lock(&self.store);
        let bytes = store.trim()? * self.live.span.page_size;
        let held = store.held_bytes();
        drop(store);
        self.count(|s| s.set(Counter::HeldBytes, held));
        Ok(bytes as u64)
    }

    /// Revokes the lease of every observer that runs as process `pid`, so that it leaves: its
    /// status says so, and it gets no more versions. Returns how many leases there were.
    ///
    /// The versions that such an observer holds stay as they are, and keep their memory, until it
    /// has dropped them and its connection, or its process has ended. No version ever changes while
    /// an observer may read it. To get memory back from a process that does not react, end that
    /// process.
    pub fn revoke(&mut self, pid: i32) -> usize {
        if self.forked() {
            return 0;
        }
        let revoked = self.service.revoke(pid);
        self.count(|s| s.add(Counter::Revoked, revoked as u64));
        revoked
    }

    /// Ends the stream: observers keep what they have, and learn that no version will follow.
    /// Dropping the producer does the same.
    pub fn close(&mut self) {
        if self.closed || self.forked() {
            return;
        }
        self.closed = true;
        self.end_capture();
        if let Some(keeper) = &mut self.keeper {
            keeper.stop();
        }
        if let Err(error) = lock(&self.store).index().and_then(|index| index.close()) {
            tracing::warn!(%error, "the end of the stream could not be marked");
        }
        self.service.stop();
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer")
            .field("name", &self.name)
            .field("base", &format_args!("{:#x}", self.base()))
            .field("tracker", &self.tracker())
            .field("fields", &self.fields.len())
            .finish_non_exhaustive()
    }
}
