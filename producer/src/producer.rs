//! The producer itself: what it is made of, its statistics, its end.

use crate::adapt::Adaptive;
use crate::builder::Builder;
use crate::calm::Calm;
use crate::error::DefineError;
use crate::fields::{BufferInfo, FieldInfo};
use crate::keeper::{Keeper, lock};
use crate::region::Region;
use crate::service::Service;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tcasm_core::capture::Copiers;
use tcasm_core::field::{Attr, FieldTable};
use tcasm_core::index::IndexError;
use tcasm_core::layout::TABLE_BYTES;
use tcasm_core::pageset::PageSet;
use tcasm_core::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::lock::Lock;
use tcasm_core::track::TrackerKind;

/// A region of memory whose versions observers can map. See the crate's documentation.
pub struct Producer {
    /// Tells handles of different producers apart.
    pub(crate) id: u64,
    pub(crate) name: String,
    /// The process that made it: a forked child must not touch what it inherited.
    process: Process,
    pub(crate) attrs: BTreeMap<String, Attr>,
    /// Dropped before what the threads work on: the store and the region.
    pub(crate) copiers: Copiers,
    pub(crate) adaptive: Adaptive,
    /// What may come to rest on planes; none: nothing.
    pub(crate) calm: Option<Calm>,
    /// Whether publish waits for the capture of the last version.
    pub(crate) wait_for_capture: bool,
    pub(crate) region: Region,
    pub(crate) buffers: Vec<BufferInfo>,
    pub(crate) fields: Vec<FieldInfo>,
    /// The encoded field table, while it is up to date.
    pub(crate) table: Option<Vec<u8>>,
    /// Pages of buffers that are bound to a field: those that are captured.
    pub(crate) bound: PageSet,
    /// Pages written since they were last captured (I4: kept until a version with them is visible).
    pub(crate) pending: PageSet,
    /// Pages that may have been written: compared before they are captured.
    pub(crate) suspect: PageSet,
    /// Pages that the last harvest found because they faulted.
    pub(crate) faulted: PageSet,
    /// Pages that devices write behind the tracker's back: captured every time.
    pub(crate) always: PageSet,
    /// Pages that devices write or wrote: captured inside publish only.
    pub(crate) devices: PageSet,
    pub(crate) store: Arc<Lock<Store>>,
    /// Gives memory back meanwhile.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) service: Service,
    /// Tells subscribers of a version that has become visible.
    pub(crate) notifier: Arc<dyn Fn() + Send + Sync>,
    /// Whether the last call of publish found no room under the bound on memory.
    pub(crate) tight: bool,
    /// How far a capture had come, and when, at the first call of publish that found it there.
    pub(crate) stalled: Option<(Stalled, Instant)>,
    pub(crate) next_version: u64,
    pub(crate) closed: bool,
}

/// How far a capture has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) version: u64,
    /// Pieces that are not saved.
    pub(crate) left: usize,
}

/// What a producer is put together from.
pub(crate) struct Parts {
    pub(crate) copiers: Copiers,
    pub(crate) adaptive: Adaptive,
    pub(crate) calm: Option<Calm>,
    pub(crate) wait_for_capture: bool,
    pub(crate) first_version: u64,
    pub(crate) region: Region,
    pub(crate) store: Arc<Lock<Store>>,
    pub(crate) keeper: Option<Keeper>,
    pub(crate) service: Service,
}

