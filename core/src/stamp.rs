//! Which version this is, and of which moment of the simulation.

use serde::{Deserialize, Serialize};

/// Number, step and simulated time of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// Number of the version, in the order of publishing, never reused in one run: 1, 2, 3, ... unless the run goes on with
    /// another's.
    pub version: u64,
    /// The simulation's own step (cycle), as given to `publish`.
    pub step: u64,
    /// Simulated time, in the simulation's unit, as given to `publish`.
    pub time: f64,
}
