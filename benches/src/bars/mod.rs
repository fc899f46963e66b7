//! Measured goals (*bars*) of TCASM. Each is compared with a rival or a limit in the same run.

mod bar;
mod compute;
mod dense;
mod floor;
mod gray_scott;
mod hand_over;
mod memory;
mod options;
mod runs;
mod small;
mod stable;
mod table;
mod view;

pub use bar::{Bar, HEAD, Unit};
pub use options::Options;
pub use runs::{Measured, Runs, measure_here};
pub use table::{head, lines};

/// A group of bars that are measured together: its name, and the function that measures it.
pub type Group = (&'static str, fn() -> Vec<Bar>);

/// All groups.
pub const GROUPS: [Group; 9] = [
    ("dense", dense::measure),
    ("stable", stable::measure),
    ("hand-over", hand_over::measure),
    ("memory", memory::measure),
    ("small", small::measure),
    ("compute", compute::measure),
    ("gray-scott", gray_scott::measure),
    ("view", view::measure),
    ("pixels", view::pixels::measure),
];

/// Pairs of a group and a program that it starts. The programs must be built before.
pub const PROGRAMS: [(&str, &str); 4] = [
    ("gray-scott", "tcasm"),
    ("gray-scott", "statistics"),
    ("view", "tcasm"),
    ("pixels", "tcasm"),
];
