//! The states of a field in which kernels are measured.

use super::memory::Change;
use super::work::Kernel;
use super::{BYTES, PAGES};
use crate::workload::{Random, random_pages};
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_producer::ProducerStats;

/// The part of the pages that a sparse step writes, in per cent.
const SPARSE: usize = 1;

/// A state of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Plain memory without huge pages.
    SmallPages,
    /// Written, and never captured.
    Fresh,
    /// Captured and not written since. Sharing with planes is off.
    Captured,
    /// Shared with a plane.
    Shared,
    /// Each step writes a few random pages.
    Sparse,
    /// Each step writes everything, and the capture is deferred.
    Dense,
    /// Handed over. Each step rewrites everything.
    HandedOver,
    /// In reserved huge pages. Each step writes a few random pages, and publish compares all.
    Reserved,
}

impl State {
    pub(super) const ALL: [State; 8] = [
        State::SmallPages,
        State::Fresh,
        State::Captured,
        State::Shared,
        State::Sparse,
        State::Dense,
        State::HandedOver,
        State::Reserved,
    ];

    /// Returns the name in the table.
    pub(super) fn what(self) -> &'static str {
        match self {
            State::SmallPages => "plain memory without huge pages",
            State::Fresh => "a field that was never published",
            State::Captured => "a field that was not written since its capture",
            State::Shared => "a field that is shared with a plane",
            State::Sparse => "a field of which each step writes a random 1 % of the pages",
            State::Dense => "a field that is written whole in each step, captured after publish",
            State::HandedOver => "a field that is handed over",
            State::Reserved => {
                "a field in reserved huge pages, each step writes a random 1 % of the pages"
            }
        }
    }

    /// Returns the largest time allowed, in times of plain memory with huge pages.
    pub(super) fn bar(self) -> Option<f64> {
        match self {
            State::SmallPages => None,
            State::Sparse => Some(1.10),
            _ => Some(1.02),
        }
    }

    /// Returns true if the kernel can run in this state. One that writes ends the states that
    /// depend on memory not being written.
    pub(super) fn takes(self, kernel: Kernel) -> bool {
        !kernel.writes() || !matches!(self, State::Captured | State::Shared)
    }

    /// Returns true if steps are published.
    pub(super) fn publishes(self) -> bool {
        !matches!(self, State::SmallPages | State::Fresh)
    }

    /// Returns the least number of steps until the library has adapted to them.
    pub(super) fn steps(self) -> usize {
        match self {
            State::SmallPages | State::Fresh => 0,
            _ => 20,
        }
    }

    /// Returns what the next step writes before the kernel.
    pub(super) fn change(self, random: &mut Random) -> Change {
        match self {
            State::Sparse | State::Reserved => Change::Pages(random_pages(random, PAGES, SPARSE)),
            State::Dense | State::HandedOver => Change::All,
            _ => Change::Nothing,
        }
    }

    /// Returns the part of the field that is not in this state, if the counters of the producer
    /// tell.
    pub(super) fn outside(self, stats: &ProducerStats) -> Option<f64> {
        match self {
            State::Shared => Some(1.0 - stats.shared_bytes as f64 / BYTES as f64),
            State::Dense => {
                let chunks = PAGES / CHUNK_PAGES;
                Some(1.0 - stats.chunks_deferred as f64 / chunks as f64)
            }
            _ => None,
        }
    }
}
