//! The check that the meshes of a table agree with its fields.

use super::cell::CellType;
use super::desc::{Centering, FieldDesc, Kind, Order, valid_name};
use super::dtype::DType;
use super::mesh::{Mesh, MeshError};
use super::mesh_desc::{Cells, MeshDesc, MeshKind};
use super::table::FieldTable;
use thiserror::Error;

/// The size of a mesh in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshSize {
    /// The extents of a field on the points, slowest axis first: (z, y, x) of a structured mesh
    /// without the axes that it does not have, or the number of points.
    pub points: Vec<usize>,
    /// The extents of a field in the cells, slowest axis first, or the number of cells. Particles
    /// have no cells: 0.
    pub cells: Vec<usize>,
}

/// The reason why a mesh, or a field on it, cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum MeshDescError {
    /// The name is not a valid one.
    #[error("mesh name {0:?} is not usable: use 1 to 128 characters out of A-Z a-z 0-9 _ -")]
    Name(String),
    /// Two meshes, or a mesh and a field, have the same name.
    #[error("{0:?} is the name of two meshes, or of a mesh and a field; choose another")]
    Twice(String),
    /// A field names a mesh that there is not.
    #[error("field {field:?} is on mesh {mesh:?}, which the region does not have")]
    NoMesh {
        /// The name of the field.
        field: String,
        /// The name of the mesh.
        mesh: String,
    },
    /// A mesh names a field that there is not.
    #[error("mesh {mesh:?} has the geometry {field:?}, which is not a field of the region")]
    NoField {
        /// The name of the mesh.
        mesh: String,
        /// The name of the field.
        field: String,
    },
    /// A field cannot be the geometry for which a mesh has it.
    #[error("field {field:?} cannot be the {part} of mesh {mesh:?}: {need}")]
    Geometry {
        /// The name of the mesh.
        mesh: String,
        /// The name of the field.
        field: String,
        /// The part of the geometry.
        part: &'static str,
        /// The requirement that the field does not meet.
        need: String,
    },
    /// A uniform mesh has an origin or a spacing that cannot be used.
    #[error("mesh {mesh:?}: {source}")]
    Uniform {
        /// The name of the mesh.
        mesh: String,
        /// The reason.
        source: MeshError,
    },
    /// A mesh has the wrong number of points or coordinates.
    #[error("mesh {mesh:?}: {why}")]
    Points {
        /// The name of the mesh.
        mesh: String,
        /// The reason.
        why: String,
    },
    /// The shape of a field does not agree with the size of its mesh.
    #[error(
        "field {field:?} has shape {have:?} (slowest axis first, without ghost layers), but mesh \
         {mesh:?} has {need:?} {at}"
    )]
    Shape {
        /// The name of the field.
        field: String,
        /// The name of the mesh.
        mesh: String,
        /// The extents of the field.
        have: Vec<usize>,
        /// The extents of the mesh.
        need: Vec<usize>,
        /// `points` or `cells`.
        at: &'static str,
    },
}

impl FieldTable {
    /// Returns the mesh called `name`.
    pub fn mesh(&self, name: &str) -> Option<&MeshDesc> {
        self.meshes.iter().find(|m| m.name == name)
    }

    /// Returns the named mesh that `field` is on.
    pub fn mesh_of(&self, field: &FieldDesc) -> Option<&MeshDesc> {
        self.mesh(field.on.as_deref()?)
    }