/// What a producer has counted, and how long `publish` took.
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
    /// Pages handed over: they became a version's without a copy.
    pub handed_over: u64,
    /// Bytes of memory that versions hold now, and live memory of handed-over fields.
    pub held_bytes: u64,
    /// Bytes of memory in planes that other processes allocated, by reading where nothing is, and that
    /// could not be given back so far.
    pub stray_bytes: u64,
    /// Bytes of such memory that were given back, in all.
    pub stray_bytes_returned: u64,
    /// Errors of the tracker, after each of which every page was compared.
    pub tracker_errors: u64,
    /// Versions whose capture went on after publish.
    pub later: u64,
    /// ... and was given up: their changes went into the next one.
    pub given_up: u64,
    /// Stores that waited because they came before their chunk was saved. Of the last version they are counted by the next
    /// publish, as are given-up ones.
    pub early_stores: u64,
    /// Chunks that are captured later now.
    pub chunks_later: u64,
    /// Pages that are expected to be written now, and not protected.
    pub pages_expected: u64,
    /// Bytes of live memory that rest on planes now: they exist once.
    pub resting_bytes: u64,
    /// Pages that were copied next to their neighbours, so that observers need fewer mappings.
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
    /// Begin a region called `name`: `Producer::builder("run").capacity(bytes).create()`.
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }

    pub(crate) fn new(name: String, attrs: BTreeMap<String, Attr>, parts: Parts) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let set = || PageSet::new(parts.region.span.pages);
        Producer {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name,
            process: Process::current(),
            attrs,
            buffers: Vec::new(),
            fields: Vec::new(),
            table: None,
            bound: set(),
            pending: set(),
            suspect: set(),
            faulted: set(),
            always: set(),
            devices: set(),
            copiers: parts.copiers,
            adaptive: parts.adaptive,
            calm: parts.calm,
            wait_for_capture: parts.wait_for_capture,
            region: parts.region,
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

    /// The region's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The region's address, the same in every process.
    pub fn base(&self) -> usize {
        self.region.span.base
    }

    /// How writes are tracked.
    pub fn tracker(&self) -> TrackerKind {
        self.region.tracker.kind()
    }

    /// Whether this process is a forked child of the one that made the producer.
    pub(crate) fn forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Set a free attribute of the region, from the next version on.
    pub fn set_attr(&mut self, name: &str, value: impl Into<Attr>) {
        self.attrs.insert(name.to_owned(), value.into());
        self.table = None;
    }

    /// Bring the encoded field table up to date.
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

    /// Count something; the counters are for people, so an index that cannot be written is no reason to fail.
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

    /// What was counted so far.
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
                later: stats.get(Counter::Later)?,
                given_up: stats.get(Counter::GivenUp)?,
                early_stores: stats.get(Counter::EarlyStores)?,
                chunks_later: stats.get(Counter::ChunksLater)?,
                pages_expected: stats.get(Counter::PagesExpected)?,
                resting_bytes: stats.get(Counter::RestingBytes)?,
                pages_compacted: stats.get(Counter::PagesCompacted)?,
                observers: self.service.observers(),
                publish_us_p50: us(0.5)?,
                publish_us_p99: us(0.99)?,
                publish_us_max: stats.get(Counter::PublishMaxNs)? as f64 / 1e3,
            })
        };
        read().unwrap_or_default()
    }

    /// Whether planes and page maps agree, and live memory rests on slots of the newest version only: for tests.
    #[doc(hidden)]
    pub fn check_store(&self) -> Result<bool, IndexError> {
        let store = lock(&self.store);
        for (plane, page) in self.region.resting.slots() {
            if !store.holds(plane, page)? {
                return Ok(false);
            }
        }
        store.check()
    }

    /// Give memory back that no version uses: after a burst of pinned versions, or before a phase that needs memory.
    /// Returns the bytes given back.
    pub fn trim(&mut self) -> std::io::Result<u64> {
        if self.forked() {
            return Ok(0);
        }
        self.settle_last();
        let mut store = lock(&self.store);
        let bytes = store.trim()? * self.region.span.page_size;
        let held = store.held_bytes();
        drop(store);
        self.count(|s| s.set(Counter::HeldBytes, held));
        Ok(bytes as u64)
    }

    /// Revoke the lease of every observer that runs as process `pid`: its pins no longer count, and it is told. Returns how
    /// many there were.
    ///
    /// What such an observer still has mapped may change under it from now on; it can tell by its status.
    pub fn oust(&mut self, pid: i32) -> usize {
        if self.forked() {
            return 0;
        }
        let ousted = self.service.oust(pid);
        self.count(|s| s.add(Counter::Ousted, ousted as u64));
        ousted
    }

    /// End of the stream: observers keep what they have, and learn that nothing more will come. Dropping the producer does
    /// the same.
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
