//! The writer of one node. [`super`] describes the phases.

use super::collective::gather;
use super::error::JobError;
use super::hashed;
use super::manifest::Manifest;
use super::messages::Messages;
use super::names;
use super::node_file::{Merged, NodeSnapshot, blocks};
use super::parity_file::Header;
use super::prepared::Prepared;
use super::protect::{Set, protect};
use super::record::{Commit, Event, FileEntry, Part};
use super::retention::Known;
use super::scheme::Redundancy;
use super::settings::JobSettings;
use crate::error::WriteError;
use crate::file::Lock;
use crate::format::description::Base;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use tcasm_core::field::FieldTable;
use tcasm_core::testing::fault;
use xxhash_rust::xxh3::xxh3_64;

/// Returns the bytes of a field of a rank that have changed since [`JobWriter::base`], ascending
/// and disjoint ranges.
pub type Changed<'c> = dyn Fn(u32, &str) -> Vec<Range<u64>> + 'c;

/// Writes the checkpoints of a job, on one of its nodes.
///
/// All nodes call the same methods in the same order. Each call that fails on one node ends on all:
/// either with an error, or with [`Lost`](super::Lost) if the node is gone. After `Lost`, drop the
/// writer: others wait for its messages until then.
pub struct JobWriter<M> {
    pub(super) settings: JobSettings,
    pub(super) messages: M,
    pub(super) sets: Vec<Vec<usize>>,
    /// The manifest, on node 0.
    pub(super) manifest: Option<Manifest>,
    pub(super) prepared: Prepared,
    /// The committed checkpoints.
    pub(super) known: BTreeMap<u64, Known>,
    /// The number of commits since the last checkpoint was drained, kept or not.
    pub(super) undrained: usize,
    /// The part that was prepared last, and is not known to be committed.
    pub(super) pending: Option<Last>,
    /// The part that was committed last, which the next increment builds on.
    pub(super) last: Option<Last>,
    pub(super) lock: Lock,
}

/// A part of this node, and the fields of its file.
pub(super) struct Last {
    pub part: Part,
    pub table: FieldTable,
}

impl<M: Messages> JobWriter<M> {
    /// Returns the number of this node.
    pub fn node(&self) -> usize {
        self.messages.node()
    }

    /// Returns the sets of nodes that protect each other.
    pub fn sets(&self) -> &[Vec<usize>] {
        &self.sets
    }

    /// Prepares a step on this node: writes all blocks to a file, and the parity of other nodes'
    /// files. Node 0 then waits for the other nodes and commits the step, if all have prepared it.
    /// The pins of the version can go when this returns.
    ///
    /// If the step is committed already, it is forgotten first, because its files are replaced: the
    /// job has returned to an earlier step. If that would leave no checkpoint, the step is not
    /// prepared, on all nodes alike.
    ///
    /// With `changed` the file is an increment on [`base`](Self::base), if that is so on all nodes
    /// and the fields of all nodes allow it.
    ///
    /// If this succeeds, the agent of this node says so in the rounds. When a round shows that all
    /// nodes have prepared the step, it is committed: call [`committed`](Self::committed).
    pub fn prepare(
        &mut self,
        of: &NodeSnapshot<'_>,
        changed: Option<&Changed<'_>>,
    ) -> Result<(), JobError> {
        self.settle()?;
        if let Err(why) = self.make_way_for(of.step)? {
            let why = vec![why];
            return Err(JobError::NotPrepared { step: of.step, why });
        }
        let merged = Merged::new(&self.settings.group, self.node(), of);
        let base = merged.as_ref().ok().zip(changed);
        let base = base.and_then(|(merged, _)| self.base_of(of.step, merged));
        let changed = changed.zip(self.common_base(base)?);
        let filled = merged.and_then(|merged| self.write_blocks(of, &merged, changed));
        let filled = filled.map_err(|e| e.to_string());
        let result = self.write_parity(of.step, filled)?;
        let result = result.and_then(|last| self.note(last).map_err(|e| e.to_string()));
        fault::pass("job-prepared");
        let vote = result.as_ref().map(|last| last.part.clone());
        let votes = gather(&mut self.messages, vote.map_err(Clone::clone))?;
        match result {
            Ok(last) => self.pending = Some(last),
            Err(why) if votes.is_none() => {
                let why = vec![format!("node {}: {why}", self.node())];
                return Err(JobError::NotPrepared { step: of.step, why });
            }
            Err(_) => {}
        }
        match votes {
            Some(votes) => self.commit(of, votes),
            None => Ok(()),
        }
    }