    /// Returns the fields on the mesh called `name`, without its geometry.
    pub fn fields_on<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a FieldDesc> + 'a {
        let on = move |f: &&FieldDesc| f.on.as_deref() == Some(name);
        self.fields.iter().filter(on)
    }

    /// Returns the mesh whose geometry the field called `name` is.
    pub fn geometry_of(&self, name: &str) -> Option<&MeshDesc> {
        self.meshes.iter().find(|m| m.geometry().contains(&name))
    }

    /// Returns the size of `mesh` in this version.
    pub fn size_of(&self, mesh: &MeshDesc) -> Result<MeshSize, MeshDescError> {
        let field = |name: &str| self.geometry_field(mesh, name);
        match &mesh.kind {
            MeshKind::Uniform { points, .. } => {
                let [x, y, z] = *points;
                Ok(structured([z, y, x].into_iter().skip_while(|n| *n == 1)))
            }
            MeshKind::Rectilinear { coordinates } => {
                let points = coordinates.iter().rev().map(|c| Ok(field(c)?.shape[0]));
                Ok(structured(points.collect::<Result<Vec<_>, _>>()?))
            }
            MeshKind::Curvilinear { coordinates } => {
                Ok(structured(slowest_first(field(coordinates)?)))
            }
            MeshKind::Unstructured { points, cells } => Ok(MeshSize {
                points: vec![field(points)?.shape[0]],
                cells: vec![match cells {
                    Cells::Same { connectivity, .. } => field(connectivity)?.shape[0],
                    Cells::Mixed { types, .. } => field(types)?.shape[0],
                }],
            }),
            MeshKind::Particles { positions } => Ok(MeshSize {
                points: vec![field(positions)?.shape[0]],
                cells: vec![0],
            }),
        }
    }

    /// Checks that each mesh has a name of its own and geometry that fits, and that the fields on
    /// meshes have their sizes.
    pub fn check_meshes(&self) -> Result<(), MeshDescError> {
        let mut names = std::collections::HashSet::new();
        for mesh in &self.meshes {
            if !valid_name(&mesh.name) {
                return Err(MeshDescError::Name(mesh.name.clone()));
            }
            if !names.insert(&mesh.name) || self.get(&mesh.name).is_some() {
                return Err(MeshDescError::Twice(mesh.name.clone()));
            }
            self.check_geometry(mesh)?;
        }
        self.fields.iter().try_for_each(|f| self.check_on_mesh(f))
    }

    fn check_geometry(&self, mesh: &MeshDesc) -> Result<(), MeshDescError> {
        let part = |name: &'_ str, part, fits: fn(&FieldDesc) -> bool, need: &str| {
            let field = self.geometry_field(mesh, name)?;
            match fits(field) && field.kind == Kind::Array {
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

    fn geometry_field(&self, mesh: &MeshDesc, name: &str) -> Result<&FieldDesc, MeshDescError> {
        self.get(name)
            .filter(|f| !f.shape.is_empty())
            .ok_or_else(|| MeshDescError::NoField {
                mesh: mesh.name.clone(),
                field: name.to_owned(),
            })
    }
}

/// Returns the size of a structured mesh with `points` along its axes, slowest first.
fn structured(points: impl IntoIterator<Item = usize>) -> MeshSize {
    let points: Vec<usize> = points.into_iter().collect();
    let cells = points.iter().map(|n| n.saturating_sub(1).max(1));
    MeshSize {
        cells: cells.collect(),
        points,
    }
}

/// Returns the extents of the interior of `field`, slowest axis first.
fn slowest_first(field: &FieldDesc) -> Vec<usize> {
    let mut shape = field.interior_shape();
    if field.order == Order::F {
        shape.reverse();
    }
    shape
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
    match points.contains(&0) {
        false => Ok(()),
        true => {
            let why = format!("it has {points:?} points along x, y and z; give at least 1 each");
            Err(points_error(mesh, why))
        }
    }
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
    let integers = is_integer(connectivity.dtype) && connectivity.shape.len() == 1;
    match integers && connectivity.kind == Kind::Array && connectivity.components == points {
        true => Ok(()),
        false => {
            let need = format!(
                "give integers, one dimension, and {points} components, the points of a cell of \
                 VTK's type {}",
                cell_type.0
            );
            Err(geometry(mesh, &connectivity.name, "connectivity", &need))
        }
    }
}

const AXIS: &str = "give floats, and one dimension without components";
const GRID: &str = "give floats, 1 to 3 dimensions, and 3 components";
const POINTS: &str = "give floats, one dimension, and 3 components";
const POSITIONS: &str = "give floats, one dimension, and 1 to 3 components";
const INDICES: &str = "give integers, and one dimension without components";
const TYPES: &str = "give u8, and one dimension without components";

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

fn is_integer(dtype: DType) -> bool {
    matches!(dtype, DType::I32 | DType::I64 | DType::U32 | DType::U64)
}

fn is_axis(f: &FieldDesc) -> bool {
    is_float(f.dtype) && f.shape.len() == 1 && f.components == 1 && !f.has_ghosts()
}

fn is_grid(f: &FieldDesc) -> bool {
    is_float(f.dtype) && (1..=3).contains(&f.shape.len()) && f.components == 3
}

fn is_points(f: &FieldDesc) -> bool {
    is_float(f.dtype) && f.shape.len() == 1 && f.components == 3 && !f.has_ghosts()
}

fn is_positions(f: &FieldDesc) -> bool {
    let components = (1..=3).contains(&f.components);
    is_float(f.dtype) && f.shape.len() == 1 && components && !f.has_ghosts()
}

fn is_indices(f: &FieldDesc) -> bool {
    is_integer(f.dtype) && f.shape.len() == 1 && f.components == 1 && f.kind == Kind::Array
}

fn is_types(f: &FieldDesc) -> bool {
    f.dtype == DType::U8 && f.shape.len() == 1 && f.components == 1 && f.kind == Kind::Array
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
