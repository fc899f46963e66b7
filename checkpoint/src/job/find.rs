//! Finds the newest checkpoint of which every block can be read, and rebuilds what was lost.

use super::choice::ChoiceFile;
use super::error::JobError;
use super::hashed;
use super::job_checkpoint::JobCheckpoint;
use super::manifest;
use super::parity_file::{Header, Parity};
use super::rebuild::Left;
use super::record::{Commit, Committed, FileEntry, Part, Steps, chain};
use crate::error::WriteError;
use crate::file::{Fault, Mode};
use crate::tier::copy::{Pace, copy};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::group::Member;

/// Where the files of a job's checkpoints may be.
#[derive(Clone, Debug)]
pub struct Places {
    /// The slow tier, which has the manifest.
    pub slow: PathBuf,
    /// The folders of nodes that can be reached, in any order.
    pub locals: Vec<PathBuf>,
    /// The folder in which lost files are rebuilt, one of `locals` for example. Without it only
    /// checkpoints are used whose files are all there.
    pub rebuild_in: Option<PathBuf>,
    /// The permissions of rebuilt files, and of the file by which the ranks of a run choose.
    pub mode: Mode,
}

impl Places {
    /// Returns the places of a job whose manifest is in `slow`.
    pub fn new(slow: impl Into<PathBuf>, locals: &[impl AsRef<Path>]) -> Places {
        let locals: Vec<PathBuf> = locals.iter().map(|dir| dir.as_ref().to_owned()).collect();
        Places {
            slow: slow.into(),
            locals,
            rebuild_in: None,
            mode: Mode::default(),
        }
    }

    /// Returns the same places with a folder in which lost files are rebuilt.
    pub fn rebuild_in(self, dir: impl Into<PathBuf>) -> Places {
        Places {
            rebuild_in: Some(dir.into()),
            ..self
        }
    }

    /// Returns the path of a file that is whole, in the first folder that has it, or why there is
    /// none.
    fn find(&self, entry: &FileEntry) -> Result<PathBuf, String> {
        let mut why = Vec::new();
        let dirs = self
            .locals
            .iter()
            .chain(&self.rebuild_in)
            .chain([&self.slow]);
        for path in dirs.map(|dir| dir.join(&entry.file)) {
            match hashed::check(&path, entry) {
                Ok(()) => return Ok(path),
                Err(error) => why.push(format!("{path:?}: {error}")),
            }
        }
        Err(why.join(", "))
    }
}

/// Returns the committed checkpoints of `group` with their levels.
pub fn committed(slow: &Path, group: &str) -> Result<Vec<Committed>, JobError> {
    let steps = manifest::read(slow, group)?.steps;
    Ok(steps.into_values().collect())
}

impl JobCheckpoint {
    /// Opens the checkpoint that rank `member` of a job continues from, or returns `None` if it
    /// begins anew, because nothing was ever committed. All ranks of a run get the same, once each,
    /// or an error: the first one [finds](Self::find) the newest checkpoint of which every block
    /// can be read, and enters its step into a file beside the manifest.
    ///
    /// Each start of the job needs a run of another name. A job of one rank needs none, and has no
    /// such file. Errors mean that all ranks must be started anew.
    pub fn find_together(places: &Places, member: &Member) -> Result<Option<Self>, JobError> {
        let group = &member.group;
        if member.ranks <= 1 {
            return newest(group, places);
        }
        let mut found = None;
        let file = ChoiceFile::new((&places.slow, places.mode), member);
        let choice = file.take(|| {
            found = newest(group, places)?;
            Ok(found.as_ref().map(JobCheckpoint::step))
        })?;
        let Some(step) = choice.step else {
            return Ok(None);
        };
        match found.filter(|found| found.step() == step) {
            Some(found) => Ok(Some(found)),
            None => Self::find_at(group, places, step).map(Some),
        }
    }

    /// Opens the committed checkpoint of `group` of this very step, which another rank has chosen.
    pub fn find_at(group: &str, places: &Places, step: u64) -> Result<Self, JobError> {
        match Self::find(group, places, Some(step)) {
            Err(JobError::NoneCommitted { group, dir }) => {
                Err(JobError::StepGone { group, step, dir })
            }
            found => found,
        }
    }

