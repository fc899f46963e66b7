//! The producer, and the parts that it consists of. What a program does with it is in `api/` and
//! `publish/`.

use crate::dirty::DirtyPages;
use crate::keeper::Keeper;
use crate::live::LiveMemory;
use crate::policy::CapturePolicy;
use crate::service::Service;
use crate::stream::Stream;
use crate::table::Table;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tcasm_core::capture::Copiers;
use tcasm_core::field::Attr;
use tcasm_core::format::stats::Stats;
use tcasm_core::format::words::OutOfRange;
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
    /// The copier threads. They are declared before the store and the region on which they work, so
    /// they are dropped first.
    pub(crate) copiers: Copiers,
    pub(crate) policy: CapturePolicy,
    /// The thread that works on the memory of the region meanwhile. It ends before live memory is
    /// unmapped.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) live: LiveMemory,
    /// The pages that the next version must capture.
    pub(crate) dirty: DirtyPages,
    pub(crate) table: Table,
    /// The versions. A panic while the store was locked leaves it usable, because what it says is
    /// checked anyway.
    pub(crate) store: Arc<Lock<Store>>,
    pub(crate) service: Service,
    /// Called when a version has become visible, to notify observers.
    pub(crate) notifier: Arc<dyn Fn() + Send + Sync>,
    pub(crate) stream: Stream,
}

/// The parts that a new producer consists of.
pub(crate) struct Parts {
    pub(crate) copiers: Copiers,
    pub(crate) policy: CapturePolicy,
    pub(crate) live: LiveMemory,
    pub(crate) store: Arc<Lock<Store>>,
    pub(crate) keeper: Option<Keeper>,
    pub(crate) service: Service,
    pub(crate) stream: Stream,
}

impl Producer {
    pub(crate) fn new(name: String, attrs: BTreeMap<String, Attr>, parts: Parts) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Producer {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name,
            process: Process::current(),
            copiers: parts.copiers,
            policy: parts.policy,
            dirty: DirtyPages::new(parts.live.span.pages),
            live: parts.live,
            table: Table::new(attrs),
            store: parts.store,
            keeper: parts.keeper,
            notifier: parts.service.notifier(),
            service: parts.service,
            stream: parts.stream,
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
        self.live.memory.kind()
    }

    /// Returns true if this process is a forked child of the one that created the producer.
    pub(crate) fn forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Sets an attribute of the region under any name, from the next version on.
    pub fn set_attr(&mut self, name: &str, value: impl Into<Attr>) {
        self.table.set_attr(name, value.into());
    }

    /// Updates counters. The counters are for people, so an index that cannot be written is logged
    /// and is not an error.
    pub(crate) fn count(&self, change: impl Fn(&Stats<'_>) -> Result<(), OutOfRange>) {
        let counted = self
            .store
            .lock()
            .index()
            .and_then(|index| Ok(change(&Stats::new(index.stats()?))?));
        if let Err(error) = counted {
            log::warn!("a counter could not be written: {error}");
        }
    }
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer")
            .field("name", &self.name)
            .field("base", &format_args!("{:#x}", self.base()))
            .field("tracker", &self.tracker())
            .field("fields", &self.table.fields.len())
            .finish_non_exhaustive()
    }
}
