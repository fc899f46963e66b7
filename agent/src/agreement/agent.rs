//! The agent of one node.

use super::appointment::{CLEAR_BEFORE, Rule};
use super::decide::{Agreed, Decider, Decision};
use super::error::AgentError;
use super::guards::{Guard, Guards};
use super::holdings::{Held, Holdings, SPARE};
use crate::offer::{MOST_HELD, MOST_PREPARED, Offer, OfferBytes, Steps};
use crate::regions::{Look, Regions, Roster, Span};
use crate::transport::Transport;
use std::sync::Arc;
use std::time::Duration;

/// The settings of an agent. Those that decide must be the same in all agents.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of steps that are pinned besides the agreed one, from 1 to 31.
    pub window: usize,
    /// The time after which an agent begins the next round even if nothing has changed here.
    pub patience: Duration,
    /// The rule of appointments. It decides.
    pub rule: Rule,
    /// The guards of the invariants, which only tests change.
    pub guards: Guards,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            window: 4,
            patience: Duration::from_millis(10),
            rule: Rule::Never,
            guards: Guards::default(),
        }
    }
}

/// The part of an agent in rounds.
enum Round {
    /// Takes part in a round, with these wishes.
    Begun { wishes: u64 },
    /// Takes part in none since this time, or since the agents were connected.
    Over { since: Option<Duration> },
    /// A round failed.
    Failed,
}

/// The agent of one node.
///
/// It does nothing by itself: call [`turn`](Self::turn) whenever the transport or a region may have
/// something new, at least each few milliseconds.
pub struct Agent<R: Regions, T> {
    regions: R,
    transport: T,
    settings: Settings,
    holdings: Holdings<R::Pin>,
    decider: Decider,
    round: Round,
    /// The ranks of the candidates.
    roster: Option<Roster>,
    newest: Span,
    wishes: u64,
    /// The wishes of each offer.
    standing: u64,
    prepared: Vec<Agreed>,
    /// There is something to offer that was not offered yet.
    news: bool,
    /// The error of the last turn, which had a decision to return.
    late: Option<AgentError<R::Error>>,
}

impl<R: Regions, T: Transport> Agent<R, T> {
    /// Returns an agent of these regions, which takes part in the rounds of `transport`. A window
    /// that no offer could hold is made smaller.
    pub fn new(regions: R, transport: T, mut settings: Settings) -> Self {
        settings.window = settings.window.clamp(1, MOST_HELD - 1);
        Agent {
            regions,
            transport,
            settings,
            holdings: Holdings::new(settings.window, settings.guards),
            decider: Decider::new(settings.rule, settings.guards),
            round: Round::Over { since: None },
            roster: None,
            newest: Span::EMPTY,
            wishes: 0,
            standing: 0,
            prepared: Vec::new(),
            news: true,
            late: None,
        }
    }

    /// Does what is to be done now: ends the round if there is a result, follows the regions, and
    /// begins a round if something has changed here or the agent has waited long enough. Returns
    /// the decision if a round has ended. Waits for nothing.
    ///
    /// An error after a decision is returned by the next turn: the caller must learn the decision.
    ///
    /// `now` is the time since some moment, which may be another one in each agent.
    pub fn turn(&mut self, now: Duration) -> Result<Option<Decision>, AgentError<R::Error>> {
        if let Some(error) = self.late.take() {
            return Err(error);
        }
        let decision = self.end_round(now)?;
        match (self.go_on(now), &decision) {
            (Err(error), None) => return Err(error),
            (result, _) => self.late = result.err(),
        }
        Ok(decision)
    }

    /// Does the first half of [`turn`](Self::turn): ends the round if there is a result, and
    /// returns the decision. No round begins before [`go_on`](Self::go_on).
    pub fn result(&mut self, now: Duration) -> Result<Option<Decision>, AgentError<R::Error>> {
        self.end_round(now)
    }

    /// Does the second half of [`turn`](Self::turn): follows the regions, and begins a round if one
    /// is due.
    pub fn go_on(&mut self, now: Duration) -> Result<(), AgentError<R::Error>> {
        self.follow()?;
        match self.is_due(now) {
            true => self.begin_round(),
            false => Ok(()),
        }
    }

    /// Returns the agreed step, pinned in all local regions. A clone keeps it pinned. A clone of an
    /// earlier one takes a place of the window as long as it exists.
    pub fn agreed(&self) -> Option<&Arc<Held<R::Pin>>> {
        self.holdings.agreed()
    }

    /// Returns all steps that are pinned here.
    pub fn held(&self) -> Vec<Agreed> {
        self.holdings.all()
    }

    /// Returns the steps that this agent offers in the round in progress.
    pub fn offered(&self) -> impl Iterator<Item = Agreed> {
        self.holdings.offered()
    }

    /// Adds a wish to the next offer. The decision of that round has the wishes of all agents.
    pub fn wish(&mut self, wishes: u64) {
        self.wishes |= wishes;
        self.news = true;
    }

    /// Sets the wishes that each offer has from now on, besides those of [`wish`](Self::wish).
    pub fn stand(&mut self, wishes: u64) {
        self.news |= self.standing != wishes;
        self.standing = wishes;
    }

    /// Returns the wishes that stand.
    pub fn standing(&self) -> u64 {
        self.standing
    }

    /// Returns the regions.
    pub fn regions(&self) -> &R {
        &self.regions
    }

    /// Returns true if this agent takes part in a round that is not over.
    pub fn in_round(&self) -> bool {
        matches!(self.round, Round::Begun { .. })
    }

