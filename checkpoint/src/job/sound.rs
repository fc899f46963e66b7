//! Checks that a commit and its parts are such as a job writes. Lists and manifests may be damaged
//! or forged, and the files that they name are read, copied, replaced and removed.

use super::names;
use super::record::{Block, Commit, Event, FileEntry, Part};
use std::collections::BTreeSet;

impl Event {
    /// Returns an error if it is a commit that no job of `group` has written.
    pub(super) fn check(&self, group: &str) -> Result<(), String> {
        match self {
            Event::Commit(commit) => commit.check(group),
            _ => Ok(()),
        }
    }
}

impl Commit {
    /// Returns an error if no job of `group` has written this.
    pub(super) fn check(&self, group: &str) -> Result<(), String> {
        for part in &self.parts {
            part.check(group)?;
            if part.step != self.step {
                return Err(format!(
                    "a part of step {} has step {}",
                    self.step, part.step
                ));
            }
        }
        if !self.parts.is_sorted_by(|a, b| a.node < b.node) {
            return Err(format!(
                "the parts of step {} are not one for each node",
                self.step
            ));
        }
        let mut nodes = BTreeSet::new();
        match self
            .sets
            .iter()
            .flatten()
            .find(|node| !nodes.insert(**node))
        {
            Some(node) => Err(format!(
                "node {node} is in several sets at step {}",
                self.step
            )),
            None => Ok(()),
        }
    }
}

impl Part {
    /// Returns an error if no node of a job of `group` has written this.
    pub(super) fn check(&self, group: &str) -> Result<(), String> {
        let Part { node, step, .. } = *self;
        let file = names::blocks(group, node, step, self.base.is_some());
        check_file(&self.file, &file, self)?;
        if let Some(parity) = &self.parity {
            check_file(parity, &names::parity(group, node, step), self)?;
        }
        let is_damaged = |block: &Block| {
            let Block { rank, offset, .. } = block;
            !self.ranks.contains(rank) || (offset.is_some() && block.place().is_none())
        };
        match self.blocks.iter().find(|block| is_damaged(block)) {
            Some(block) => Err(format!(
                "node {node} at step {step} has no block of {:?} of rank {} at {:?} of {:?} values",
                block.field, block.rank, block.offset, block.count
            )),
            None => Ok(()),
        }
    }
}

/// Returns an error if a part has no file of this name and size.
fn check_file(found: &FileEntry, name: &str, of: &Part) -> Result<(), String> {
    let Part { node, step, .. } = of;
    if found.file != name {
        let found = &found.file;
        return Err(format!(
            "the file of node {node} at step {step} is {name:?}, not {found:?}"
        ));
    }
    match i64::try_from(found.bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("{name:?} cannot have {} bytes", found.bytes)),
    }
}
