//! A lock that lets only one process write checkpoints of a name into a folder.

use super::dir::Dir;
use super::fault::Fault;
use super::mode::Mode;
use crate::error::WriteError;
use std::fs::{File, TryLockError};
use std::path::Path;

/// A lock that is held until it is dropped. The kernel also releases it when the process ends, even
/// if it is killed.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// True if the file system supports locks.
    held: bool,
}

impl Lock {
    /// Locks the checkpoints called `name` in `dir`. Fails if another process holds the lock. If
    /// the file system has no locks, returns one that is not held.
    pub fn take(dir: &Path, name: &str, mode: Mode) -> Result<Self, WriteError> {
        let file_name = format!(".{name}.tcasm-lock");
        // The file is not truncated. It is always empty, unless it is a file of another program.
        let opened = Dir::open(dir).and_then(|d| d.open_or_create(file_name.as_ref(), mode));
        let file = opened.map_err(|e| Fault::from(e).at(&dir.join(file_name)))?;
        let held = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                let (dir, name) = (dir.to_owned(), name.to_owned());
                return Err(WriteError::Busy { dir, name });
            }
            Err(TryLockError::Error(e)) => {
                tracing::warn!(
                    "cannot lock files in {dir:?} ({e}): files of killed runs are not removed"
                );
                false
            }
        };
        Ok(Lock { file, held })
    }

    /// Returns true if the lock is held. Then no other writer runs, and half-written files are from
    /// killed ones. Returns false if the file system does not support locks.
    pub fn is_held(&self) -> bool {
        self.held
    }
}

impl Drop for Lock {
    /// Releases the lock. Closing the file is not enough, because a child process that is just
    /// being started holds a copy of the descriptor until it calls exec.
    fn drop(&mut self) {
        if let Err(e) = self.file.unlock() {
            tracing::debug!("unlocking: {e}");
        }
    }
}
