//! The files that a checkpoint is read from. What was lost is rebuilt, and chains are brought
//! together.

use super::error::JobError;
use super::hashed;
use super::places::Places;
use super::rebuild::rebuild;
use super::record::{Commit, Part, Steps, chain};
use crate::error::WriteError;
use crate::file::Fault;
use crate::tier::copy::{Pace, copy};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

impl Places {
    /// Returns the paths of the files of some nodes of a checkpoint, whose parts these are. Checks
    /// all of their hashes, and rebuilds those that are lost.
    pub(super) fn files(
        &self,
        group: &str,
        steps: &Steps,
        (of, parts): (&Commit, &[Part]),
    ) -> Result<Vec<PathBuf>, JobError> {
        let mut needed: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        for part in parts {
            let what = "a checkpoint that it builds on is lost";
            let chain = chain(steps, of.step, part.node);
            for part in chain.ok_or_else(|| lost(of, what.to_owned()))? {
                needed.entry(part.step).or_default().insert(part.node);
            }
        }
        let mut paths = BTreeMap::new();
        for (step, nodes) in &needed {
            paths.extend(files_of((group, &steps[step].commit), nodes, self)?);
        }
        let files = parts.iter().map(|part| {
            let chain = chain(steps, of.step, part.node).unwrap_or_default();
            together(&chain, &paths, self)
        });
        files.collect()
    }
}

type Paths = BTreeMap<(u64, usize), PathBuf>;

/// Returns the paths of the files of some nodes at a step. Rebuilds those that are missing.
fn files_of(
    (group, of): (&str, &Commit),
    nodes: &BTreeSet<usize>,
    places: &Places,
) -> Result<Paths, JobError> {
    let mut paths = Paths::new();
    let mut missing = Vec::new();
    for part in of.parts.iter().filter(|part| nodes.contains(&part.node)) {
        match places.find(&part.file) {
            Ok(path) => drop(paths.insert((of.step, part.node), path)),
            Err(why) => missing.push((part, why)),
        }
    }
    for (part, why) in missing {
        let path = rebuild((group, of), part, places, &why)?;
        paths.insert((of.step, part.node), path);
    }
    Ok(paths)
}

/// Brings the files of a chain into one folder, where increments find what they build on. Returns
/// the path of the newest.
fn together(chain: &[&Part], paths: &Paths, places: &Places) -> Result<PathBuf, JobError> {
    let path = |part: &&Part| paths.get(&(part.step, part.node));
    let all: Option<Vec<&PathBuf>> = chain.iter().map(path).collect();
    let all = all.unwrap_or_default();
    let Some(newest) = all.first() else {
        return Err(WriteError::NoDirectory(places.slow.clone()).into());
    };
    if all.iter().all(|path| path.parent() == newest.parent()) {
        return Ok(newest.to_path_buf());
    }
    let Some(into) = &places.rebuild_in else {
        return Err(JobError::Apart {
            files: all.into_iter().cloned().collect(),
        });
    };
    for (part, from) in chain.iter().zip(&all) {
        let to = into.join(&part.file.file);
        if **from == to {
            continue;
        }
        let pace = Pace {
            limit: None,
            go_on: &|_| true,
        };
        copy(from, &to, places.mode, &pace, |copied| {
            let same = hashed::check(copied, &part.file);
            same.map_err(|why| Fault::Io(io::Error::other(why)))
        })?;
    }
    Ok(into.join(&chain[0].file.file))
}

fn lost(of: &Commit, what: String) -> JobError {
    JobError::BlocksLost {
        step: of.step,
        what,
    }
}
