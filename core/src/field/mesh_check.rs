//! The check that the meshes of a table agree with its fields.

use super::cell::CellType;
use super::desc::{Centering, FieldDesc, Kind, valid_name};
use super::dtype::DType;
use super::mesh::Mesh;
use super::mesh_desc::{Block, Cells, MeshDesc, MeshKind};
use super::mesh_error::MeshDescError;
use super::mesh_size::slowest_first;
use super::table::FieldTable;
use std::collections::{HashMap, HashSet};

impl FieldTable {
    /// Checks that each mesh has a name of its own and geometry that fits, and that the fields on
    /// meshes have their sizes, and are each a quantity of its own. The fields must have passed
    /// [`FieldDesc::check`].
    pub fn check_meshes(&self) -> Result<(), MeshDescError> {
        let mut names = HashSet::new();
        for mesh in &self.meshes {
            if !valid_name(&mesh.name) {
                return Err(MeshDescError::Name(mesh.name.clone()));
            }
            if !names.insert(&mesh.name) || self.get(&mesh.name).is_some() {
                return Err(MeshDescError::Twice(mesh.name.clone()));
            }
            mesh.block
                .as_ref()
                .map_or(Ok(()), |b| check_block(mesh, b))?;
            self.check_geometry(mesh)?;
        }
        self.fields.iter().try_for_each(|f| self.check_on_mesh(f))?;
        self.check_quantities()
    }

    fn check_geometry(&self, mesh: &MeshDesc) -> Result<(), MeshDescError> {
        let part = |name: &'_ str, part, fits: fn(&FieldDesc) -> bool, need: &str| {
            let field = self.geometry_field(mesh, name)?;
            match fits(field) {
                true => Ok(()),
                false => Err(geometry(mesh, name, part, need)),
            }
        };
        match &mesh.kind {
            MeshKind::Uniform {
                points,
                origin,
                spacing,
            } => check_uniform(mesh, *points, *origin, *spacing),
            MeshKind::Rectilinear { coordinates } => {
                if !(1..=3).contains(&coordinates.len()) {
                    let why = format!(
                        "it has coordinates along {} axes, not 1 to 3",
                        coordinates.len()
                    );
                    return Err(points_error(mesh, why));
                }
                coordinates
                    .iter()
                    .try_for_each(|c| part(c, "coordinates along an axis", is_axis, AXIS))
            }
            MeshKind::Curvilinear { coordinates } => {
                part(coordinates, "coordinates", is_grid, GRID)
            }
            MeshKind::Unstructured { points, cells } => {
                part(points, "points", is_points, POINTS)?;
                self.check_cells(mesh, cells)
            }
            MeshKind::Particles { positions } => {
                part(positions, "positions", is_positions, POSITIONS)
            }
        }
    }

    fn check_cells(&self, mesh: &MeshDesc, cells: &Cells) -> Result<(), MeshDescError> {
        let field = |name: &str| self.geometry_field(mesh, name);
        match cells {
            Cells::Same {
                cell_type,
                connectivity,
            } => check_same(mesh, *cell_type, field(connectivity)?),
            Cells::Mixed {
                connectivity,
                offsets,
                types,
            } => {
                for (name, part) in [(connectivity, "connectivity"), (offsets, "offsets")] {
                    if !is_indices(field(name)?) {
                        return Err(geometry(mesh, name, part, INDICES));
                    }
                }
                let (types, offsets) = (field(types)?, field(offsets)?);
                if !is_types(types) {
                    return Err(geometry(mesh, &types.name, "cell types", TYPES));
                }
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
        }
    }

    /// Checks that the shape of `field` agrees with the size of the mesh that it is on.
    fn check_on_mesh(&self, field: &FieldDesc) -> Result<(), MeshDescError> {
        let Some(name) = &field.on else {
            return Ok(());
        };
        let mesh = self.mesh(name).ok_or_else(|| MeshDescError::NoMesh {
            field: field.name.clone(),
            mesh: name.clone(),
        })?;
        if mesh.geometry().contains(&field.name.as_str()) {
            return Err(geometry(mesh, &field.name, "geometry", "put it on no mesh"));
        }
        let size = self.size_of(mesh)?;
        let (need, at) = match field.centering {
            Centering::Point => (size.points, "points"),
            Centering::Cell => (size.cells, "cells"),
            Centering::None => return Ok(()),
        };
        let have = slowest_first(field);
        match have == need && field.kind == Kind::Array {
            true => Ok(()),
            false => Err(MeshDescError::Shape {
                field: field.name.clone(),
                mesh: name.clone(),
                have,
                need,
                at,
            }),
        }
    }

    /// Checks that no two fields at the same places of a mesh are the same quantity.
    fn check_quantities(&self) -> Result<(), MeshDescError> {
        let mut seen = HashMap::new();
        for field in &self.fields {
            let Some(mesh) = &field.on else {
                continue;
            };
            let place = (mesh, field.centering, field.quantity());
            if let Some(other) = seen.insert(place, &field.name) {
                return Err(MeshDescError::Quantity {
                    mesh: mesh.clone(),
                    quantity: field.quantity().to_owned(),
                    fields: [other.clone(), field.name.clone()],
                });
            }
        }
        Ok(())
    }
}

