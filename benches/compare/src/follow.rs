//! The loop of an observer: it takes the newest version as soon as there is one, checks it, and
//! releases it.

use crate::failure::Failure;
use crate::methods::Sink;
use crate::score::Score;
use std::time::Duration;

/// Time for which an observer waits for a version before it checks whether the case has ended.
const TAKE_TIMEOUT: Duration = Duration::from_millis(100);

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