    /// Opens the newest committed checkpoint of `group` of which every block can be read, or that
    /// of `step`. [`passed_over`](Self::passed_over) tells which newer ones could not be used.
    ///
    /// All hashes are checked. Files of lost nodes are rebuilt from those of other nodes, if
    /// `places` has a folder for them.
    pub fn find(group: &str, places: &Places, step: Option<u64>) -> Result<Self, JobError> {
        let steps = manifest::read(&places.slow, group)?.steps;
        let mut why = Vec::new();
        let wanted = |found: &&Committed| step.is_none_or(|step| step == found.commit.step);
        for found in steps.values().rev().filter(wanted) {
            let step = found.commit.step;
            match open(group, &steps, found, places) {
                Ok(files) => {
                    return Ok(JobCheckpoint::new(group, found.clone(), files, why));
                }
                Err(error) => {
                    tracing::warn!("passing over step {step} of {group:?}: {error}");
                    why.push((step, error.to_string()));
                }
            }
        }
        let group = group.to_owned();
        match why.is_empty() {
            true => Err(JobError::NoneCommitted {
                group,
                dir: places.slow.clone(),
            }),
            false => Err(JobError::NoneUsable { group, why }),
        }
    }
}

/// Opens the newest checkpoint that can be read, or returns `None` if nothing was ever committed.
fn newest(group: &str, places: &Places) -> Result<Option<JobCheckpoint>, JobError> {
    match JobCheckpoint::find(group, places, None) {
        Err(JobError::NoneCommitted { .. }) => Ok(None),
        found => found.map(Some),
    }
}

/// Returns the paths of the files of all nodes of a checkpoint.
fn open(
    group: &str,
    steps: &Steps,
    of: &Committed,
    places: &Places,
) -> Result<Vec<PathBuf>, JobError> {
    let mut needed: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    for part in &of.commit.parts {
        let chain = chain(steps, of.commit.step, part.node);
        let chain = chain.ok_or_else(|| {
            lost(
                &of.commit,
                "a checkpoint that it builds on is lost".to_owned(),
            )
        })?;
        for part in chain {
            needed.entry(part.step).or_default().insert(part.node);
        }
    }
    let mut paths = BTreeMap::new();
    for (step, nodes) in &needed {
        paths.extend(files_of((group, &steps[step].commit), nodes, places)?);
    }
    let files = of.commit.parts.iter().map(|part| {
        let chain = chain(steps, of.commit.step, part.node).unwrap_or_default();
        together(&chain, &paths, places)
    });
    files.collect()
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

/// Rebuilds the file of a node from the others of its set. `why` says why there is none.
fn rebuild(
    (group, of): (&str, &Commit),
    part: &Part,
    places: &Places,
    why: &str,
) -> Result<PathBuf, JobError> {
    let node = part.node;
    let set = of.set_of(node).unwrap_or_default();
    let parts: Option<Vec<&Part>> = set.iter().map(|node| of.part(*node)).collect();
    let parts = parts.filter(|parts| !parts.is_empty());
    let Some(parts) = parts else {
        return Err(lost(of, format!("the file of node {node} is lost ({why})")));
    };
    let parity = |part: &&Part| {
        let path = places.find(part.parity.as_ref()?).ok()?;
        Parity::open(&path, &Header::of(group, of, part.node)?).ok()
    };
    let left = Left {
        redundancy: of.redundancy,
        entries: parts.iter().map(|part| &part.file).collect(),
        files: parts
            .iter()
            .map(|part| places.find(&part.file).ok())
            .collect(),
        parities: parts.iter().map(parity).collect(),
    };
    let member = set.iter().position(|n| *n == node).unwrap_or_default();
    match &places.rebuild_in {
        Some(into) if left.is_enough_for(member) => left.rebuild(member, into, places.mode),
        into => {
            let gone = |there: Vec<bool>| {
                let gone = set.iter().zip(there).filter(|(_, there)| !there);
                gone.map(|(node, _)| *node).collect::<Vec<_>>()
            };
            let (files, parities) = left.there();
            let (files, parities) = (gone(files), gone(parities));
            let hint = match into {
                None if left.is_enough_for(member) => "; give a folder to rebuild it in",
                _ => "",
            };
            Err(lost(
                of,
                format!(
                    "the file of node {node} is lost ({why}). Of its set {set:?}, with \
                     redundancy {}, the files of nodes {files:?} and the parity of nodes \
                     {parities:?} are lost{hint}",
                    of.redundancy.name()
                ),
            ))
        }
    }
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
