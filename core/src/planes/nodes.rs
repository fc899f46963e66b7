//! The record of the nodes of memory, chunk by chunk: where live memory lies, and where the frames
//! of each plane get memory. Exists only on machines with several nodes.
//!
//! The unit is the chunk. A chunk lies on the node of one of its pages, which a few fixed places in
//! it are asked for. These differ from chunk to chunk, so that frames of interleaved memory are
//! spread over the nodes as well.

use super::frames::Frames;
use super::memory::PlaneMemory;
use super::topology::{Node, Topology};
use crate::pageset::{CHUNK_PAGES, PageSet, runs_of};
use crate::sys::numa::is_refusal;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The number of pages of a chunk that are asked for. The first that has memory tells the node.
const SAMPLES: usize = 4;
/// The first of these pages is this much further in each chunk. It is odd, so that all positions of
/// an interleaved pattern come up.
const STRIDE: usize = 179;
/// The number of chunks that [`Nodes::next_samples`] looks at.
const ENTRIES: usize = 1024;

/// The node of each chunk: one byte, which is 0 where no node is known, and else the node plus 1.
/// Parts of which nothing is known take no memory.
#[derive(Debug)]
struct ByChunk(Vec<u8>);

impl ByChunk {
    fn get(&self, chunk: usize) -> Option<Node> {
        self.0[chunk].checked_sub(1)
    }

    fn set(&mut self, chunk: usize, node: Option<Node>) {
        self.0[chunk] = node.map_or(0, |node| node + 1);
    }
}

/// The known facts of the nodes.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) topology: Arc<dyn Topology>,
    pages: usize,
    /// The node of live memory of each chunk, when it was last asked for.
    live: ByChunk,
    /// For each plane, the node on which the frames of each chunk get memory. It is the node of
    /// live memory of the chunk, or unknown.
    bound: Vec<ByChunk>,
    /// The chunk that [`Nodes::next_samples`] looks at next.
    position: usize,
    /// The reason why the kernel refuses to tell nodes or to bind frames. From then on everything
    /// works as on a machine with one node.
    refused: Option<String>,
}

impl Nodes {
    pub(super) fn new(topology: Arc<dyn Topology>, pages: usize, planes: usize) -> Self {
        let unknown = || ByChunk(vec![0; pages.div_ceil(CHUNK_PAGES)]);
        Nodes {
            topology,
            pages,
            live: unknown(),
            bound: (0..planes).map(|_| unknown()).collect(),
            position: 0,
            refused: None,
        }
    }

    /// Returns why the kernel refuses, if it does.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Records an error of the kernel.
    pub(super) fn refuse(&mut self, error: &io::Error) {
        self.refused = Some(error.to_string());
    }

    /// Returns the node of live memory of a chunk, if it is known.
    pub(super) fn live(&self, chunk: usize) -> Option<Node> {
        self.live.get(chunk)
    }

    /// Returns the pages to ask for, for the chunks of `frames`. One of the pages in `frames` comes
    /// last for each chunk: it was written, so it has memory.
    pub(super) fn samples_for(&self, frames: &Frames) -> Vec<usize> {
        let mut pages = PageSet::new(self.pages);
        frames.iter().for_each(|(_, set)| pages.union(set));
        let samples = pages.chunks_in_use().flat_map(|(chunk, bits)| {
            let first = runs_of(bits)
                .next()
                .map(|run| chunk * CHUNK_PAGES + run.start);
            self.samples(chunk).chain(first)
        });
        samples.collect()
    }

    /// Returns the pages to ask for, for the next of the chunks whose node is known.
    pub(super) fn next_samples(&mut self) -> Vec<usize> {
        let chunks = self.live.0.len();
        let part = self.position..chunks.min(self.position + ENTRIES);
        self.position = part.end % chunks.max(1);
        let known = part.filter(|chunk| self.live(*chunk).is_some());
        known.flat_map(|chunk| self.samples(chunk)).collect()
    }