    /// Says in the next offers that this node has prepared a step for a commit. It is committed
    /// when all nodes with regions have said so.
    pub fn prepared(&mut self, of: Agreed) {
        if !self.prepared.contains(&of) {
            self.prepared.push(of);
            self.news = true;
        }
        let many = self.prepared.len().saturating_sub(MOST_PREPARED);
        self.prepared.drain(..many);
    }

    /// Goes on with a new transport after a failed round. All agents that are left must do so, and
    /// decisions begin anew. What is pinned stays until they have agreed on something newer.
    pub fn rejoin(&mut self, transport: T) {
        self.holdings.freeze();
        self.transport = transport;
        self.decider = self.decider.anew();
        self.round = Round::Over { since: None };
        self.news = true;
        self.late = None;
    }

    /// Ends the round in progress if there is a result.
    fn end_round(&mut self, now: Duration) -> Result<Option<Decision>, AgentError<R::Error>> {
        let Round::Begun { wishes } = self.round else {
            return Ok(None);
        };
        let result = match self.transport.poll() {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => Offer::decode(&bytes).map_err(AgentError::from),
            Err(suspicion) => Err(suspicion.into()),
        };
        let result = result.map_err(|error| self.fail(wishes, error))?;
        self.round = Round::Over { since: Some(now) };
        Ok(Some(self.decide(result)))
    }

    /// Decides, and does what follows for the pinned steps.
    fn decide(&mut self, mut result: Offer) -> Decision {
        if self.settings.guards.off(Guard::ResultsOnly) {
            result.held = Steps::greatest(self.holdings.offered().map(|of| of.step));
        }
        let decision = self.decider.decide(&result);
        let agreed = decision.agreed;
        self.holdings.end_round(decision.whole, agreed);
        if let Some(done) = decision.committed {
            let later = |of: &Agreed| of.run != done.run || of.step > done.step;
            self.prepared.retain(later);
        }
        decision
    }

    /// Notes that the round failed.
    fn fail(&mut self, wishes: u64, error: AgentError<R::Error>) -> AgentError<R::Error> {
        self.round = Round::Failed;
        self.wishes |= wishes;
        self.holdings.freeze();
        error
    }

    /// Pins what is new.
    fn follow(&mut self) -> Result<(), AgentError<R::Error>> {
        let look = self.regions.look().map_err(AgentError::Regions)?;
        let Some(roster) = look.roster else {
            return Ok(());
        };
        self.check_slots(&look)?;
        self.newest = look.newest;
        self.holdings.begin_run(roster.run);
        self.news |= self.roster != Some(roster);
        self.roster = Some(roster);
        for step in self.wanted(&look, roster) {
            if !self.holdings.make_room() {
                break;
            }
            let run = roster.run;
            if let Some(pin) = self.regions.pin(step).map_err(AgentError::Regions)? {
                self.holdings.add(Agreed { run, step }, pin);
                self.news = true;
            }
        }
        Ok(())
    }

    /// Returns the steps that should be pinned: the newest ones, but none beside an appointed step.
    fn wanted(&mut self, look: &Look, roster: Roster) -> Vec<u64> {
        let known = self.holdings.newest(roster.run);
        let unknown = |step: &&u64| known.is_none_or(|known| **step > known);
        let new = look.steps.iter().filter(unknown).copied();
        let appointment = self.decider.appointment(roster.run);
        let near = |step: &u64| look.newest.max.saturating_add(CLEAR_BEFORE) >= *step;
        if let Some(appointed) = appointment.filter(near) {
            self.holdings.clear_for(appointed);
            return new.filter(|step| *step == appointed).collect();
        }
        let new: Vec<u64> = new.collect();
        new[new.len().saturating_sub(self.settings.window)..].to_vec()
    }

    /// Checks that the regions have more versions than this agent may pin (G5).
    fn check_slots(&self, look: &Look) -> Result<(), AgentError<R::Error>> {
        let window = self.settings.window;
        let few = look.versions < window + SPARE;
        match few && !self.settings.guards.off(Guard::LeaveSlots) {
            true => Err(AgentError::TooFewVersions {
                versions: look.versions,
                window,
            }),
            false => Ok(()),
        }
    }

    fn is_due(&self, now: Duration) -> bool {
        match self.round {
            Round::Over { since: None } => true,
            Round::Over { since: Some(since) } => {
                self.news || now.saturating_sub(since) >= self.settings.patience
            }
            Round::Begun { .. } | Round::Failed => false,
        }
    }

    fn begin_round(&mut self) -> Result<(), AgentError<R::Error>> {
        let wishes = std::mem::take(&mut self.wishes);
        self.news = false;
        let offer = self.offer(wishes);
        self.round = Round::Begun { wishes };
        let begun = self.transport.begin(&offer);
        begun.map_err(|suspicion| self.fail(wishes, suspicion.into()))
    }

    fn offer(&mut self, wishes: u64) -> OfferBytes {
        let offer = match &self.roster {
            None => Offer::NOTHING,
            Some(roster) => {
                let of_run = |of: &&Agreed| of.run == roster.run;
                let prepared = self.prepared.iter().filter(of_run).map(|of| of.step);
                Offer {
                    prepared: Steps::greatest(prepared),
                    ..Offer::of(roster, self.newest, self.holdings.offer(roster.run))
                }
            }
        };
        let wishes = wishes | self.standing;
        Offer { wishes, ..offer }.encode()
    }
}
