//! The geometry of a named mesh as VTK stores it.

use super::axis::Axis;
use super::explicit::Explicit;
use super::unstructured;
use crate::write::layouts::grid::Grid;
use tcasm_core::field::{FieldDesc, FieldTable, Mesh, MeshDesc, MeshKind};

/// The geometry of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry<'t> {
    /// Points at equal distances.
    Image(Grid),
    /// Points with coordinates.
    Explicit(Explicit<'t>),
}

impl<'t> Geometry<'t> {
    /// Returns the geometry of `mesh`, which is a mesh of `table`. Fails with the reason why VTK
    /// cannot show it.
    pub fn of(table: &'t FieldTable, mesh: &'t MeshDesc) -> Result<Self, String> {
        let size = table.size_of(mesh).map_err(|e| e.to_string())?;
        let field = |name: &str| field(table, name);
        Ok(match &mesh.kind {
            MeshKind::Uniform { .. } if size.points.is_empty() => {
                return Err("it has a single point".to_owned());
            }
            MeshKind::Uniform {
                points,
                origin,
                spacing,
            } => {
                let (origin, spacing) = (*origin, *spacing);
                Geometry::Image(Grid::of_mesh(*points, Mesh { origin, spacing }))
            }
            MeshKind::Rectilinear { coordinates } => {
                let mut axes = [Axis::ABSENT; 3];
                for (axis, name) in axes.iter_mut().zip(coordinates) {
                    *axis = Axis::Field(field(name)?);
                }
                Geometry::Explicit(unstructured::rectilinear(axes))
            }
            MeshKind::Curvilinear { coordinates } => {
                Geometry::Explicit(unstructured::curvilinear(field(coordinates)?))
            }
            MeshKind::Unstructured { points, cells } => {
                Geometry::Explicit(unstructured::of(table, field(points)?, cells)?)
            }
            MeshKind::Particles { positions } => {
                Geometry::Explicit(Explicit::particles(field(positions)?))
            }
        })
    }
}

/// Returns the field called `name`.
fn field<'t>(table: &'t FieldTable, name: &str) -> Result<&'t FieldDesc, String> {
    let field = table.get(name);
    field.ok_or_else(|| format!("there is no field {name:?}"))
}
