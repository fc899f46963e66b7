//! Slots whose memory goes back to the system.

use super::{PlaneMemory, Planes};
use crate::pageset::PageSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Free slots of a plane that nobody may use until their memory is gone.
#[derive(Debug)]
pub struct Leaving {
    memory: Arc<PlaneMemory>,
    plane: usize,
    pages: Range<usize>,
    /// How many of the pages count as having memory: all, or none.
    counted: usize,
}

impl Leaving {
    /// Give the memory back.
    pub fn punch(&self) -> io::Result<()> {
        self.memory.punch(&self.pages)
    }
}

impl Planes {
    /// Whether some slots are leaving.
    pub fn is_leaving(&self) -> bool {
        self.planes.iter().any(|p| !p.account.leaving().is_empty())
    }

    /// A look for memory to give back begins. Slots that were taken before the last window of looks are old.
    pub fn look(&mut self) {
        if !self.patience.look() {
            return;
        }
        for p in &mut self.planes {
            p.taken.swap(0, 1);
            p.taken[0].clear();
        }
    }

    /// Choose free slots to leave, at most `most` and all in one plane, so that every page has another one. What was taken
    /// lately stays, as it will be taken again; and of each page in `wanted`, the first free slot with memory.
    pub fn leave(&mut self, mut wanted: PageSet, most: usize) -> Vec<Leaving> {
        for plane in 0..self.touched.min(self.planes.len()) {
            let mut idle = self.idle(plane);
            self.planes[plane]
                .taken
                .iter()
                .for_each(|t| idle.subtract(t));
            let mut stays = idle.clone();
            stays.intersect(&wanted);
            wanted.subtract(&stays);
            idle.subtract(&stays);
            if !idle.is_empty() {
                self.patience.leaves();
                return self.begin_some(plane, &idle, most);
            }
        }
        Vec::new()
    }

    fn begin_some(&mut self, plane: usize, idle: &PageSet, most: usize) -> Vec<Leaving> {
        let mut left = most;
        let runs = idle.runs().map_while(|run| {
            let pages = run.start..run.end.min(run.start + left);
            left -= pages.len();
            (!pages.is_empty()).then_some(pages)
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .map(|pages| self.begin(plane, pages))
            .collect()
    }

    /// Keeps everybody from free slots of `plane` until their memory is gone.
    pub(super) fn begin(&mut self, plane: usize, pages: Range<usize>) -> Leaving {
        let p = &mut self.planes[plane];
        let counted = p.account.leave(&pages);
        Leaving {
            memory: p.memory.clone(),
            plane,
            pages,
            counted,
        }
    }

    /// The slots can be used again: without memory, if it could be given back.
    pub fn gone(&mut self, leaving: &Leaving, punched: bool) {
        let account = &mut self.planes[leaving.plane].account;
        account.left(&leaving.pages, leaving.counted, punched);
    }

    /// Slots of a plane that have memory and nothing in it that matters.
    pub(super) fn idle(&self, plane: usize) -> PageSet {
        let p = &self.planes[plane];
        let mut idle = p.account.held().clone();
        idle.subtract(&p.busy);
        idle
    }
}
