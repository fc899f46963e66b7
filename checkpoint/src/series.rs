//! The list of a run's VTKHDF files, which ParaView opens as one time series: `<name>.vtkhdf.series`.

use crate::error::{ReadError, WriteError};
use crate::find::{self, Form};
use crate::tier::Tier;
use crate::tier::contents::{self, Contents};
use crate::{Layout, atomic};
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

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "file-series-version")]
    version: String,
    files: Vec<Entry>,
}

/// The file name of the list.
pub fn file_name(name: &str) -> String {
    format!("{name}.vtkhdf.series")
}

/// The VTKHDF files, by ascending step.
pub fn entries(contents: &Contents) -> Vec<Entry> {
    let all = contents.items.values().map(|item| &item.entry);
    let images = all.filter(|entry| {
        find::parse(&entry.file).is_some_and(|(.., form)| form == Form::Full(Layout::VtkHdf))
    });
    images.map(listed).collect()
}

fn listed(entry: &contents::Entry) -> Entry {
    // JSON has no other numbers, and a list without them does not open.
    let time = match entry.time.is_finite() {
        true => entry.time,
        false => entry.step as f64,
    };
    Entry {
        name: entry.file.clone(),
        time,
    }
}

/// Bring the list of a tier to the disk.
pub fn write(tier: &Tier) -> Result<(), WriteError> {
    let path = tier.dir().join(file_name(tier.name()));
    let files = entries(tier.contents());
    if files.is_empty() && !path.exists() {
        return Ok(());
    }
    let content = Content {
        version: "1.0".to_owned(),
        files,
    };
    let text = serde_json::to_vec_pretty(&content).map_err(std::io::Error::from);
    atomic::write(&path, |temp| Ok(std::fs::write(temp, text?)?)).map(|_| ())
}

/// The files that the list at `path` names, in its order.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let text = std::fs::read(path).map_err(ReadError::io(path))?;
    let content: Content = serde_json::from_slice(&text).map_err(|source| ReadError::Series {
        path: path.to_owned(),
        source,
    })?;
    let dir = atomic::directory(path);
    Ok(content.files.iter().map(|e| dir.join(&e.name)).collect())
}
