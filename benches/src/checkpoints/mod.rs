//! The cost of checkpoints, compared with other ways to write them on the same disk in the same
//! run.

mod figures;
mod increments;
mod memory;
mod methods;
mod rate;
mod simulation;
mod stalls;
mod tcasm;

pub use crate::outcome::Outcome;
pub use figures::Figures;
use std::path::Path;

/// A group of measurements: its name, its heading, and the function that measures it with files in
/// the given folder.
pub type Group = (&'static str, &'static str, fn(&Path) -> Outcome<Figures>);

/// All groups.
pub const GROUPS: [Group; 4] = [
    (
        "stalls",
        "Time that a checkpoint adds to the simulation",
        stalls::measure,
    ),
    (
        "increments",
        "Size of increments, and time to restore",
        increments::measure,
    ),
    (
        "rate",
        "Speed of writing a checkpoint to the disk",
        rate::measure,
    ),
    ("memory", "Restart without a file", memory::measure),
];
