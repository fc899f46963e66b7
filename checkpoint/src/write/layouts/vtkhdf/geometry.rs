//! The geometry of a named mesh as VTK stores it.

use super::axis::Axis;
use super::explicit::Explicit;
use super::unstructured;
use crate::write::layouts::grid::{Grid, most_points};
use tcasm_core::field::{Centering, FieldDesc, FieldTable, Mesh, MeshDesc, MeshKind};

/// The geometry of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry<'t> {
    /// Points at equal distances.
    Image(Grid),
    /// Points with coordinates.
    Explicit(Box<Explicit<'t>>),
}

impl<'t> Geometry<'t> {
    /// Returns the geometry of `mesh`, which is a mesh of `table`. Fails with the reason why VTK
    /// cannot show it.
    pub fn of(table: &'t FieldTable, mesh: &'t MeshDesc) -> Result<Self, String> {
        let size = table.size_of(mesh).map_err(|e| e.to_string())?;
        let field = |name: &str| field(table, name);
        let explicit = match &mesh.kind {
            MeshKind::Uniform { .. } if size.points.is_empty() => {
                return Err("it has a single point".to_owned());
            }
            MeshKind::Uniform { .. } if size.is_empty() => {
                return Err("it is unused in this version".to_owned());
            }
            MeshKind::Uniform {
                points,
                origin,
                spacing,
            } => {
                let (origin, spacing) = (*origin, *spacing);
                let grid = Grid::of_mesh(*points, Mesh { origin, spacing });
                return Ok(Geometry::Image(grid));
            }
            MeshKind::Rectilinear { coordinates } => {
                unstructured::rectilinear(axes(table, coordinates)?)
            }
            MeshKind::Curvilinear { coordinates } => unstructured::curvilinear(field(coordinates)?),
            MeshKind::Unstructured { points, cells } => {
                unstructured::of(table, field(points)?, cells)?
            }
            MeshKind::Particles { positions } => Explicit::particles(field(positions)?),
        };
        Ok(Geometry::Explicit(Box::new(explicit)))
    }

    /// Does the same for a time series, in which a uniform mesh has points with coordinates if it
    /// may be without points in other versions: no image can be. The lengths of tables do not
    /// change its size.
    pub fn of_series(table: &'t FieldTable, mesh: &'t MeshDesc) -> Result<Self, String> {
        let is_variable = |f: &FieldDesc| f.capacity.is_some() && f.centering != Centering::None;
        let is_variable = table.fields_on(&mesh.name).any(is_variable);
        match mesh.kind {
            MeshKind::Uniform {
                points,
                origin,
                spacing,
            } if is_variable => {
                let grid = Grid::of_mesh(points, Mesh { origin, spacing });
                let most = most_points(table, &mesh.name, points);
                Ok(Geometry::Explicit(Box::new(unstructured::uniform(
                    &grid, most,
                ))))
            }
            _ => Geometry::of(table, mesh),
        }
    }
}

/// Returns the axes x, y and z with the coordinates of the fields `names`.
fn axes<'t>(table: &'t FieldTable, names: &[String]) -> Result<[Axis<'t>; 3], String> {
    let mut axes = [Axis::ABSENT; 3];
    for (axis, name) in axes.iter_mut().zip(names) {
        *axis = Axis::Field(field(table, name)?);
    }
    Ok(axes)
}

/// Returns the field called `name`.
fn field<'t>(table: &'t FieldTable, name: &str) -> Result<&'t FieldDesc, String> {
    let field = table.get(name);
    field.ok_or_else(|| format!("there is no field {name:?}"))
}
