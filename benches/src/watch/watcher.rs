//! An observer, in a process of its own. `bars` starts many of them.

use super::{Board, Way, pages_of, ways, wrong_pages};
use crate::outcome::Outcome;
use std::path::PathBuf;
use std::time::Duration;
use tcasm_core::sys::thread;
use tcasm_observer::Observer;

/// The lowest priority, so that the ways to show a step are measured and not the scheduler.
const NICE: i32 = 19;
/// The longest time to wait for the region or for a version.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The arguments of an observer.
pub struct Watcher {
    /// The name of the region.
    pub region: String,
    /// The path of the board.
    pub board: PathBuf,
    /// The share of the pages that a step writes, in per cent.
    pub percent: usize,
}

impl Watcher {
    /// Reads the changed pages of all steps that are shown, until an error or a signal ends it.
    pub fn run(&self) -> Outcome<()> {
        thread::be_nice(NICE)?;
        let board = Board::open(&self.board)?;
        let mut observer = Observer::attach_wait(&self.region, TIMEOUT)?;
        let last = observer.latest()?.step();
        board.ready();
        for step in last + 1.. {
            // Computed before the step is shown, so that this time is not counted.
            let pages = pages_of(step, self.percent);
            for way in ways(step) {
                match way {
                    Way::Version => read_version(&mut observer, &board, &pages, step)?,
                    Way::Copy => {
                        board.wait_for(step)?;
                        board.done(wrong_pages(board.buffer(step), &pages, step));
                    }
                }
            }
        }
        Ok(())
    }
}

fn read_version(observer: &mut Observer, board: &Board, pages: &[usize], step: u64) -> Outcome<()> {
    let version = observer.wait_newer(TIMEOUT)?;
    if version.step() != step {
        return Err(format!("step {} came instead of {step}", version.step()).into());
    }
    let view = version.view()?;
    board.done(wrong_pages(view.bytes("bytes")?, pages, step));
    Ok(())
}
