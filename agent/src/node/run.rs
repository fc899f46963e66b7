//! A node, from its first round to the end of the agents.

use super::bits::{ANY_BUSY, ANY_USE, CLOSED, LOST, MOST_USES, RUNNING, STOP, busy, call};
use super::ranks::RanksHere;
use super::uses::{Round, Use, UseError};
use crate::agreement::{Agent, AgentError, Decision, Settings};
use crate::regions::{Observed, ObservedError};
use crate::transport::Transport;
use std::time::Duration;
use thiserror::Error;

/// Why the agents end. All learn it in the same round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All ranks of the job have closed their regions, and all uses have finished.
    JobOver,
    /// An agent was told to end.
    Stopped,
}

/// Why a node cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The agent cannot go on.
    #[error(transparent)]
    Agent(#[from] AgentError<ObservedError>),
    /// A use of agreed steps cannot go on.
    #[error(transparent)]
    Use(UseError),
}

/// The agent of one node, and what is done there with agreed steps.
pub struct Node<T> {
    agent: Agent<Observed, T>,
    uses: Vec<Box<dyn Use>>,
    /// The agents end with the job.
    ends_with_job: bool,
    ranks: RanksHere,
    /// The last round was the end of the job, unless the next one is not.
    quiet: bool,
    /// An agent was told to end.
    stopping: bool,
}

impl<T: Transport> Node<T> {
    /// Returns the node of an agent of these regions. All nodes have the same uses in the same
    /// order, at most 28.
    ///
    /// # Panics
    ///
    /// Panics if there are more uses.
    pub fn new(
        regions: Observed,
        transport: T,
        settings: Settings,
        uses: Vec<Box<dyn Use>>,
    ) -> Self {
        assert!(uses.len() <= MOST_USES, "{} uses", uses.len());
        Node {
            agent: Agent::new(regions, transport, settings),
            uses,
            ends_with_job: true,
            ranks: RanksHere::None,
            quiet: false,
            stopping: false,
        }
    }

    /// Makes the agents wait for the next run when a job has ended. All nodes must say the same.
    pub fn stay(mut self, stay: bool) -> Self {
        self.ends_with_job = !stay;
        self
    }

    /// Returns the agent.
    pub fn agent(&self) -> &Agent<Observed, T> {
        &self.agent
    }

    /// Returns the state of the ranks of this node.
    pub fn ranks(&self) -> &RanksHere {
        &self.ranks
    }

    /// Returns true if a use of this node was not done with a step at the last turn.
    pub fn is_busy(&self) -> bool {
        self.agent.standing() & ANY_BUSY != 0
    }

    /// Asks all agents to end.
    pub fn stop(&mut self) {
        self.agent.wish(STOP);
    }

    /// Does what is to be done now. Returns the decision if a round has ended, and why the agents
    /// end if they do. Then no round has begun that others take part in. Waits for nothing. `now`
    /// is that of [`Agent::turn`].
    pub fn turn(&mut self, now: Duration) -> Result<(Option<Decision>, Option<End>), NodeError> {
        let decision = self.agent.result(now)?;
        if let Some(decision) = &decision {
            self.stopping |= decision.wishes & STOP != 0;
            if !self.stopping {
                self.tell(decision)?;
            }
            if let Some(end) = self.end(decision) {
                return Ok((Some(decision.clone()), Some(end)));
            }
        }
        // The decision may have made uses busy. The next offer must say so.
        let standing = self.turn_uses()?;
        // This comes before the agent looks for versions, so a closed region has no newer ones.
        let ends = self.agent.regions().ends().map_err(AgentError::Regions)?;
        self.ranks = RanksHere::of(ends);
        self.agent.stand(standing | self.ranks.bits());
        self.agent.go_on(now)?;
        Ok((decision, None))
    }

    /// Lets the uses go on. Returns the wishes that say where they are.
    fn turn_uses(&mut self) -> Result<u64, NodeError> {
        let mut standing = 0;
        for (i, each) in self.uses.iter_mut().enumerate() {
            let progress = each.turn().map_err(NodeError::Use)?;
            standing |= if progress.busy { busy(i) } else { 0 };
            standing |= if progress.call { call(i) } else { 0 };
            for of in progress.prepared {
                self.agent.prepared(of);
            }
        }
        Ok(standing)
    }

    /// Tells the uses what was decided.
    fn tell(&mut self, decision: &Decision) -> Result<(), NodeError> {
        for (i, each) in self.uses.iter_mut().enumerate() {
            let round = Round {
                decision,
                agreed: self.agent.agreed(),
                idle: decision.wishes & busy(i) == 0,
                called: decision.wishes & call(i) != 0,
                lost: decision.wishes & LOST != 0,
            };
            each.decided(round).map_err(NodeError::Use)?;
        }
        Ok(())
    }

    /// Returns why the agents end after this round. If one was told to end, all let their uses
    /// finish, which learn of no more decisions. If the job has ended, a use may have begun
    /// something in the round in which all ranks were closed, so the job is over in the next quiet
    /// one.
    fn end(&mut self, decision: &Decision) -> Option<End> {
        let wishes = decision.wishes;
        if self.stopping {
            return (wishes & ANY_BUSY == 0).then_some(End::Stopped);
        }
        let closed = wishes & (CLOSED | RUNNING) == CLOSED && decision.whole;
        let quiet = closed && wishes & ANY_USE == 0 && !decision.is_new;
        let over = quiet && std::mem::replace(&mut self.quiet, quiet);
        self.quiet = quiet;
        (over && self.ends_with_job).then_some(End::JobOver)
    }
}
