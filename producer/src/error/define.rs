//! The reasons why fields, buffers and meshes cannot be added or changed.

use tcasm_core::field::{ArrayError, DType, FieldError, MeshDescError, TableError};
use tcasm_core::store::HandOverError;
use tcasm_core::sys::mem::MapError;
use tcasm_core::track::{AdoptError, TrackError};
use thiserror::Error;

/// The reason why a field, a buffer or a mesh could not be added or changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DefineError {
    /// The description of the field is not valid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The region has a field of this name.
    #[error("field {0:?} exists already; field names are unique in a region")]
    Twice(String),
    /// A mesh, or a field on it, cannot be used.
    #[error(transparent)]
    Mesh(#[from] MeshDescError),
    /// A field was put on a named mesh, and got a uniform mesh of its own.
    #[error(
        "field {field:?} is on mesh {mesh:?}, and has an origin and a spacing of its own; use \
         either on() or mesh()"
    )]
    TwoMeshes {
        /// Name of the field.
        field: String,
        /// Name of the mesh that it is on.
        mesh: String,
    },
    /// The length of a field that is not variable cannot be set.
    #[error(
        "field {field:?} has the fixed length {len}, so it cannot get {asked}; declare it with \
         variable()"
    )]
    FixedLength {
        /// Name of the field.
        field: String,
        /// Length of the field.
        len: usize,
        /// Length that was asked for.
        asked: usize,
    },
    /// A uniform mesh has no length: its points are no field. Lengths of the fields on it follow
    /// from it.
    #[error(
        "mesh {mesh:?} is uniform, so no field gives the number of its points: \
         mesh_description() has it, and set_uniform_mesh() or set_unused() change it, and with it \
         the lengths of the fields on the mesh"
    )]
    FixedMesh {
        /// Name of the mesh.
        mesh: String,
    },
    /// A mesh cannot be changed in this way.
    #[error("mesh {mesh:?} cannot be changed like that: {why}")]
    OtherMesh {
        /// Name of the mesh.
        mesh: String,
        /// The reason.
        why: &'static str,
    },
    /// A field on a mesh cannot have the size that the mesh would get.
    #[error(
        "field {field:?} has the extents {have:?}, but would need {need:?} if mesh {mesh:?} were \
         changed like that (slowest axis first, without ghost layers); only the slowest axis can \
         change, of a field that was declared with variable()"
    )]
    OtherSize {
        /// Name of the mesh.
        mesh: String,
        /// Name of the field.
        field: String,
        /// Extents of the field.
        have: Vec<usize>,
        /// Extents that it would need.
        need: Vec<usize>,
    },
    /// The length is more than a field has room for.
    #[error(
        "field {field:?} cannot have the length {len}: it was declared with room for {capacity}; \
         declare it with a larger shape"
    )]
    Length {
        /// Name of the field.
        field: String,
        /// Length that was asked for, or that follows from it.
        len: usize,
        /// Largest length.
        capacity: usize,
    },
    /// The region has no mesh of this name.
    #[error(
        "there is no mesh {name:?}, there are {meshes:?}; add it first, or ask for one of these"
    )]
    NoMesh {
        /// Name that was asked for.
        name: String,
        /// Names of the meshes of the region.
        meshes: Vec<String>,
    },
    /// The region has too little room.
    #[error(
        "{what} needs {needed} bytes, but {free} of the region's {capacity} are free; create it \
         with a larger capacity()"
    )]
    Capacity {
        /// Name of the field or buffer.
        what: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of the region.
        capacity: u64,
    },
    /// The shape of a vector has no axis for its components.
    #[error(
        "field {name:?} was marked as a vector, but shape {shape:?} has no axis for components"
    )]
    NoComponents {
        /// Name of the field.
        name: String,
        /// Shape of the field.
        shape: Vec<usize>,
    },
    /// The buffer has another type or shape than the field.
    #[error(
        "buffer and field {field:?} differ in {what}; make buffers for a field with buffer_like()"
    )]
    OtherShape {
        /// Name of the field.
        field: String,
        /// The property in which they differ.
        what: &'static str,
    },
    /// The pages of a handed-over buffer become those of versions, so nothing but the producer may
    /// write them.
    #[error(
        "{name:?} is handed over, so no device may write it, and none of its pages can be marked; \
         add it without handed_over()"
    )]
    IsHandedOver {
        /// Name of the field that the buffer was made for.
        name: String,
    },
    /// A scratch buffer cannot be bound.
    #[error(
        "a scratch buffer cannot be bound to field {field:?}: it is not tracked; make it with \
         buffer_like()"
    )]
    Scratch {
        /// Name of the field.
        field: String,
    },
    /// The buffer is bound to another field.
    #[error("this buffer is bound to field {field:?} already")]
    Bound {
        /// Name of that field.
        field: String,
    },
    /// The alignment of the structure is not valid, or is larger than a page.
    #[error("{name:?} needs an alignment of {align} bytes; fields are aligned to {page_size}")]
    Alignment {
        /// Name of the structures.
        name: String,
        /// Alignment that they need.
        align: usize,
        /// Bytes of a page.
        page_size: usize,
    },
    /// The offset of a described field, or the address of an array, is not aligned for its values.
    #[error("field {name:?} is at {offset:#x}, which is not a multiple of {align}")]
    Unaligned {
        /// Name of the field.
        name: String,
        /// Offset in the description, or address.
        offset: u64,
        /// Alignment that its values need.
        align: u64,
    },
    /// An array that exists cannot be adopted.
    #[error("the array for field {name:?} cannot be adopted: {source}")]
    Adopt {
        /// Name of the field.
        name: String,
        /// The reason.
        source: AdoptError,
    },
    /// An adopted field cannot be handed over, and cannot be bound to another buffer.
    #[error(
        "field {name:?} is an adopted array, which stays where it is: it cannot be {what}; copy \
         into a field of the region for that"
    )]
    IsAdopted {
        /// Name of the field.
        name: String,
        /// What was asked for.
        what: &'static str,
    },
    /// The field is not an adopted array.
    #[error("field {name:?} is not an adopted array, so there is nothing to release")]
    NotAdopted {
        /// Name of the field.
        name: String,
    },
    /// The offset of a described field was handed out already.
    #[error(
        "field {name:?} is at offset {offset}, but the region is in use up to {used}; define \
         fields in ascending order of offsets, before others are added"
    )]
    Taken {
        /// Name of the field.
        name: String,
        /// Offset in the description.
        offset: u64,
        /// End of what was handed out.
        used: u64,
    },
    /// The region has no field of this name.
    #[error(
        "there is no field {name:?}, there are {fields:?}; add it first, or ask for one of these"
    )]
    NoField {
        /// Name that was asked for.
        name: String,
        /// Names of the fields of the region.
        fields: Vec<String>,
    },
    /// The field holds another element type.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The field has another number of dimensions.
    #[error(
        "field {name:?} has {} dimensions (shape {shape:?}, components last), not {asked}; ask \
         for as many",
        shape.len()
    )]
    Dimensions {
        /// Name of the field.
        name: String,
        /// Shape of the field, components last.
        shape: Vec<usize>,
        /// Dimensions that were asked for.
        asked: usize,
    },
    /// The field is an array, not raw structures.
    #[error("field {name:?} is an array of {dtype}, not raw structures; ask for it with handle()")]
    NotRaw {
        /// Name of the field.
        name: String,
        /// Type of its elements.
        dtype: DType,
    },
    /// The field holds structures of another size or alignment.
    #[error("field {name:?} holds structures of {stored}, not of {asked}")]
    OtherStructure {
        /// Name of the field.
        name: String,
        /// The structures of the field.
        stored: Structure,
        /// The structures that were asked for.
        asked: Structure,
    },
    /// The field is handed over, so its handle cannot be asked for by name.
    #[error("field {name:?} is handed over: use the handle that handed_over().add() returned")]
    HandedOver {
        /// Name of the field.
        name: String,
    },
    /// The handle belongs to another producer.
    #[error("the handle belongs to another producer")]
    Foreign,
    /// The region is closed.
    #[error("the region is closed")]
    Closed,
    /// This process is a forked child of the producer.
    #[error(
        "this process is a fork of the producer: the region belongs to the parent; create another \
         one here"
    )]
    Forked,
    /// The field table cannot be encoded.
    #[error("the table of fields is too large: {0}")]
    Table(#[from] TableError),
    /// The encoded field table is too large.
    #[error(
        "the table of fields takes {bytes} bytes of at most {limit}; use fewer fields or shorter \
         attributes"
    )]
    TableSize {
        /// Bytes of the table.
        bytes: usize,
        /// Most bytes of a table.
        limit: usize,
    },
    /// The tracker could not map live memory.
    #[error("cannot map live memory: {0}")]
    Track(#[from] TrackError),
    /// Live memory could not be mapped.
    #[error("cannot map live memory: {0}")]
    Map(#[from] MapError),
    /// The buffer could not be made a handed-over one.
    #[error(transparent)]
    HandOver(#[from] HandOverError),
}

/// The size and alignment of a raw structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Bytes of one structure.
    pub size: usize,
    /// Alignment of its address in bytes.
    pub align: usize,
}

impl std::fmt::Display for Structure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes aligned to {}", self.size, self.align)
    }
}
