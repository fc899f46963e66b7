//! The end of an analysis node: stores what comes in mirror regions, publishes each step in all of
//! them, and pins it there.

use super::layout::analysis_node;
use super::shown::Shown;
use crate::agreement::{Agreed, Held};
use crate::node::UseError;
use crate::regions::{Observed, ObservedError, Regions, RunId};
use crate::transport::Post;
use std::sync::Arc;
use tcasm_observer::GroupVersion;
use tcasm_relay::Incoming;

/// The messages of one turn. More would keep the agent from its rounds.
const PER_TURN: usize = 32;

/// The receiver.
pub(super) struct Receiver {
    /// The number of this analysis node, and of all.
    place: (usize, usize),
    incoming: Incoming,
    /// The step that is being received, and the newest step when its relay began.
    receiving: Option<(Agreed, u64)>,
    group: String,
    /// The mirrors of a run, as observers see them.
    mirrors: Option<(RunId, Observed)>,
    shown: Shown,
    /// The agent has already printed that mirrors cannot be observed.
    told: bool,
}

impl Receiver {
    pub(super) fn new(group: &str, place: (usize, usize), shown: Shown) -> Receiver {
        Receiver {
            place,
            incoming: Incoming::default(),
            receiving: None,
            group: group.to_owned(),
            mirrors: None,
            shown,
            told: false,
        }
    }

    /// Expects a step of a job of so many ranks. `newest` is the newest step now.
    pub(super) fn begin(&mut self, agreed: Agreed, newest: u64, ranks: u64) {
        let here = |rank: &u32| analysis_node(*rank, ranks, self.place.1) == self.place.0;
        // Mirrors of another run may have other ranks, and this run needs their memory.
        self.mirrors = self.mirrors.take().filter(|(run, _)| *run == agreed.run);
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        self.incoming.expect((0..ranks).filter(here).collect());
        self.receiving = Some((agreed, newest));
    }

    /// Receives what has come. Returns true until the turn after the one that has published the
    /// step, so that the notice of this host has it before the agents learn that it is relayed.
    pub(super) fn turn(&mut self, post: &mut impl Post) -> Result<bool, UseError> {
        let Some((agreed, newest)) = self.receiving else {
            return Ok(false);
        };
        for _ in 0..PER_TURN {
            let Some(message) = post.receive()? else {
                break;
            };
            self.incoming.take(&message.bytes)?;
        }
        if self.incoming.publish()? {
            self.receiving = None;
            self.show(agreed, newest);
        }
        Ok(true)
    }

    /// Pins the step in all mirrors, and leaves it for the notice of this host. A mirror without
    /// room lacks the step, and then the step before stays. If mirrors cannot be observed, because
    /// others observe all that they allow, the relay goes on without agreed steps here.
    fn show(&mut self, agreed: Agreed, newest: u64) {
        match self.pin(agreed) {
            Ok(Some(pin)) => {
                let held = Arc::new(Held { of: agreed, pin });
                self.shown.set(Some((held, newest)));
            }
            Ok(None) => {}
            Err(error) if !self.told => {
                self.told = true;
                let group = &self.group;
                eprintln!("tcasm-agent: group {group:?} has no agreed steps on this node: {error}");
            }
            Err(_) => {}
        }
    }

    fn pin(&mut self, agreed: Agreed) -> Result<Option<GroupVersion>, ObservedError> {
        let new = || (agreed.run, Observed::new(&self.group));
        let (_, mirrors) = self.mirrors.get_or_insert_with(new);
        let run = mirrors.look()?.roster.map(|roster| roster.run);
        match run == Some(agreed.run) {
            true => mirrors.pin(agreed.step),
            false => Ok(None),
        }
    }
}
