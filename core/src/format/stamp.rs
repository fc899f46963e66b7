//! The stamp of a version: its number, and the moment of the simulation that it shows.

use serde::{Deserialize, Serialize};

/// Number, step and simulated time of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// The number of the version. Numbers rise in the order of publishing, and one run never uses a
    /// number twice: 1, 2, 3, ..., unless the run continues the numbers of another run.
    pub version: u64,
    /// The step (cycle) of the simulation, as given to `publish`.
    pub step: u64,
    /// The simulated time in the simulation's unit, as given to `publish`.
    pub time: f64,
}
