//! Messages between the nodes of a job, and their implementation by channels.

use std::sync::mpsc::{Receiver, Sender, channel};
use thiserror::Error;

/// A message could not be sent or received, so a node may be dead.
///
/// Any error of a transport means this. Nothing is wrong with what was committed. The nodes that
/// are left need new messages and a new [`JobWriter`](super::JobWriter).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "messages with node {node} of the job failed: {why}; connect the nodes that are left, or \
         start all anew"
)]
pub struct Lost {
    /// The number of the other node.
    pub node: usize,
    /// The error of the transport.
    pub why: String,
}

/// Messages between the nodes of a job, which are numbered from 0.
///
/// Messages from one node to another come in the order in which they were sent. A message is sent
/// without waiting for its receiver. With MPI, these are a duplicated communicator,
/// `MPI_Isend` and `MPI_Recv`.
pub trait Messages {
    /// Returns the number of this node.
    fn node(&self) -> usize;

    /// Returns how many nodes there are.
    fn nodes(&self) -> usize;

    /// Sends a message to another node, which may receive it later.
    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Lost>;

    /// Waits for the next message from another node.
    fn receive(&mut self, from: usize) -> Result<Vec<u8>, Lost>;
}

/// The end of one node of channels between the threads of one process.
#[derive(Debug)]
pub struct Channels {
    node: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// Connects this many nodes, which are threads of this process.
pub fn channels(nodes: usize) -> Vec<Channels> {
    let none = |node| Channels {
        node,
        to: Vec::new(),
        from: Vec::new(),
    };
    let mut ends: Vec<Channels> = (0..nodes).map(none).collect();
    for one in 0..nodes {
        for other in 0..nodes {
            let (to, from) = channel();
            ends[one].to.push(to);
            ends[other].from.push(from);
        }
    }
    ends
}

impl Messages for Channels {
    fn node(&self) -> usize {
        self.node
    }

    fn nodes(&self) -> usize {
        self.to.len()
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Lost> {
        self.to[to].send(message).map_err(|_| gone(to))
    }

    fn receive(&mut self, from: usize) -> Result<Vec<u8>, Lost> {
        self.from[from].recv().map_err(|_| gone(from))
    }
}

fn gone(node: usize) -> Lost {
    let why = "it has dropped its channels".to_owned();
    Lost { node, why }
}
