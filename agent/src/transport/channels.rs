//! Rounds by channels between the threads of one process. Each agent sends its offer to all others,
//! so this is for few agents.

use super::{Suspicion, Transport};
use crate::offer::{OfferBytes, merge_bytes};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// The end of one agent.
#[derive(Debug)]
pub struct Channels {
    to: Vec<Sender<OfferBytes>>,
    from: Vec<Peer>,
    /// The offers of this round, merged, if one has begun.
    merged: Option<OfferBytes>,
}

/// Another agent, whose offers come in the order of rounds.
#[derive(Debug)]
struct Peer {
    offers: Receiver<OfferBytes>,
    /// Its offer of this round has come.
    came: bool,
}

/// Connects this many agents.
pub fn channels(agents: usize) -> Vec<Channels> {
    let none = || Channels {
        to: Vec::new(),
        from: Vec::new(),
        merged: None,
    };
    let mut ends: Vec<Channels> = std::iter::repeat_with(none).take(agents).collect();
    for one in 0..agents {
        for other in (0..agents).filter(|other| *other != one) {
            let (to, offers) = channel();
            ends[one].to.push(to);
            ends[other].from.push(Peer {
                offers,
                came: false,
            });
        }
    }
    ends
}

impl Transport for Channels {
    fn begin(&mut self, offer: &OfferBytes) -> Result<(), Suspicion> {
        self.merged = Some(*offer);
        for peer in &mut self.from {
            peer.came = false;
        }
        for to in &self.to {
            to.send(*offer).map_err(|_| gone())?;
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<OfferBytes>, Suspicion> {
        let Some(merged) = &mut self.merged else {
            return Ok(None);
        };
        for peer in self.from.iter_mut().filter(|peer| !peer.came) {
            match peer.offers.try_recv() {
                Ok(offer) => {
                    merge_bytes(&offer, merged);
                    peer.came = true;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Err(gone()),
            }
        }
        match self.from.iter().all(|peer| peer.came) {
            true => Ok(self.merged.take()),
            false => Ok(None),
        }
    }
}

fn gone() -> Suspicion {
    Suspicion {
        why: "an agent has dropped its channels".to_owned(),
    }
}
