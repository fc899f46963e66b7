//! Finds the newest checkpoint of which every block can be read.

use super::choice::ChoiceFile;
use super::error::JobError;
use super::job_checkpoint::JobCheckpoint;
use super::manifest;
use super::places::Places;
use super::prepared;
use super::record::{Committed, Steps};
use std::ops::RangeInclusive;
use std::path::Path;
use tcasm_core::group::Member;

/// How often the manifest is read at most.
pub(super) const ATTEMPTS: usize = 10;

/// The checkpoint that is looked for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// Its step, or `None` for the newest one.
    step: Option<u64>,
    /// Another rank has chosen it, and has checked all hashes.
    is_chosen: bool,
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
    ///
    /// The rank that chose it has checked all hashes. So this looks at the names and sizes of files
    /// only. The hash of a file, and of those that it builds on, is checked before it is read, and
    /// it is rebuilt then if it is damaged or lost.
    pub fn find_at(group: &str, places: &Places, step: u64) -> Result<Self, JobError> {
        let wanted = Wanted {
            step: Some(step),
            is_chosen: true,
        };
        match search(group, places, wanted, || read(group, places)) {
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
    /// `places` has a folder for them. If a job that goes on has removed or replaced files since
    /// the manifest was read, looks again.
    pub fn find(group: &str, places: &Places, step: Option<u64>) -> Result<Self, JobError> {
        let wanted = Wanted {
            step,
            is_chosen: false,
        };
        search(group, places, wanted, || read(group, places))
    }
}

/// Reads what is committed. If there is no manifest, but the files of a node belong to one, the
/// slow tier is not there: that is no reason to begin anew.
fn read(group: &str, places: &Places) -> Result<Steps, JobError> {
    let contents = manifest::read(&places.slow, group)?;
    if contents.created == 0
        && let Some(list) = prepared::of_a_manifest(&places.locals, group)
    {
        return Err(JobError::NoManifest {
            group: group.to_owned(),
            dir: places.slow.clone(),
            list,
        });
    }
    Ok(contents.steps)
}

/// Opens the newest checkpoint that can be read, or that of a step. `read` returns what is
/// committed. If a step cannot be read, and other checkpoints are there by then, looks again: the
/// job goes on, and has removed or replaced files.
fn search(
    group: &str,
    places: &Places,
    wanted: Wanted,
    mut read: impl FnMut() -> Result<Steps, JobError>,
) -> Result<JobCheckpoint, JobError> {
    let mut steps = read()?;
    for _ in 1..ATTEMPTS {
        let found = first_usable(group, places, wanted, &steps);
        let Some(range) = in_doubt(found.as_ref(), wanted.step) else {
            return found;
        };
        match read() {
            // A manifest that has vanished is no reason to begin anew.
            Ok(now) if !now.is_empty() && ids(&now, &range) != ids(&steps, &range) => steps = now,
            _ => return found,
        }
    }
    first_usable(group, places, wanted, &steps)
}

/// Returns the steps at which other checkpoints would change what was found, or `None` if nothing
/// was passed over.
pub(super) fn in_doubt(
    found: Result<&JobCheckpoint, &JobError>,
    step: Option<u64>,
) -> Option<RangeInclusive<u64>> {
    let first = match found {
        Ok(found) if found.passed_over().is_empty() => return None,
        Ok(found) => found.step().saturating_add(1),
        Err(JobError::NoneUsable { .. } | JobError::NotRebuilt { .. }) => 0,
        Err(_) => return None,
    };
    Some(step.map_or(first..=u64::MAX, |step| step..=step))
}

/// Returns the identities of all files of some steps.
pub(super) fn ids<'s>(steps: &'s Steps, of: &RangeInclusive<u64>) -> Vec<(u64, &'s str)> {
    let steps = steps.range(of.clone());
    let parts = steps.flat_map(|(_, found)| &found.commit.parts);
    parts.map(|part| (part.step, part.id.as_str())).collect()
}

/// Opens the first of `steps` that can be read, newest first, or the one that is wanted.
fn first_usable(
    group: &str,
    places: &Places,
    wanted: Wanted,
    steps: &Steps,
) -> Result<JobCheckpoint, JobError> {
    let mut why = Vec::new();
    let is_it = |found: &&Committed| wanted.step.is_none_or(|step| step == found.commit.step);
    for found in steps.values().rev().filter(is_it) {
        let step = found.commit.step;
        match open((group, places, steps), found, wanted.is_chosen) {
            Ok(opened) => return Ok(opened.passing_over(why)),
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

/// Opens a checkpoint. If it `is_chosen`, its files are checked when they are read.
fn open(
    (group, places, steps): (&str, &Places, &Steps),
    found: &Committed,
    is_chosen: bool,
) -> Result<JobCheckpoint, JobError> {
    if is_chosen {
        return JobCheckpoint::unchecked(group, found.clone(), places, steps);
    }
    let commit = &found.commit;
    let files = places.files(group, steps, (commit, &commit.parts))?;
    Ok(JobCheckpoint::checked(group, found.clone(), files))
}

/// Opens the newest checkpoint that can be read, or returns `None` if nothing was ever committed.
fn newest(group: &str, places: &Places) -> Result<Option<JobCheckpoint>, JobError> {
    match JobCheckpoint::find(group, places, None) {
        Err(JobError::NoneCommitted { .. }) => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests;