    /// Takes the place of [`prepare`](Self::prepare) on a node that cannot do it, so that the
    /// others do not wait for it. The step is not committed. Always returns an error.
    pub fn refuse(&mut self, step: u64, why: String) -> Result<(), JobError> {
        self.settle()?;
        if let Err(why) = self.make_way_for(step)? {
            let why = vec![why];
            return Err(JobError::NotPrepared { step, why });
        }
        self.common_base(None)?;
        let refused = self.write_parity(step, Err(why.clone()))?;
        let vote: Result<Part, String> = refused.and(Err(why));
        let node = self.node();
        let own = vote.clone().err().map(|why| format!("node {node}: {why}"));
        gather(&mut self.messages, vote)?;
        let why = own.into_iter().collect();
        Err(JobError::NotPrepared { step, why })
    }

    /// Writes the file of this node: an increment if there is a step that it builds on. It is on
    /// the disk under its name when this returns.
    fn write_blocks(
        &mut self,
        of: &NodeSnapshot<'_>,
        merged: &Merged<'_>,
        changed: Option<(&Changed<'_>, u64)>,
    ) -> Result<Last, WriteError> {
        let (node, step) = (self.node(), of.step);
        let group = self.settings.group.clone();
        let base = changed.zip(self.last.as_ref());
        let path = |is_increment| {
            let file = names::blocks(&group, node, step, is_increment);
            self.settings.local.join(file)
        };
        let path = path(base.is_some());
        let id = self.id(step);
        let options = &self.settings.options;
        let unsealed = match &base {
            Some(((changed, base), last)) => {
                let (step, older) = (*base, &last.table);
                let id_of_base = last.part.id.clone();
                let base = Base {
                    step,
                    id: id_of_base,
                };
                merged.fill_increment((&group, &path, &id), (&base, older), *changed, options)?
            }
            None => merged.fill(&group, &path, &id, options)?,
        };
        fault::pass("job-filled");
        unsealed.seal()?;
        let base = base.map(|((_, base), _)| base);
        unsealed.commit()?;
        fault::pass("job-named");
        let file = hashed::entry(&path).map_err(|e| crate::file::Fault::from(e).at(&path))?;
        let part = Part {
            node,
            step,
            id,
            base,
            file,
            parity: None,
            ranks: of.members.iter().map(|(rank, _)| *rank).collect(),
            blocks: blocks(of),
        };
        Ok(Last {
            part,
            table: merged.table.clone(),
        })
    }

    /// Returns an identity for the state of this node at `step`, which no other state has.
    fn id(&self, step: u64) -> String {
        let now = crate::tier::manifest::unix_ns();
        let text = format!("{now} {} {} {step}", std::process::id(), self.node());
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }

    /// Writes the parity of this node. The outer error says that a node is lost.
    fn write_parity(
        &mut self,
        step: u64,
        filled: Result<Last, String>,
    ) -> Result<Result<Last, String>, JobError> {
        if self.settings.redundancy == Redundancy::None {
            return Ok(filled);
        }
        let node = self.node();
        let found = self.sets.iter().find_map(|nodes| {
            let member = nodes.iter().position(|n| *n == node)?;
            Some(Set { nodes, member })
        });
        let Some(set) = found else {
            return Ok(Err(format!("node {node} is in no set")));
        };
        let settings = &self.settings;
        let header = |files: Vec<FileEntry>| Header {
            group: settings.group.clone(),
            step,
            redundancy: settings.redundancy,
            member: set.member,
            chunk: Header::chunk(settings.redundancy, &files),
            set: set.nodes.to_vec(),
            files,
        };
        let own = filled.as_ref().map(|last| last.part.file.clone());
        let own = own.map_err(Clone::clone);
        let file = own.as_ref().map_or("", |file| &file.file);
        let path = settings.local.join(file);
        let to = settings
            .local
            .join(names::parity(&settings.group, node, step));
        let to = (to.as_path(), settings.options.mode);
        let parity = protect(&mut self.messages, &set, header, (&path, own), to)?;
        fault::pass("job-protected");
        Ok(filled.and_then(|mut last| {
            last.part.parity = Some(parity?);
            Ok(last)
        }))
    }

    /// Enters a part into the list of what this node has prepared.
    fn note(&mut self, last: Last) -> Result<Last, WriteError> {
        self.prepared.add(last.part.clone());
        self.write_prepared()?;
        Ok(last)
    }

    pub(super) fn write_prepared(&self) -> Result<(), WriteError> {
        let JobSettings { local, group, .. } = &self.settings;
        let mode = self.settings.options.mode;
        self.prepared.write(local, group, self.node(), mode)
    }

    /// Commits a step on node 0 if all nodes have prepared it, and all ranks are there.
    fn commit(
        &mut self,
        of: &NodeSnapshot<'_>,
        votes: Vec<Result<Part, String>>,
    ) -> Result<(), JobError> {
        let step = of.step;
        let mut why = Vec::new();
        let mut parts = Vec::new();
        for (node, vote) in votes.into_iter().enumerate() {
            match vote {
                Ok(part) if part.step != step => {
                    why.push(format!("node {node} has prepared step {}", part.step));
                }
                Ok(part) => parts.push(part),
                Err(error) => why.push(format!("node {node}: {error}")),
            }
        }
        fault::pass("job-voted");
        if let Some(absent) = absent(&parts, of.ranks).filter(|_| why.is_empty()) {
            why.push(format!("of {} ranks, {absent}", of.ranks));
        }
        let time = of.members.first().map(|(_, snapshot)| snapshot.stamp.time);
        let commit = Commit {
            step,
            time: time.unwrap_or_default(),
            run: of.run.to_owned(),
            ranks: of.ranks,
            redundancy: self.settings.redundancy,
            sets: self.sets.clone(),
            parts,
        };
        why.extend(commit.check(&self.settings.group).err());
        if !why.is_empty() {
            self.pending = None;
            return Err(JobError::NotPrepared { step, why });
        }
        if let Some(manifest) = &mut self.manifest {
            manifest.append(&Event::Commit(commit))?;
        }
        fault::pass("job-committed");
        Ok(())
    }

    /// Takes the part of `step` that was prepared here, which is committed now.
    pub(super) fn take_pending(&mut self, step: u64) -> Option<Last> {
        self.pending.take().filter(|last| last.part.step == step)
    }
}

/// Returns the paths in a folder. One that cannot be read has none.
pub(super) fn files(dir: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns which of the ranks have no part, or several, if there are any.
fn absent(parts: &[Part], ranks: u32) -> Option<String> {
    let mut count = BTreeMap::new();
    for rank in parts.iter().flat_map(|part| &part.ranks) {
        *count.entry(*rank).or_insert(0) += 1;
    }
    let wrong = |rank: &u32| count.get(rank) != Some(&1);
    let wrong: Vec<u32> = (0..ranks).filter(wrong).collect();
    let strange = count.keys().filter(|rank| **rank >= ranks).count();
    match (&wrong[..], strange) {
        ([], 0) => None,
        ([], n) => Some(format!("{n} have numbers that are too large")),
        _ => Some(format!("ranks {wrong:?} are not on exactly one node")),
    }
}

impl<M: Messages> std::fmt::Debug for JobWriter<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobWriter")
            .field("group", &self.settings.group)
            .field("node", &self.node())
            .field("steps", &self.known.keys())
            .finish_non_exhaustive()
    }
}
