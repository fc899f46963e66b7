//! Nodes of memory: the store's frames lie where live memory lies. The planes do the work; this
//! passes on what the producer asks.

use super::state::Store;
use crate::planes::{Node, Question, Topology};
use std::io;
use std::sync::Arc;

impl Store {
    /// Sets the nodes of memory, instead of those of this machine. Called before the first version.
    /// For tests, which pretend to have several nodes.
    pub fn set_topology(&mut self, topology: Arc<dyn Topology>) {
        self.planes.set_topology(topology);
    }

    /// Returns the processors of each node of memory. Empty on a machine with one node.
    pub fn processors_of_nodes(&self) -> Vec<Vec<usize>> {
        self.planes.processors_of_nodes()
    }

    /// Returns the next question for the nodes of live memory, if there is anything to ask. The
    /// caller must ask it without the lock of the store, and then call [`Store::follow`].
    pub fn nodes_to_ask(&mut self) -> Option<Question> {
        self.planes.nodes_to_ask()
    }

    /// Takes the answer to a question: chunks of live memory, and the node of each. Where live
    /// memory has moved, memory of free frames on the old node is returned from now on.
    pub fn follow(&mut self, answer: io::Result<Vec<(usize, Node)>>) {
        self.planes.follow(answer);
    }

    /// Returns why the kernel refuses to place memory on nodes, if it does. Everything else works
    /// as on a machine with one node then.
    pub fn nodes_refused(&self) -> Option<&str> {
        self.planes.nodes_refused()
    }
}
