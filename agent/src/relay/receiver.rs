//! The end of an analysis node: stores what comes in mirror regions, publishes each step in all of
//! them, and pins it there.

use super::layout::analysis_node;
use super::uses::Shown;
use crate::agreement::{Agreed, Held};
use crate::node::UseError;
use crate::regions::{Observed, Regions};
use crate::transport::Post;
use std::sync::Arc;
use tcasm_relay::Incoming;

/// The messages of one turn. More would keep the agent from its rounds.
const PER_TURN: usize = 32;

/// The receiver.
pub(super) struct Receiver {
    /// The number of this analysis node, and of all.
    place: (usize, usize),
    incoming: Incoming,
    /// The step that is being received, and the newest step when it was agreed.
    receiving: Option<(Agreed, u64)>,
    /// The mirrors, as observers see them.
    mirrors: Observed,
    shown: Shown,
}

impl Receiver {
    pub(super) fn new(group: &str, place: (usize, usize), shown: Shown) -> Receiver {
        Receiver {
            place,
            incoming: Incoming::default(),
            receiving: None,
            mirrors: Observed::new(group),
            shown,
        }
    }

    /// Expects a step of a job of so many ranks. `newest` was the newest step when it was agreed.
    pub(super) fn begin(&mut self, agreed: Agreed, newest: u64, ranks: u64) {
        let here = |rank: &u32| analysis_node(*rank, ranks, self.place.1) == self.place.0;
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        self.incoming.expect((0..ranks).filter(here).collect());
        self.receiving = Some((agreed, newest));
    }

    /// Receives what has come. Returns true if the step is not published yet.
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
            self.show(agreed, newest)?;
        }
        Ok(self.receiving.is_some())
    }

    /// Pins the step in all mirrors, and leaves it for the notice of this host. A mirror without
    /// room lacks the step, and then the step before stays.
    fn show(&mut self, agreed: Agreed, newest: u64) -> Result<(), UseError> {
        let run = self.mirrors.look()?.roster.map(|roster| roster.run);
        if run == Some(agreed.run)
            && let Some(pin) = self.mirrors.pin(agreed.step)?
        {
            let held = Arc::new(Held { of: agreed, pin });
            self.shown.set(Some((held, newest)));
        }
        Ok(())
    }
}
