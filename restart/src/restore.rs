//! Rebuilds a region, or loads the fields of one.

use crate::error::RestoreError;
use crate::memory;
use crate::state::State;
use std::path::PathBuf;
use std::time::Duration;
#[cfg(feature = "files")]
use tcasm_checkpoint::Checkpoint;
use tcasm_core::field::{FieldDesc, FieldTable, MeshDesc};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::kept_path;
use tcasm_observer::Version;
use tcasm_producer::{Builder, Producer};

/// A region that was rebuilt.
#[derive(Debug)]
pub struct Restored {
    /// The producer of the region. Its next version gets the number that follows that of the state.
    pub producer: Producer,
    /// The number, the step and the time of the state.
    pub stamp: Stamp,
    /// The file, or the socket of the process that held the version.
    pub from: PathBuf,
    /// Newer checkpoints that could not be used, with their errors.
    pub passed_over: Vec<(PathBuf, RestoreError)>,
}

/// Rebuilds a whole region as it was: at its old address, so that pointers into it stay valid, with
/// its attributes, its meshes and its fields at their offsets. The fields are computed in place,
/// and variable ones have the lengths of the state. The program asks for the handles that it works
/// with ([`Producer::handle`], [`Producer::mesh_handle`]). Fields that are not in
/// checkpoints ([`not_in_checkpoints`](tcasm_producer::FieldBuilder::not_in_checkpoints)) are zeros
/// after a restart from a file, and the program fills them.
///
/// A checkpoint with rounded values is refused. A program that accepts one opens it with
/// [`Checkpoint::restart_lossy`](tcasm_checkpoint::Checkpoint::restart_lossy) and calls
/// [`rebuild`].
///
/// The name of the region is that of the state, and all settings that no state has are the defaults
/// of [`Producer::builder`]. A program with a name and settings of its own calls
/// [`Continue::restore_or_begin`](crate::Continue::restore_or_begin) or [`rebuild`].
pub trait Restore: Sized {
    /// Rebuilds a region from the newest checkpoint in `dirs` that can be read. `dirs` are the
    /// tiers of a run, fastest first. Checkpoints that are damaged or lack fields are passed over,
    /// and [`Restored::passed_over`] lists them. If there are checkpoints of several regions, the
    /// error lists the names of the regions.
    #[cfg(feature = "files")]
    fn restore<P: AsRef<std::path::Path>>(dirs: &[P]) -> Result<Restored, RestoreError>;

    /// Does the same with the newest checkpoint of the region `name`, where `dirs` hold checkpoints
    /// of several regions.
    #[cfg(feature = "files")]
    fn restore_named<P: AsRef<std::path::Path>>(
        dirs: &[P],
        name: &str,
    ) -> Result<Restored, RestoreError>;

    /// Rebuilds the region `name` from the newest version that a dead producer has left, if `tcasm
    /// keep` holds it. This reads no file.
    fn restore_kept(name: &str) -> Result<Restored, RestoreError>;
}

impl Restore for Producer {
    #[cfg(feature = "files")]
    fn restore<P: AsRef<std::path::Path>>(dirs: &[P]) -> Result<Restored, RestoreError> {
        let checkpoint = Checkpoint::restart(dirs, None)?;
        from_files(Producer::builder(checkpoint.region()), checkpoint)
    }

    #[cfg(feature = "files")]
    fn restore_named<P: AsRef<std::path::Path>>(
        dirs: &[P],
        name: &str,
    ) -> Result<Restored, RestoreError> {
        let checkpoint = Checkpoint::restart_named(dirs, name, None)?;
        from_files(Producer::builder(checkpoint.region()), checkpoint)
    }

    fn restore_kept(name: &str) -> Result<Restored, RestoreError> {
        from_memory(Producer::builder(name), &memory::kept(name)?)
    }
}

