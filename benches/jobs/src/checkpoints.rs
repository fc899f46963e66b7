//! Checkpoints of agreed steps: which steps the nodes write, by the rule of the agents' own use of
//! steps (`tcasm_agent::checkpoints`). The model of writing is that it takes time.

use crate::job::VirtualAgent;
use crate::node::Pinned;
use std::sync::Arc;
use tcasm_agent::agreement::{Held, Rule};
use tcasm_agent::{Agreed, Decision};

/// The wish by which a node says that some of its ranks have died.
const LOST: u64 = 1 << 1;
/// The wish by which a node says that it is writing.
const BUSY: u64 = 1 << 2;

/// The writer of a node.
#[derive(Default)]
struct Writer {
    /// The step that was begun last.
    begun: Option<Agreed>,
    /// The step that is written now. It stays pinned meanwhile.
    writing: Option<Arc<Held<Pinned>>>,
}

/// The writers of all nodes.
pub struct Checkpoints {
    /// The rule by which steps are due, or `None` if there are no checkpoints.
    rule: Option<Rule>,
    writers: Vec<Writer>,
    /// The ranks have died, and were not started again.
    lost: bool,
}

impl Checkpoints {
    /// Returns the writers of this many nodes.
    pub fn new(rule: Option<Rule>, nodes: usize) -> Checkpoints {
        Checkpoints {
            rule,
            writers: (0..nodes).map(|_| Writer::default()).collect(),
            lost: false,
        }
    }

    /// Says whether ranks have died that were not started again.
    pub fn set_lost(&mut self, lost: bool) {
        self.lost = lost;
    }

    /// Returns true if ranks have died that were not started again.
    pub fn lost(&self) -> bool {
        self.lost
    }

    /// Lets the writer of a node go on after a decision, if there is one, and lets the next offers
    /// of its agent say where it is. Returns the step that it begins to write.
    pub fn go_on(
        &mut self,
        node: usize,
        agent: &mut VirtualAgent,
        decision: Option<&Decision>,
    ) -> Option<Agreed> {
        let begun = decision.and_then(|decision| self.begin(node, agent, decision));
        agent.stand(self.standing(node));
        begun
    }

    /// Begins the agreed step if it is due, or if ranks have died: all nodes do so in the same
    /// round, in which none of them was writing.
    fn begin(&mut self, node: usize, agent: &VirtualAgent, decision: &Decision) -> Option<Agreed> {
        let rule = self.rule?;
        let writer = &mut self.writers[node];
        let idle = decision.wishes & BUSY == 0;
        let lost = decision.wishes & LOST != 0;
        let wanted = |of: &Agreed| lost || is_due(rule, of.step);
        let step = decision.agreed.filter(|of| idle && wanted(of));
        let step = step.filter(|of| writer.begun != Some(*of))?;
        writer.begun = Some(step);
        writer.writing = agent.agreed().filter(|held| held.of == step).cloned();
        writer.writing.as_ref().map(|held| held.of)
    }

    /// Returns the wishes by which the other nodes learn where this one is.
    fn standing(&self, node: usize) -> u64 {
        let lost = self.rule.is_some() && self.lost;
        let busy = self.writers[node].writing.is_some();
        let bit = |on: bool, bit: u64| if on { bit } else { 0 };
        bit(lost, LOST) | bit(busy, BUSY)
    }

    /// Ends the writing of a step on a node. Returns false if its writer did not write it.
    pub fn written(&mut self, node: usize, of: Agreed) -> bool {
        let writing = &mut self.writers[node].writing;
        let ended = writing.take_if(|held| held.of == of);
        ended.is_some()
    }

    /// Says that the agent of a node died, and with it the writer.
    pub fn died(&mut self, node: usize) {
        self.writers[node] = Writer::default();
    }

    /// Says that the agents were connected anew. A step that was not committed may be begun again.
    pub fn connected(&mut self) {
        self.writers
            .iter_mut()
            .for_each(|writer| writer.begun = None);
    }
}

/// Returns true if a rule wants a checkpoint of a step.
fn is_due(rule: Rule, step: u64) -> bool {
    match rule {
        Rule::Every(n) => step.is_multiple_of(n.get()),
        Rule::At(due) => step == due,
        Rule::Never | Rule::Wished => true,
    }
}
