//! Being the only one to write a run's checkpoints into a folder.

use crate::error::{Fault, WriteError};
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
    pub fn take(dir: &Path, name: &str) -> Result<Self, WriteError> {
        let path = dir.join(format!(".{name}.tcasm-lock"));
        let file = File::create(&path).map_err(|e| Fault::from(e).at(&path))?;
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
