//! Compares the bytes of a version with those that the simulation wrote.

use crate::case::Case;
use crate::score::Score;
use crate::workload::Model;

/// Checks the version of `step` as an observer that exists for this version only.
pub fn look_once(score: &Score, case: &Case, observer: usize, step: u64, bytes: &[u8]) {
    score.take(observer, step);
    let wrong = look(&mut Model::new(case.workload), case, observer, step, bytes);
    score.finish(observer, step, wrong);
}

/// Returns the number of errors that `observer` finds in the version of `step`.
pub fn look(model: &mut Model, case: &Case, observer: usize, step: u64, bytes: &[u8]) -> u64 {
    model.advance(step);
    match case.checks_fully(observer, step) {
        true => model.wrong_pages(bytes),
        false => model.wrong_words(bytes),
    }
}
