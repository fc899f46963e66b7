//! The steps of which checkpoints are written.

use crate::agreement::{Agreed, Decision, Rule};

/// The steps that are due: a checkpoint of them is written if they are agreed when the checkpoint
/// before is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due(Rule);

impl Due {
    /// Returns the steps that a rule appoints, or all if it appoints none.
    pub fn by(rule: Rule) -> Due {
        Due(rule)
    }

    fn is(self, step: u64) -> bool {
        match self.0 {
            Rule::Every(n) => step.is_multiple_of(n.get()),
            Rule::At(due) => step == due,
            Rule::Never | Rule::Wished => true,
        }
    }
}

/// Chooses the steps that are written: those that are due, and the agreed step when ranks have
/// died.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    due: Due,
    /// The step that was begun last, or the newest one that was committed before the start.
    last: Option<Agreed>,
}

impl Plan {
    /// Returns the plan of agents that have begun nothing yet.
    pub(super) fn new(due: Due) -> Plan {
        Plan { due, last: None }
    }

    /// Notes the newest checkpoint that agents before these have committed.
    pub(super) fn found(&mut self, newest: Option<Agreed>) {
        self.last = self.last.or(newest);
    }

    /// Returns true if this step was begun last.
    pub(super) fn has_begun(&self, step: Agreed) -> bool {
        self.last == Some(step)
    }

    /// Returns the step that begins after this round, if any. All nodes know the same here, so all
    /// begin the same step in the same round. `idle` is true if nothing is being written on any
    /// node, and `lost` if ranks of any node have died.
    pub(super) fn begin(&mut self, decision: &Decision, idle: bool, lost: bool) -> Option<Agreed> {
        let step = decision.agreed.filter(|_| idle)?;
        let due = self.due.is(step.step) && self.last != Some(step);
        // If there is a lag, the ranks of the round are of the run of the step. Otherwise the next
        // run has begun, and may have continued from what was committed before. In the round of its
        // first step, a node may still tell of the dead ranks of the run before.
        let of_run = decision.lag.is_some() && !decision.is_new;
        let saved = lost && of_run && self.is_newer(step);
        (due || saved).then(|| {
            self.last = Some(step);
            step
        })
    }

    /// Returns true if nothing was begun that is as new, in any run. A step that is not due must
    /// replace nothing: a run that has begun anew by mistake, and ends early, would remove all
    /// checkpoints of the one before.
    fn is_newer(&self, step: Agreed) -> bool {
        self.last.is_none_or(|last| step.step > last.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regions::RunId;
    use std::num::NonZeroU64;

    /// A round of the ranks of run `of`, after which this step of a run is the agreed one.
    fn round((run, step): (u64, u64), of: u64) -> Decision {
        let run = RunId(run);
        Decision {
            round: 1,
            whole: true,
            agreed: Some(Agreed { run, step }),
            ranks: Some(4),
            is_new: false,
            lag: (run.0 == of).then_some(0),
            appointment: None,
            appointed: None,
            committed: None,
            wishes: 0,
        }
    }

    fn every(n: u64) -> Plan {
        Plan::new(Due::by(Rule::Every(NonZeroU64::new(n).unwrap())))
    }

    /// Returns the step that begins after a round with this agreed step, if any.
    fn step(plan: &mut Plan, agreed: (u64, u64), idle: bool, lost: bool) -> Option<u64> {
        let begun = plan.begin(&round(agreed, agreed.0), idle, lost);
        begun.map(|begun| begun.step)
    }

    const LIVES: bool = false;
    const LOST: bool = true;

    #[test]
    fn only_due_steps_are_written_while_all_ranks_live() {
        let mut plan = every(10);
        let begun = (1..=40).filter_map(|n| step(&mut plan, (1, n), true, LIVES));
        assert_eq!(begun.collect::<Vec<u64>>(), [10, 20, 30, 40]);
        assert_eq!(step(&mut plan, (1, 40), true, LIVES), None, "it was begun");
        assert_eq!(step(&mut plan, (1, 50), false, LIVES), None);
        assert_eq!(step(&mut plan, (1, 50), true, LIVES), Some(50));
    }

    #[test]
    fn agreed_step_is_written_once_when_a_rank_has_died() {
        let mut plan = every(10);
        assert_eq!(step(&mut plan, (1, 20), true, LIVES), Some(20));
        assert_eq!(step(&mut plan, (1, 23), false, LOST), None, "20 is written");
        assert_eq!(step(&mut plan, (1, 23), true, LOST), Some(23));
        assert_eq!(step(&mut plan, (1, 23), true, LOST), None);
        // A slower rank has come to a newer one.
        assert_eq!(step(&mut plan, (1, 24), true, LOST), Some(24));
        // The rank was started again, in the same run.
        assert_eq!(step(&mut plan, (1, 25), true, LIVES), None);
        assert_eq!(step(&mut plan, (1, 30), true, LIVES), Some(30));
        assert_eq!(step(&mut plan, (1, 30), true, LOST), None);
    }

    #[test]
    fn nothing_that_is_committed_is_replaced() {
        let committed = |run: u64, step: u64| {
            let mut plan = every(10);
            let run = RunId(run);
            plan.found(Some(Agreed { run, step }));
            plan
        };
        for older in [21, 22, 23] {
            assert_eq!(step(&mut committed(1, 23), (1, older), true, LOST), None);
        }
        assert_eq!(step(&mut committed(1, 20), (1, 20), true, LIVES), None);
        assert_eq!(step(&mut committed(1, 23), (1, 24), true, LOST), Some(24));
    }

    #[test]
    fn run_that_has_returned_to_an_earlier_step_replaces_nothing_before_a_step_is_due() {
        let mut plan = every(10);
        assert_eq!(step(&mut plan, (1, 20), true, LIVES), Some(20));
        assert_eq!(step(&mut plan, (1, 23), true, LOST), Some(23));
        assert_eq!(step(&mut plan, (2, 3), true, LOST), None);
        assert_eq!(step(&mut plan, (3, 24), true, LOST), Some(24));
        assert_eq!(step(&mut plan, (4, 10), true, LIVES), Some(10));
        assert_eq!(step(&mut plan, (4, 13), true, LOST), Some(13));
    }

    #[test]
    fn first_step_of_the_next_run_is_not_written_because_of_the_dead_ranks_of_the_last_one() {
        let mut plan = every(10);
        let first = Decision {
            is_new: true,
            ..round((2, 25), 2)
        };
        assert_eq!(plan.begin(&first, true, LOST), None);
        assert!(plan.begin(&round((2, 25), 2), true, LOST).is_some());
    }

    #[test]
    fn step_of_a_run_that_another_one_has_followed_is_not_written() {
        let mut plan = every(10);
        assert_eq!(plan.begin(&round((1, 23), 2), true, LOST), None);
        let scattered = Decision {
            whole: false,
            lag: None,
            ..round((1, 23), 1)
        };
        assert_eq!(plan.begin(&scattered, true, LOST), None);
        let nothing = Decision {
            agreed: None,
            ..round((1, 23), 1)
        };
        assert_eq!(plan.begin(&nothing, true, LOST), None);
        assert!(plan.begin(&round((1, 23), 1), true, LOST).is_some());
    }
}
