//! The process of a round. It executes the operations in its environment on one thread, and reports
//! the result.

use super::{KEEP, Op};
use crate::tier::contents::Item;
use crate::tier::drain::{Idle, Settings};
use crate::tier::shared::{Shared, lock};
use crate::tier::{Retention, compact};
use crate::{Checkpointer, Compression, Options, Snapshot};
use std::io::Write;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

/// The number of values of the field. Each step changes one of them.
pub const COUNT: usize = 5;
/// The largest number of files of a chain.
const MOST_FILES: usize = 6;

/// Returns the values of the field at `step`. Each value is the last step that has changed it, or
/// 0.
pub fn values(step: u64) -> [u64; COUNT] {
    let count = COUNT as u64;
    let last = |place: u64| step.checked_sub((step + count - place) % count);
    [0, 1, 2, 3, 4].map(|place| last(place).unwrap_or_default())
}

/// Returns the options of all checkpoints.
pub fn options() -> Options {
    Options {
        compression: Compression::None,
        ..Options::default()
    }
}

struct Child {
    to: Checkpointer,
    drain: Idle,
    step: u64,
}

impl Child {
    fn open(fast: &Path, slow: PathBuf, step: u64) -> Self {
        let settings = crate::Settings {
            keep: Retention::last(KEEP[0]),
            most_files: MOST_FILES,
            options: options(),
            ..crate::Settings::new(fast)
        };
        let mut to = Checkpointer::open("run", settings).unwrap();
        let drain = to.drain_by_hand(Settings {
            dir: slow,
            keep: Retention::last(KEEP[1]),
            keep_fast: Retention::last(KEEP[0]),
            limit: None,
            replace_later: false,
        });
        Child { to, drain, step }
    }

    fn apply(&mut self, op: Op) {
        let fast = self.to.fast();
        let compact = || compact(&fast);
        match op {
            Op::Write => self.write(true),
            Op::WriteFull => self.write(false),
            Op::Compact => compact(),
            Op::Drain => self.drain.drain_next(|| ()),
            Op::DrainWhileCompacting => self.drain.drain_next(compact),
            Op::DrainStale => self.drain.drain_list(compact),
        }
        self.report();
    }

    fn write(&mut self, may_be_increment: bool) {
        let table = FieldTable {
            fields: vec![FieldDesc::new("t", DType::U64, &[COUNT])],
            ..FieldTable::default()
        };
        let (step, values) = (self.step, values(self.step));
        self.step += 1;
        let stamp = Stamp {
            version: step,
            step,
            time: f64::NAN,
        };
        let snapshot = Snapshot::new("run", stamp, &table, |_| bytemuck::cast_slice(&values));
        let place = step % COUNT as u64 * 8;
        let changed = |_: &FieldDesc| -> Vec<Range<u64>> { iter::once(place..place + 8).collect() };
        let filled = match may_be_increment {
            true => self.to.fill_increment(&snapshot, changed),
            false => self.to.fill(&snapshot),
        };
        self.to.commit(filled.unwrap()).unwrap();
    }

    /// Prints which checkpoints are complete and which are drained. After this they must not be
    /// lost.
    fn report(&self) {
        let contents = self.to.contents();
        let items = contents.items.iter();
        let report = items.filter(|(step, _)| contents.is_whole(**step));
        let report = report.map(|(step, item)| match item.drained {
            true => format!("drained {step}\n"),
            false => format!("complete {step}\n"),
        });
        // Bypass the test harness, which may hold back what is printed.
        let mut out = std::io::stdout().lock();
        out.write_all(report.collect::<String>().as_bytes())
            .unwrap();
        out.flush().unwrap();
    }
}

/// Replaces the oldest increment that is not drained by a full checkpoint. It need not be the
/// newest one, as newer ones may have been written since a compaction began.
fn compact(fast: &Shared) {
    let is_due = |item: &&Item| !item.drained && item.entry.base_step().is_some();
    let contents = lock(fast).contents().clone();
    if let Some(item) = contents.items.values().find(is_due) {
        // This fails if its base is lost.
        let _ = compact::compact(fast, &item.entry, &options());
    }
}

#[test]
#[ignore = "started as a child process by the model test of tiers"]
fn child_that_plays_a_round() {
    let var = |name: &str| std::env::var(name).unwrap();
    let (fast, slow) = (
        PathBuf::from(var("TIERS_FAST")),
        PathBuf::from(var("TIERS_SLOW")),
    );
    let mut child = Child::open(&fast, slow, var("TIERS_STEP").parse().unwrap());
    for op in var("TIERS_OPS").chars().filter_map(Op::of) {
        child.apply(op);
    }
}
