//! Selects the cases to run.

use crate::case::{COMPUTING, Case, GRAY_SCOTT, pattern_name};
use crate::failure::Failure;
use crate::methods::{self, Method};
use crate::workload::Pattern;

/// Shares of pages in the first figure, in per cent.
pub const COVERAGES: [u32; 7] = [1, 5, 10, 25, 50, 75, 100];
/// Numbers of observers in the second figure.
pub const OBSERVERS: [usize; 4] = [0, 1, 10, 50];
/// Shares of pages in the second figure, in per cent.
pub const OBSERVED_COVERAGES: [u32; 2] = [10, 100];

/// The selection of the user. For an empty list, the plan chooses the values.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names of methods, `method` or `method/mode`.
    pub only: Vec<String>,
    /// True if fewer cases are to be run.
    pub quick: bool,
    /// Size of the buffer, in bytes.
    pub bytes: usize,
    /// Number of steps that are measured.
    pub steps: u64,
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// Shares of pages that a step writes, in per cent.
    pub coverages: Vec<u32>,
    /// Numbers of observers.
    pub observers: Vec<usize>,
    /// Time for which each step computes, in milliseconds.
    pub compute_ms: f64,
}

impl Wanted {
    /// Returns the selected cases, without duplicates.
    pub fn cases(&self) -> Result<Vec<Case>, Failure> {
        let mut cases: Vec<Case> = Vec::new();
        for (method, mode) in self.modes()? {
            for case in self.of_mode(method, &mode) {
                if !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
        Ok(cases)
    }

    fn modes(&self) -> Result<Vec<(&'static dyn Method, String)>, Failure> {
        let mut chosen = Vec::new();
        for method in methods::ALL.iter().filter(|_| self.only.is_empty()) {
            chosen.extend(method.modes().into_iter().map(|mode| (*method, mode)));
        }
        for name in &self.only {
            let (name, mode) = name
                .split_once('/')
                .map_or((name.as_str(), None), |(n, m)| (n, Some(m)));
            let method = methods::find(name)?;
            let modes = method.modes();
            // "sst" stands for "sst (python)".
            let is = |m: &String| mode.is_none_or(|w| m == w || m.split(' ').next() == Some(w));
            let found: Vec<_> = modes.into_iter().filter(is).map(|m| (method, m)).collect();
            if found.is_empty() {
                return Err(methods::no_mode(method, mode.unwrap_or_default()));
            }
            chosen.extend(found);
        }
        Ok(chosen)
    }

    fn of_mode(&self, method: &dyn Method, mode: &str) -> Vec<Case> {
        let case = |pattern, coverage, observers| Case {
            observers,
            compute_ms: self.compute_ms,
            steps: self.steps,
            settle: method.settling_steps(self.bytes),
            full_check_every: if self.quick { 1 } else { 5 },
            ..Case::new(method.name(), mode, pattern, coverage, self.bytes)
        };
        if !(self.patterns.is_empty() && self.coverages.is_empty() && self.observers.is_empty()) {
            return self.product(case);
        }
        let slow = method.is_slow_to_start();
        let first = method.modes().first().is_some_and(|m| m == mode);
        let mut cases = planned(self.quick, slow, first, case);
        if method.name() == "tcasm" {
            cases.push(Case {
                pattern: GRAY_SCOTT.to_owned(),
                compute_ms: 0.0,
                ..case(Pattern::Contiguous, 100, 1)
            });
        }
        cases
    }

    /// Returns a case for each combination of the values that the user asked for.
    fn product(&self, case: impl Fn(Pattern, u32, usize) -> Case) -> Vec<Case> {
        let patterns = or(&self.patterns, &[Pattern::Random]);
        let coverages = or(&self.coverages, &COVERAGES);
        let observers = or(&self.observers, &[1]);
        let pairs = patterns
            .iter()
            .flat_map(|p| coverages.iter().map(move |c| (*p, *c)));
        pairs
            .flat_map(|(p, c)| observers.iter().map(|o| case(p, c, *o)).collect::<Vec<_>>())
            .collect()
    }
}

/// Returns the cases of one mode: those of both figures, the other patterns, and a simulation that
/// also computes.
///
/// A quick run has fewer cases for a method that is slow to start. It has cases with many observers
/// only for the first mode of a method.
fn planned(
    quick: bool,
    slow: bool,
    first: bool,
    case: impl Fn(Pattern, u32, usize) -> Case,
) -> Vec<Case> {
    let few = quick && slow;
    let most_observers = if few || (quick && !first) {
        1
    } else {
        usize::MAX
    };
    let mut cases = Vec::new();
    for coverage in COVERAGES
        .into_iter()
        .filter(|c| !few || OBSERVED_COVERAGES.contains(c))
    {
        cases.push(case(Pattern::Random, coverage, 1));
    }
    for coverage in OBSERVED_COVERAGES {
        for observers in OBSERVERS.into_iter().filter(|o| *o <= most_observers) {
            cases.push(case(Pattern::Random, coverage, observers));
        }
    }
    let others = Pattern::COMPARED.iter().filter(|p| **p != Pattern::Random);
    for pattern in others.filter(|_| !few) {
        cases.push(case(*pattern, 10, 1));
        cases.extend((!quick).then(|| case(*pattern, 50, 1)));
    }
    for coverage in OBSERVED_COVERAGES
        .into_iter()
        .filter(|c| !few && (!quick || *c == 100))
    {
        cases.push(Case {
            pattern: pattern_name(Pattern::Random) + COMPUTING,
            compute_ratio: 5.0,
            ..case(Pattern::Random, coverage, 1)
        });
    }
    cases
}

fn or<T: Clone>(asked: &[T], otherwise: &[T]) -> Vec<T> {
    match asked {
        [] => otherwise.to_vec(),
        _ => asked.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(only: &[&str]) -> Wanted {
        Wanted {
            only: only.iter().map(|s| s.to_string()).collect(),
            bytes: 1 << 20,
            steps: 3,
            ..Wanted::default()
        }
    }

    #[test]
    fn full_plan_has_every_point_of_both_figures_once() {
        let cases = wanted(&[]).cases().unwrap();
        for (method, mode) in wanted(&[]).modes().unwrap() {
            let count = |coverage, observers| {
                let is = |c: &&Case| {
                    (c.method.as_str(), &c.mode) == (method.name(), &mode)
                        && (c.pattern.as_str(), c.workload.coverage, c.observers)
                            == ("random", coverage, observers)
                };
                cases.iter().filter(is).count()
            };
            assert!(COVERAGES.iter().all(|c| count(*c, 1) == 1), "{mode}");
            assert!(
                OBSERVERS
                    .iter()
                    .all(|o| OBSERVED_COVERAGES.iter().all(|c| count(*c, *o) == 1)),
                "{mode}"
            );
        }
    }

    #[test]
    fn methods_are_selected_with_their_mode_and_errors_list_the_known_names() {
        let cases = wanted(&["iceoryx2/loan", "adios2/sst"]).cases().unwrap();
        assert!(
            cases
                .iter()
                .all(|c| c.mode == "loan" || c.mode == "sst (python)")
        );
        let error = |name| wanted(&[name]).cases().unwrap_err().to_string();
        assert!(error("mmap").contains("file-asm"), "{}", error("mmap"));
        assert!(
            error("iceoryx2/lend").contains("loan"),
            "{}",
            error("iceoryx2/lend")
        );
    }
}
