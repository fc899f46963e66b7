//! Trackers, which find the pages that the producer wrote, and the probe that chooses one.

mod behaviour;
mod compare;
#[cfg(test)]
mod conformance;
mod cow;
#[cfg(test)]
mod guarantees;
mod kind;
mod live;
mod probe;
#[cfg(test)]
mod sharing;
mod tracker;
mod uffd_async;

pub use kind::{TrackerKind, UnknownTracker};
pub use probe::{Choice, ChooseError, ENV, Probe, Verdict, choose, create, probe};
pub use tracker::{Harvest, Span, TrackError, Tracker};
