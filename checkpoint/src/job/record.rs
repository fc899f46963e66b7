//! What manifests record: files, blocks, the part of a node, and committed checkpoints.

use super::scheme::Redundancy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its name.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The xxh3 of all of it, 16 hexadecimal digits.
    pub hash: String,
}

/// A field of a rank: the row of the block table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The rank.
    pub rank: u32,
    /// The name of the field.
    pub field: String,
    /// The place in the global array of its first value that is no ghost. `None` if the field is
    /// local to its rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Vec<usize>>,
    /// The number of values along each axis, without ghost layers and components.
    pub count: Vec<usize>,
}

/// The part of a checkpoint that one node has prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The number of the node.
    pub node: usize,
    /// The step.
    pub step: u64,
    /// The identity of the state that the file holds, which no other state has.
    pub id: String,
    /// The step that the file builds on, if it is an increment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
    /// The file of all local blocks.
    #[serde(flatten)]
    pub file: FileEntry,
    /// The parity that this node has of other nodes' files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<FileEntry>,
    /// The ranks whose blocks the file has.
    pub ranks: Vec<u32>,
    /// The fields of these ranks.
    pub blocks: Vec<Block>,
}

/// A committed checkpoint of the whole job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// The step.
    pub step: u64,
    /// The simulated time. One that is not finite reads as NaN.
    #[serde(default, deserialize_with = "number_or_null")]
    pub time: f64,
    /// The run of the simulation, which may be empty.
    pub run: String,
    /// The number of ranks.
    pub ranks: u32,
    /// The redundancy between nodes.
    pub redundancy: Redundancy,
    /// The sets of nodes that protect each other.
    pub sets: Vec<Vec<usize>>,
    /// The part of each node, in ascending order of nodes. Nodes without ranks have none.
    pub parts: Vec<Part>,
}

/// The safety of a committed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// It is on the nodes, and lost with any of them.
    Local,
    /// It is on the nodes, and survives the loss of some of them.
    Protected,
    /// All files are on the slow tier too.
    Drained,
}

impl Level {
    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Level::Local => "local",
            Level::Protected => "protected",
            Level::Drained => "drained",
        }
    }
}

/// A line of the manifest of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// The first line.
    Begin {
        /// The format of the manifest.
        format: u32,
        /// The name of the group.
        group: String,
        /// The time of creation, in nanoseconds since the Unix epoch.
        created: u64,
    },
    /// A checkpoint exists from here on. It replaces all of the same and of later steps: the job
    /// had returned to an earlier state.
    Commit(Commit),
    /// All files of a checkpoint are on the slow tier.
    Drained {
        /// Its step.
        step: u64,
    },
    /// A checkpoint is no longer kept.
    Removed {
        /// Its step.
        step: u64,
    },
    /// The number of commits since the last checkpoint was drained. A manifest that was rewritten
    /// lacks the lines that tell it.
    Undrained {
        /// The number.
        commits: usize,
    },
    /// An event that only newer programs know.
    #[serde(other)]
    Unknown,
}

/// A committed checkpoint, and its level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committed {
    /// The line of the manifest.
    pub commit: Commit,
    /// Its level.
    pub level: Level,
}

/// The checkpoints of a job, by step.
pub type Steps = BTreeMap<u64, Committed>;

impl Block {
    /// Returns true if it has values of a global array at these indices, one range for each axis.
    /// A block that is local to its rank has none.
    pub fn overlaps(&self, ranges: &[Range<usize>]) -> bool {
        let overlap = |(own, other): (&Range<usize>, &Range<usize>)| {
            own.start.max(other.start) < own.end.min(other.end)
        };
        let place = self.place().filter(|place| place.len() == ranges.len());
        place.is_some_and(|place| place.iter().zip(ranges).all(overlap))
    }

    /// Returns the global indices of its values, if it is a block of a global array.
    pub(super) fn place(&self) -> Option<Vec<Range<usize>>> {
        let offset = self.offset.as_ref()?;
        let end = |(start, n): (&usize, &usize)| Some(*start..start.checked_add(*n)?);
        let is_one = offset.len() == self.count.len();
        is_one.then(|| offset.iter().zip(&self.count).map(end).collect())?
    }
}

impl Commit {
    fn level(&self) -> Level {
        match self.redundancy {
            Redundancy::None => Level::Local,
            _ => Level::Protected,
        }
    }

    /// Returns the number of the set that a node is in.
    pub(super) fn set_of(&self, node: usize) -> Option<&[usize]> {
        let mut sets = self.sets.iter();
        sets.find(|set| set.contains(&node)).map(Vec::as_slice)
    }

    /// Returns the part of a node.
    pub fn part(&self, node: usize) -> Option<&Part> {
        self.parts.iter().find(|part| part.node == node)
    }
}

/// Changes `steps` as `event` says.
pub(super) fn apply(steps: &mut Steps, event: &Event) {
    match event {
        Event::Commit(commit) => {
            steps.split_off(&commit.step);
            let (level, commit) = (commit.level(), commit.clone());
            steps.insert(commit.step, Committed { commit, level });
        }
        Event::Drained { step } => {
            if let Some(found) = steps.get_mut(step) {
                found.level = Level::Drained;
            }
        }
        Event::Removed { step } => {
            steps.remove(step);
        }
        Event::Begin { .. } | Event::Undrained { .. } | Event::Unknown => {}
    }
}

/// Returns the parts of a node that the checkpoint of `step` is read from: its own, the one that it
/// builds on, and so on to a full one. Returns `None` if one of them is missing.
pub(super) fn chain(steps: &Steps, step: u64, node: usize) -> Option<Vec<&Part>> {
    let part = |step| steps.get(&step)?.commit.part(node);
    let mut chain = vec![part(step)?];
    while let Some(base) = chain[chain.len() - 1].base {
        // Steps descend, so a damaged manifest cannot lead to an endless loop.
        let below = base < chain[chain.len() - 1].step;
        chain.push(part(base).filter(|_| below)?);
    }
    Some(chain)
}

/// Reads a number, or NaN for `null`.
fn number_or_null<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}
