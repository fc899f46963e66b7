//! The contents of a manifest: what happened to the checkpoints of a run on one tier, one line for
//! each event.
//!
//! ```text
//! {"event":"begin","format":1,"run":"5f0c93d2a41b7e68","region":"heat","created":...}#c2a9...
//! {"event":"complete","step":100,"version":7,"time":0.5,"kind":"full","file":...}#...
//! ```
//!
//! Each line ends with `#` and the xxh3 (16 hexadecimal digits) of the text before it. A killed
//! writer may leave an incomplete last line. The next append cuts it off. Lines that are damaged
//! elsewhere are ignored, and their numbers are reported.

use crate::error::ReadError;
use crate::file::regular;
use crate::format::line::decode;
use crate::format::names;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tcasm_core::format::stamp::Stamp;

/// The first bytes of every manifest.
const BEGINNING: &[u8] = b"{\"event\":\"begin\",";
/// The newest format that this program writes and reads.
pub(super) const FORMAT: u32 = 1;
/// The largest size of a manifest in bytes. All lines of one checkpoint take about 500 bytes.
pub(super) const MOST_BYTES: u64 = 4 << 30;

/// The kind of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// A checkpoint that holds all fields.
    Full,
    /// A checkpoint that holds what has changed since the checkpoint of step `base`.
    Increment {
        /// The step of the checkpoint that it builds on.
        base: u64,
    },
}

/// A complete checkpoint, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The step of the simulation. No two checkpoints of a run have the same step.
    pub step: u64,
    /// The number of the version.
    pub version: u64,
    /// The simulated time. One that is not finite reads as NaN, because JSON has no such numbers.
    /// The file itself holds the exact value.
    #[serde(default, deserialize_with = "number_or_null")]
    pub time: f64,
    /// Full, or an increment.
    #[serde(flatten)]
    pub kind: Kind,
    /// The name of its file, in the folder of the manifest.
    pub file: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The identity of the state, which no other state has.
    #[serde(default)]
    pub id: String,
    /// The identity of the state that an increment builds on. It is empty for a full checkpoint. It
    /// is also empty for an increment that an older program has entered: then the step alone names
    /// its base.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_id: String,
    /// The seal of the file, which no other file has.
    pub seal: String,
    /// The largest bound of the relative error of a field, if values are rounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
}

impl Entry {
    /// Returns true if `other` describes the same file. Times are not compared, because NaN is not
    /// equal to itself.
    pub fn is_same_file(&self, other: &Entry) -> bool {
        let file = |entry: &Entry| (entry.step, entry.file.clone(), entry.seal.clone());
        file(self) == file(other)
    }

    /// Returns true if this is an increment on the state of `base`.
    pub fn builds_on(&self, base: &Entry) -> bool {
        // The step of the base must be smaller. Otherwise a damaged manifest could lead to an
        // endless loop.
        self.base_step() == Some(base.step)
            && base.step < self.step
            && (self.base_id.is_empty() || self.base_id == base.id)
    }

    /// Returns the step of the state that an increment builds on.
    pub fn base_step(&self) -> Option<u64> {
        match self.kind {
            Kind::Full => None,
            Kind::Increment { base } => Some(base),
        }
    }

    /// Returns the stamp of the version.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            version: self.version,
            step: self.step,
            time: self.time,
        }
    }
}

/// Reads a number, or NaN for `null`.
fn number_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// One line of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// The first line.
    Begin {
        /// The format of the manifest.
        format: u32,
        /// The identity of the run, which is the same on all its tiers. It distinguishes runs of
        /// the same name.
        run: String,
        /// The name of the region.
        region: String,
        /// The time of creation, in nanoseconds since the Unix epoch.
        created: u64,
    },
    /// A checkpoint is on the disk. It replaces an earlier checkpoint of the same step.
    Complete(Entry),
    /// A checkpoint is complete on the next tier too.
    Drained {
        /// Its step.
        step: u64,
    },
    /// A checkpoint could not be written.
    Failed {
        /// Its step.
        step: u64,
        /// The error.
        why: String,
    },
    /// A checkpoint is no longer here.
    Removed {
        /// Its step.
        step: u64,
        /// Why.
        why: String,
    },
    /// An event that only newer programs know.
    #[serde(other)]
    Unknown,
}

/// A checkpoint on a tier, with its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The checkpoint.
    pub entry: Entry,
    /// True if it is complete on the next tier.
    pub drained: bool,
}

/// Returns the checkpoint among `items` that `entry` builds on.
pub(super) fn base<'a>(items: &'a BTreeMap<u64, Item>, entry: &Entry) -> Option<&'a Entry> {
    let base = &items.get(&entry.base_step()?)?.entry;
    entry.builds_on(base).then_some(base)
}

