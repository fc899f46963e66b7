//! The meshes of a version.

use crate::attrs::Attrs;
use crate::border::{Growing, Out, Plain, Sized, Text};
use crate::call::call;
use crate::handles::{Handle, give};
use crate::meshes::{
    TCASM_CURVILINEAR, TCASM_MIXED, TCASM_PARTICLES, TCASM_RECTILINEAR, TCASM_UNSTRUCTURED,
};
use crate::status::{Failure, TCASM_NOT_FOUND};
use crate::version::Version;
use std::ffi::{c_char, c_int};
use tcasm_core::field::{Cells, MeshDesc, MeshKind};

/// A mesh of points at equal distances along each axis. It has no geometry.
pub const TCASM_UNIFORM: c_int = 0;
/// The largest number of fields that are the geometry of a mesh.
pub const TCASM_MAX_GEOMETRY: usize = 4;

/// A mesh of a version. Its texts are valid until the version is released. Set `size` to
/// `sizeof(tcasm_mesh)` before the call (`tcasm_mesh m = TCASM_INIT(tcasm_mesh);`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tcasm_mesh {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The name.
    pub name: *const c_char,
    /// `TCASM_UNIFORM`, `TCASM_PARTICLES` and the like.
    pub kind: c_int,
    /// VTK's number of the cells of `TCASM_UNSTRUCTURED`, and 0 otherwise.
    pub cell_type: c_int,
    /// The number of fields that are the geometry.
    pub fields: usize,
    /// Their names, in the order that `tcasm_add_mesh` takes. The others are null.
    pub geometry: [*const c_char; TCASM_MAX_GEOMETRY],
    /// The number of points of a uniform mesh along x, y and z: 1 for an axis that it does not
    /// have. One of them is 0 if the mesh is unused in this version.
    pub points: [usize; 3],
    /// The coordinates of its first point.
    pub origin: [f64; 3],
    /// The distance of its points along each axis.
    pub spacing: [f64; 3],
    /// The name of the block-structured mesh of which this is a block, or null.
    pub of: *const c_char,
    /// The refinement level of the block.
    pub level: u32,
    /// How many cells a cell of the next coarser level has along x, y and z.
    pub refinement: [u32; 3],
    /// The index of the first cell of the block along x, y and z, in cells of its level.
    pub offset: [i64; 3],
}

impl Plain for tcasm_mesh {}
impl Growing for tcasm_mesh {
    const FIRST: usize = 184;
}

/// Stores the number of meshes.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_mesh_count(version: Handle<Version>, count: Out<usize>) -> c_int {
    call(|| {
        count.set(version.get()?.table().meshes.len());
        Ok(())
    })
}

/// Describes mesh `index`, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_mesh_at(
    version: Handle<Version>,
    index: usize,
    mesh: Sized<tcasm_mesh>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let meshes = &version.table().meshes;
        let absent = || {
            let text = format!("there is no mesh {index}: there are {}", meshes.len());
            Failure::new(TCASM_NOT_FOUND, text)
        };
        let desc = meshes.get(index).ok_or_else(absent)?;
        mesh.set(&described(&version, desc)?, "tcasm_mesh")
    })
}

/// Makes a list of the attributes of mesh `name`. `tcasm_attrs_free` ends it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_mesh_attrs(
    version: Handle<Version>,
    name: Text,
    attrs: Out<Handle<Attrs>>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let name = name.get("the name of the mesh")?;
        let found = version.table().meshes.iter().find(|mesh| mesh.name == name);
        let absent = || Failure::new(TCASM_NOT_FOUND, format!("there is no mesh {name:?}"));
        let values = found.ok_or_else(absent)?.attrs.clone();
        give(&attrs, || Ok(Attrs::new(values)))
    })
}

fn described(version: &Version, desc: &MeshDesc) -> Result<tcasm_mesh, Failure> {
    let (kind, cell_type) = numbers(&desc.kind);
    let mut mesh = tcasm_mesh {
        size: size_of::<tcasm_mesh>(),
        name: version.pointer(&desc.name),
        kind,
        cell_type,
        fields: 0,
        geometry: [std::ptr::null(); TCASM_MAX_GEOMETRY],
        points: [0; 3],
        origin: [0.0; 3],
        spacing: [0.0; 3],
        of: std::ptr::null(),
        level: 0,
        refinement: [0; 3],
        offset: [0; 3],
    };
    if let MeshKind::Uniform {
        points,
        origin,
        spacing,
    } = desc.kind
    {
        (mesh.points, mesh.origin, mesh.spacing) = (points, origin, spacing);
    }
    if let Some(block) = &desc.block {
        mesh.of = version.pointer(&block.of);
        (mesh.level, mesh.refinement, mesh.offset) = (block.level, block.refinement, block.offset);
    }
    let geometry = desc.geometry();
    mesh.fields = geometry.len();
    if mesh.fields > TCASM_MAX_GEOMETRY {
        let text = format!(
            "mesh {:?} has a geometry of {} fields",
            desc.name, mesh.fields
        );
        return Err(Failure::other(text));
    }
    for (to, name) in mesh.geometry.iter_mut().zip(geometry) {
        *to = version.pointer(name);
    }
    Ok(mesh)
}

/// Returns the numbers of the kind and of the type of all cells.
fn numbers(kind: &MeshKind) -> (c_int, c_int) {
    match kind {
        MeshKind::Uniform { .. } => (TCASM_UNIFORM, 0),
        MeshKind::Rectilinear { .. } => (TCASM_RECTILINEAR, 0),
        MeshKind::Curvilinear { .. } => (TCASM_CURVILINEAR, 0),
        MeshKind::Particles { .. } => (TCASM_PARTICLES, 0),
        MeshKind::Unstructured { cells, .. } => match cells {
            Cells::Same { cell_type, .. } => (TCASM_UNSTRUCTURED, c_int::from(cell_type.0)),
            Cells::Mixed { .. } => (TCASM_MIXED, 0),
        },
    }
}
