//! Trackers, which find the pages that the producer wrote, the memory that they track, and the
//! probe that chooses a tracker.

mod adopted;
mod behaviour;
mod claims;
mod compare;
#[cfg(test)]
mod conformance;
mod cow;
mod create;
mod grant;
#[cfg(test)]
mod guarantees;
mod huge;
mod kind;
mod live;
mod memory;
mod probe;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod sized;
mod tracker;
#[cfg(test)]
mod trial_producer;
mod uffd_async;

pub use adopted::{AdoptError, AdoptedArrays, Adoption, Gone};
pub use grant::Grant;
pub use kind::{TrackerKind, UnknownTracker};
pub use memory::TrackedMemory;
pub use probe::{Choice, ChooseError, ENV, Probe, Verdict, choose, probe};
pub use tracker::{Harvest, Span, TrackError, Tracker};
