//! The list of a run's checkpoints that ParaView opens as one time series: `<name>.vtkhdf.series`.

use crate::error::{ReadError, WriteError};
use crate::{Checkpoint, atomic, find};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One checkpoint in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its file, relative to the list.
    pub name: String,
    /// Its simulated time.
    pub time: f64,
}

/// The list, on the disk and in memory.
#[derive(Debug)]
pub struct Series {
    path: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "file-series-version")]
    version: String,
    files: Vec<Entry>,
}

impl Series {
    /// The list of the checkpoints called `name` in `dir`: what it holds on the disk, less files that are gone, plus
    /// usable files that it lacks (a run may be killed between writing a checkpoint and listing it).
    pub fn open(dir: &Path, name: &str) -> Self {
        let path = dir.join(format!("{name}.vtkhdf.series"));
        let mut entries = read(&path).unwrap_or_else(|error| {
            if path.exists() {
                tracing::warn!("making the list of checkpoints anew: {error}");
            }
            Vec::new()
        });
        entries.retain(|e| is_ours(&e.name, name) && dir.join(&e.name).is_file());
        let mut series = Series { path, entries };
        for file in find::in_dir(dir).unwrap_or_default() {
            if file.name == name && !series.has(&find::file_name(name, file.step)) {
                series.add_file(&file.path);
            }
        }
        series
    }

    /// The files that the list at `path` names, in its order.
    pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let dir = atomic::directory(path);
        Ok(read(path)?.iter().map(|e| dir.join(&e.name)).collect())
    }

    /// The checkpoints, by ascending step.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Add the checkpoint of `step`, in place of an earlier one of the same step.
    pub fn add(&mut self, name: &str, step: u64, time: f64) {
        let name = find::file_name(name, step);
        // JSON has no other numbers, and a list without them does not open.
        let time = if time.is_finite() { time } else { step as f64 };
        self.entries.retain(|e| e.name != name);
        self.entries.push(Entry { name, time });
        self.entries
            .sort_by_key(|e| find::parse(&e.name).map(|(_, step)| step));
    }

    /// Bring the list to the disk.
    pub fn write(&self) -> Result<(), WriteError> {
        let content = Content {
            version: "1.0".to_owned(),
            files: self.entries.clone(),
        };
        let text = serde_json::to_vec_pretty(&content).map_err(std::io::Error::from);
        atomic::write(&self.path, |temp| Ok(std::fs::write(temp, text?)?)).map(|_| ())
    }

    fn has(&self, file: &str) -> bool {
        self.entries.iter().any(|e| e.name == file)
    }

    fn add_file(&mut self, path: &Path) {
        let name = path
            .file_name()
            .and_then(|f| f.to_str())
            .and_then(find::parse);
        match (name, Checkpoint::open(path)) {
            (Some((name, step)), Ok(checkpoint)) => self.add(name, step, checkpoint.stamp().time),
            (_, Err(error)) => tracing::warn!("not listed: {error}"),
            (None, _) => {}
        }
    }
}

fn is_ours(file: &str, name: &str) -> bool {
    find::parse(file).is_some_and(|(n, _)| n == name)
}

fn read(path: &Path) -> Result<Vec<Entry>, ReadError> {
    let text = std::fs::read(path).map_err(ReadError::io(path))?;
    let content: Content = serde_json::from_slice(&text).map_err(|source| ReadError::Series {
        path: path.to_owned(),
        source,
    })?;
    Ok(content.files)
}
