//! Rounds over a virtual network. No message is lost, but an agent may die.

use crate::Nanos;
use crate::random::Random;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tcasm_agent::offer::{Offer, OfferBytes, merge_bytes};
use tcasm_agent::{Suspicion, Transport};

/// Agents sleep for this part of the time since their pinned steps have changed, as the program
/// `tcasm-agent` does.
pub const PART_OF_QUIET: u64 = 64;

/// The times of a network and of the agents' processors.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The time of one message.
    pub hop: Nanos,
    /// The time between two looks of an agent, at least and at most. Between these it is a part of
    /// the time since its pinned steps have changed ([`PART_OF_QUIET`]).
    pub look: [Nanos; 2],
    /// The mean time by which an agent is late, because its processor does something else.
    pub late: Nanos,
}

impl Latency {
    /// No time at all.
    pub const NONE: Latency = Latency {
        hop: 0,
        look: [0, 0],
        late: 0,
    };

    /// Returns the time of a reduction and its distribution: up and down a tree.
    pub fn reduction(&self, agents: usize) -> Nanos {
        let depth = agents.next_power_of_two().trailing_zeros();
        2 * u64::from(depth) * self.hop
    }

    /// Returns how late an agent notices something if its pinned steps have changed `quiet` before.
    pub fn notice(&self, quiet: Nanos, random: &mut Random) -> Nanos {
        let look = (quiet / PART_OF_QUIET).clamp(self.look[0], self.look[1]);
        (random.unit() * look as f64 + random.exponential(self.late as f64)) as Nanos
    }
}

/// The rounds of agents that are connected.
pub struct Network(Rc<RefCell<Rounds>>);

struct Rounds {
    agents: usize,
    latency: Latency,
    clock: Rc<Cell<Nanos>>,
    /// The number of the first round in `rounds`.
    first: u64,
    rounds: VecDeque<Round>,
    /// The offer of each agent in the round that it takes part in.
    offers: Vec<Option<OfferBytes>>,
    /// The number of the last round that each agent has begun.
    begun: Vec<u64>,
    failed: bool,
    /// The end of a round that nobody has asked for yet.
    done: Option<Nanos>,
}

#[derive(Clone)]
struct Round {
    merged: OfferBytes,
    came: usize,
    end: Option<Nanos>,
}

/// The end of one agent.
pub struct Endpoint {
    rounds: Rc<RefCell<Rounds>>,
    me: usize,
    /// The round that it takes part in.
    round: u64,
}

impl Network {
    /// Returns a network for this many agents.
    pub fn new(agents: usize, latency: Latency, clock: Rc<Cell<Nanos>>) -> Network {
        Network(Rc::new(RefCell::new(Rounds {
            agents,
            latency,
            clock,
            first: 1,
            rounds: VecDeque::new(),
            offers: vec![None; agents],
            begun: vec![0; agents],
            failed: false,
            done: None,
        })))
    }

    /// Returns the end of agent `me`.
    pub fn endpoint(&self, me: usize) -> Endpoint {
        Endpoint {
            rounds: Rc::clone(&self.0),
            me,
            round: 0,
        }
    }

    /// Lets all rounds fail that are not over, and all that begin.
    pub fn fail(&self) {
        self.0.borrow_mut().failed = true;
    }

    /// Returns true if rounds fail.
    pub fn failed(&self) -> bool {
        self.0.borrow().failed
    }

    /// Returns the time when a round ends that all agents have begun, once.
    pub fn take_done(&self) -> Option<Nanos> {
        self.0.borrow_mut().done.take()
    }

    /// Returns the time when the round ends that an agent takes part in, once all have begun it.
    pub fn end(&self, agent: usize) -> Option<Nanos> {
        let rounds = self.0.borrow();
        rounds.offers[agent]?;
        let at = rounds.begun[agent].checked_sub(rounds.first)?;
        rounds.rounds.get(at as usize)?.end
    }

    /// Returns the offer of an agent in the round that it takes part in.
    pub fn offer(&self, agent: usize) -> Option<Offer> {
        let bytes = self.0.borrow().offers[agent]?;
        Offer::decode(&bytes).ok()
    }
}

impl Rounds {
    fn now(&self) -> Nanos {
        self.clock.get()
    }

    fn check(&self) -> Result<(), Suspicion> {
        let why = "an agent died".to_owned();
        if self.failed {
            Err(Suspicion { why })
        } else {
            Ok(())
        }
    }

    fn round(&mut self, number: u64) -> &mut Round {
        let at = (number - self.first) as usize;
        let new = Round {
            merged: Offer::NOTHING.encode(),
            came: 0,
            end: None,
        };
        let wanted = self.rounds.len().max(at + 1);
        self.rounds.resize(wanted, new);
        &mut self.rounds[at]
    }
}

impl Transport for Endpoint {
    fn begin(&mut self, offer: &OfferBytes) -> Result<(), Suspicion> {
        let mut rounds = self.rounds.borrow_mut();
        rounds.check()?;
        self.round += 1;
        rounds.offers[self.me] = Some(*offer);
        rounds.begun[self.me] = self.round;
        let end = rounds.now() + rounds.latency.reduction(rounds.agents);
        let agents = rounds.agents;
        let round = rounds.round(self.round);
        merge_bytes(offer, &mut round.merged);
        round.came += 1;
        if round.came == agents {
            round.end = Some(end);
            rounds.done = Some(end);
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<OfferBytes>, Suspicion> {
        let mut rounds = self.rounds.borrow_mut();
        let now = rounds.now();
        let round = rounds.round(self.round).clone();
        if round.end.is_none_or(|end| end > now) {
            return rounds.check().map(|()| None);
        }
        rounds.offers[self.me] = None;
        // Agents are at most one round apart, so nobody asks for the round before this one.
        while rounds.first < self.round {
            rounds.rounds.pop_front();
            rounds.first += 1;
        }
        Ok(Some(round.merged))
    }
}
