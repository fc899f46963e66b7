//! The invariants G1 to G6 of the agreement, checked from outside of the agents.

use crate::network::Network;
use crate::node::Node;
use std::cell::RefCell;
use std::rc::Rc;
use tcasm_agent::offer::Offer;
use tcasm_agent::{Agreed, Decision, RunId};
use thiserror::Error;

/// An invariant does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{invariant}: {what}")]
pub struct Violation {
    /// The name of the invariant.
    pub invariant: &'static str,
    /// The facts.
    pub what: String,
}

fn violated<V>(invariant: &'static str, what: String) -> Result<V, Violation> {
    Err(Violation { invariant, what })
}

/// Everything that the checker looks at.
pub struct View<'j> {
    /// All nodes.
    pub nodes: &'j [Rc<RefCell<Node>>],
    /// The rounds.
    pub network: &'j Network,
    /// The agents that live.
    pub alive: &'j [bool],
    /// The window of the agents.
    pub window: usize,
}

/// The history that the invariants are about.
pub struct Checker {
    /// The decisions of rounds since the agents were connected.
    decisions: Vec<Decision>,
    /// The newest agreed step, whoever has decided it.
    latest: Option<Agreed>,
    /// The agents that were there when it was agreed.
    bound: Vec<bool>,
}

impl Checker {
    /// Returns the checker of this many agents.
    pub fn new(agents: usize) -> Checker {
        Checker {
            decisions: Vec::new(),
            latest: None,
            bound: vec![false; agents],
        }
    }

    /// Returns the newest agreed step.
    pub fn latest(&self) -> Option<Agreed> {
        self.latest
    }

    /// Notes that an agent died.
    pub fn died(&mut self, agent: usize) {
        self.bound[agent] = false;
    }

    /// Notes that the agents were connected anew.
    pub fn connected(&mut self) {
        self.decisions.clear();
    }

    /// Checks what an agent has done. Returns true if its decision is the first of the round.
    pub fn after(
        &mut self,
        view: &View<'_>,
        agent: usize,
        decision: Option<&Decision>,
    ) -> Result<bool, Violation> {
        let first = match decision {
            Some(decision) => self.decided(view, agent, decision)?,
            None => false,
        };
        self.node(view, agent)?;
        Ok(first)
    }

    /// Checks G3, and G2 and G6 if this is the first decision of the round.
    fn decided(
        &mut self,
        view: &View<'_>,
        agent: usize,
        own: &Decision,
    ) -> Result<bool, Violation> {
        if let Some(first) = self.decisions.get(own.round as usize - 1) {
            return match first == own {
                true => Ok(false),
                false => violated(
                    "G3",
                    format!("agent {agent} decides {own:?}, not {first:?}"),
                ),
            };
        }
        let begins = !self.decisions.iter().any(|before| before.whole);
        self.decisions.push(own.clone());
        if own.is_new || own.whole && begins {
            self.latest = own.agreed;
            self.bound.copy_from_slice(view.alive);
        }
        if let Some(agreed) = own.agreed.filter(|_| own.is_new) {
            everywhere(view, agreed)?;
        }
        Ok(true)
    }

    /// Checks the pins of one node: G1, G2 and G5.
    fn node(&self, view: &View<'_>, agent: usize) -> Result<(), Violation> {
        let node = view.nodes[agent].borrow();
        if let Some(offer) = view.network.offer(agent) {
            let gone = offered(&offer).find(|of| !node.pinned(*of));
            if let Some(gone) = gone {
                return violated(
                    "G1",
                    format!("{gone:?} is offered, but not pinned at {agent}"),
                );
            }
        }
        if let Some(latest) = self
            .latest
            .filter(|of| self.bound[agent] && !node.pinned(*of))
        {
            return violated(
                "G2",
                format!("{latest:?} is agreed, but not pinned at {agent}"),
            );
        }
        let most = view.window + 1;
        match (node.most_pinned(), node.refused()) {
            (pinned, _) if pinned > most => violated(
                "G5",
                format!("{pinned} of at most {most} are pinned at {agent}"),
            ),
            (_, refused) if refused > 0 => {
                violated("G5", format!("a rank of {agent} had no slot for a version"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that all ranks of the job have the agreed step, of the same run, pinned. A dead agent
/// pins nothing any more: it can have died after the round has ended.
fn everywhere(view: &View<'_>, agreed: Agreed) -> Result<(), Violation> {
    for (at, node) in view.nodes.iter().enumerate() {
        let node = node.borrow();
        if node.pinned(agreed) || !view.alive[at] {
            continue;
        }
        let mixed = node.pinned_in_other_run(agreed);
        let what = format!("{agreed:?} was agreed, but is not pinned in all ranks of node {at}");
        return violated(if mixed { "G6" } else { "G2" }, what);
    }
    Ok(())
}

fn offered(offer: &Offer) -> impl Iterator<Item = Agreed> {
    let run = RunId(offer.run.max);
    let steps = offer.held.list().unwrap_or_default().iter();
    steps.map(move |step| Agreed { run, step: *step })
}
