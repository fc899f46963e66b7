//! The plan of a recovery: the files that are lost, and those from which each can be rebuilt.

use super::parity_file::Header;
use super::record::{Commit, Part, Steps, chain};
use super::scheme::Stripe;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The files that one node has.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Own {
    /// The steps of its files.
    pub files: BTreeSet<u64>,
    /// The steps of its parity.
    pub parities: BTreeSet<u64>,
}

/// A file to rebuild, and what is left of its set.
pub struct Job<'c> {
    pub commit: &'c Commit,
    pub set: &'c [usize],
    /// The member whose file is lost.
    pub lost: usize,
    /// The members that have their file, and those that have their parity.
    pub files: Vec<bool>,
    pub parities: Vec<bool>,
}

impl Job<'_> {
    /// Returns the length of the chunks of the set's files.
    pub fn chunk(&self) -> u64 {
        let parts = self.set.iter().filter_map(|node| self.commit.part(*node));
        Header::chunk(self.commit.redundancy, parts.map(|part| &part.file))
    }

    /// Returns the stripes that have data of the lost file, with their numbers.
    pub fn stripes(&self) -> Vec<(usize, Stripe)> {
        let all = self.commit.redundancy.stripes(self.set.len());
        let own = |(_, stripe): &(usize, Stripe)| stripe.chunk_of(self.lost).is_some();
        all.into_iter().enumerate().filter(own).collect()
    }
}

/// Returns the files that must be rebuilt so that every block of `step` is there, or why some
/// cannot be.
pub fn plan<'c>(steps: &'c Steps, step: u64, all: &[Own]) -> Result<Vec<Job<'c>>, String> {
    let mut jobs = Vec::new();
    for part in &steps[&step].commit.parts {
        let node = part.node;
        let own = all.get(node).ok_or_else(|| {
            format!(
                "it was written by more than the {} nodes that are there",
                all.len()
            )
        })?;
        let parts = chain(steps, step, node).ok_or("a checkpoint that it builds on is missing")?;
        let gone = parts
            .into_iter()
            .filter(|part| !own.files.contains(&part.step));
        for part in gone {
            jobs.push(job(&steps[&part.step].commit, part, all)?);
        }
    }
    Ok(jobs)
}

fn job<'c>(commit: &'c Commit, of: &Part, all: &[Own]) -> Result<Job<'c>, String> {
    let set = commit.set_of(of.node).unwrap_or_default();
    let has = |has: fn(&Own) -> &BTreeSet<u64>| {
        let there = |node: &usize| {
            all.get(*node)
                .is_some_and(|own| has(own).contains(&of.step))
        };
        set.iter().map(there).collect::<Vec<bool>>()
    };
    let (files, parities) = (has(|own| &own.files), has(|own| &own.parities));
    let lost = set
        .iter()
        .position(|node| *node == of.node)
        .unwrap_or_default();
    match !set.is_empty() && commit.redundancy.can_rebuild(lost, &files, &parities) {
        true => Ok(Job {
            commit,
            set,
            lost,
            files,
            parities,
        }),
        false => Err(format!(
            "the file of node {} at step {} is lost, and too little is left of its set {set:?}",
            of.node, of.step
        )),
    }
}
