//! The meshes of a version that VTK shows, the fields on them, and why other fields are not shown.

use super::cells::defects;
use super::geometry::Geometry;
use super::names::free_name;
use super::reasons::{defect, off_grid};
use super::unstructured;
use crate::error::WriteError;
use crate::format::shape::with_components;
use crate::options::Purpose;
use crate::snapshot::Snapshot;
use crate::write::layouts::grid::{Grid, is_on_no_mesh};
use tcasm_core::field::{Centering, FieldDesc, FieldTable, MeshDesc, MeshKind};

/// Why a structured mesh is not shown.
const NO_FIELD: &str = "no field that VTK shows is on it";
/// Why a grid with coordinates is not shown in a checkpoint.
const IN_EXPORTS: &str = "only exports have the points and cells that VTK needs";

/// The part of a version with named meshes that VTK shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'t> {
    /// The meshes that are shown.
    pub meshes: Vec<Shown<'t>>,
    /// The fields that are not shown, and why.
    pub hidden: Vec<(&'t str, String)>,
    /// The number of meshes that are not shown because they are unused in this version.
    unused: usize,
}

/// A mesh that is shown, with the fields on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown<'t> {
    /// The name of its group.
    pub name: String,
    /// The named mesh, or `None` for the grid of the fields that are on no named mesh.
    pub mesh: Option<&'t MeshDesc>,
    /// Where its points and cells are.
    pub geometry: Geometry<'t>,
    /// The fields on it.
    pub data: Vec<Data<'t>>,
}

/// A field on a mesh that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Data<'t> {
    /// The field.
    pub field: &'t FieldDesc,
    /// The group of the mesh that it is in: `PointData` or `CellData`.
    pub group: &'static str,
    /// Its name there: that of the quantity, which no other field in the group has.
    pub name: String,
    /// The shape of its interior there.
    pub shape: Vec<usize>,
}

impl<'t> Plan<'t> {
    /// Returns the plan of a file with the fields and meshes of `table`.
    pub fn of(table: &'t FieldTable) -> Self {
        Plan::with(table, Geometry::of)
    }

    /// Does the same for a time series. If a uniform mesh `moves`, none is an image there: an image
    /// has one place, for all times.
    pub fn of_series(table: &'t FieldTable, moves: bool) -> Self {
        let mut plan = Plan::with(table, Geometry::of_series);
        if moves {
            plan.meshes.iter_mut().for_each(Shown::make_explicit);
        }
        plan
    }

    /// Returns how many meshes the file is for. Unused ones count if VTK would show a field on
    /// them, so that the file is a collection in each version of a region with several blocks of
    /// which any is used.
    pub fn count(&self) -> usize {
        self.meshes.len() + self.unused
    }

    /// Returns the plan in which meshes have the geometry that `geometry` returns.
    fn with(
        table: &'t FieldTable,
        geometry: impl Fn(&'t FieldTable, &'t MeshDesc) -> Result<Geometry<'t>, String>,
    ) -> Self {
        let mut plan = Plan {
            meshes: Vec::new(),
            hidden: Vec::new(),
            unused: 0,
        };
        for mesh in &table.meshes {
            match geometry(table, mesh) {
                Ok(geometry) => plan.show(table, mesh, geometry),
                Err(why) => {
                    plan.unused += usize::from(is_unused(table, mesh));
                    plan.hide(table, mesh, &why);
                }
            }
        }
        plan.show_free_fields(table);
        plan
    }

    /// Returns the plan of a checkpoint, which shows neither grids with coordinates nor meshes that
    /// have defects. For each of these, `defects` has the name and the text.
    pub fn of_checkpoint(table: &'t FieldTable, defects: &[(String, String)]) -> Self {
        let mut plan = Plan::of(table);
        for mesh in &table.meshes {
            if has_coordinates(mesh) {
                plan.withdraw(table, mesh, IN_EXPORTS);
            }
            if let Some((name, why)) = defects.iter().find(|(name, _)| *name == mesh.name) {
                tracing::warn!("mesh {name:?} is not shown: {why}");
                plan.withdraw(table, mesh, why);
            }
        }
        plan
    }

    /// Does the same for `snapshot`, and checks the cells of its meshes. If VTK cannot have them,
    /// an export fails. A checkpoint has to hold them all the same, but does not show them.
    pub fn checked(snapshot: &Snapshot<'t>, purpose: Purpose) -> Result<Self, WriteError> {
        let mut defects = defects(snapshot)?;
        match purpose {
            Purpose::Export if defects.is_empty() => Ok(Plan::of(snapshot.table)),
            Purpose::Export => {
                let (mesh, why) = defects.swap_remove(0);
                Err(WriteError::Cells { mesh, why })
            }
            Purpose::Restart => Ok(Plan::of_checkpoint(snapshot.table, &defects)),
        }
    }

    /// Shows `mesh` and the fields on it. A structured mesh without such fields is not shown: there
    /// would be nothing to see, and its points and cells may be large.
    fn show(&mut self, table: &'t FieldTable, mesh: &'t MeshDesc, geometry: Geometry<'t>) {
        let mut data = Vec::new();
        for field in table.fields_on(&mesh.name) {
            match place(field, &geometry) {
                Ok((group, shape)) => data.push(Data {
                    field,
                    group,
                    name: field.quantity().to_owned(),
                    shape,
                }),
                Err(why) => self.hidden.push((&field.name, why)),
            }
        }
        if data.is_empty() && is_structured(mesh) {
            return self.hide(table, mesh, NO_FIELD);
        }
        let name = self.group_name(&mesh.name);
        self.meshes.push(Shown {
            name,
            mesh: Some(mesh),
            geometry,
            data,
        });
    }

