//! Frames follow live memory: they get memory on its node, and lose memory that lies elsewhere.
//!
//! A page that moves to another node is noticed the next time that a frame of its chunk needs fresh
//! memory, or when the keeper asks. From then on, frames of the chunk get memory on the new node.
//! Frames that have memory on the old node are *misplaced*. They are taken only where no other
//! frame is ready, and the keeper returns their memory when they are free.

use super::frames::Frames;
use super::nodes::{Nodes, ask};
use super::plane::Planes;
use super::topology::{Node, Topology};
use crate::pageset::{ChunkBits, PageSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A question for the nodes of live memory. It is asked without a lock, because it takes a while.
#[derive(Debug)]
pub struct Question {
    topology: Arc<dyn Topology>,
    samples: Vec<usize>,
}

impl Question {
    /// Returns chunks, with the node of each.
    pub fn ask(&self) -> io::Result<Vec<(usize, Node)>> {
        ask(&*self.topology, &self.samples)
    }
}

impl Planes {
    /// Sets the nodes of memory. Called before any frame has memory.
    pub fn set_topology(&mut self, topology: Arc<dyn Topology>) {
        let several = topology.processors().len() > 1;
        let (pages, planes) = (self.pages(), self.planes.len());
        self.nodes = several.then(|| Box::new(Nodes::new(topology, pages, planes)));
    }

    /// Returns the processors of each node of memory. Empty on a machine with one node.
    pub fn processors_of_nodes(&self) -> Vec<Vec<usize>> {
        let nodes = self.nodes.as_ref();
        nodes.map_or_else(Vec::new, |nodes| nodes.topology.processors())
    }

    /// Returns the node of live memory of each chunk, as far as it is known, or else the first one.
    /// Empty on a machine with one node, and where the kernel does not tell.
    pub fn nodes_of(&self, chunks: &[usize]) -> Vec<Node> {
        let known = self
            .nodes
            .as_ref()
            .filter(|nodes| nodes.refused().is_none());
        let Some(nodes) = known else {
            return Vec::new();
        };
        let node = |chunk: &usize| nodes.live(*chunk).unwrap_or(0);
        chunks.iter().map(node).collect()
    }

    /// Returns why the kernel refuses to place memory on nodes, if it does.
    pub fn nodes_refused(&self) -> Option<&str> {
        self.nodes.as_ref()?.refused()
    }

    /// Lets frames that are about to get memory get it on the nodes of their live pages.
    pub(super) fn bind(&mut self, fresh: &Frames) {
        let Some(mut nodes) = self.nodes.take() else {
            return;
        };
        if !fresh.is_empty() && nodes.refused().is_none() {
            match ask(&*nodes.topology, &nodes.samples_for(fresh)) {
                Ok(found) => self.move_chunks(&mut nodes, found, fresh),
                Err(error) => nodes.refuse(&error),
            }
        }
        for (plane, pages) in fresh.iter() {
            if nodes.refused().is_none() {
                nodes.bind(plane, &self.planes[plane].memory, pages);
            }
        }
        self.nodes = Some(nodes);
    }

    /// Records the nodes of live memory of chunks. `fresh` are frames that have no memory yet,
    /// although they count as held.
    fn move_chunks(&mut self, nodes: &mut Nodes, found: Vec<(usize, Node)>, fresh: &Frames) {
        for (chunk, node) in found {
            for plane in nodes.moved(chunk, node) {
                let mut fresh = fresh.of_plane(plane);
                let fresh = fresh
                    .next()
                    .map_or(ChunkBits::default(), |set| *set.chunk(chunk));
                self.planes[plane].account.misplace(chunk, &fresh);
            }
        }
    }

    /// Returns the next question for the nodes of live memory, if there is anything to ask.
    pub fn nodes_to_ask(&mut self) -> Option<Question> {
        let nodes = self
            .nodes
            .as_mut()
            .filter(|nodes| nodes.refused().is_none())?;
        let question = Question {
            samples: nodes.next_samples(),
            topology: nodes.topology.clone(),
        };
        (!question.samples.is_empty()).then_some(question)
    }

    /// Takes the answer to a question.
    pub fn follow(&mut self, answer: io::Result<Vec<(usize, Node)>>) {
        let Some(mut nodes) = self.nodes.take() else {
            return;
        };
        match answer {
            Ok(found) => self.move_chunks(&mut nodes, found, &Frames::default()),
            Err(error) => nodes.refuse(&error),
        }
        self.nodes = Some(nodes);
    }

    /// Returns true if no page of live memory goes to another node when `pages` are shared with a
    /// plane, and those in `own` are copied.
    pub fn keeps_nodes(&mut self, plane: usize, pages: &Range<usize>, own: &PageSet) -> bool {
        let memory = &self.planes[plane].memory;
        let Some(nodes) = self
            .nodes
            .as_mut()
            .filter(|nodes| nodes.refused().is_none())
        else {
            return true;
        };
        nodes
            .keeps(plane, memory, pages, own)
            .unwrap_or_else(|error| {
                nodes.refuse(&error);
                true
            })
    }

    /// Returns a plane that has misplaced frames that are free, and these frames.
    pub(super) fn misplaced(&self) -> Option<(usize, PageSet)> {
        let free = self.planes.iter().map(|p| {
            let mut free = p.account.misplaced().clone();
            free.subtract(&p.busy);
            free
        });
        free.enumerate().find(|(_, free)| !free.is_empty())
    }
}
