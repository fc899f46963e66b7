//! Decisions: functions of the results of rounds, and of nothing else (G3).

use super::appointment::Rule;
use super::guards::{Guard, Guards};
use crate::offer::Offer;
use crate::regions::{RunId, marks_of_all};

/// The wish for an appointment ([`Rule::Wished`]). The other bits mean what the agents agree on
/// among themselves.
pub const APPOINT: u64 = 1;

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Agreed {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: u64,
}

/// The end of an appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appointed {
    /// All ranks have the step, and it was agreed.
    Kept(u64),
    /// All ranks have passed the step, and some do not have it.
    Missed(u64),
}

/// The decision after a round. It is the same in all agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the round since the agents were connected, from 1.
    pub round: u64,
    /// All ranks took part, and are of one run.
    pub whole: bool,
    /// The newest step that all ranks have, if any is known since the agents were connected.
    pub agreed: Option<Agreed>,
    /// The number of ranks of the agreed step. The next run may have another one.
    pub ranks: Option<u64>,
    /// The step became the agreed one in this round.
    pub is_new: bool,
    /// The number of steps that the fastest rank was ahead of the agreed step.
    pub lag: Option<u64>,
    /// The step that is appointed now.
    pub appointment: Option<u64>,
    /// The appointment that has ended in this round.
    pub appointed: Option<Appointed>,
    /// The newest step that was prepared on all nodes.
    pub committed: Option<Agreed>,
    /// The wishes of all agents.
    pub wishes: u64,
}

impl Decision {
    /// Returns the newest step of the fastest rank, if `agreed` is the agreed step.
    pub fn newest(&self, agreed: Agreed) -> u64 {
        agreed.step.saturating_add(self.lag.unwrap_or(0))
    }
}

/// The state of decisions. It begins anew when the agents are connected anew.
#[derive(Clone, Debug)]
pub struct Decider {
    rule: Rule,
    guards: Guards,
    round: u64,
    agreed: Option<Agreed>,
    /// The number of ranks of the agreed step.
    ranks: Option<u64>,
    committed: Option<Agreed>,
    appointment: Option<Agreed>,
    /// A number of ranks, and the sum of the marks of so many.
    marks: (u64, u64),
}

impl Decider {
    /// Returns the state before the first round.
    pub fn new(rule: Rule, guards: Guards) -> Decider {
        Decider {
            rule,
            guards,
            round: 0,
            agreed: None,
            ranks: None,
            committed: None,
            appointment: None,
            marks: (0, 0),
        }
    }

    /// Returns the state before the first round, with the same settings.
    pub(super) fn anew(&self) -> Decider {
        Decider::new(self.rule, self.guards)
    }

    /// Returns the step that is appointed now, in this run.
    pub(super) fn appointment(&self, run: RunId) -> Option<u64> {
        let appointment = self.appointment.filter(|a| a.run == run);
        appointment.map(|a| a.step)
    }

    /// Decides by the result of the next round.
    pub fn decide(&mut self, result: &Offer) -> Decision {
        self.round += 1;
        let run = self.run_of(result);
        let mut decision = Decision {
            round: self.round,
            whole: run.is_some(),
            agreed: None,
            ranks: None,
            is_new: false,
            lag: None,
            appointment: None,
            appointed: None,
            committed: None,
            wishes: result.wishes,
        };
        if let Some(run) = run {
            decision.appointed = self.end_appointment(run, result);
            decision.is_new = self.agree(run, result, decision.appointed);
            self.commit(run, result);
            self.appoint(run, result, decision.appointed);
        }
        (decision.agreed, decision.ranks) = (self.agreed, self.ranks);
        decision.lag = lag(self.agreed, run, result);
        decision.appointment = self.appointment.map(|a| a.step);
        decision.committed = self.committed;
        decision
    }