/// Rebuilds the region of `checkpoint` with the settings of `builder`.
#[cfg(feature = "files")]
pub(crate) fn from_files(
    builder: Builder,
    checkpoint: Checkpoint,
) -> Result<Restored, RestoreError> {
    let producer = rebuild(builder, &checkpoint)?;
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

/// Rebuilds the region of `version`, which is held in memory, with the settings of `builder`.
pub(crate) fn from_memory(builder: Builder, version: &Version) -> Result<Restored, RestoreError> {
    let from = kept_path(builder.name());
    Ok(Restored {
        producer: rebuild(builder, version)?,
        stamp: version.stamp(),
        from,
        passed_over: Vec::new(),
    })
}

/// Rebuilds the region of `state`, with its meshes and its attributes. `builder` provides all other
/// settings: the name of the region, the bounds, who may attach, how changes are tracked and
/// captured, and more attributes.
pub fn rebuild(builder: Builder, state: &impl State) -> Result<Producer, RestoreError> {
    check_state(state)?;
    let table = state.table();
    let mut builder = extent_of(continue_from(builder, state), state);
    for (name, value) in &table.attrs {
        builder = builder.attr(name, value.clone());
    }
    let mut producer = builder.create()?;
    // The fields that it lacks are zero until the program fills them.
    let mut fields: Vec<&FieldDesc> = table.fields.iter().chain(&table.lacking).collect();
    fields.sort_by_key(|field| field.offset);
    for field in fields {
        producer.define(field)?;
    }
    for mesh in &table.meshes {
        producer.define_mesh(mesh)?;
    }
    producer.load(state)?;
    Ok(producer)
}

/// Lets the first version get the number that follows that of `state`.
pub(crate) fn continue_from(builder: Builder, state: &impl State) -> Builder {
    builder.first_version(state.stamp().version.saturating_add(1))
}

/// Places the region where that of `state` lay.
pub(crate) fn extent_of(builder: Builder, state: &impl State) -> Builder {
    match state.extent() {
        Some(extent) => builder.extent(extent),
        // The file is from a program that did not store the extent. The address then follows
        // from the name of the region.
        None => builder.capacity_at_least(end_of(state.table())),
    }
}

/// Returns the bytes that a region needs for these fields.
fn end_of(table: &FieldTable) -> usize {
    let fields = table.fields.iter().chain(&table.lacking);
    let ends = fields.map(|field| field.offset + field.capacity_bytes());
    ends.max().unwrap_or(1) as usize
}

/// Loads the fields of a region from a state.
pub trait Load {
    /// Reads every field of `state` into the field of the same name, which must have the same
    /// shape, dtype and order. A variable field gets the length that it has in the state. There
    /// must be room for it, and the meshes of the program must allow for all of the lengths. A
    /// uniform mesh gets the points, the origin and the spacing that the mesh of its name has in
    /// the state, and a block its place. Fields that are not in the state keep their values.
    ///
    /// Before the first version is published, buffers that are handed over can be loaded too.
    /// Later, only those that were begun anew can. Waits for a capture that runs. After an error,
    /// the values of the fields are unspecified.
    fn load(&mut self, state: &impl State) -> Result<Stamp, RestoreError>;
}

impl Load for Producer {
    fn load(&mut self, state: &impl State) -> Result<Stamp, RestoreError> {
        check_state(state)?;
        let fields = &state.table().fields;
        for there in fields {
            let here = self.description(&there.name);
            check(state.region(), here, there)?;
        }
        // A state may be read by system calls, which fail at protected memory in user mode only.
        self.wait_captured(Duration::MAX);
        set_sizes(self, state.table())?;
        for field in fields {
            let bytes = self.field_bytes_mut(&field.name)?;
            match field.bytes() as usize {
                0 => {}
                used => state.read(&field.name, &mut bytes[..used])?,
            }
        }
        Ok(state.stamp())
    }
}

/// Gives meshes the places, and variable fields the lengths, that they have in a state. After an
/// error all are as they were.
fn set_sizes(producer: &mut Producer, table: &FieldTable) -> Result<(), RestoreError> {
    let both = table.meshes.iter().filter_map(|mesh| {
        let own = producer.mesh_description(&mesh.name)?;
        Some((own.clone(), own.placed_as(mesh)))
    });
    let (before, meshes): (Vec<MeshDesc>, Vec<MeshDesc>) = both.unzip();
    producer.redefine_meshes(&meshes)?;
    set_lengths(producer, &table.fields).or_else(|error| {
        producer.redefine_meshes(&before)?;
        Err(error)
    })
}

/// Sets the lengths of variable fields to those of `fields` of a state. All are set at once: a mesh
/// of the program could otherwise make fields follow each other that had lengths of their own.
fn set_lengths(producer: &mut Producer, fields: &[FieldDesc]) -> Result<(), RestoreError> {
    let is_variable_here = |field: &&FieldDesc| {
        let here = producer.description(&field.name);
        here.is_some_and(is_variable)
    };
    let lens = fields.iter().filter(is_variable_here);
    let lens: Vec<(&str, usize)> = lens.map(|f| (f.name.as_str(), f.length())).collect();
    Ok(producer.set_lens(&lens)?)
}

/// Checks that a region can continue from the state: it has all fields, and their exact values.
fn check_state(state: &impl State) -> Result<(), RestoreError> {
    check_complete(state)?;
    check_exact(state)
}

/// Checks that no values of the state are rounded, unless that is accepted.
fn check_exact(state: &impl State) -> Result<(), RestoreError> {
    let table = state.table();
    match table.relative_error().filter(|_| !state.allows_lossy()) {
        None => Ok(()),
        Some(relative_error) => Err(RestoreError::Lossy {
            region: state.region().to_owned(),
            step: state.stamp().step,
            fields: table.rounded().map(|field| field.name.clone()).collect(),
            relative_error,
        }),
    }
}

/// Checks that the state has all fields of its version, except for those that are not for
/// checkpoints.
fn check_complete(state: &impl State) -> Result<(), RestoreError> {
    let missing = state.table().missing();
    let fields: Vec<String> = missing.map(|field| field.name.clone()).collect();
    match fields.is_empty() {
        true => Ok(()),
        false => Err(RestoreError::Lacks {
            region: state.region().to_owned(),
            step: state.stamp().step,
            fields,
        }),
    }
}

fn is_variable(field: &FieldDesc) -> bool {
    field.capacity.is_some()
}

/// Checks that the bytes of a field have the same meaning here and in the state.
fn check(region: &str, here: Option<&FieldDesc>, there: &FieldDesc) -> Result<(), RestoreError> {
    let name = there.name.clone();
    let Some(here) = here else {
        let region = region.to_owned();
        return Err(RestoreError::NoField { region, name });
    };
    let mut alike = there.clone();
    if is_variable(here) {
        // It can get the length that it has there.
        alike.set_length(here.length());
    }
    let mut both = facts(here).into_iter().zip(facts(&alike));
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

/// Returns the properties that say what the bytes of a field mean.
fn facts(field: &FieldDesc) -> [(&'static str, String); 5] {
    [
        ("kind", format!("{:?}", field.kind)),
        ("dtype", field.dtype.to_string()),
        ("shape", format!("{:?}", field.array_shape())),
        ("number of components", field.components.to_string()),
        ("order", format!("{:?}", field.order)),
    ]
}
