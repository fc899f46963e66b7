//! The facts that an observer knows besides versions, as dictionaries.

use pyo3::prelude::*;
use std::collections::BTreeMap;
use tcasm_observer::{ObserverRow, RegionInfo};

/// Information about a region.
#[derive(IntoPyObject)]
pub struct Info {
    name: String,
    pid: u64,
    base: u64,
    bytes: u64,
    page_size: u64,
    tracker: String,
    created: u64,
    max_versions: usize,
    counters: BTreeMap<&'static str, u64>,
    publish_us: [f64; 3],
}

impl From<RegionInfo> for Info {
    fn from(info: RegionInfo) -> Self {
        Info {
            name: info.name,
            pid: info.pid,
            base: info.base,
            bytes: info.bytes,
            page_size: info.page_size,
            tracker: info.tracker,
            created: info.created,
            max_versions: info.max_versions,
            counters: info.counters.into_iter().collect(),
            publish_us: info.publish_us,
        }
    }
}

/// The memory and mappings that the arrays of an observer take in this process.
#[derive(IntoPyObject)]
pub struct ObserverStats {
    held: usize,
    windows: usize,
    mappings: usize,
    most_mappings: usize,
    copied_bytes: u64,
    copy_budget: u64,
}

impl ObserverStats {
    pub fn new(stats: &tcasm_observer::ObserverStats, held: usize) -> Self {
        ObserverStats {
            held,
            windows: stats.windows,
            mappings: stats.mappings,
            most_mappings: stats.most_mappings,
            copied_bytes: stats.copied_bytes,
            copy_budget: stats.copy_budget,
        }
    }
}

/// The counters of a producer.
#[derive(IntoPyObject)]
pub struct ProducerStats {
    publishes: u64,
    skips: u64,
    pages: u64,
    bytes: u64,
    handed_over: u64,
    held_bytes: u64,
    stray_bytes: u64,
    stray_bytes_returned: u64,
    tracker_errors: u64,
    deferred: u64,
    given_up: u64,
    early_stores: u64,
    chunks_deferred: u64,
    user_mode_only: bool,
    pages_expected: u64,
    shared_bytes: u64,
    pages_compacted: u64,
    observers: usize,
    publish_us: [f64; 3],
}

impl From<tcasm_producer::ProducerStats> for ProducerStats {
    fn from(stats: tcasm_producer::ProducerStats) -> Self {
        ProducerStats {
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
            user_mode_only: stats.user_mode_only,
            pages_expected: stats.pages_expected,
            shared_bytes: stats.shared_bytes,
            pages_compacted: stats.pages_compacted,
            observers: stats.observers,
            publish_us: [
                stats.publish_us_p50,
                stats.publish_us_p99,
                stats.publish_us_max,
            ],
        }
    }
}

/// An observer as the producer sees it.
#[derive(IntoPyObject)]
pub struct Row {
    pid: u64,
    uid: u64,
    pinned: Vec<u64>,
}

impl From<ObserverRow> for Row {
    fn from(row: ObserverRow) -> Self {
        Row {
            pid: row.pid,
            uid: row.uid,
            pinned: row.pinned,
        }
    }
}
