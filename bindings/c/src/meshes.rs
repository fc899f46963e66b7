//! Named meshes, which fields can be on.

use crate::attrs::{Attrs, values};
use crate::border::{Count, List, Text};
use crate::call::call;
use crate::handles::Handle;
use crate::producer::Producer;
use crate::status::{Failure, TCASM_NOT_FOUND};
use std::ffi::{c_char, c_int};
use tcasm_core::field::{Block, CellType, Cells, MeshDesc, MeshKind};

/// A mesh whose axes have coordinates of their own. Its geometry is one to three fields of one
/// dimension: the coordinates along x, y and z.
pub const TCASM_RECTILINEAR: c_int = 1;
/// A structured grid of points. Its geometry is a field of three components.
pub const TCASM_CURVILINEAR: c_int = 2;
/// Particles. Their geometry is a field of one dimension and one to three components, the
/// positions.
pub const TCASM_PARTICLES: c_int = 3;
/// Points, and cells of one type between them. Its geometry is a field of one dimension and three
/// components, the points; and an integer field of one dimension, whose components are the points
/// of a cell in VTK's order.
pub const TCASM_UNSTRUCTURED: c_int = 4;
/// Points, and cells of several types. Its geometry is the points; the points of all cells, one
/// cell after the other; the place there at which each cell begins, and the end; and the VTK type
/// of each cell, a field of `TCASM_U8`.
pub const TCASM_MIXED: c_int = 5;

/// Adds a uniform mesh: the number of points, the coordinates of the first point, and the distance
/// of neighbours, each along x, y and z. Axes that the mesh does not have have 1 point. `attrs` may
/// be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_add_uniform_mesh(
    producer: Handle<Producer>,
    name: Text,
    points: List<usize>,
    origin: List<f64>,
    spacing: List<f64>,
    attrs: Handle<Attrs>,
) -> c_int {
    call(|| {
        let kind = uniform(&points, &origin, &spacing)?;
        add(producer, &name, kind, None, attrs)
    })
}

/// Adds a mesh of another kind: `TCASM_PARTICLES` and the like. `geometry` has the names of
/// `fields` fields, which must exist. `cell_type` is VTK's number of the cells of
/// `TCASM_UNSTRUCTURED`, and 0 otherwise. `attrs` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_add_mesh(
    producer: Handle<Producer>,
    name: Text,
    kind: c_int,
    fields: Count,
    geometry: List<*const c_char>,
    cell_type: u8,
    attrs: Handle<Attrs>,
) -> c_int {
    call(|| {
        let geometry = geometry.texts(&fields, "the geometry")?;
        let kind = described(kind, &geometry, cell_type)?;
        add(producer, &name, kind, None, attrs)
    })
}

/// Gives a uniform mesh other points, another origin and another spacing from the next version on.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_uniform_mesh(
    producer: Handle<Producer>,
    name: Text,
    points: List<usize>,
    origin: List<f64>,
    spacing: List<f64>,
) -> c_int {
    call(|| {
        let kind = uniform(&points, &origin, &spacing)?;
        change(producer, &name, |mesh| mesh.kind = kind)
    })
}

/// Adds a uniform mesh (as `tcasm_add_uniform_mesh`) that is a block of the block-structured mesh
/// `of`: its refinement level, how many cells a cell of the next coarser level has along x, y and
/// z, and the index of its first cell along x, y and z in cells of its level.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_add_block(
    producer: Handle<Producer>,
    name: Text,
    points: List<usize>,
    origin: List<f64>,
    spacing: List<f64>,
    of: Text,
    level: u32,
    refinement: List<u32>,
    offset: List<i64>,
    attrs: Handle<Attrs>,
) -> c_int {
    call(|| {
        let kind = uniform(&points, &origin, &spacing)?;
        let place = block(&of, level, &refinement, &offset)?;
        add(producer, &name, kind, Some(place), attrs)
    })
}

