//! A case: one combination of method, workload and number of observers.

use crate::workload::{DENSE_STEPS, PAGE, Pattern, Workload};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of the workload that is a simulation instead of a pattern.
pub const GRAY_SCOTT: &str = "gray_scott";
/// Suffix of a pattern's name. In such a case, a step also computes, for five times as long as it
/// writes.
pub const COMPUTING: &str = "+5x";

/// Number of steps in a burst. The steps of a burst follow each other without a pause. The first
/// one is not measured, because no work of an earlier step can still be in progress during it.
pub const BURST: u64 = 4;

/// Number of observers that compare all bytes of more than the last version.
const FULL_CHECKERS: usize = 4;

/// A method, a workload, and a number of observers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Name of the method.
    pub method: String,
    /// Mode of the method.
    pub mode: String,
    /// The name of a pattern, with or without the suffix [`COMPUTING`], or [`GRAY_SCOTT`].
    pub pattern: String,
    /// The pages that each step writes.
    pub workload: Workload,
    /// Number of observers that are attached during the measurement.
    pub observers: usize,
    /// Time for which a step computes in addition to writing pages, in milliseconds.
    pub compute_ms: f64,
    /// More time to compute, as a multiple of the time that writing the pages takes. It is added to
    /// `compute_ms`.
    pub compute_ratio: f64,
    /// Number of steps of the pattern before the first one that is measured.
    pub settle: u64,
    /// Number of steps that are measured.
    pub steps: u64,
    /// Interval, in steps, at which the first four observers compare all bytes of a version. All
    /// observers compare all bytes of the last version. In all other cases, an observer compares
    /// one word of each page.
    pub full_check_every: u64,
    /// Folder that only this case uses, in memory.
    pub dir: PathBuf,
}

impl Case {
    /// Creates a case of `method` with `pattern`, one observer, and a few steps.
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

    /// Returns the size of the simulation's buffer, in bytes.
    pub fn bytes(&self) -> usize {
        self.workload.pages * PAGE
    }

    /// Returns the number of the first step after those that prepare memory and let the method
    /// settle.
    pub fn first_burst(&self) -> u64 {
        DENSE_STEPS + self.settle
    }

    /// Returns the number of the first step after all bursts.
    pub fn end(&self) -> u64 {
        self.first_burst() + self.steps.div_ceil(BURST - 1) * BURST
    }

    /// Returns true if `observer` compares all bytes of the version of `step`.
    pub fn checks_fully(&self, observer: usize, step: u64) -> bool {
        let sampled = observer < FULL_CHECKERS && step.is_multiple_of(self.full_check_every);
        sampled || step + 1 >= self.end()
    }

    /// Returns the path of `name` in the folder of the case.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns a description of the case for messages.
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

/// Returns the name of a pattern, as used in options and rows.
pub fn pattern_name(pattern: Pattern) -> String {
    let value = clap::ValueEnum::to_possible_value(&pattern);
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}