    /// Returns the run of all ranks if the result is whole.
    fn run_of(&mut self, result: &Offer) -> Option<RunId> {
        let ranks = result.ranks.only();
        let present = ranks.is_some_and(|ranks| {
            if self.marks.0 != ranks {
                self.marks = (ranks, marks_of_all(ranks));
            }
            (result.present, result.marks) == self.marks
        });
        let present = present || self.guards.off(Guard::AllPresent) && !result.run.is_empty();
        let run = match self.guards.off(Guard::OneRun) {
            true => Some(result.run.max),
            false => result.run.only(),
        };
        run.filter(|_| present).map(RunId)
    }

    /// Makes a step of the result the agreed one if it is newer: the appointed one if it was kept,
    /// otherwise the newest. Steps of another run are newer than those of the run before.
    fn agree(&mut self, run: RunId, result: &Offer, appointed: Option<Appointed>) -> bool {
        let step = match appointed {
            Some(Appointed::Kept(step)) => Some(step),
            _ => result.held.max(),
        };
        let newer = step.map(|step| Agreed { run, step });
        let newer = newer.filter(|newer| is_newer(*newer, self.agreed));
        if newer.is_some() {
            (self.agreed, self.ranks) = (newer, result.ranks.only());
        }
        newer.is_some()
    }

    fn commit(&mut self, run: RunId, result: &Offer) {
        let newer = result.prepared.max().map(|step| Agreed { run, step });
        let newer = newer.filter(|newer| is_newer(*newer, self.committed));
        self.committed = newer.or(self.committed);
    }

    /// Ends the appointment if the step is held by all, or if all ranks have passed it.
    fn end_appointment(&mut self, run: RunId, result: &Offer) -> Option<Appointed> {
        // The appointment of another run has no meaning any more.
        self.appointment = self.appointment.filter(|a| a.run == run);
        let step = self.appointment?.step;
        let end = match result.held.lists(step) {
            true => Appointed::Kept(step),
            false if result.newest.min >= step => Appointed::Missed(step),
            false => return None,
        };
        self.appointment = None;
        Some(end)
    }

    /// Makes the next appointment if there is none. One that was missed moves on.
    fn appoint(&mut self, run: RunId, result: &Offer, ended: Option<Appointed>) {
        if self.appointment.is_none() {
            let missed = matches!(ended, Some(Appointed::Missed(_)));
            let wished = missed || result.wishes & APPOINT != 0;
            let step = self.rule.next(result.newest, wished);
            self.appointment = step.map(|step| Agreed { run, step });
        }
    }
}

/// Returns true if `one` is of another run than `other`, or of a later step.
fn is_newer(one: Agreed, other: Option<Agreed>) -> bool {
    other.is_none_or(|other| one.run != other.run || one.step > other.step)
}

fn lag(agreed: Option<Agreed>, run: Option<RunId>, result: &Offer) -> Option<u64> {
    let agreed = agreed.filter(|agreed| Some(agreed.run) == run)?;
    Some(result.newest.max.saturating_sub(agreed.step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regions::{Roster, Span};

    /// Returns the result of a round in which all ranks of a run have these steps.
    fn result(run: u64, ranks: u32, held: &[u64]) -> Offer {
        let roster = Roster::new(RunId(run), ranks, 0..ranks);
        let newest = held.iter().copied().chain([1]).collect::<Span>();
        Offer::of(&roster, newest, held.iter().copied())
    }

    #[test]
    fn agreed_step_has_the_ranks_of_its_run_until_the_next_run_has_a_step() {
        let mut decider = Decider::new(Rule::Never, Guards::default());
        let mut decide = |result: Offer| {
            let decision = decider.decide(&result);
            let of = |agreed: Agreed| (agreed.run.0, agreed.step);
            (decision.agreed.map(of), decision.ranks)
        };
        assert_eq!(decide(result(1, 4, &[])), (None, None));
        assert_eq!(decide(result(1, 4, &[5])), (Some((1, 5)), Some(4)));
        assert_eq!(decide(Offer::NOTHING), (Some((1, 5)), Some(4)));
        assert_eq!(decide(result(2, 3, &[])), (Some((1, 5)), Some(4)));
        assert_eq!(decide(result(2, 3, &[1])), (Some((2, 1)), Some(3)));
    }
}
