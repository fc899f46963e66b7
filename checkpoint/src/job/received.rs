//! A file that comes in pieces. It gets its name when its hash is right.

use super::hashed;
use super::places::Places;
use super::record::FileEntry;
use crate::error::WriteError;
use crate::file::Fault;
use crate::file::atomic::{self, Pending};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that comes in pieces, or the first error of it. Pieces that come after an error are
/// dropped: they were sent all the same.
pub struct Received {
    path: PathBuf,
    pending: Result<Pending, WriteError>,
}

impl Received {
    /// Begins a file in the folder for rebuilt files.
    pub fn begin(places: &Places, entry: &FileEntry) -> Received {
        let dir = places.rebuild_in.as_deref();
        let path = dir.unwrap_or(Path::new("")).join(&entry.file);
        let pending = match dir {
            Some(_) => atomic::begin(&path, places.mode, |_| Ok(())).map(|(pending, ())| pending),
            None => Err(WriteError::NotWritten {
                path: path.clone(),
                why: "there is no folder for it; give one to rebuild files in".to_owned(),
            }),
        };
        Received { path, pending }
    }

    /// Returns true if there was no error.
    pub fn is_good(&self) -> bool {
        self.pending.is_ok()
    }

    /// Writes a piece, or notes why there is none.
    pub fn put(&mut self, at: u64, piece: Result<Vec<u8>, String>) {
        let Ok(pending) = &self.pending else {
            return;
        };
        let piece = piece.map_err(io::Error::other);
        let put = piece.and_then(|piece| pending.file().write_all_at(&piece, at));
        if let Err(error) = put {
            self.pending = Err(Fault::from(error).at(&self.path));
        }
    }

    /// Gives the file its name.
    pub fn finish(self, entry: &FileEntry) -> Result<(), WriteError> {
        let pending = self.pending?;
        let cut = pending.file().set_len(entry.bytes);
        cut.map_err(|e| Fault::from(e).at(&self.path))?;
        let same = hashed::check(&pending.here(), entry);
        same.map_err(|why| WriteError::NotWritten {
            path: self.path.clone(),
            why,
        })?;
        pending.commit().map(drop)
    }
}
