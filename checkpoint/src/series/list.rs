//! The list of a run's VTKHDF files, `<name>.vtkhdf.series`. ParaView opens it as one time series.
//! openPMD files need no list: `<name>_%T.h5` stands for all of them.

use crate::error::{ReadError, WriteError};
use crate::file::{Mode, atomic, directory, regular};
use crate::format::names::{self, Found};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The end of the file name of every list.
const END: &str = ".vtkhdf.series";
/// The ends of the names that stand for all openPMD files of a run: `%T` is the step.
const PATTERNS: [&str; 2] = ["_%T.h5", "_%08T.h5"];
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
    format!("{name}{END}")
}

/// Returns the folder of the list at `path`, and the name of the checkpoints that it lists. A path
/// `<name>_%T.h5`, which is no file itself, is taken for a list. Returns `None` for other paths.
pub fn run(path: &Path) -> Option<(&Path, &str)> {
    let file = path.file_name()?.to_str()?;
    let listed = file.strip_suffix(END).filter(|_| path.is_file());
    let name = listed.or_else(|| in_pattern(file).filter(|_| !path.exists()))?;
    Some((directory(path), name))
}

/// Returns the name of the checkpoints whose openPMD files `file` stands for.
fn in_pattern(file: &str) -> Option<&str> {
    let name = PATTERNS.iter().find_map(|end| file.strip_suffix(*end));
    name.filter(|name| !name.is_empty())
}

/// Returns the checkpoints in the folder `path`, as [`names::in_dir`] does. If `path` is a list,
/// returns those in its folder that have its name: also increments, which no list contains.
pub fn checkpoints(path: &Path) -> io::Result<Vec<Found>> {
    let Some((dir, name)) = run(path) else {
        return names::in_dir(path);
    };
    let mut found = names::in_dir(dir)?;
    found.retain(|file| file.name == name);
    Ok(found)
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
    let text = serde_json::to_vec_pretty(&content).map_err(io::Error::from);
    atomic::write(path, mode, |pending| {
        let mut file = pending.file();
        Ok(file.write_all(&text?)?)
    })
    .map(|_| ())
}

/// Returns the files that the list at `path` names, in the order of the list. All of them must lie
/// in its folder: anybody can write a list, so it must not lead to files elsewhere.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let text = regular::read(path, MOST_BYTES).map_err(ReadError::io(path))?;
    let content: Content = serde_json::from_slice(&text).map_err(|source| ReadError::Series {
        path: path.to_owned(),
        source,
    })?;
    let dir = directory(path);
    let file = |line: Line| match is_file_name(&line.name) {
        true => Ok(dir.join(&line.name)),
        false => Err(ReadError::Elsewhere {
            path: path.to_owned(),
            name: line.name,
        }),
    };
    content.files.into_iter().map(file).collect()
}

/// Returns true if `name` is the name of a file, without a folder.
fn is_file_name(name: &str) -> bool {
    Path::new(name).file_name() == Some(OsStr::new(name))
}
