//! A checkpoint file before it gets its name: it is sealed, read back, synced and renamed.
//!
//! HDF5 keeps much of the data in memory. If a handle cannot write its data when it is dropped, the
//! error is lost. The seal would not show this, because it is computed from what the file holds. So
//! the file is read back before it gets its name, and its description must be the one that was to
//! be written.

use crate::error::{ReadError, WriteError};
use crate::file::atomic::Pending;
use crate::file::{Fault, seal};
use crate::format::full::Full;
use crate::format::header::Header;
use crate::format::increment::Increment;
use std::path::Path;

/// A file with all its bytes, but without its seal and its name. The snapshot is no longer needed.
#[derive(Debug)]
pub struct Unsealed {
    pending: Pending,
    /// The number of bytes that HDF5 has written.
    length: u64,
    /// Where the bytes of fields are stored.
    ranges: Vec<seal::Range>,
    /// The number of bytes that were written past the page cache.
    direct: u64,
    /// The checksum of the description that was to be written.
    checksum: u64,
    is_increment: bool,
}

impl Unsealed {
    /// Returns an unsealed file. HDF5 has closed it, and its fields are stored at `ranges`. The
    /// number of bytes that were written past the page cache is `direct`.
    pub fn new(
        pending: Pending,
        ranges: Vec<seal::Range>,
        direct: u64,
        checksum: u64,
        is_increment: bool,
    ) -> Result<Self, WriteError> {
        let length = pending.file().metadata().map(|metadata| metadata.len());
        Ok(Unsealed {
            length: length.map_err(|e| Fault::from(e).at(pending.path()))?,
            pending,
            ranges,
            direct,
            checksum,
            is_increment,
        })
    }

    /// Returns the path that the file is going to have.
    pub fn path(&self) -> &Path {
        self.pending.path()
    }

    /// Returns the number of bytes that were written past the page cache.
    pub fn direct(&self) -> u64 {
        self.direct
    }

    /// Seals the file and reads its description back. Can be called again after an error.
    pub fn seal(&self) -> Result<Header, WriteError> {
        let sealed = seal::apply(self.pending.file(), self.length, self.ranges.clone());
        sealed.map_err(|e| Fault::from(e).at(self.path()))?;
        let not_written = |why: String| WriteError::NotWritten {
            path: self.path().to_owned(),
            why,
        };
        let header = self.read_back().map_err(|e| not_written(e.to_string()))?;
        match header.checksum == self.checksum {
            true => Ok(header),
            false => Err(not_written("it describes another version".to_owned())),
        }
    }

    /// Reads the description of the file, and checks that there is a dataset for each field.
    fn read_back(&self) -> Result<Header, ReadError> {
        let here = self.pending.here();
        if self.is_increment {
            let increment = Increment::open(&here)?;
            increment.check_runs()?;
            return Ok(increment.into_header());
        }
        let full = Full::open(&here)?;
        full.check_outline()?;
        Ok(full.into_header())
    }

    /// Brings the sealed file to the disk and gives it its name. Returns its size.
    pub fn commit(self) -> Result<u64, WriteError> {
        self.pending.commit()
    }

    /// Does the same, but replaces no file.
    pub fn commit_new(self) -> Result<u64, WriteError> {
        self.pending.commit_new()
    }
}
