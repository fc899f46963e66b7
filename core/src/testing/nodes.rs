//! A machine that pretends to have several nodes of memory, and records what is asked of it.
//!
//! Live memory of chunk `c` lies on node `c` modulo the number of nodes, until a test moves it. All
//! memory really lies on this machine's first node: what is bound is bound there, so that the
//! system calls are made as on a machine with several nodes.
//!
//! With the feature `fault-points`, the environment variable `TCASM_PRETEND_NODES` gives a program
//! such a machine: all regions that it creates lie on so many nodes, and live memory moves between
//! them all the time. The program writes a line to its standard error when frames are placed on a
//! node for the first time.

use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::planes::{Node, PlaneMemory, Topology};
use crate::sys::numa;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The environment variable with the number of nodes.
pub const VARIABLE: &str = "TCASM_PRETEND_NODES";

/// The number of calls after which live memory moves, where it moves by itself. A publish that
/// takes fresh memory makes two.
const CALLS_UNTIL_MOVE: usize = 2;

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
    /// All bindings, in order, if they are recorded.
    bound: Vec<Bound>,
    /// The node to which the frames of a chunk were bound last, by plane and chunk.
    latest: BTreeMap<(usize, usize), Node>,
    /// The nodes to which frames were bound at any time.
    placed: BTreeSet<Node>,
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
    /// True if all bindings are recorded, which takes memory for each of them.
    records: bool,
    /// True if live memory moves by itself, and new nodes of frames are told.
    wanders: bool,
    state: Mutex<State>,
}

/// Returns the line that tells that frames were placed on a node for the first time.
pub fn told(node: Node, nodes: usize) -> String {
    format!("frames are placed on pretended node {node} of {nodes}")
}

impl Pretended {
    /// Creates a machine with `nodes` nodes, at least one.
    pub fn new(nodes: usize) -> Arc<Self> {
        Arc::new(Pretended::with(nodes, true, false))
    }

    /// Creates a machine with `nodes` nodes, at least one, that records no bindings. It takes no
    /// more memory the longer a test runs.
    pub fn for_long(nodes: usize) -> Arc<Self> {
        Arc::new(Pretended::with(nodes, false, false))
    }

    /// Creates the machine that the environment of this program asks for, if it has several nodes.
    pub fn of_environment() -> Option<Arc<Self>> {
        let nodes = std::env::var(VARIABLE).ok()?.parse::<usize>().ok()?;
        let several = (2..usize::from(Node::MAX)).contains(&nodes);
        several.then(|| Arc::new(Pretended::with(nodes, false, true)))
    }

    fn with(nodes: usize, records: bool, wanders: bool) -> Self {
        Pretended {
            nodes,
            records,
            wanders,
            state: Mutex::default(),
        }
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
        let (chunk, state) = (page / CHUNK_PAGES, self.state());
        let moves = match self.wanders {
            true => state.calls / CALLS_UNTIL_MOVE,
            false => 0,
        };
        let moved = state.moved.get(&chunk).copied();
        moved.unwrap_or(((chunk + moves) % self.nodes) as Node)
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

    /// Returns the nodes to which frames were bound so far.
    pub fn placed(&self) -> BTreeSet<Node> {
        self.state().placed.clone()
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
        let chunk = page / CHUNK_PAGES;
        noted.or_else(|| state.latest.get(&(plane, chunk)).copied())
    }

    /// Tells nodes on which frames were placed for the first time, if that is wanted.
    fn tell(&self, new: &[Node]) {
        for node in new.iter().filter(|_| self.wanders) {
            let _ = writeln!(io::stderr(), "{}", told(*node, self.nodes));
        }
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

impl State {
    /// Records bindings of frames of a plane, of which those in `present` have memory already.
    fn record(&mut self, plane: usize, runs: &[(Range<usize>, Node)], present: &PageSet) {
        // Frames that have lost their memory since may get it elsewhere.
        let gone = |at: &(usize, usize)| at.0 == plane && !present.contains(at.1);
        self.frames.retain(|at, _| !gone(at));
        let bound = runs.iter().map(|(pages, node)| Bound {
            plane,
            pages: pages.clone(),
            node: *node,
            present: present.clone(),
        });
        self.bound.extend(bound);
    }

    /// Binds the frames of runs of whole chunks. Returns the nodes that had no frames before.
    fn place(&mut self, plane: usize, runs: &[(Range<usize>, Node)]) -> Vec<Node> {
        let mut new = Vec::new();
        for (pages, node) in runs {
            for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
                self.latest.insert((plane, chunk), *node);
            }
            new.extend(self.placed.insert(*node).then_some(*node));
        }
        new
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
        let present = match self.records {
            true => Some(memory.present()?),
            false => None,
        };
        let mut state = self.call()?;
        if let Some(present) = &present {
            state.record(plane, runs, present);
        }
        let new = state.place(plane, runs);
        drop(state);
        self.tell(&new);
        // Where the kernel refuses this, the record is still what a test looks at.
        if let Some(first) = numa::nodes().first() {
            let _ = memory.prefer(runs, |_| first.number);
        }
        Ok(())
    }
}
