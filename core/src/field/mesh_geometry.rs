//! The check that the fields that are the geometry of a mesh can be that.

use super::cell::CellType;
use super::desc::{FieldDesc, Kind};
use super::dtype::DType;
use super::mesh::Mesh;
use super::mesh_desc::{Cells, MeshDesc, MeshKind};
use super::mesh_error::MeshDescError;
use super::mesh_size::{Find, geometry_field};

/// A requirement on a field that is a part of the geometry.
struct Need {
    part: &'static str,
    fits: fn(&FieldDesc) -> bool,
    /// The requirement as users read it.
    text: &'static str,
}

const AXIS: Need = Need {
    part: "coordinates along an axis",
    fits: |f| is_list(f) && is_float(f.dtype) && f.components == 1,
    text: "give floats, and one dimension without components or ghost layers",
};

const GRID: Need = Need {
    part: "coordinates",
    fits: |f| {
        let axes = (1..=3).contains(&f.shape.len());
        f.kind == Kind::Array && axes && is_float(f.dtype) && f.components == 3
    },
    text: "give floats, 1 to 3 dimensions, and 3 components",
};

const POINTS: Need = Need {
    part: "points",
    fits: |f| is_list(f) && is_float(f.dtype) && f.components == 3,
    text: "give floats, one dimension without ghost layers, and 3 components",
};

const POSITIONS: Need = Need {
    part: "positions",
    fits: |f| is_list(f) && is_float(f.dtype) && (1..=3).contains(&f.components),
    text: "give floats, one dimension without ghost layers, and 1 to 3 components",
};

const CONNECTIVITY: Need = Need {
    part: "connectivity",
    ..OFFSETS
};

const OFFSETS: Need = Need {
    part: "offsets",
    fits: |f| is_list(f) && is_integer(f.dtype) && f.components == 1,
    text: "give integers of 32 or 64 bits, and one dimension without components or ghost layers",
};

const TYPES: Need = Need {
    part: "cell types",
    fits: |f| is_list(f) && f.dtype == DType::U8 && f.components == 1,
    text: "give u8, and one dimension without components or ghost layers",
};

/// Checks the geometry of `mesh`, whose fields `find` finds.
pub(super) fn check_geometry(mesh: &MeshDesc, find: Find<'_, '_>) -> Result<(), MeshDescError> {
    let part = |name: &str, need: &Need| check_part(mesh, name, need, find).map(drop);
    match &mesh.kind {
        MeshKind::Uniform {
            points,
            origin,
            spacing,
        } => {
            let (origin, spacing) = (*origin, *spacing);
            check_uniform(mesh, *points, Mesh { origin, spacing })
        }
        MeshKind::Rectilinear { coordinates } => {
            check_axes(mesh, coordinates.len())?;
            coordinates.iter().try_for_each(|c| part(c, &AXIS))
        }
        MeshKind::Curvilinear { coordinates } => part(coordinates, &GRID),
        MeshKind::Unstructured { points, cells } => {
            part(points, &POINTS)?;
            check_cells(mesh, cells, find)
        }
        MeshKind::Particles { positions } => part(positions, &POSITIONS),
    }
}

/// Checks that the field called `name` meets a requirement. Returns the field.
fn check_part<'t>(
    mesh: &MeshDesc,
    name: &str,
    need: &Need,
    find: Find<'_, 't>,
) -> Result<&'t FieldDesc, MeshDescError> {
    let field = geometry_field(mesh, name, find)?;
    match (need.fits)(field) {
        true => Ok(field),
        false => Err(geometry(mesh, name, need.part, need.text)),
    }
}

fn check_uniform(mesh: &MeshDesc, points: [usize; 3], grid: Mesh) -> Result<(), MeshDescError> {
    grid.check().map_err(|source| MeshDescError::Uniform {
        mesh: mesh.name.clone(),
        source,
    })?;
    match has_axes(points) {
        true => Ok(()),
        false => {
            let why = format!(
                "it has {points:?} points along x, y and z; give at least 1 each, or 0 along the \
                 slowest axis if the mesh is unused"
            );
            Err(points_error(mesh, why))
        }
    }
}

