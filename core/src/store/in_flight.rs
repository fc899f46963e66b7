//! A capture that goes on after `publish` has returned, and its result.

use super::handed::Handed;
use crate::capture::{Outcome, Sweep};
use crate::pageset::PageSet;
use crate::planes::Frames;
use std::sync::Arc;
use std::time::Duration;

/// A version whose capture is still running.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) sweep: Arc<Sweep>,
    pub(super) version: u64,
    pub(super) slot: usize,
    pub(super) frames: Frames,
    pub(super) pages: PageSet,
    /// The pages that are copied from the newest version.
    pub(super) assembled: PageSet,
    /// The handed-over buffers that the version took over without a copy.
    pub(super) handed: Vec<Handed>,
}

/// The result of a capture that went on after `publish` had returned.
#[derive(Debug)]
pub struct Settled {
    /// The number of the version.
    pub version: u64,
    /// The pages that were captured.
    pub pages: PageSet,
    /// True if the version has chunks that were assembled.
    pub assembled: bool,
    /// Whether all pages were saved. If the capture was given up, its pages belong into the next
    /// version.
    pub outcome: Outcome,
    /// The number of early stores, and how long they waited in all.
    pub early: (u64, Duration),
    /// Each deferred chunk, with the number of its pages that have changed.
    pub changed: Vec<(usize, u32)>,
}
