//! Fork for each version: the child has the simulation's memory as it was, and looks at it there.
//!
//! The producer forks once per version; where there are more observers, the child forks the others.

use super::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::Failure;
use crate::roles::observe::look_once;
use crate::score::Score;
use crate::sys::memory::Memory;
use crate::sys::process::Child;

pub struct Fork;

struct ForkSource {
    live: Memory,
    case: Case,
    score: Score,
    children: Vec<Child>,
}

impl Method for Fork {
    fn name(&self) -> &'static str {
        "fork"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        Ok(Box::new(ForkSource {
            live: Memory::private(case.bytes())?,
            score: Score::open(&case.path("score"))?,
            case: case.clone(),
            children: Vec::new(),
        }))
    }

    fn sink(&self, _: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        Ok(None)
    }

    fn observers_attach(&self) -> bool {
        false
    }
}

impl Source for ForkSource {
    fn memory(&mut self) -> &mut [u8] {
        self.live.bytes_mut()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let child = Child::fork(|| self.snapshot(step))?;
        self.children.push(child);
        Ok(true)
    }

    fn tidy(&mut self) {
        // The newest version stays on offer, whether somebody looks at it or not.
        let older = self.children.len().saturating_sub(1);
        self.children.drain(..older);
    }
}

impl ForkSource {
    /// In the child: every observer looks, and the memory is kept until the producer has no more use for it.
    fn snapshot(&self, step: u64) {
        crate::sys::process::give_way();
        let look = |o| look_once(&self.score, &self.case, o, step, self.live.bytes());
        let observers = self.score.observers();
        let others: Vec<_> = (1..observers).map(|o| Child::fork(|| look(o))).collect();
        if observers > 0 {
            look(0);
        }
        if others.iter().any(Result::is_err) {
            std::process::abort();
        }
        loop {
            nix::unistd::pause();
        }
    }
}
