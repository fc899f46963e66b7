//! Measured goals (*bars*) of TCASM. Each is compared with a rival or a limit in the same run.

mod bar;
mod compute;
mod dense;
mod floor;
mod gray_scott;
mod hand_over;
mod harvest;
mod inline;
mod memory;
mod observers;
mod options;
mod reserved;
mod runs;
mod small;
mod spinner;
mod stable;
mod switch;
mod table;
mod view;

pub use bar::{Bar, HEAD, Unit};
pub use options::{Options, usage};
pub use runs::{Measured, Runs, measure_here};
pub use table::{head, lines};

/// A group of bars that are measured together: its name, and the function that measures it.
pub type Group = (&'static str, fn() -> Vec<Bar>);

/// All groups.
pub const GROUPS: [Group; 16] = [
    ("dense", dense::measure),
    ("promised", dense::measure_promised),
    ("inline", inline::measure),
    ("stable", stable::measure),
    ("harvest", harvest::measure),
    ("hand-over", hand_over::measure),
    ("memory", memory::measure),
    ("reserved", reserved::measure),
    ("small", small::measure),
    ("switch", switch::measure),
    ("observers", observers::measure),
    ("compute", compute::measure),
    ("gray-scott", gray_scott::measure),
    ("view", view::measure),
    ("meshes", view::meshes::measure),
    ("pixels", view::pixels::measure),
];

/// Pairs of a group and a program that it starts. The programs must be built before.
pub const PROGRAMS: [(&str, &str); 6] = [
    ("observers", "watcher"),
    ("gray-scott", "tcasm"),
    ("gray-scott", "statistics"),
    ("view", "tcasm"),
    ("meshes", "tcasm"),
    ("pixels", "tcasm"),
];
