//! Being the only one to write a run's checkpoints into a folder.

use crate::Mode;
use crate::error::{Fault, WriteError};
use crate::files::Dir;
use std::fs::{File, TryLockError};
use std::path::Path;

/// Held until dropped. The kernel lets it go with the process, however that ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    held: bool,
}

impl Lock {
    /// Be the only one to write `name` in `dir`.
    pub fn take(dir: &Path, name: &str, mode: Mode) -> Result<Self, WriteError> {
        let file_name = format!(".{name}.tcasm-lock");
        // Not truncated: nothing is ever in it, unless it is a file of somebody else.
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
                    "no locks in {dir:?} ({e}): leftovers of killed runs are not removed"
                );
                false
            }
        };
        Ok(Lock { file, held })
    }

    /// Whether the file system knows locks: then what half-written files there are, are of the dead.
    pub fn is_held(&self) -> bool {
        self.held
    }
}

impl Drop for Lock {
    /// Closing alone is not enough: a process that is just being started holds a copy of the descriptor until it execs.
    fn drop(&mut self) {
        if let Err(e) = self.file.unlock() {
            tracing::debug!("unlocking: {e}");
        }
    }
}