/// Returns true if there are points along each axis, except perhaps the slowest one that the mesh
/// has. So the extents of an unused mesh along its other axes are known.
fn has_axes(points: [usize; 3]) -> bool {
    let slowest = points.iter().rposition(|n| *n != 1);
    let others = slowest.map_or(&points[..], |slowest| &points[..slowest]);
    !others.contains(&0)
}

fn check_axes(mesh: &MeshDesc, axes: usize) -> Result<(), MeshDescError> {
    match (1..=3).contains(&axes) {
        true => Ok(()),
        false => {
            let why = format!("it has coordinates along {axes} axes; give them along 1 to 3");
            Err(points_error(mesh, why))
        }
    }
}

fn check_cells(mesh: &MeshDesc, cells: &Cells, find: Find<'_, '_>) -> Result<(), MeshDescError> {
    match cells {
        Cells::Same {
            cell_type,
            connectivity,
        } => check_same(mesh, *cell_type, geometry_field(mesh, connectivity, find)?),
        Cells::Mixed {
            connectivity,
            offsets,
            types,
        } => {
            check_part(mesh, connectivity, &CONNECTIVITY, find)?;
            let offsets = check_part(mesh, offsets, &OFFSETS, find)?;
            check_offsets(mesh, offsets, check_part(mesh, types, &TYPES, find)?)
        }
    }
}

/// Checks that there is an offset for each cell, and one for the end.
fn check_offsets(
    mesh: &MeshDesc,
    offsets: &FieldDesc,
    types: &FieldDesc,
) -> Result<(), MeshDescError> {
    match offsets.shape[0] == types.shape[0] + 1 {
        true => Ok(()),
        false => {
            let need = format!(
                "it has {} values, but {} cells need one more than there are cells",
                offsets.shape[0], types.shape[0]
            );
            Err(geometry(mesh, &offsets.name, "offsets", &need))
        }
    }
}

/// Checks that the components of `connectivity` can be the points of cells of one type.
fn check_same(
    mesh: &MeshDesc,
    cell_type: CellType,
    connectivity: &FieldDesc,
) -> Result<(), MeshDescError> {
    let Some(points) = cell_type.points() else {
        let why = format!("VTK's cell type {} is not supported", cell_type.0);
        return Err(points_error(mesh, why));
    };
    let is_indices = is_list(connectivity) && is_integer(connectivity.dtype);
    match is_indices && connectivity.components == points {
        true => Ok(()),
        false => {
            let need = format!(
                "give integers of 32 or 64 bits, one dimension without ghost layers, and {points} \
                 components, the points of a cell of VTK's type {}",
                cell_type.0
            );
            Err(geometry(mesh, &connectivity.name, "connectivity", &need))
        }
    }
}

fn is_list(f: &FieldDesc) -> bool {
    f.kind == Kind::Array && f.shape.len() == 1 && !f.has_ghosts()
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

fn is_integer(dtype: DType) -> bool {
    matches!(dtype, DType::I32 | DType::I64 | DType::U32 | DType::U64)
}

/// Returns the error of a field that cannot be `part` of the geometry.
pub(super) fn geometry(
    mesh: &MeshDesc,
    field: &str,
    part: &'static str,
    need: &str,
) -> MeshDescError {
    MeshDescError::Geometry {
        mesh: mesh.name.clone(),
        field: field.to_owned(),
        part,
        need: need.to_owned(),
    }
}

/// Returns the error of a mesh with a number that it cannot have.
pub(super) fn points_error(mesh: &MeshDesc, why: String) -> MeshDescError {
    MeshDescError::Points {
        mesh: mesh.name.clone(),
        why,
    }
}
