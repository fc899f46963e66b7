//! Facts about regions, and counters.

use crate::border::{Growing, Out, Plain, Sized, Text};
use crate::call::call;
use crate::handles::Handle;
use crate::observer::Observer;
use crate::options::tracker_number;
use crate::producer::Producer;
use crate::status::{Failure, TCASM_NOT_FOUND};
use std::ffi::c_int;
use tcasm_observer::{ObserverStats, RegionInfo};
use tcasm_producer::ProducerStats;

/// Facts about a region. Set `size` to `sizeof(tcasm_info)` before the call
/// (`tcasm_info i = TCASM_INIT(tcasm_info);`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tcasm_info {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The process of the producer.
    pub pid: u64,
    /// The address of the region in the producer.
    pub base: u64,
    /// The bytes of address space of the region.
    pub bytes: u64,
    /// The bytes of a page.
    pub page_size: u64,
    /// When the region was created, in nanoseconds since 1970-01-01 UTC.
    pub created: u64,
    /// The most versions that may be alive at once.
    pub max_versions: u64,
    /// The time that publish takes, in microseconds: median, 99th percentile, longest.
    pub publish_us: [f64; 3],
    /// How writes are tracked: `TCASM_TRACKER_UFFD_ASYNC` and the like, or 0 if this library does
    /// not know it.
    pub tracker: u64,
}

impl Plain for tcasm_info {}
impl Growing for tcasm_info {
    const FIRST: usize = 80;
}

impl From<RegionInfo> for tcasm_info {
    fn from(found: RegionInfo) -> Self {
        tcasm_info {
            size: size_of::<Self>(),
            pid: found.pid,
            base: found.base,
            bytes: found.bytes,
            page_size: found.page_size,
            created: found.created,
            max_versions: found.max_versions as u64,
            publish_us: found.publish_us,
            tracker: tracker_number(&found.tracker) as u64,
        }
    }
}

/// Stores facts about the region.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_region_info(observer: Handle<Observer>, info: Sized<tcasm_info>) -> c_int {
    call(|| {
        let found = observer.with(|o| o.info())?;
        info.set(&found.into(), "tcasm_info")
    })
}

/// Stores a counter of the region, such as `"HeldBytes"`: `tcasm info --json` lists the names.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_counter(observer: Handle<Observer>, name: Text, value: Out<u64>) -> c_int {
    call(|| {
        let name = name.get("the name of the counter")?;
        let found = observer.with(|o| o.info())?.counter(name);
        let absent = || Failure::new(TCASM_NOT_FOUND, format!("there is no counter {name:?}"));
        value.set(found.ok_or_else(absent)?);
        Ok(())
    })
}

/// The memory and the mappings that the versions of an observer take in this process. Set `size` to
/// `sizeof(tcasm_view_stats)` before the call
/// (`tcasm_view_stats s = TCASM_INIT(tcasm_view_stats);`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tcasm_view_stats {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The address ranges that show versions. A few are kept for the next versions.
    pub windows: u64,
    /// The mappings of these windows, at most.
    pub mappings: u64,
    /// The mappings that the windows of all observers of this process may have.
    pub most_mappings: u64,
    /// The bytes of memory in which the windows hold copies of scattered parts.
    pub copied_bytes: u64,
    /// The bytes that copies may take: see `tcasm_set_copy_budget`.
    pub copy_budget: u64,
}

impl Plain for tcasm_view_stats {}
impl Growing for tcasm_view_stats {
    const FIRST: usize = 48;
}

impl From<ObserverStats> for tcasm_view_stats {
    fn from(stats: ObserverStats) -> Self {
        tcasm_view_stats {
            size: size_of::<Self>(),
            windows: stats.windows as u64,
            mappings: stats.mappings as u64,
            most_mappings: stats.most_mappings as u64,
            copied_bytes: stats.copied_bytes,
            copy_budget: stats.copy_budget,
        }
    }
}

/// Stores what the versions of an observer take in this process.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_observer_stats(
    observer: Handle<Observer>,
    stats: Sized<tcasm_view_stats>,
) -> c_int {
    call(|| stats.set(&observer.with(|o| o.stats())?.into(), "tcasm_view_stats"))
}

/// The counters of a producer. Set `size` to `sizeof(tcasm_publish_stats)` before the call
/// (`tcasm_publish_stats s = TCASM_INIT(tcasm_publish_stats);`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tcasm_publish_stats {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The versions that were published.
    pub publishes: u64,
    /// The calls of publish that skipped.
    pub skips: u64,
    /// The pages that were captured, in all.
    pub pages: u64,
    /// The bytes that were copied, in all.
    pub bytes: u64,
    /// The pages handed over, in all: they became part of a version without a copy.
    pub handed_over: u64,
    /// The bytes of memory that versions hold now.
    pub held_bytes: u64,
    /// The bytes of stray memory now: other processes allocated it by reading holes.
    pub stray_bytes: u64,
    /// The bytes of stray memory that were given back, in all.
    pub stray_bytes_returned: u64,
    /// The errors of the tracker. After each one every page was compared.
    pub tracker_errors: u64,
    /// The versions whose capture continued after publish.
    pub deferred: u64,
    /// The deferred captures that were given up. Their changes went into the next version.
    pub given_up: u64,
    /// The stores that waited because they came before their part was saved.
    pub early_stores: u64,
    /// The chunks (2 MiB) whose capture is deferred now.
    pub chunks_deferred: u64,
    /// The pages that are expected to be written now, and are left unprotected.
    pub pages_expected: u64,
    /// The bytes of live memory that are shared with versions now, so that they exist once.
    pub shared_bytes: u64,
    /// The pages that were copied next to their neighbours, so that observers need fewer mappings.
    pub pages_compacted: u64,
    /// The observers that are attached now.
    pub observers: u64,
    /// The time that publish takes, in microseconds: median, 99th percentile, longest.
    pub publish_us: [f64; 3],
    /// 1 if capture can be deferred in user mode only: a system call that writes into a field while
    /// it is captured fails (see `TCASM_NO_KERNEL_WRITES`). Otherwise 0.
    pub user_mode_only: u64,
}

impl Plain for tcasm_publish_stats {}
impl Growing for tcasm_publish_stats {
    const FIRST: usize = 176;
}

impl From<ProducerStats> for tcasm_publish_stats {
    fn from(stats: ProducerStats) -> Self {
        tcasm_publish_stats {
            size: size_of::<Self>(),
            publishes: stats.publishes,
            skips: stats.skips,
            pages: stats.pages,
            bytes: stats.bytes,
            handed_over: stats.handed_over,
            held_bytes: stats.held_bytes,
            stray_bytes: stats.stray_bytes,
            stray_bytes_returned: stats.stray_bytes_returned,
            tracker_errors: stats.tracker_errors,
            deferred: stats.deferred,
            given_up: stats.given_up,
            early_stores: stats.early_stores,
            chunks_deferred: stats.chunks_deferred,
            pages_expected: stats.pages_expected,
            shared_bytes: stats.shared_bytes,
            pages_compacted: stats.pages_compacted,
            observers: stats.observers as u64,
            publish_us: [
                stats.publish_us_p50,
                stats.publish_us_p99,
                stats.publish_us_max,
            ],
            user_mode_only: u64::from(stats.user_mode_only),
        }
    }
}

/// Stores the counters of a producer.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_producer_stats(
    producer: Handle<Producer>,
    stats: Sized<tcasm_publish_stats>,
) -> c_int {
    call(|| {
        let found = producer.with(|p| Ok::<_, Failure>(p.stats()))?;
        stats.set(&found.into(), "tcasm_publish_stats")
    })
}