fn check_block(mesh: &MeshDesc, block: &Block) -> Result<(), MeshDescError> {
    let why = if !valid_name(&block.of) {
        "use 1 to 128 characters out of A-Z a-z 0-9 _ - for its name".to_owned()
    } else if block.refinement.contains(&0) {
        let refinement = block.refinement;
        format!("its refinement along x, y and z is {refinement:?}; give at least 1 each")
    } else {
        return Ok(());
    };
    Err(MeshDescError::Block {
        mesh: mesh.name.clone(),
        of: block.of.clone(),
        why,
    })
}

fn check_uniform(
    mesh: &MeshDesc,
    points: [usize; 3],
    origin: [f64; 3],
    spacing: [f64; 3],
) -> Result<(), MeshDescError> {
    let checked = Mesh { origin, spacing }.check();
    checked.map_err(|source| MeshDescError::Uniform {
        mesh: mesh.name.clone(),
        source,
    })?;
    let all = points
        .iter()
        .try_fold(1, |all: usize, n| all.checked_mul(*n));
    let why = match all {
        Some(0) => "give at least 1 each",
        Some(all) if all <= isize::MAX as usize => return Ok(()),
        _ => "no field could have as many values",
    };
    let why = format!("it has {points:?} points along x, y and z; {why}");
    Err(points_error(mesh, why))
}

fn check_same(
    mesh: &MeshDesc,
    cell_type: CellType,
    connectivity: &FieldDesc,
) -> Result<(), MeshDescError> {
    let Some(points) = cell_type.points() else {
        let why = format!("VTK's cell type {} is not supported", cell_type.0);
        return Err(points_error(mesh, why));
    };
    match is_list(connectivity)
        && is_integer(connectivity.dtype)
        && connectivity.components == points
    {
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

const AXIS: &str = "give floats, and one dimension without components or ghost layers";
const GRID: &str = "give floats, 1 to 3 dimensions, and 3 components";
const POINTS: &str = "give floats, one dimension without ghost layers, and 3 components";
const POSITIONS: &str = "give floats, one dimension without ghost layers, and 1 to 3 components";
const INDICES: &str = "give integers of 32 or 64 bits, and one dimension without components or \
                       ghost layers";
const TYPES: &str = "give u8, and one dimension without components or ghost layers";

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

fn is_integer(dtype: DType) -> bool {
    matches!(dtype, DType::I32 | DType::I64 | DType::U32 | DType::U64)
}

fn is_list(f: &FieldDesc) -> bool {
    f.kind == Kind::Array && f.shape.len() == 1 && !f.has_ghosts()
}

fn is_axis(f: &FieldDesc) -> bool {
    is_list(f) && is_float(f.dtype) && f.components == 1
}

fn is_grid(f: &FieldDesc) -> bool {
    let axes = (1..=3).contains(&f.shape.len());
    f.kind == Kind::Array && axes && is_float(f.dtype) && f.components == 3
}

fn is_points(f: &FieldDesc) -> bool {
    is_list(f) && is_float(f.dtype) && f.components == 3
}

fn is_positions(f: &FieldDesc) -> bool {
    is_list(f) && is_float(f.dtype) && (1..=3).contains(&f.components)
}

fn is_indices(f: &FieldDesc) -> bool {
    is_list(f) && is_integer(f.dtype) && f.components == 1
}

fn is_types(f: &FieldDesc) -> bool {
    is_list(f) && f.dtype == DType::U8 && f.components == 1
}

fn geometry(mesh: &MeshDesc, field: &str, part: &'static str, need: &str) -> MeshDescError {
    MeshDescError::Geometry {
        mesh: mesh.name.clone(),
        field: field.to_owned(),
        part,
        need: need.to_owned(),
    }
}

fn points_error(mesh: &MeshDesc, why: String) -> MeshDescError {
    MeshDescError::Points {
        mesh: mesh.name.clone(),
        why,
    }
}
