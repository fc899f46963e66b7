//! The workloads: those of the comparison with other methods, the solver of the examples, and
//! those that single mechanisms were made for.

use tcasm_compare::case::{COMPUTING, Case, GRAY_SCOTT};
use tcasm_compare::workload::Pattern;

/// Number of steps that run one by one before the first burst. In them, the simulation learns how
/// long it must compute.
const SETTLE: u64 = 2;
/// Number of steps of a case. A run ends after a time, and never does so many.
const STEPS: u64 = 1 << 40;
/// Interval, in steps, at which observers compare all bytes of a version.
const FULL_CHECK_EVERY: u64 = 64;

/// The work of each step, and the number of observers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// The name in options, columns and rows.
    pub name: &'static str,
    /// The pages that a step writes, or none for the solver.
    pattern: Option<Pattern>,
    /// Share of all pages that a step writes, in per cent.
    coverage: u32,
    /// Time to compute, as a multiple of the time that writing takes.
    compute: f64,
    /// The buffer is smaller by this factor, because steps take long.
    smaller: usize,
    /// Number of observers. The first one follows the newest version, the others are slow.
    observers: usize,
}

/// All workloads, in the order of the columns.
pub const ALL: [Workload; 15] = [
    pages("random-1", Pattern::Random, 1),
    pages("random-10", Pattern::Random, 10),
    pages("random-25", Pattern::Random, 25),
    pages("random-100", Pattern::Random, 100),
    Workload {
        compute: 5.0,
        smaller: 4,
        ..pages("random-100+5x", Pattern::Random, 100)
    },
    pages("contiguous-10", Pattern::Contiguous, 10),
    pages("strided-10", Pattern::Strided, 10),
    pages("same-10", Pattern::Same, 10),
    pages("drifting-10", Pattern::Drifting, 10),
    Workload {
        pattern: None,
        smaller: 2,
        ..pages("gray_scott", Pattern::Contiguous, 100)
    },
    pages("alternating", Pattern::Alternating, 25),
    pages("filled-once", Pattern::Same, 1),
    pages("gone-cold", Pattern::GoneCold, 2),
    Workload {
        observers: 2,
        ..pages("roaming", Pattern::Roaming, 5)
    },
    Workload {
        observers: 2,
        ..pages("pinned", Pattern::Random, 10)
    },
];

/// Returns a workload of steps that only write pages, with one observer.
const fn pages(name: &'static str, pattern: Pattern, coverage: u32) -> Workload {
    Workload {
        name,
        pattern: Some(pattern),
        coverage,
        compute: 0.0,
        smaller: 1,
        observers: 1,
    }
}

/// Returns the workload of this name, or an error that lists the names.
pub fn find(name: &str) -> Result<Workload, String> {
    let found = ALL.into_iter().find(|workload| workload.name == name);
    found.ok_or_else(|| {
        let names = ALL.map(|workload| workload.name).join(", ");
        format!("there is no workload {name:?}; the workloads are {names}")
    })
}

impl Workload {
    /// Returns the case of this workload for a buffer of `bytes` bytes.
    pub fn case(&self, bytes: usize) -> Case {
        let pattern = self.pattern.unwrap_or(Pattern::Contiguous);
        let bytes = bytes / self.smaller;
        let mut case = Case::new("tcasm", "uffd-async", pattern, self.coverage, bytes);
        if self.pattern.is_none() {
            case.pattern = GRAY_SCOTT.to_owned();
        } else if self.compute != 0.0 {
            case.pattern += COMPUTING;
        }
        Case {
            observers: self.observers,
            compute_ratio: self.compute,
            settle: SETTLE,
            steps: STEPS,
            full_check_every: FULL_CHECK_EVERY,
            ..case
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_is_found_by_its_name_and_an_unknown_name_lists_them() {
        for workload in ALL {
            assert_eq!(find(workload.name), Ok(workload));
        }
        let error = find("zigzag").unwrap_err();
        assert!(error.contains("\"zigzag\"") && error.contains("pinned"));
    }

    #[test]
    fn case_of_the_solver_and_of_a_simulation_that_computes_have_their_names() {
        let pattern = |name| find(name).unwrap().case(64 << 20).pattern;
        assert_eq!(pattern("gray_scott"), GRAY_SCOTT);
        assert_eq!(pattern("random-100+5x"), format!("random{COMPUTING}"));
        assert_eq!(pattern("roaming"), "roaming");
        assert_eq!(find("gray_scott").unwrap().case(64 << 20).bytes(), 32 << 20);
    }
}
