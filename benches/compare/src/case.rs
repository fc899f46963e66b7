//! One case: what is run and measured.

use crate::workload::{DENSE_STEPS, PAGE, Pattern, Workload};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the workload that is a simulation instead of a pattern.
pub const GRAY_SCOTT: &str = "gray_scott";
/// Ends the name of a pattern where a step computes, besides writing, five times as long as it writes.
pub const COMPUTING: &str = "+5x";

/// Steps that follow each other without a pause. The first is not measured: nothing of a step before goes on in it.
pub const BURST: u64 = 4;

/// Observers that compare all bytes of more than the last version.
const FULL_CHECKERS: usize = 4;

/// A method, a workload, and so many observers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Name of the method.
    pub method: String,
    /// Which of its ways.
    pub mode: String,
    /// A pattern's name, that with [`COMPUTING`], or [`GRAY_SCOTT`].
    pub pattern: String,
    /// Which pages a step writes.
    pub workload: Workload,
    /// Observers that are attached while it is measured.
    pub observers: usize,
    /// Time that a step computes besides writing pages, in milliseconds.
    pub compute_ms: f64,
    /// The same as a multiple of the time it takes to write the pages.
    pub compute_ratio: f64,
    /// Steps of the pattern before any is measured.
    pub settle: u64,
    /// Steps that are measured.
    pub steps: u64,
    /// The first observers compare all bytes of one version in so many. In other versions, and for other observers in all but
    /// the last, it is one word of each page.
    pub full_check_every: u64,
    /// Folder of this case alone, in memory.
    pub dir: PathBuf,
}

impl Case {
    /// A case of `method` with `pattern`, one observer, and a few steps.
    pub fn new(method: &str, mode: &str, pattern: Pattern, coverage: u32, bytes: usize) -> Self {
        Case {
            method: method.to_owned(),
            mode: mode.to_owned(),
            pattern: pattern_name(pattern),
            workload: Workload {
                pattern,
                coverage,
                pages: (bytes / PAGE).max(1),
            },
            observers: 1,
            compute_ms: 0.0,
            compute_ratio: 0.0,
            settle: 2,
            steps: 6,
            full_check_every: 1,
            dir: PathBuf::new(),
        }
    }

    /// Bytes of the simulation's buffer.
    pub fn bytes(&self) -> usize {
        self.workload.pages * PAGE
    }

    /// Number of the first step that is not there to get memory ready.
    pub fn first_burst(&self) -> u64 {
        DENSE_STEPS + self.settle
    }

    /// Number of the first step after all bursts.
    pub fn end(&self) -> u64 {
        self.first_burst() + self.steps.div_ceil(BURST - 1) * BURST
    }

    /// Whether `observer` compares all bytes of the version of `step`: some compare many versions, all the last.
    pub fn checks_fully(&self, observer: usize, step: u64) -> bool {
        let sampled = observer < FULL_CHECKERS && step.is_multiple_of(self.full_check_every);
        sampled || step + 1 >= self.end()
    }

    /// A path in the folder of the case.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.join(name)
    }

    /// How people name it.
    pub fn title(&self) -> String {
        let Case {
            method,
            mode,
            pattern,
            observers,
            ..
        } = self;
        let coverage = self.workload.coverage;
        format!("{method}/{mode}, {pattern} {coverage} %, {observers} observers")
    }
}

/// The name of a pattern, as in options and rows.
pub fn pattern_name(pattern: Pattern) -> String {
    let value = clap::ValueEnum::to_possible_value(&pattern);
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}
