//! The coordinates of a field whose points have constant distances.

use super::named::uniform;
use crate::mesh;
use serde::{Deserialize, Serialize};
use tcasm_analytics::blocks;
use tcasm_core::field::{FieldDesc, FieldTable, Mesh as Uniform, MeshDesc};

/// The coordinates along the axes of a field, in the order of its axes. A version has its own: the
/// mesh may move, and its points may get other distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axes {
    /// The coordinates of the first point.
    pub origin: Vec<f64>,
    /// The distances between points.
    pub spacing: Vec<f64>,
}

impl Axes {
    /// Returns the coordinates of the field `desc` of `table`; `None` if it has no uniform mesh
    /// that can be used.
    pub fn of(desc: &FieldDesc, table: &FieldTable) -> Option<Self> {
        let named = mesh::mesh_of(table, desc).and_then(|(mesh, _)| uniform(mesh));
        Axes::along(desc, named.or(desc.usable_mesh())?)
    }

    /// Returns the coordinates of the field `desc` on `mesh`; `None` if that is not uniform.
    pub(crate) fn of_block(desc: &FieldDesc, mesh: &MeshDesc) -> Option<Self> {
        Axes::along(desc, uniform(mesh)?)
    }

    fn along(desc: &FieldDesc, mesh: Uniform) -> Option<Self> {
        let count = blocks::shape(desc).len();
        // A mesh has at most three axes. Its x comes first, a field's last.
        let of_mesh = |numbers: [f64; 3]| {
            let numbers = numbers.into_iter().take(count);
            numbers.rev().collect::<Vec<f64>>()
        };
        (count <= 3).then(|| Axes {
            origin: of_mesh(mesh.origin),
            spacing: of_mesh(mesh.spacing),
        })
    }
}
