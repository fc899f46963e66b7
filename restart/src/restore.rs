//! Rebuilding a region, and filling one.

use crate::error::RestoreError;
use crate::memory;
use crate::state::State;
use std::path::PathBuf;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::place::kept_path;
use tcasm_core::stamp::Stamp;
use tcasm_producer::{Builder, Producer};

/// What was rebuilt.
#[derive(Debug)]
pub struct Restored {
    /// The region, whose next version gets the number that follows.
    pub producer: Producer,
    /// The moment that it is at.
    pub stamp: Stamp,
    /// The file, or the socket of who kept it.
    pub from: PathBuf,
    /// Newer checkpoints that could not be used, and why.
    pub passed_over: Vec<(PathBuf, RestoreError)>,
}

/// Rebuild a whole region as it was: at its old address, so that pointers into it hold, with its fields at their offsets, computed in
/// place, and its attributes. The program asks for the handles that it works with ([`Producer::handle`]).
pub trait Restore: Sized {
    /// From the newest checkpoint in `dirs` (tiers of a run, fastest first) that can be read: damaged ones are passed over,
    /// and told.
    #[cfg(feature = "files")]
    fn restore<P: AsRef<std::path::Path>>(dirs: &[P]) -> Result<Restored, RestoreError>;

    /// From the newest version of the region `name` that a dead producer has left, and somebody keeps: without any file.
    fn restore_kept(name: &str) -> Result<Restored, RestoreError>;
}

impl Restore for Producer {
    #[cfg(feature = "files")]
    fn restore<P: AsRef<std::path::Path>>(dirs: &[P]) -> Result<Restored, RestoreError> {
        let checkpoint = tcasm_checkpoint::Checkpoint::restart(dirs, None)?;
        let producer = rebuild(Producer::builder(checkpoint.region()), &checkpoint)?;
        let (stamp, from) = (checkpoint.stamp(), checkpoint.path().to_owned());
        let passed_over = checkpoint.into_passed_over();
        let passed_over = passed_over
            .into_iter()
            .map(|(path, why)| (path, why.into()));
        Ok(Restored {
            producer,
            stamp,
            from,
            passed_over: passed_over.collect(),
        })
    }

    fn restore_kept(name: &str) -> Result<Restored, RestoreError> {
        let version = memory::kept(name)?;
        Ok(Restored {
            producer: rebuild(Producer::builder(name), &version)?,
            stamp: version.stamp(),
            from: kept_path(name),
            passed_over: Vec::new(),
        })
    }
}

/// Build the region of `state` with what else `builder` says: its bounds, who may attach, its tracker.
pub fn rebuild(builder: Builder, state: &impl State) -> Result<Producer, RestoreError> {
    let table = state.table();
    let mut builder = builder.continue_from(state).extent_of(state);
    for (name, value) in &table.attrs {
        builder = builder.attr(name, value.clone());
    }
    let mut producer = builder.create()?;
    let mut fields: Vec<&FieldDesc> = table.fields.iter().collect();
    fields.sort_by_key(|field| field.offset);
    for field in fields {
        producer.define(field)?;
    }
    producer.load(state)?;
    Ok(producer)
}

/// Settings that follow from what a run goes on from.
pub trait Continue: Sized {
    /// Have the first version the number that follows that of `state`.
    fn continue_from(self, state: &impl State) -> Self;

    /// Place the region where that of `state` lay, and make it as large.
    fn extent_of(self, state: &impl State) -> Self;
}

impl Continue for Builder {
    fn continue_from(self, state: &impl State) -> Self {
        self.first_version(state.stamp().version.saturating_add(1))
    }

    fn extent_of(self, state: &impl State) -> Self {
        match state.extent() {
            Some(extent) => self.extent(extent),
            // Files of programs that did not tell: the address that its name gives, as before.
            None => self.capacity(end_of(state.table())),
        }
    }
}

/// Bytes of a region in which these fields fit.
fn end_of(table: &FieldTable) -> usize {
    let ends = table.fields.iter().map(|field| field.range().end);
    ends.max().unwrap_or(1) as usize
}

/// Filling the fields of a region.
pub trait Load {
    /// Read every field of `state` into the field of that name, which has the same shape, dtype and order; fields that the state has
    /// not keep what they hold. Before the first version is published, fields that are handed over can be filled too; later
    /// those that were begun anew. After an error, what the fields hold is of no use.
    fn load(&mut self, state: &impl State) -> Result<Stamp, RestoreError>;
}

impl Load for Producer {
    fn load(&mut self, state: &impl State) -> Result<Stamp, RestoreError> {
        let fields = &state.table().fields;
        for there in fields {
            let here = self.description(&there.name);
            check(state.region(), here, there)?;
        }
        for field in fields {
            state.read(&field.name, self.field_bytes_mut(&field.name)?)?;
        }
        Ok(state.stamp())
    }
}

/// Whether the bytes of a field mean the same here as they meant there.
fn check(region: &str, here: Option<&FieldDesc>, there: &FieldDesc) -> Result<(), RestoreError> {
    let name = there.name.clone();
    let Some(here) = here else {
        let region = region.to_owned();
        return Err(RestoreError::NoField { region, name });
    };
    let facts = |f: &FieldDesc| {
        [
            ("kind", format!("{:?}", f.kind)),
            ("dtype", f.dtype.to_string()),
            ("shape", format!("{:?}", f.array_shape())),
            ("number of components", f.components.to_string()),
            ("order", format!("{:?}", f.order)),
        ]
    };
    let mut both = facts(here).into_iter().zip(facts(there));
    match both.find(|(a, b)| a != b) {
        None => Ok(()),
        Some(((what, here), (_, there))) => Err(RestoreError::OtherField {
            name,
            what,
            here,
            there,
        }),
    }
}
