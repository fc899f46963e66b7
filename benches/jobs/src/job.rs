//! The nodes of a job with their agents.

use crate::Nanos;
use crate::checker::{Checker, View, Violation};
use crate::network::{Endpoint, Latency, Network};
use crate::node::{Node, Store, VirtualRegions};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;
use tcasm_agent::{Agent, AgentError, Agreed, Decision, RunId, Settings};

/// An agent of a virtual node.
pub type VirtualAgent = Agent<VirtualRegions, Endpoint>;

/// The size of a job, and how its agents work.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of ranks.
    pub ranks: usize,
    /// The ranks of each node.
    pub per_node: usize,
    /// The regions of the ranks.
    pub store: Store,
    /// The times of the network.
    pub latency: Latency,
    /// The settings of the agents.
    pub settings: Settings,
}

/// The outcome of a turn of an agent.
#[derive(Debug)]
pub enum Turn {
    /// Nothing was decided.
    Nothing,
    /// A round has ended. The decision may be the first of this round.
    Decided {
        /// The decision.
        decision: Decision,
        /// No other agent has ended this round before.
        first: bool,
    },
    /// The agent has noticed that a round failed, or is dead.
    Apart,
}

/// The nodes of a job with their agents.
pub struct Job {
    size: Size,
    clock: Rc<Cell<Nanos>>,
    nodes: Vec<Rc<RefCell<Node>>>,
    agents: Vec<Option<VirtualAgent>>,
    alive: Vec<bool>,
    network: Network,
    checker: Checker,
}

impl Job {
    /// Returns a job whose ranks have published nothing.
    pub fn new(size: Size, run: RunId) -> Job {
        let starts = (0..size.ranks).step_by(size.per_node);
        let node = |first: usize| {
            let ranks = first as u32..size.ranks.min(first + size.per_node) as u32;
            Rc::new(RefCell::new(Node::new(
                ranks,
                size.ranks as u32,
                size.store,
                run,
            )))
        };
        let nodes: Vec<_> = starts.map(node).collect();
        let clock = Rc::new(Cell::new(0));
        let n = nodes.len();
        let mut job = Job {
            network: Network::new(n, size.latency, Rc::clone(&clock)),
            size,
            clock,
            nodes,
            agents: (0..n).map(|_| None).collect(),
            alive: vec![false; n],
            checker: Checker::new(n),
        };
        job.connect();
        job
    }

    /// Returns the present time.
    pub fn now(&self) -> Nanos {
        self.clock.get()
    }

    /// Sets the time.
    pub fn set_time(&self, now: Nanos) {
        self.clock.set(now);
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> &[Rc<RefCell<Node>>] {
        &self.nodes
    }

    /// Returns the rounds.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns an agent if it lives.
    pub fn agent(&mut self, at: usize) -> Option<&mut VirtualAgent> {
        self.agents[at].as_mut()
    }

    /// Returns the newest agreed step.
    pub fn agreed(&self) -> Option<Agreed> {
        self.checker.latest()
    }

    /// Lets an agent do what is to be done, and checks the invariants.
    pub fn turn(&mut self, at: usize) -> Result<Turn, Violation> {
        let now = Duration::from_nanos(self.now());
        self.take(at, |agent| agent.turn(now))
    }

    /// Does the same in two halves. `between` learns of the decision, if there is one, before the
    /// next round can begin, as a node lets its uses of agreed steps do.
    pub fn turn_with(
        &mut self,
        at: usize,
        between: impl FnOnce(&mut VirtualAgent, Option<&Decision>),
    ) -> Result<Turn, Violation> {
        let now = Duration::from_nanos(self.now());
        self.take(at, |agent| {
            let decision = agent.result(now)?;
            between(agent, decision.as_ref());
            let gone_on = agent.go_on(now);
            match decision {
                None => gone_on.map(|()| None),
                // The decision must be known. An error comes again in the next turn, but for that
                // of a round: after it the agent waits for a new connection.
                decided => Ok(decided),
            }
        })
    }

    /// Lets an agent have its turn, and checks the invariants.
    fn take(
        &mut self,
        at: usize,
        turn: impl FnOnce(&mut VirtualAgent) -> Result<Option<Decision>, AgentError<Infallible>>,
    ) -> Result<Turn, Violation> {
        let Some(agent) = &mut self.agents[at] else {
            return Ok(Turn::Apart);
        };
        let (decision, apart) = match turn(agent) {
            Ok(decision) => (decision, false),
            Err(AgentError::Suspicion(_)) => (None, true),
            Err(error) => {
                return Err(Violation {
                    invariant: "G5",
                    what: error.to_string(),
                });
            }
        };
        let view = View {
            nodes: &self.nodes,
            network: &self.network,
            alive: &self.alive,
            window: self.size.settings.window,
        };
        let first = self.checker.after(&view, at, decision.as_ref())?;
        Ok(match decision {
            Some(decision) => Turn::Decided { decision, first },
            None if apart => Turn::Apart,
            None => Turn::Nothing,
        })
    }

    /// Kills an agent. Its pins go, and all rounds fail.
    pub fn kill_agent(&mut self, at: usize) {
        self.agents[at] = None;
        self.alive[at] = false;
        self.checker.died(at);
        self.network.fail();
    }

    /// Connects all agents anew, and starts those that are dead.
    pub fn connect(&mut self) {
        let n = self.nodes.len();
        self.network = Network::new(n, self.size.latency, Rc::clone(&self.clock));
        self.checker.connected();
        for at in 0..n {
            let endpoint = self.network.endpoint(at);
            match &mut self.agents[at] {
                Some(agent) => agent.rejoin(endpoint),
                none => {
                    let regions = VirtualRegions(Rc::clone(&self.nodes[at]));
                    *none = Some(Agent::new(regions, endpoint, self.size.settings));
                    self.alive[at] = true;
                }
            }
        }
    }

    /// Starts all ranks again, in another run.
    pub fn restart(&mut self, run: RunId) {
        for node in &self.nodes {
            let mut node = node.borrow_mut();
            for local in 0..node.len() {
                node.restart(local, run);
            }
        }
    }
}
