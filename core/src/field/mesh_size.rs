//! Finds the meshes of a table and their fields, and says how large a mesh is.

use super::desc::{FieldDesc, Order};
use super::mesh_desc::{Cells, MeshDesc, MeshKind};
use super::mesh_error::MeshDescError;
use super::table::FieldTable;

/// The size of a mesh in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshSize {
    /// The extents of a field on the points, slowest axis first: (z, y, x) of a structured mesh
    /// without the axes that it does not have, or the number of points. Fields on structured meshes
    /// may have leading axes of one point that are not here, and lack those that are.
    pub points: Vec<usize>,
    /// The extents of a field in the cells, slowest axis first, or the number of cells. Particles
    /// have no cells: 0.
    pub cells: Vec<usize>,
}

impl MeshSize {
    /// Returns true if the mesh has no points: a block that is unused in this version, or particles
    /// of which there are none.
    pub fn is_empty(&self) -> bool {
        self.points.contains(&0)
    }
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

    /// Returns the blocks of the block-structured mesh (AMR) called `name`, in ascending order of
    /// level and name. Those that are unused in this version are among them: their
    /// [size](FieldTable::size_of) [is empty](MeshSize::is_empty).
    pub fn blocks(&self, name: &str) -> Vec<&MeshDesc> {
        let level = |mesh: &MeshDesc| {
            let block = mesh.block.as_ref().filter(|block| block.of == name);
            block.map(|block| block.level)
        };
        let blocks = self.meshes.iter();
        let blocks = blocks.filter_map(|mesh| Some((level(mesh)?, mesh)));
        let mut blocks: Vec<(u32, &MeshDesc)> = blocks.collect();
        blocks.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.name.cmp(&other.name)));
        blocks.into_iter().map(|(_, mesh)| mesh).collect()
    }

    /// Returns the size of `mesh` in this version.
    pub fn size_of(&self, mesh: &MeshDesc) -> Result<MeshSize, MeshDescError> {
        size(mesh, &|name: &str| self.get(name))
    }
}

/// A function that finds a field by its name.
pub(super) type Find<'f, 't> = &'f dyn Fn(&str) -> Option<&'t FieldDesc>;

/// Returns the size of `mesh`, whose geometry `find` finds.
pub(super) fn size(mesh: &MeshDesc, find: Find<'_, '_>) -> Result<MeshSize, MeshDescError> {
    let field = |name: &str| geometry_field(mesh, name, find);
    match &mesh.kind {
        MeshKind::Uniform { points, .. } => {
            let [x, y, z] = *points;
            Ok(structured([z, y, x].into_iter().skip_while(|n| *n == 1)))
        }
        MeshKind::Rectilinear { coordinates } => {
            let points = coordinates.iter().rev();
            let points = points.map(|c| field(c).map(|field| field.shape[0]));
            Ok(structured(points.collect::<Result<Vec<usize>, _>>()?))
        }
        MeshKind::Curvilinear { coordinates } => Ok(structured(slowest_first(field(coordinates)?))),
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

/// Returns the field called `name`, which is geometry of `mesh`.
pub(super) fn geometry_field<'t>(
    mesh: &MeshDesc,
    name: &str,
    find: Find<'_, 't>,
) -> Result<&'t FieldDesc, MeshDescError> {
    find(name)
        .filter(|f| !f.shape.is_empty())
        .ok_or_else(|| MeshDescError::NoField {
            mesh: mesh.name.clone(),
            field: name.to_owned(),
        })
}

/// Returns the size of a structured mesh with `points` along its axes, slowest first.
fn structured(points: impl IntoIterator<Item = usize>) -> MeshSize {
    let points: Vec<usize> = points.into_iter().collect();
    let cells = points.iter().map(|n| cells_between(*n)).collect();
    MeshSize { points, cells }
}

/// Returns how many cells an axis of a structured mesh has with so many points: one less than
/// points. An axis of one point, which has no extent, counts as one cell.
pub fn cells_between(points: usize) -> usize {
    points.saturating_sub(1).max(points.min(1))
}

/// Returns the extents of the interior of `field`, slowest axis first.
pub(super) fn slowest_first(field: &FieldDesc) -> Vec<usize> {
    let mut shape = field.interior_shape();
    if field.order == Order::F {
        shape.reverse();
    }
    shape
}
