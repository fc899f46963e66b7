//! The tiers of a run: folders that hold its checkpoints, each with a manifest of its own.
//!
//! The manifest never names a file that is not there, whenever the writer is killed. A file gets
//! its name only after its contents are on the disk, and its line in the manifest only after that.
//! The process that opens the tier next enters complete files that have no line yet, and removes
//! temporary files.

pub mod compact;
pub mod contents;
pub mod copy;
pub mod drain;
mod folder;
mod listed;
pub mod manifest;
mod open;
mod retention;
pub mod shared;
mod slow;
pub mod stored;

pub use folder::{checkpoint_files, checkpoint_files_named, manifests, manifests_named};
pub use open::Tier;
pub use retention::Retention;

#[cfg(test)]
mod model;

#[cfg(test)]
pub(crate) mod test {
    use super::Tier;
    use crate::{Checkpointer, Mode, Options, Retention, Snapshot};
    use std::path::Path;
    use tcasm_core::field::{DType, FieldDesc, FieldTable};
    use tcasm_core::format::stamp::Stamp;

    /// Writes a small checkpoint of `step`.
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

    /// Returns a tier with one checkpoint, of `step`.
    pub fn written(dir: &Path, step: u64) -> Tier {
        let mut to = Checkpointer::new(dir, "run", Options::default()).unwrap();
        write(&mut to, step);
        drop(to);
        Tier::open(dir, "run", None, Mode::PRIVATE).unwrap()
    }

    #[test]
    fn checkpoints_that_the_rules_name_stay_although_others_wait_to_be_drained() {
        let dir = tempfile::tempdir().unwrap();
        let mut to = Checkpointer::new(dir.path(), "run", Options::default()).unwrap();
        [10, 20, 30]
            .into_iter()
            .for_each(|step| write(&mut to, step));
        drop(to);
        let mut tier = Tier::open(dir.path(), "run", None, Mode::PRIVATE).unwrap();
        let keep = Retention {
            steps: [10].into(),
            ..Retention::last(1)
        };
        tier.drained(10).unwrap();
        assert_eq!(tier.apply_retention(&keep, true).unwrap(), 0);
        tier.drained(20).unwrap();
        assert_eq!(tier.apply_retention(&keep, true).unwrap(), 1);
        let steps: Vec<u64> = tier.contents().items.keys().copied().collect();
        assert_eq!(steps, [10, 30]);
    }
}
