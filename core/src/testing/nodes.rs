//! A machine that pretends to have several nodes of memory, and records what is asked of it.
//!
//! Live memory of chunk `c` lies on node `c` modulo the number of nodes, until a test moves it. All
//! memory really lies on this machine's first node: what is bound is bound there, so that the
//! system calls are made as on a machine with several nodes.

use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::planes::{Node, PlaneMemory, Topology};
use crate::sys::numa;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Frames that were bound to a node.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The plane of the frames.
    pub plane: usize,
    /// The frames.
    pub pages: Range<usize>,
    /// The node on which they get memory from then on.
    pub node: Node,
    /// The frames of the plane that had memory before.
    pub present: PageSet,
}

#[derive(Debug, Default)]
struct State {
    /// The nodes of chunks that were moved.
    moved: BTreeMap<usize, Node>,
    /// All bindings, in order.
    bound: Vec<Bound>,
    /// The node of each frame with memory, by plane and page, as [`Pretended::note`] found it.
    frames: BTreeMap<(usize, usize), Node>,
    /// The number of calls so far.
    calls: usize,
    refuses: bool,
}

/// The machine.
#[derive(Debug)]
pub struct Pretended {
    nodes: usize,
    state: Mutex<State>,
}

impl Pretended {
    /// Creates a machine with `nodes` nodes, at least one.
    pub fn new(nodes: usize) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Pretended { nodes, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if there are several nodes.
    pub fn several(&self) -> bool {
        self.nodes > 1
    }

    /// Returns the node of a page of live memory.
    pub fn node_of(&self, page: usize) -> Node {
        let chunk = page / CHUNK_PAGES;
        let moved = self.state().moved.get(&chunk).copied();
        moved.unwrap_or((chunk % self.nodes) as Node)
    }

    /// Moves live memory of a chunk to another node.
    pub fn move_chunk(&self, chunk: usize, node: Node) {
        let node = node % self.nodes as Node;
        self.state().moved.insert(chunk, node);
    }

    /// Refuses all calls from now on.
    pub fn refuse(&self) {
        self.state().refuses = true;
    }

    /// Returns all bindings so far, in order.
    pub fn bound(&self) -> Vec<Bound> {
        self.state().bound.clone()
    }

    /// Returns the number of questions and bindings so far.
    pub fn calls(&self) -> usize {
        self.state().calls
    }

    /// Records which frames of a plane have memory now. Those that had none before got it where
    /// they are bound to. Returns those.
    pub fn note(&self, plane: usize, present: &PageSet) -> Vec<usize> {
        let mut state = self.state();
        let state = &mut *state;
        let gone = |at: &(usize, usize)| at.0 == plane && !present.contains(at.1);
        state.frames.retain(|at, _| !gone(at));
        let is_new = |page: &usize| !state.frames.contains_key(&(plane, *page));
        let new: Vec<usize> = present.iter().filter(is_new).collect();
        for page in &new {
            if let Some((_, bound)) = last(&state.bound, plane, *page) {
                state.frames.insert((plane, *page), bound.node);
            }
        }
        new
    }

    /// Returns the node of a frame that has memory.
    pub fn frame(&self, plane: usize, page: usize) -> Option<Node> {
        let state = self.state();
        let noted = state.frames.get(&(plane, page)).copied();
        noted.or_else(|| last(&state.bound, plane, page).map(|(_, bound)| bound.node))
    }

    /// Counts a call, and fails if calls are refused.
    fn call(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.calls += 1;
        match state.refuses {
            true => Err(io::Error::from_raw_os_error(libc::EPERM)),
            false => Ok(state),
        }
    }
}

/// Returns the last binding of a frame, and its position.
pub fn last(bound: &[Bound], plane: usize, page: usize) -> Option<(usize, &Bound)> {
    let mut all = bound.iter().enumerate().rev();
    all.find(|(_, b)| b.plane == plane && b.pages.contains(&page))
}

impl Topology for Pretended {
    /// Returns one processor of this machine for each node.
    fn processors(&self) -> Vec<Vec<usize>> {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        (0..self.nodes).map(|node| vec![node % count]).collect()
    }

    fn live(&self, pages: &[usize]) -> io::Result<Vec<Option<Node>>> {
        drop(self.call()?);
        Ok(pages.iter().map(|page| Some(self.node_of(*page))).collect())
    }

    fn frames(
        &self,
        plane: usize,
        _memory: &PlaneMemory,
        pages: &[usize],
    ) -> io::Result<Vec<Option<Node>>> {
        drop(self.call()?);
        let nodes = pages.iter().map(|page| self.frame(plane, *page));
        Ok(nodes.collect())
    }

    fn bind(
        &self,
        plane: usize,
        memory: &PlaneMemory,
        runs: &[(Range<usize>, Node)],
    ) -> io::Result<()> {
        let present = memory.present()?;
        let mut state = self.call()?;
        // Frames that have lost their memory since may get it elsewhere.
        let gone = |at: &(usize, usize)| at.0 == plane && !present.contains(at.1);
        state.frames.retain(|at, _| !gone(at));
        let bound = runs.iter().map(|(pages, node)| Bound {
            plane,
            pages: pages.clone(),
            node: *node,
            present: present.clone(),
        });
        state.bound.extend(bound);
        drop(state);
        // Where the kernel refuses this, the record is still what a test looks at.
        if let Some(first) = numa::nodes().first() {
            let _ = memory.prefer(runs, |_| first.number);
        }
        Ok(())
    }
}
