//! The observer process. It checks every version that it takes.

use crate::case::{Case, GRAY_SCOTT};
use crate::check::look;
use crate::failure::Failure;
use crate::follow::follow;
use crate::score::Score;
use crate::sys::process::give_way;
use crate::workload::Model;
use crate::{gray_scott, held, methods};

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
