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
