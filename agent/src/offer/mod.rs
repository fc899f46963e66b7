//! Offers: the contributions of agents to a round, and how they are merged.

mod merge;
mod steps;
#[cfg(test)]
mod tests;
mod wire;

pub use merge::{MOST_HELD, MOST_PREPARED, Offer};
pub use steps::Steps;
pub use wire::{BadOffer, OFFER_BYTES, OfferBytes, merge_bytes};
