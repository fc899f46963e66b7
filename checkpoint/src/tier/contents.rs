//! What a manifest says: what became of the checkpoints of a run on one tier, a line for each event.
//!
//! ```text
//! {"event":"begin","format":1,"run":"5f0c93d2a41b7e68","region":"heat","created":1795254000000000000}#c2a9f0d1e37b5648
//! {"event":"complete","step":100,"version":7,"time":0.5,"kind":"full","file":"heat_00000100.vtkhdf", ...}#...
//! ```
//!
//! Each line ends with `#` and the xxh3 (16 hexadecimal digits) of what stands before it. What a killed writer left of its
//! last line is cut off by the next; a line that is damaged elsewhere is passed over, and told.

use crate::error::ReadError;
use crate::{find, regular};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use tcasm_core::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_64;

/// What every manifest begins with.
const BEGINNING: &[u8] = b"{\"event\":\"begin\",";
/// The newest format that this program writes and reads.
pub(super) const FORMAT: u32 = 1;
/// Most bytes of a manifest: a checkpoint takes about 500 in all.
pub(super) const MOST_BYTES: u64 = 4 << 30;

/// What a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// All fields.
    Full,
    /// What has changed since the checkpoint of step `base`.
    Increment {
        /// The step of the checkpoint before.
        base: u64,
    },
}

/// A complete checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Step of the simulation: no two checkpoints of a run have the same.
    pub step: u64,
    /// Number of the version.
    pub version: u64,
    /// Simulated time; what is not finite is told by the file alone.
    #[serde(default, deserialize_with = "number_or_null")]
    pub time: f64,
    /// All of it, or an increment.
    #[serde(flatten)]
    pub kind: Kind,
    /// Its file, in the folder of the manifest.
    pub file: String,
    /// Size of the file.
    pub bytes: u64,
    /// Tells the state from any other.
    #[serde(default)]
    pub id: String,
    /// Identity of the state that an increment builds on. Empty for a full checkpoint, and for an
    /// increment that an older program has entered: then the step alone names its base.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_id: String,
    /// The seal of the file, which tells that from any other.
    pub seal: String,
}

impl Entry {
    /// Returns true if `other` stands for the same file. (Times do not count: one that is not a
    /// number is unequal to itself.)
    pub fn is_same_file(&self, other: &Entry) -> bool {
        let file = |entry: &Entry| (entry.step, entry.file.clone(), entry.seal.clone());
        file(self) == file(other)
    }

    /// Returns true if this is an increment on the state of `base`.
    pub fn builds_on(&self, base: &Entry) -> bool {
        // A base comes before: a manifest that says otherwise must not lead in a circle.
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

    /// The version's stamp.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            version: self.version,
            step: self.step,
            time: self.time,
        }
    }
}

fn number_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// The first line.
    Begin {
        /// Format of the manifest.
        format: u32,
        /// Tells runs of the same name apart: the same on all tiers of a run.
        run: String,
        /// Name of the region.
        region: String,
        /// Nanoseconds of the Unix epoch.
        created: u64,
    },
    /// A checkpoint is on the disk. One of the same step that was there before is replaced.
    Complete(Entry),
    /// A checkpoint is complete on the next tier too.
    Drained {
        /// Its step.
        step: u64,
    },
    /// A checkpoint could not be written, or not be drained.
    Failed {
        /// Its step.
        step: u64,
        /// What went wrong.
        why: String,
    },
    /// A checkpoint is no longer here.
    Removed {
        /// Its step.
        step: u64,
        /// Why.
        why: String,
    },
    /// Written by a newer program.
    #[serde(other)]
    Unknown,
}

/// A checkpoint, and whether the next tier has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The checkpoint.
    pub entry: Entry,
    /// Whether it is complete on the next tier.
    pub drained: bool,
}

/// Returns the checkpoint among `items` that `entry` builds on.
pub(super) fn base<'a>(items: &'a BTreeMap<u64, Item>, entry: &Entry) -> Option<&'a Entry> {
    let base = &items.get(&entry.base_step()?)?.entry;
    entry.builds_on(base).then_some(base)
}

/// Returns the steps of `items` whose checkpoints can be read from `items` alone: full ones, and
/// increments on such.
pub(super) fn whole(items: &BTreeMap<u64, Item>) -> BTreeSet<u64> {
    let mut whole = BTreeSet::new();
    // A base comes before what builds on it.
    for item in items.values() {
        let entry = &item.entry;
        let has_base = || base(items, entry).is_some_and(|base| whole.contains(&base.step));
        if entry.kind == Kind::Full || has_base() {
            whole.insert(entry.step);
        }
    }
    whole
}

/// What a manifest says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Identity of the run.
    pub run: String,
    /// Name of the region.
    pub region: String,
    /// The checkpoints that are there, by step.
    pub items: BTreeMap<u64, Item>,
    /// What failed last, if nothing was completed since.
    pub failed: Option<(u64, String)>,
    /// Numbers of lines that are damaged, from 1.
    pub damaged: Vec<usize>,
}

impl Contents {
    /// Read the manifest at `path`.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let bytes = regular::read(path, MOST_BYTES).map_err(ReadError::io(path))?;
        parse(path, &bytes).map(|(contents, _)| contents)
    }

    /// The step of the newest checkpoint.
    pub fn newest(&self) -> Option<u64> {
        self.items.keys().next_back().copied()
    }

    /// The step of the newest checkpoint that can be read from the files that are there.
    pub fn newest_whole(&self) -> Option<u64> {
        let mut steps = self.items.keys().rev().copied();
        steps.find(|step| self.is_whole(*step))
    }

    /// How many files are needed to read the checkpoint of `step`.
    pub fn files(&self, step: u64) -> usize {
        self.chain(step).count()
    }

    /// The checkpoint of `step`, the one that it builds on, and so on.
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

    /// Whether the file can be the checkpoint: what a manifest names is removed some day, and may not be of somebody else.
    fn may_have(&self, entry: &Entry) -> bool {
        let is_in_folder = !entry.file.contains('/');
        let found = find::parse(&entry.file).filter(|_| is_in_folder);
        found.is_some_and(|(name, step, _)| (name, step) == (&self.region, entry.step))
    }

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

/// What `bytes` say, and how many of them are whole lines.
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
            // A manifest is of one run and of one region, whatever is appended to it.
            Some(Event::Begin { .. }) if begun => contents.damaged.push(i + 1),
            Some(Event::Complete(entry)) if !contents.may_have(&entry) => {
                contents.damaged.push(i + 1);
            }
            Some(event) => {
                begun |= matches!(event, Event::Begin { .. });
                contents.apply(&event);
            }
            // The last one was being written when its writer died.
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

/// A line.
pub(crate) fn encode(event: &Event) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(event)?;
    let sum = xxh3_64(&line);
    writeln!(line, "#{sum:016x}")?;
    Ok(line)
}

fn decode(line: &[u8]) -> Option<Event> {
    let line = line.strip_suffix(b"\n")?;
    let (text, sum) = line.split_at_checked(line.len().checked_sub(17)?)?;
    let sum = std::str::from_utf8(sum.strip_prefix(b"#")?).ok()?;
    let same = u64::from_str_radix(sum, 16).ok()? == xxh3_64(text);
    same.then(|| serde_json::from_slice(text).ok()).flatten()
}