    fn samples(&self, chunk: usize) -> impl Iterator<Item = usize> + use<> {
        let (start, first, end) = (chunk * CHUNK_PAGES, chunk * STRIDE, self.pages);
        let page = move |i: usize| start + (first + i * CHUNK_PAGES / SAMPLES) % CHUNK_PAGES;
        (0..SAMPLES).map(page).filter(move |page| *page < end)
    }

    /// Records the node of live memory of a chunk. Returns the planes whose frames of the chunk
    /// have memory on another node. They are bound no more.
    pub(super) fn moved(&mut self, chunk: usize, node: Node) -> Vec<usize> {
        if self.live(chunk) == Some(node) {
            return Vec::new();
        }
        self.live.set(chunk, Some(node));
        let mut elsewhere = Vec::new();
        for (plane, bound) in self.bound.iter_mut().enumerate() {
            if bound.get(chunk).is_some_and(|bound| bound != node) {
                bound.set(chunk, None);
                elsewhere.push(plane);
            }
        }
        elsewhere
    }

    /// Binds the frames of a plane, in the chunks of `fresh`, to the nodes of live memory, unless
    /// they are bound already. Where binding fails, the kernel chooses a node.
    pub(super) fn bind(&mut self, plane: usize, memory: &PlaneMemory, fresh: &PageSet) {
        let runs = self.unbound(plane, fresh);
        if runs.is_empty() {
            return;
        }
        match self.topology.bind(plane, memory, &runs) {
            Ok(()) => runs.into_iter().for_each(|(pages, node)| {
                for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
                    self.bound[plane].set(chunk, Some(node));
                }
            }),
            Err(error) if is_refusal(&error) => self.refuse(&error),
            // For example a node that a control group forbids. It is tried again the next time.
            Err(_) => {}
        }
    }

    /// Returns the runs of whole chunks that have pages in `fresh` and are to be bound to a node.
    fn unbound(&self, plane: usize, fresh: &PageSet) -> Vec<(Range<usize>, Node)> {
        let mut runs: Vec<(Range<usize>, Node)> = Vec::new();
        for chunk in fresh.chunk_numbers().iter() {
            let Some(node) = self.live(chunk) else {
                continue;
            };
            let pages = chunk * CHUNK_PAGES..((chunk + 1) * CHUNK_PAGES).min(self.pages);
            match runs.last_mut() {
                _ if self.bound[plane].get(chunk) == Some(node) => {}
                Some((run, last)) if run.end == pages.start && *last == node => run.end = pages.end,
                _ => runs.push((pages, node)),
            }
        }
        runs
    }

    /// Returns true if no page of live memory goes to another node when `pages` are shared with a
    /// plane. The pages in `own` are copied then, to where frames of the plane get memory. The
    /// others become the frames.
    pub(super) fn keeps(
        &self,
        plane: usize,
        memory: &PlaneMemory,
        pages: &Range<usize>,
        own: &PageSet,
    ) -> io::Result<bool> {
        let (own, shared): (Vec<usize>, Vec<usize>) = pages.clone().partition(|p| own.contains(*p));
        let bound = own.iter().map(|p| self.bound[plane].get(p / CHUNK_PAGES));
        let to = bound.chain(self.topology.frames(plane, memory, &shared)?);
        let from = self.topology.live(&[own.clone(), shared].concat())?;
        Ok(from
            .into_iter()
            .zip(to)
            .all(|(from, to)| from.is_none() || from == to))
    }
}

/// Returns the nodes of chunks, from the pages of each that are asked for. Chunks without a page
/// that has memory are left out.
pub(super) fn ask(topology: &dyn Topology, samples: &[usize]) -> io::Result<Vec<(usize, Node)>> {
    let mut found: Vec<(usize, Node)> = Vec::new();
    for (page, node) in samples.iter().zip(topology.live(samples)?) {
        let chunk = page / CHUNK_PAGES;
        if let Some(node) = node
            && found.last().is_none_or(|(last, _)| *last != chunk)
        {
            found.push((chunk, node));
        }
    }
    Ok(found)
}
