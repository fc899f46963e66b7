//! The files of a checkpoint that are open. These are few at a time, because a job may have more
//! nodes, and a node more increments, than a process may open files.

use crate::error::ReadError;
use crate::read::Checkpoint;
use std::sync::{Arc, Mutex, PoisonError};

/// How many files stay open at most, if the last checkpoint of a node does not need more.
const MOST: usize = 64;

/// Checkpoints of nodes, each with its number. The one that was used last comes last.
#[derive(Debug, Default)]
pub struct OpenFiles(Mutex<Vec<(usize, Arc<Checkpoint>)>>);

impl OpenFiles {
    /// Returns the checkpoint with a number, and opens it if it is not open. Others are closed
    /// then, those first that were not used for longest.
    pub fn get(
        &self,
        number: usize,
        open: impl FnOnce() -> Result<Checkpoint, ReadError>,
    ) -> Result<Arc<Checkpoint>, ReadError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one = match all.iter().position(|(n, _)| *n == number) {
            Some(at) => all.remove(at),
            None => (number, Arc::new(open()?)),
        };
        let found = one.1.clone();
        all.push(one);
        let mut files = 0;
        let fits = |(_, checkpoint): &&(usize, Arc<Checkpoint>)| {
            files += checkpoint.steps().len();
            files <= MOST
        };
        let kept = all.iter().rev().take_while(fits).count().max(1);
        let gone = all.len() - kept;
        drop(all.drain(..gone));
        Ok(found)
    }
}
