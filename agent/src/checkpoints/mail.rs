//! Messages between the writers of the nodes, which their agents carry.

use crate::transport::{Post, Suspicion};
use std::sync::mpsc::{Receiver, Sender, channel};
use tcasm_checkpoint::job::{Lost, Messages};

/// The end of the writer.
pub(super) struct Letters {
    node: usize,
    to: Sender<(usize, Vec<u8>)>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// The end of the agent.
pub(super) struct Mail {
    /// The agent of each node.
    agents: Vec<usize>,
    outgoing: Receiver<(usize, Vec<u8>)>,
    incoming: Vec<Sender<Vec<u8>>>,
    /// A message that could not be sent yet.
    next: Option<(usize, Vec<u8>)>,
}

/// Returns both ends of node `node`. `agents` has the number of the agent of each node.
pub(super) fn mail(node: usize, agents: Vec<usize>) -> (Letters, Mail) {
    let (to, outgoing) = channel();
    let (incoming, from) = agents.iter().map(|_| channel()).unzip();
    let mail = Mail {
        agents,
        outgoing,
        incoming,
        next: None,
    };
    (Letters { node, to, from }, mail)
}

impl Mail {
    /// Sends and receives what can be sent and received now. Returns true if a message is left
    /// that could not be sent.
    pub(super) fn carry(&mut self, post: &mut impl Post) -> Result<bool, Suspicion> {
        while let Some(message) = post.receive()? {
            let sender = self.agents.iter().position(|agent| *agent == message.from);
            if let Some(sender) = sender {
                // The writer may have ended.
                let _ = self.incoming[sender].send(message.bytes);
            }
        }
        loop {
            let message = self.next.take().or_else(|| self.outgoing.try_recv().ok());
            let Some((to, bytes)) = message else {
                return Ok(!post.all_sent()?);
            };
            if !post.can_send()? {
                self.next = Some((to, bytes));
                return Ok(true);
            }
            post.send(self.agents[to], bytes)?;
        }
    }
}

impl Messages for Letters {
    fn node(&self) -> usize {
        self.node
    }

    fn nodes(&self) -> usize {
        self.from.len()
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Lost> {
        self.to.send((to, message)).map_err(|_| ended(to))
    }

    fn receive(&mut self, from: usize) -> Result<Vec<u8>, Lost> {
        self.from[from].recv().map_err(|_| ended(from))
    }
}

fn ended(node: usize) -> Lost {
    let why = "the agent of this node has ended".to_owned();
    Lost { node, why }
}
