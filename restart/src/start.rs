//! The start of a run that continues from its last state, if it has one.

use crate::error::RestoreError;
use crate::memory;
use crate::restore::{Restored, from_files, from_memory};
use std::path::Path;
use tcasm_checkpoint::{Checkpoint, ReadError};
use tcasm_observer::Version;
use tcasm_producer::{Builder, Producer};

/// The producer that a run starts with.
#[derive(Debug)]
pub enum Start {
    /// The last state of an earlier start.
    Restored(Restored),
    /// A new region without fields: there is no state to continue from.
    New(Producer),
}

/// Does what [`Continue::restore_or_begin`](crate::Continue::restore_or_begin) promises.
pub(crate) fn restore_or_begin<P: AsRef<Path>>(
    builder: Builder,
    dirs: &[P],
) -> Result<Start, RestoreError> {
    if let Some(version) = held(builder.name())? {
        return from_memory(builder, &version).map(Start::Restored);
    }
    match newest(builder.name(), dirs)? {
        Some(checkpoint) => from_files(builder, checkpoint).map(Start::Restored),
        None => Ok(Start::New(builder.create()?)),
    }
}

/// Returns the version of the region `name` that `tcasm keep` holds, if it does.
fn held(name: &str) -> Result<Option<Version>, RestoreError> {
    match memory::kept(name) {
        Err(RestoreError::NotKept { .. } | RestoreError::NothingKept(_)) => Ok(None),
        kept => kept.map(Some),
    }
}

/// Returns the newest checkpoint of the region `name`, if there is one. A file in `dirs` says
/// itself which region it is of, and must be usable.
fn newest<P: AsRef<Path>>(name: &str, dirs: &[P]) -> Result<Option<Checkpoint>, RestoreError> {
    if dirs.iter().any(|dir| dir.as_ref().is_file()) {
        return Ok(Some(Checkpoint::restart(dirs, None)?));
    }
    match Checkpoint::restart_named(dirs, name, None) {
        Err(ReadError::NoneFound(_) | ReadError::NoName { .. }) => Ok(None),
        found => Ok(Some(found?)),
    }
}
