//! The observer process. It takes the newest version as soon as there is one, checks it, and
//! releases it.

use crate::case::{Case, GRAY_SCOTT};
use crate::failure::Failure;
use crate::methods::{self, Sink};
use crate::score::Score;
use crate::sys::process::give_way;
use crate::workload::Model;
use crate::{gray_scott, held};
use std::time::Duration;

/// Time for which an observer waits for a version before it checks whether the case has ended.
const TAKE_TIMEOUT: Duration = Duration::from_millis(100);

/// Runs observer `observer` until the case ends.
pub fn run(case: &Case, observer: usize) -> Result<(), Failure> {
    let score = Score::open(&case.path("score"))?;
    give_way();
    if case.pattern == GRAY_SCOTT {
        return gray_scott::observe(&score, observer);
    }
    let mut model = Model::new(case.workload);
    score.set_own_bytes(observer, held::anonymous_of(std::process::id() as i32)?);
    let sink = methods::find(&case.method)?.sink(case, observer)?;
    sink.map_or(Ok(()), |mut sink| {
        follow(sink.as_mut(), &score, observer, |sink, step| {
            Ok(look(&mut model, case, observer, step, sink.bytes()?))
        })
    })
}

/// Takes versions until the case ends. `wrong` counts the errors of a version.
pub fn follow<S: Sink + ?Sized>(
    sink: &mut S,
    score: &Score,
    observer: usize,
    mut wrong: impl FnMut(&S, u64) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    score.ready(observer);
    let mut after = None;
    while !score.closed() {
        let Some(step) = sink.take(after, TAKE_TIMEOUT)? else {
            continue;
        };
        score.take(observer, step);
        // A version that is not newer than the last one counts as an error, like a wrong page.
        let backwards = u64::from(after.is_some_and(|a| step <= a));
        let wrong = wrong(sink, step)? + backwards;
        sink.release()?;
        score.finish(observer, step, wrong);
        after = Some(step);
    }
    Ok(())
}

/// Checks the version of `step` as an observer that exists for this version only.
pub fn look_once(score: &Score, case: &Case, observer: usize, step: u64, bytes: &[u8]) {
    score.take(observer, step);
    let wrong = look(&mut Model::new(case.workload), case, observer, step, bytes);
    score.finish(observer, step, wrong);
}

fn look(model: &mut Model, case: &Case, observer: usize, step: u64, bytes: &[u8]) -> u64 {
    model.advance(step);
    match case.checks_fully(observer, step) {
        true => model.wrong_pages(bytes),
        false => model.wrong_words(bytes),
    }
}
