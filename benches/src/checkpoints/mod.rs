//! What checkpoints cost, against other ways to write them, on the same disk in the same run.

mod increments;
mod memory;
mod methods;
mod rate;
mod simulation;
mod stalls;
mod tcasm;

use crate::bars::Bar;
use std::path::Path;

/// What was measured, or why not.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a group has measured.
pub struct Figures {
    /// Tables, and what they need to be understood.
    pub text: String,
    /// What must be reached.
    pub bars: Vec<Bar>,
}

/// Its name, its heading, and how it is measured, with files in a folder.
pub type Group = (&'static str, &'static str, fn(&Path) -> Outcome<Figures>);

/// All groups.
pub const GROUPS: [Group; 4] = [
    (
        "stalls",
        "What a checkpoint adds to the simulation",
        stalls::measure,
    ),
    (
        "increments",
        "Increments, and reading back",
        increments::measure,
    ),
    (
        "rate",
        "How fast a checkpoint is on the disk",
        rate::measure,
    ),
    ("memory", "Restart without a file", memory::measure),
];

fn ms(ns: f64) -> String {
    format!("{:.1} ms", ns / 1e6)
}