    /// Does not show `mesh` after all.
    fn withdraw(&mut self, table: &'t FieldTable, mesh: &'t MeshDesc, why: &str) {
        let is_other = |shown: &Shown<'_>| shown.mesh.is_none_or(|m| m.name != mesh.name);
        self.meshes.retain(is_other);
        self.hide(table, mesh, why);
    }

    /// Notes why `mesh`, its geometry and the fields on it are not shown. A field that is hidden
    /// already keeps its reason.
    fn hide(&mut self, table: &'t FieldTable, mesh: &'t MeshDesc, why: &str) {
        let why = format!("mesh {:?}: {why}", mesh.name);
        for field in &table.fields {
            let is_geometry = mesh.geometry().contains(&field.name.as_str());
            let is_its_own = is_geometry || field.on.as_ref() == Some(&mesh.name);
            let is_hidden = |(name, _): &(&str, String)| *name == field.name;
            if is_its_own && !self.hidden.iter().any(is_hidden) {
                self.hidden.push((&field.name, why.clone()));
            }
        }
    }

    /// Shows the fields that are on no named mesh, if one of them has a mesh of its own.
    fn show_free_fields(&mut self, table: &'t FieldTable) {
        let free = || table.fields.iter().filter(move |f| is_on_no_mesh(table, f));
        let grid = Grid::of(table);
        let has_mesh = free().any(|f| f.usable_mesh().is_some() && grid.shape_of(f).is_some());
        let mut data = Vec::new();
        for field in free() {
            match grid.shape_of(field).filter(|_| has_mesh) {
                Some(shape) => data.push(Data {
                    field,
                    group: group_of(field),
                    name: field.name.clone(),
                    shape,
                }),
                None => {
                    let why = match has_mesh {
                        true => off_grid(table, &grid, field),
                        false => defect(field).unwrap_or("it is on no mesh").to_owned(),
                    };
                    self.hidden.push((&field.name, why));
                }
            }
        }
        if has_mesh {
            let name = self.group_name("grid");
            self.meshes.push(Shown {
                name,
                mesh: None,
                geometry: Geometry::Image(grid),
                data,
            });
        }
    }

    /// Returns a name like `name` that no other group has.
    fn group_name(&self, name: &str) -> String {
        free_name(name, |name| {
            self.meshes.iter().any(|shown| shown.name == name)
        })
    }
}

impl Shown<'_> {
    /// Returns the path of its group in a file for `count` meshes.
    pub fn path(&self, count: usize) -> String {
        match count {
            1 => "/VTKHDF".to_owned(),
            _ => format!("/VTKHDF/{}", self.name),
        }
    }

    /// Gives an image points with coordinates, and cells.
    fn make_explicit(&mut self) {
        if let Geometry::Image(grid) = &self.geometry {
            let [z, y, x] = grid.points;
            self.geometry = Geometry::Explicit(Box::new(unstructured::uniform(grid, [x, y, z])));
            for data in &mut self.data {
                data.shape = along_one_axis(data.field);
            }
        }
    }
}

/// Returns true if the points of `mesh` form a grid.
fn is_structured(mesh: &MeshDesc) -> bool {
    matches!(mesh.kind, MeshKind::Uniform { .. }) || has_coordinates(mesh)
}

/// Returns true if `mesh` is a uniform one without points, and VTK would show a field on it.
fn is_unused(table: &FieldTable, mesh: &MeshDesc) -> bool {
    let is_uniform = matches!(mesh.kind, MeshKind::Uniform { .. });
    let is_empty = || table.size_of(mesh).is_ok_and(|size| size.is_empty());
    let is_shown = |field: &FieldDesc| defect(field).is_none();
    is_uniform && is_empty() && table.fields_on(&mesh.name).any(is_shown)
}

/// Returns true if `mesh` is a grid whose coordinates are fields. VTK gets it as unstructured.
fn has_coordinates(mesh: &MeshDesc) -> bool {
    let kind = &mesh.kind;
    matches!(
        kind,
        MeshKind::Rectilinear { .. } | MeshKind::Curvilinear { .. }
    )
}

/// Returns the group and the shape of `field` on a mesh, or the reason why VTK cannot show it.
fn place(field: &FieldDesc, geometry: &Geometry<'_>) -> Result<(&'static str, Vec<usize>), String> {
    if let Some(why) = defect(field) {
        return Err(why.to_owned());
    }
    let shape = match geometry {
        Geometry::Image(grid) => grid
            .shape_on(field)
            .ok_or_else(|| "its shape is not that of the grid".to_owned())?,
        Geometry::Explicit(explicit) => {
            if explicit.types.is_none() && field.centering == Centering::Cell {
                return Err("particles have no cells".to_owned());
            }
            along_one_axis(field)
        }
    };
    Ok((group_of(field), shape))
}

/// Returns the shape of the interior of `field` on a mesh whose points have coordinates.
fn along_one_axis(field: &FieldDesc) -> Vec<usize> {
    let count = field.interior_shape().iter().product();
    with_components(vec![count], field)
}

/// Returns the group for the values of `field`.
pub fn group_of(field: &FieldDesc) -> &'static str {
    match field.centering {
        Centering::Cell => "CellData",
        _ => "PointData",
    }
}

#[cfg(test)]
mod tests;
