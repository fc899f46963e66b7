//! Returns memory of free frames to the system.

use super::memory::PlaneMemory;
use super::plane::Planes;
use crate::pageset::{CHUNK_PAGES, PageSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Free frames of a plane that nobody may use until their memory has been returned.
#[derive(Debug)]
pub struct Leaving {
    memory: Arc<PlaneMemory>,
    plane: usize,
    pages: Range<usize>,
    /// How many of the pages count as having memory: all, or none.
    counted: usize,
}

impl Leaving {
    /// Returns the pages of the frames.
    #[cfg(test)]
    pub(crate) fn pages(&self) -> Range<usize> {
        self.pages.clone()
    }

    /// Returns the memory of the frames to the system.
    pub fn punch(&self) -> Result<(), Unreturned> {
        self.memory.punch(&self.pages)
    }
}

/// Some frames keep their memory, because it could not be returned.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Unreturned {
    /// The pages of these frames.
    pub kept: Vec<Range<usize>>,
    /// The reason.
    pub why: io::Error,
}

impl Unreturned {
    /// Returns true if somebody used the memory at that moment.
    pub fn is_busy(&self) -> bool {
        self.why.kind() == io::ErrorKind::ResourceBusy
    }
}

impl PlaneMemory {
    /// Returns the memory of frames to the system. No version may refer to them. All of them read
    /// as zeros afterwards, also those that keep their memory.
    ///
    /// The kernel splits a huge page to return a part of it. While somebody reads or writes the
    /// memory by a system call, it may only fill the part with zeros.
    pub(super) fn punch(&self, pages: &Range<usize>) -> Result<(), Unreturned> {
        let keep = |kept, why| Err(Unreturned { kept, why });
        if let Err(error) = self.punch_object(pages) {
            return keep(vec![pages.clone()], error);
        }
        let chunks = pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES);
        self.huge().forget(chunks.clone());
        if !self.huge().may_split(&chunks) {
            return Ok(());
        }
        match self.present_in(pages) {
            Ok(kept) if kept.is_empty() => {}
            Ok(kept) => return keep(kept, io::ErrorKind::ResourceBusy.into()),
            Err(error) => return keep(vec![pages.clone()], error),
        }
        for chunk in chunks {
            let frames = chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
            if self.present_in(&frames).is_ok_and(|run| run.is_empty()) {
                self.huge().emptied(chunk);
            }
        }
        Ok(())
    }
}

impl Planes {
    /// Returns true if memory of some frames is being returned.
    pub fn is_leaving(&self) -> bool {
        self.planes.iter().any(|p| !p.account.leaving().is_empty())
    }

    /// Begins a scan for memory to return. When a window of scans ends with it, frames that were
    /// taken before the last window count as idle.
    pub fn look(&mut self) {
        if !self.retention.scan() {
            return;
        }
        for p in &mut self.planes {
            p.taken.swap(0, 1);
            p.taken[0].clear();
        }
    }

    /// Chooses free frames whose memory is returned: at most `most`, and all in one plane, so that
    /// every page has another frame. Frames that were taken lately keep their memory, because they
    /// will be taken again. So does, for each page in `wanted`, the first free frame with memory.
    /// Memory on another node than live memory is returned first, whoever wants it.
    pub fn leave(&mut self, mut wanted: PageSet, most: usize) -> Vec<Leaving> {
        if let Some((plane, misplaced)) = self.misplaced() {
            return self.begin_some(plane, &misplaced, most);
        }
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
                self.retention.leaves();
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
        let memory = self.planes[plane].memory.clone();
        let parts: Vec<_> = runs.flat_map(|pages| memory.parts(pages)).collect();
        parts
            .into_iter()
            .map(|pages| self.begin(plane, pages))
            .collect()
    }

    /// Reserves free frames of `plane`, so that nobody uses them until their memory has been
    /// returned.
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

    /// Lets frames be used again. Those of the pages `kept` have memory still.
    pub fn gone(&mut self, leaving: &Leaving, kept: &[Range<usize>]) {
        let account = &mut self.planes[leaving.plane].account;
        account.left(&leaving.pages, leaving.counted, kept);
    }

    /// Returns the frames of a plane that have memory but are free, and are not being gathered.
    pub(super) fn idle(&self, plane: usize) -> PageSet {
        let p = &self.planes[plane];
        let mut idle = p.account.held().clone();
        idle.subtract(&p.busy);
        if let Some((_, chunk)) = self.becoming.filter(|(p, _)| *p == plane) {
            idle.remove_range(chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES);
        }
        idle
    }
}
