//! The list of a run's VTKHDF files, `<name>.vtkhdf.series`. ParaView opens it as one time series.

use crate::error::{ReadError, WriteError};
use crate::file::{Mode, atomic, directory, regular};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest size of a list in bytes. A checkpoint takes about 100 bytes.
const MOST_BYTES: u64 = 1 << 30;

/// One checkpoint in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The file, relative to the list.
    pub name: String,
    /// The simulated time.
    pub time: f64,
}

/// The list as it is stored in JSON.
#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "file-series-version")]
    version: String,
    files: Vec<Line>,
}

/// Returns the file name of the list.
pub fn file_name(name: &str) -> String {
    format!("{name}.vtkhdf.series")
}

/// Writes a list of `files` to `path`. A list that would be empty is only written if there is one
/// already.
pub fn write(path: &Path, files: Vec<Line>, mode: Mode) -> Result<(), WriteError> {
    if files.is_empty() && !path.exists() {
        return Ok(());
    }
    let content = Content {
        version: "1.0".to_owned(),
        files,
    };
    let text = serde_json::to_vec_pretty(&content).map_err(std::io::Error::from);
    atomic::write(path, mode, |pending| {
        let mut file = pending.file();
        Ok(file.write_all(&text?)?)
    })
    .map(|_| ())
}

/// Returns the files that the list at `path` names, in the order of the list.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let text = regular::read(path, MOST_BYTES).map_err(ReadError::io(path))?;
    let content: Content = serde_json::from_slice(&text).map_err(|source| ReadError::Series {
        path: path.to_owned(),
        source,
    })?;
    let dir = directory(path);
    Ok(content
        .files
        .iter()
        .map(|line| dir.join(&line.name))
        .collect())
}
