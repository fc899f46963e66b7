//! Checkpoints of whole jobs, for `checkpoints`, `verify` and `restore`.

use crate::failure::{Code, Failure};
use crate::files::args::RestoreArgs;
use crate::{output, plain};
use serde_json::json;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{self, Committed, JobCheckpoint, JobError, Places};

/// A manifest of a job: its folder, and the name of the group.
pub type Found = (PathBuf, String);

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        let code = match error {
            JobError::Write(error) => return error.into(),
            JobError::Read(error) => return error.into(),
            JobError::NoField { .. } => Code::NoField,
            JobError::NoneCommitted { .. } => Code::NoVersion,
            _ => Code::Io,
        };
        Failure::new(code, error.to_string())
    }
}

/// Returns the manifests of jobs in these folders, of the group `name` if there is one.
pub fn manifests(dirs: &[PathBuf], name: Option<&str>) -> Result<Vec<Found>, Failure> {
    let mut all = Vec::new();
    for dir in dirs.iter().filter(|dir| dir.is_dir()) {
        let groups = job::groups(dir)?;
        let wanted = groups
            .into_iter()
            .filter(|group| name.is_none_or(|name| name == group));
        all.extend(wanted.map(|group| (dir.clone(), group)));
    }
    Ok(all)
}

/// Returns the checkpoints of a job as text.
pub fn as_text((dir, group): &Found) -> Result<String, Failure> {
    let mut text = plain::line(&format!("{group}  (a job)"));
    for found in job::committed(dir, group)? {
        let commit = &found.commit;
        text += &plain::line(&format!(
            "  step {:<10} t = {:<12} {:>10}  {} ranks on {} nodes  {} ({})",
            commit.step,
            output::number(commit.time),
            output::bytes(commit.parts.iter().map(|part| part.file.bytes).sum()),
            commit.ranks,
            commit.parts.len(),
            found.level.name(),
            commit.redundancy.name(),
        ));
    }
    Ok(text)
}

/// Returns the checkpoints of a job for `--json`.
pub fn as_json((dir, group): &Found) -> Result<serde_json::Value, Failure> {
    let all = job::committed(dir, group)?;
    let item = |found: &Committed| {
        let mut value = json!(found.commit);
        value["level"] = json!(found.level.name());
        value
    };
    Ok(json!({ "group": group, "checkpoints": all.iter().map(item).collect::<Vec<_>>() }))
}

/// Reads all values of each committed step of a job. `dirs` are the folders in which its files may
/// be. Calls `report` with a line about each step, which is true if the step is whole.
pub fn verify(
    (dir, group): &Found,
    dirs: &[PathBuf],
    mut report: impl FnMut(bool, String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let places = Places::new(dir, dirs);
    for found in job::committed(dir, group)? {
        let step = found.commit.step;
        let checked = JobCheckpoint::find(group, &places, Some(step));
        let checked = checked.and_then(|checkpoint| checkpoint.verify());
        let what = format!("{}  job {group}  step {step}", dir.display());
        match checked {
            Ok(()) => report(true, format!("ok   {what}  {}", found.level.name()))?,
            Err(error) => report(false, format!("BAD  {what}: {error}"))?,
        }
    }
    Ok(())
}

/// Opens the checkpoint of a job that `args` ask for. Lost files are rebuilt in a folder beside the
/// new file, which is removed when the second value is dropped.
pub fn open(
    (dir, group): &Found,
    args: &RestoreArgs,
) -> Result<(JobCheckpoint, tempfile::TempDir), Failure> {
    let beside = args.out.parent().filter(|dir| *dir != Path::new(""));
    let beside = beside.unwrap_or(Path::new("."));
    let scratch = tempfile::tempdir_in(beside);
    let scratch = scratch.map_err(|e| Failure::new(Code::Io, format!("{beside:?}: {e}")))?;
    let places = Places::new(dir, &args.dirs).rebuild_in(scratch.path());
    Ok((JobCheckpoint::find(group, &places, args.step)?, scratch))
}