/// Returns the steps of `items` whose checkpoints can be read from `items` alone. These are the
/// full checkpoints, and the increments whose base is such a checkpoint.
pub(super) fn whole(items: &BTreeMap<u64, Item>) -> BTreeSet<u64> {
    let mut whole = BTreeSet::new();
    // Steps ascend, so a base is examined before the increments on it.
    for item in items.values() {
        let entry = &item.entry;
        let has_base = || base(items, entry).is_some_and(|base| whole.contains(&base.step));
        if entry.kind == Kind::Full || has_base() {
            whole.insert(entry.step);
        }
    }
    whole
}

/// The contents of a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The identity of the run.
    pub run: String,
    /// The name of the region.
    pub region: String,
    /// The checkpoints on the tier, by step.
    pub items: BTreeMap<u64, Item>,
    /// The step and the error of the last failure, if no checkpoint was completed since.
    pub failed: Option<(u64, String)>,
    /// The numbers of damaged lines, counted from 1.
    pub damaged: Vec<usize>,
}

impl Contents {
    /// Reads the manifest at `path`.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let bytes = regular::read(path, MOST_BYTES).map_err(ReadError::io(path))?;
        parse(path, &bytes).map(|(contents, _)| contents)
    }

    /// Returns the step of the newest checkpoint.
    pub fn newest(&self) -> Option<u64> {
        self.items.keys().next_back().copied()
    }

    /// Returns the step of the newest checkpoint that can be read from the files on the tier.
    pub fn newest_whole(&self) -> Option<u64> {
        let mut steps = self.items.keys().rev().copied();
        steps.find(|step| self.is_whole(*step))
    }

    /// Returns how many files are needed to read the checkpoint of `step`.
    pub fn files(&self, step: u64) -> usize {
        self.chain(step).count()
    }

    /// Returns the checkpoint of `step`, then the one that it builds on, and so on.
    pub fn chain(&self, step: u64) -> impl Iterator<Item = &Entry> {
        let first = self.items.get(&step).map(|item| &item.entry);
        std::iter::successors(first, |newer| base(&self.items, newer))
    }

    /// Returns true if all files that are needed to read the checkpoint of `step` are there.
    pub fn is_whole(&self, step: u64) -> bool {
        self.chain(step)
            .last()
            .is_some_and(|e| e.kind == Kind::Full)
    }

    /// Returns true if the file that `entry` names can be its checkpoint: it lies in this folder
    /// and has the name of this region and the step. Files that a manifest names are removed later,
    /// so it must not name files of others.
    fn may_have(&self, entry: &Entry) -> bool {
        let is_in_folder = !entry.file.contains('/');
        let found = names::parse(&entry.file).filter(|_| is_in_folder);
        found.is_some_and(|(name, step, _)| (name, step) == (&self.region, entry.step))
    }

    /// Changes the contents as `event` says.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Begin { run, region, .. } => {
                (self.run, self.region) = (run.clone(), region.clone());
            }
            Event::Complete(entry) => {
                let item = Item {
                    entry: entry.clone(),
                    drained: false,
                };
                self.items.insert(entry.step, item);
                self.failed = None;
            }
            Event::Drained { step } => {
                if let Some(item) = self.items.get_mut(step) {
                    item.drained = true;
                }
            }
            Event::Failed { step, why } => self.failed = Some((*step, why.clone())),
            Event::Removed { step, .. } => {
                self.items.remove(step);
            }
            Event::Unknown => {}
        }
    }
}

/// Reads the manifest in `bytes`. Returns its contents, and how many bytes its complete lines take.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<(Contents, u64), ReadError> {
    let (mut contents, mut begun) = (Contents::default(), false);
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    let mut end = whole;
    let lines: Vec<&[u8]> = bytes[..whole].split_inclusive(|b| *b == b'\n').collect();
    for (i, line) in lines.iter().enumerate() {
        match decode(line) {
            Some(Event::Begin { format, .. }) if format > FORMAT => {
                return Err(ReadError::TooNew {
                    path: path.to_owned(),
                    found: format.into(),
                    known: FORMAT.into(),
                });
            }
            // A manifest belongs to one run and one region. A second first line is ignored.
            Some(Event::Begin { .. }) if begun => contents.damaged.push(i + 1),
            Some(Event::Complete(entry)) if !contents.may_have(&entry) => {
                contents.damaged.push(i + 1);
            }
            Some(event) => {
                begun |= matches!(event, Event::Begin { .. });
                contents.apply(&event);
            }
            // The writer died while it wrote the last line.
            None if i + 1 == lines.len() => end -= line.len(),
            None => contents.damaged.push(i + 1),
        }
    }
    let begins = bytes.iter().zip(BEGINNING).all(|(a, b)| a == b);
    if contents.run.is_empty() && (end != 0 || !begins) {
        return Err(ReadError::NotManifest(path.to_owned()));
    }
    Ok((contents, end as u64))
}
