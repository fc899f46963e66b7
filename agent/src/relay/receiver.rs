//! The end of an analysis node: stores what comes in mirror regions, and publishes each step in all
//! of them.

use super::layout::analysis_node;
use crate::node::UseError;
use crate::transport::Post;
use tcasm_relay::Incoming;

/// The messages of one turn. More would keep the agent from its rounds.
const PER_TURN: usize = 32;

/// The receiver.
pub(super) struct Receiver {
    /// The number of this analysis node, and of all.
    place: (usize, usize),
    incoming: Incoming,
    /// A step is being received.
    receiving: bool,
}

impl Receiver {
    pub(super) fn new(place: (usize, usize)) -> Receiver {
        Receiver {
            place,
            incoming: Incoming::default(),
            receiving: false,
        }
    }

    /// Expects a step of a job of so many ranks.
    pub(super) fn begin(&mut self, ranks: u64) {
        let here = |rank: &u32| analysis_node(*rank, ranks, self.place.1) == self.place.0;
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        self.incoming.expect((0..ranks).filter(here).collect());
        self.receiving = true;
    }

    /// Receives what has come. Returns true if the step is not published yet.
    pub(super) fn turn(&mut self, post: &mut impl Post) -> Result<bool, UseError> {
        if !self.receiving {
            return Ok(false);
        }
        for _ in 0..PER_TURN {
            let Some(message) = post.receive()? else {
                break;
            };
            self.incoming.take(&message.bytes)?;
        }
        self.receiving = !self.incoming.publish()?;
        Ok(self.receiving)
    }
}
