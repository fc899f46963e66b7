//! The relay as a use of agreed steps.

use super::receiver::Receiver;
use super::sender::Sender;
use super::shown::Shown;
use crate::agreement::Agreed;
use crate::node::{Progress, Round, Use, UseError};
use crate::transport::Post;
use std::cell::Cell;
use std::rc::Rc;

/// Counts of the steps and bytes that a node has relayed so far.
#[derive(Debug, Default)]
pub struct RelayStats {
    /// The steps.
    pub steps: Cell<u64>,
    /// The bytes of fields that were sent, of which all had changed or were new.
    pub sent_bytes: Cell<u64>,
    /// All bytes of the fields of these steps.
    pub all_bytes: Cell<u64>,
}

enum Role {
    Sends(Sender),
    Receives(Box<Receiver>),
}

/// The use of agreed steps that relays them to analysis nodes. All nodes have it.
pub struct Relay<P> {
    role: Role,
    post: P,
    last: Option<Agreed>,
    stats: Rc<RelayStats>,
}

impl<P: Post> Relay<P> {
    /// Returns the relay of agent `own` of this group. `to` are the numbers of the agents on
    /// analysis nodes, in ascending order. `post` is only for this. On an analysis node, `shown`
    /// gets each step that was relayed.
    pub fn new(group: &str, own: usize, to: Vec<usize>, post: P, shown: Shown) -> Relay<P> {
        let role = match to.iter().position(|agent| *agent == own) {
            Some(at) => {
                let receiver = Receiver::new(group, (at, to.len()), shown);
                Role::Receives(Box::new(receiver))
            }
            None => Role::Sends(Sender::new(to)),
        };
        Relay {
            role,
            post,
            last: None,
            stats: Rc::default(),
        }
    }

    /// Returns the numbers, which go on as long as the relay works.
    pub fn stats(&self) -> Rc<RelayStats> {
        self.stats.clone()
    }
}

impl<P: Post> Use for Relay<P> {
    fn decided(&mut self, round: Round<'_>) -> Result<(), UseError> {
        let decision = round.decision;
        let new = decision.agreed.filter(|agreed| self.last != Some(*agreed));
        // All nodes know the same here, so all begin the same step in the same round.
        let (Some(agreed), true, Some(ranks)) = (new, round.idle, decision.ranks) else {
            return Ok(());
        };
        self.last = Some(agreed);
        match (&mut self.role, round.agreed) {
            (Role::Receives(receiver), _) => {
                receiver.begin(agreed, decision.newest(agreed), ranks);
            }
            (Role::Sends(sender), Some(pinned)) => sender.begin(pinned)?,
            (Role::Sends(_), None) => {}
        }
        self.stats.steps.set(self.stats.steps.get() + 1);
        Ok(())
    }

    fn turn(&mut self) -> Result<Progress, UseError> {
        let busy = match &mut self.role {
            Role::Receives(receiver) => receiver.turn(&mut self.post)?,
            Role::Sends(sender) => {
                let busy = sender.turn(&mut self.post)?;
                self.stats.sent_bytes.set(sender.bytes.0);
                self.stats.all_bytes.set(sender.bytes.1);
                busy
            }
        };
        Ok(Progress {
            busy,
            ..Progress::default()
        })
    }
}