/// Gives a mesh that was added as a block another level, refinement and offset from the next
/// version on. It stays a block of the same mesh `of`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_block(
    producer: Handle<Producer>,
    name: Text,
    of: Text,
    level: u32,
    refinement: List<u32>,
    offset: List<i64>,
) -> c_int {
    call(|| {
        let place = block(&of, level, &refinement, &offset)?;
        change(producer, &name, |mesh| mesh.block = Some(place))
    })
}

fn block(
    of: &Text,
    level: u32,
    refinement: &List<u32>,
    offset: &List<i64>,
) -> Result<Block, Failure> {
    Ok(Block {
        of: of.get("the name of the block-structured mesh")?.to_owned(),
        level,
        refinement: refinement.array("the refinement")?,
        offset: offset.array("the offset")?,
    })
}

/// Makes a uniform mesh unused from the next version on, with the variable fields on it.
/// `tcasm_set_uniform_mesh` uses it again.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_unused(producer: Handle<Producer>, name: Text) -> c_int {
    call(|| {
        let name = name.get("the name of the mesh")?;
        producer.with(|p| {
            let mesh = p.mesh_handle(name)?;
            p.set_unused(&mesh)
        })
    })
}

fn uniform(
    points: &List<usize>,
    origin: &List<f64>,
    spacing: &List<f64>,
) -> Result<MeshKind, Failure> {
    Ok(MeshKind::Uniform {
        points: points.array("the numbers of points")?,
        origin: origin.array("the origin")?,
        spacing: spacing.array("the spacing")?,
    })
}

fn described(kind: c_int, geometry: &[&str], cell_type: u8) -> Result<MeshKind, Failure> {
    let own = |name: &&str| (*name).to_owned();
    Ok(match (kind, geometry) {
        (TCASM_RECTILINEAR, [_, ..]) => MeshKind::Rectilinear {
            coordinates: geometry.iter().map(own).collect(),
        },
        (TCASM_CURVILINEAR, [coordinates]) => MeshKind::Curvilinear {
            coordinates: own(coordinates),
        },
        (TCASM_PARTICLES, [positions]) => MeshKind::Particles {
            positions: own(positions),
        },
        (TCASM_UNSTRUCTURED, [points, connectivity]) => MeshKind::Unstructured {
            points: own(points),
            cells: Cells::Same {
                cell_type: CellType(cell_type),
                connectivity: own(connectivity),
            },
        },
        (TCASM_MIXED, [points, connectivity, offsets, types]) => MeshKind::Unstructured {
            points: own(points),
            cells: Cells::Mixed {
                connectivity: own(connectivity),
                offsets: own(offsets),
                types: own(types),
            },
        },
        _ => {
            let count = geometry.len();
            let text = format!("no mesh of kind {kind} has a geometry of {count} fields");
            return Err(Failure::argument(text));
        }
    })
}

fn add(
    producer: Handle<Producer>,
    name: &Text,
    kind: MeshKind,
    block: Option<Block>,
    attrs: Handle<Attrs>,
) -> Result<(), Failure> {
    let mesh = MeshDesc {
        name: name.get("the name of the mesh")?.to_owned(),
        kind,
        block,
        attrs: values(attrs)?,
    };
    producer.with(|p| p.define_mesh(&mesh).map(drop))
}

fn change(
    producer: Handle<Producer>,
    name: &Text,
    change: impl FnOnce(&mut MeshDesc),
) -> Result<(), Failure> {
    let name = name.get("the name of the mesh")?;
    producer.with(|p| {
        let mut mesh = p.mesh_description(name).cloned().ok_or_else(|| {
            Failure::new(
                TCASM_NOT_FOUND,
                format!("there is no mesh {name:?}; add it first"),
            )
        })?;
        change(&mut mesh);
        p.redefine_meshes(&[mesh]).map_err(Failure::from)
    })
}
