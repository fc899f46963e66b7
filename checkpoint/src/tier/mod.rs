//! Tiers: folders with the checkpoints of a run, each with a manifest of its own.
//!
//! Whatever moment a writer is killed at, what the manifest says is there is there: a file gets its name when it is on the disk,
//! and its line after that. The next to open the tier takes up a file that has no line yet, and removes what has no name yet.

pub mod compact;
pub mod contents;
pub mod copy;
pub mod drain;
pub mod manifest;
mod open;
mod retention;
mod slow;

pub use open::Tier;
pub use retention::Retention;

#[cfg(test)]
mod model;

#[cfg(test)]
pub(crate) mod test {
    use super::Tier;
    use crate::{Checkpointer, Mode, Options, Snapshot};
    use std::path::Path;
    use tcasm_core::field::{DType, FieldDesc, FieldTable};
    use tcasm_core::stamp::Stamp;

    /// Write a small checkpoint of `step`.
    pub fn write(to: &mut Checkpointer, step: u64) {
        let table = FieldTable {
            fields: vec![FieldDesc::new("t", DType::U8, &[3])],
            ..FieldTable::default()
        };
        let stamp = Stamp {
            version: step,
            step,
            time: 0.0,
        };
        let snapshot = Snapshot::new("run", stamp, &table, |_| &[1, 2, 3]);
        to.write(&snapshot).unwrap();
    }

    /// A tier with a checkpoint of `step`.
    pub fn written(dir: &Path, step: u64) -> Tier {
        let mut to = Checkpointer::new(dir, "run", Options::default()).unwrap();
        write(&mut to, step);
        drop(to);
        Tier::open(dir, "run", None, Mode::PRIVATE).unwrap()
    }
}
