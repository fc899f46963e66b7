//! The observers of a run. The first one follows the newest version, as in the comparison. The
//! others pin versions for a while now and then, as a writer of checkpoints does.

use std::time::Duration;
use tcasm_compare::case::Case;
use tcasm_compare::check::look;
use tcasm_compare::failure::Failure;
use tcasm_compare::follow::follow;
use tcasm_compare::methods::Sink;
use tcasm_compare::methods::tcasm::TcasmSink;
use tcasm_compare::score::Score;
use tcasm_compare::sys::process::give_way;
use tcasm_compare::workload::Model;
use tcasm_compare::{held, roles};

/// Time for which a slow observer holds a version.
const HOLD: Duration = Duration::from_millis(100);
/// Time between two versions of a slow observer. It is longer than the keeper waits before it
/// returns memory, as long as it has learnt nothing.
const REST: Duration = Duration::from_millis(500);

/// An observer that holds each version for a while, and rests before it takes the next one.
struct Slow(TcasmSink);

impl Sink for Slow {
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        self.0.take(after, timeout)
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        self.0.bytes()
    }

    fn release(&mut self) -> Result<(), Failure> {
        std::thread::sleep(HOLD);
        self.0.release()?;
        std::thread::sleep(REST);
        Ok(())
    }
}

/// Runs observer `observer` until the run ends.
pub fn run(case: &Case, observer: usize) -> Result<(), Failure> {
    if observer == 0 {
        return roles::observe::run(case, observer);
    }
    let score = Score::open(&case.path("score"))?;
    give_way();
    let mut model = Model::new(case.workload);
    score.set_own_bytes(observer, held::anonymous_of(std::process::id() as i32)?);
    let mut sink = Slow(TcasmSink::attach()?);
    follow(&mut sink, &score, observer, |sink, step| {
        Ok(look(&mut model, case, observer, step, sink.bytes()?))
    })
}
