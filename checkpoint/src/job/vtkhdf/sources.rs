//! The ranks of a checkpoint, as the files of the nodes describe them.

use crate::job::error::JobError;
use crate::job::node_file::{self, Rank};
use crate::job::record::Commit;
use crate::read::Checkpoint;
use std::path::Path;

/// A rank, and the name of the file that has its blocks.
pub struct Source {
    pub number: u32,
    pub file: String,
    pub rank: Rank,
}

/// Reads what all ranks are, in ascending order.
pub fn read(dir: &Path, of: &Commit) -> Result<Vec<Source>, JobError> {
    let mut sources = Vec::new();
    for part in &of.parts {
        let file = Checkpoint::open(dir.join(&part.file.file))?;
        for number in &part.ranks {
            sources.push(Source {
                number: *number,
                file: part.file.file.clone(),
                rank: node_file::rank(&file, *number)?,
            });
        }
    }
    sources.sort_by_key(|source| source.number);
    Ok(sources)
}
