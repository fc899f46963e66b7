//! The method "fork": each publish forks the producer. The child has a copy-on-write copy of the
//! simulation's memory and checks it there.
//!
//! The producer forks once for each version. If there is more than one observer, the child forks
//! the others.

use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::check::look_once;
use crate::failure::Failure;
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

    fn clean_up(&mut self) {
        // The newest version stays available, even if no observer uses it.
        let older = self.children.len().saturating_sub(1);
        self.children.drain(..older);
    }
}

impl ForkSource {
    /// Checks the version in the child, once for each observer. Then keeps the memory until the
    /// producer kills the child.
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
