//! What VTK shows of a version: its meshes, the fields on them, and why other fields are not shown.

use super::geometry::Geometry;
use super::unstructured;
use crate::error::WriteError;
use crate::format::shape::with_components;
use crate::snapshot::Snapshot;
use crate::write::layouts::grid::{Grid, is_on_no_mesh};
use tcasm_core::field::{Centering, FieldDesc, FieldTable, Kind, MeshDesc};

/// The groups that VTK looks for in `/VTKHDF`, also of a collection.
const RESERVED: [&str; 5] = ["Assembly", "Steps", "PointData", "CellData", "FieldData"];

/// What VTK shows of a version with named meshes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'t> {
    /// The meshes that are shown.
    pub meshes: Vec<Shown<'t>>,
    /// The fields that are not shown, and why.
    pub hidden: Vec<(&'t str, String)>,
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
    /// Returns what VTK shows of a version with the fields and meshes of `table`.
    pub fn of(table: &'t FieldTable) -> Self {
        let mut plan = Plan {
            meshes: Vec::new(),
            hidden: Vec::new(),
        };
        for mesh in &table.meshes {
            match Geometry::of(table, mesh) {
                Ok(geometry) => plan.show(table, mesh, geometry),
                Err(why) => plan.hide(table, mesh, &why),
            }
        }
        plan.show_free_fields(table);
        plan
    }

    /// Does the same for a time series. One of several meshes is no image there: VTK reads an image
    /// in a collection as if it had no times.
    pub fn of_series(table: &'t FieldTable) -> Self {
        let mut plan = Plan::of(table);
        if plan.meshes.len() > 1 {
            plan.meshes.iter_mut().for_each(Shown::make_explicit);
        }
        plan
    }

    /// Does the same for `snapshot`, but does not show meshes whose cells VTK cannot have.
    pub fn checked(snapshot: &Snapshot<'t>) -> Result<Self, WriteError> {
        let mut plan = Plan::of(snapshot.table);
        for mesh in &snapshot.table.meshes {
            let Some(why) = super::cells::defect(snapshot, mesh)? else {
                continue;
            };
            let shown = plan.meshes.len();
            let is_other = |shown: &Shown<'_>| shown.mesh.is_none_or(|m| m.name != mesh.name);
            plan.meshes.retain(is_other);
            if plan.meshes.len() < shown {
                tracing::warn!("mesh {:?} is not shown: {why}", mesh.name);
                plan.hide(snapshot.table, mesh, &why);
            }
        }
        Ok(plan)
    }

    /// Shows `mesh` and the fields on it.
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
        let name = self.group_name(&mesh.name);
        self.meshes.push(Shown {
            name,
            mesh: Some(mesh),
            geometry,
            data,
        });
    }

    /// Notes why `mesh`, its geometry and the fields on it are not shown.
    fn hide(&mut self, table: &'t FieldTable, mesh: &'t MeshDesc, why: &str) {
        let why = format!("mesh {:?}: {why}", mesh.name);
        for field in &table.fields {
            let is_geometry = mesh.geometry().contains(&field.name.as_str());
            if is_geometry || field.on.as_ref() == Some(&mesh.name) {
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
                    let why = defect(field).unwrap_or("it is on no mesh");
                    self.hidden.push((&field.name, why.to_owned()));
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

    /// Returns `name`, or a name like it if a group in `/VTKHDF` has that one, or means something
    /// there.
    fn group_name(&self, name: &str) -> String {
        let has_group = |name: &str| self.meshes.iter().any(|shown| shown.name == name);
        let is_taken = |name: &str| RESERVED.contains(&name) || has_group(name);
        let mut name = name.to_owned();
        while is_taken(&name) {
            name.push('_');
        }
        name
    }
}

impl Shown<'_> {
    /// Returns the path of its group in a file that shows `count` meshes.
    pub fn path(&self, count: usize) -> String {
        match count {
            1 => "/VTKHDF".to_owned(),
            _ => format!("/VTKHDF/{}", self.name),
        }
    }

    /// Gives an image points with coordinates, and cells.
    fn make_explicit(&mut self) {
        if let Geometry::Image(grid) = &self.geometry {
            self.geometry = Geometry::Explicit(unstructured::uniform(grid));
            for data in &mut self.data {
                data.shape = along_one_axis(data.field);
            }
        }
    }
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

/// Returns the reason why VTK can show `field` on no mesh.
fn defect(field: &FieldDesc) -> Option<&'static str> {
    match (&field.kind, field.centering) {
        (Kind::Raw { .. }, _) => Some("VTK has no structures"),
        _ if field.dtype.is_complex() => Some("VTK has no complex numbers"),
        (_, Centering::None) => Some("it is a table, on neither points nor cells"),
        _ => None,
    }
}

/// Returns the group for the values of `field`.
fn group_of(field: &FieldDesc) -> &'static str {
    match field.centering {
        Centering::Cell => "CellData",
        _ => "PointData",
    }
}

#[cfg(test)]
mod tests {
    use super::super::explicit::Counts;
    use super::*;
    use tcasm_core::field::{DType, Mesh, MeshKind};

    /// Returns a table with uniform meshes of these names, and a vector in the cells of each.
    fn uniform(names: &[&str]) -> FieldTable {
        let mut table = FieldTable::default();
        for name in names {
            let mut field = FieldDesc::new(&format!("v_of_{name}"), DType::F64, &[2, 3]);
            field.components = 3;
            field.centering = Centering::Cell;
            field.on = Some((*name).to_owned());
            table.fields.push(field);
            table.meshes.push(MeshDesc {
                name: (*name).to_owned(),
                kind: MeshKind::Uniform {
                    points: [4, 3, 1],
                    origin: [1.0; 3],
                    spacing: [0.5; 3],
                },
                block: None,
                attrs: Default::default(),
            });
        }
        table.check_meshes().unwrap();
        table
    }

    /// Adds a field with a mesh of its own, which is on no named one.
    fn add_free(table: &mut FieldTable) {
        let mut free = FieldDesc::new("free", DType::F32, &[5]);
        free.mesh = Some(Mesh::default());
        table.fields.push(free);
    }

    /// Returns the sizes of each mesh that is no image, and the shapes of the fields on all meshes.
    fn sizes(plan: &Plan<'_>) -> (Vec<Counts>, Vec<Vec<usize>>) {
        let explicit = plan
            .meshes
            .iter()
            .filter_map(|shown| match &shown.geometry {
                Geometry::Explicit(explicit) => Some(explicit.counts),
                Geometry::Image(_) => None,
            });
        let data = plan.meshes.iter().flat_map(|shown| &shown.data);
        let shapes = data.map(|data| data.shape.clone());
        (explicit.collect(), shapes.collect())
    }

    #[test]
    fn single_uniform_mesh_of_a_series_is_an_image() {
        let named = uniform(&["a"]);
        let mut free = FieldTable::default();
        add_free(&mut free);
        for table in [named, free] {
            let plan = Plan::of_series(&table);
            assert_eq!(plan, Plan::of(&table));
            assert!(matches!(plan.meshes[0].geometry, Geometry::Image(_)));
        }
    }

    #[test]
    fn several_uniform_meshes_of_a_series_have_points_and_cells() {
        let mut table = uniform(&["a", "b"]);
        add_free(&mut table);
        let shapes = vec![vec![2, 3, 3], vec![2, 3, 3], vec![5]];
        assert_eq!(sizes(&Plan::of(&table)), (vec![], shapes));
        let plane = Counts {
            points: 12,
            cells: 6,
            ids: 24,
        };
        let line = Counts {
            points: 5,
            cells: 4,
            ids: 8,
        };
        let shapes = vec![vec![6, 3], vec![6, 3], vec![5]];
        let expected = (vec![plane, plane, line], shapes);
        assert_eq!(sizes(&Plan::of_series(&table)), expected);
    }

    #[test]
    fn no_mesh_has_the_name_of_a_group_of_vtkhdf() {
        let table = uniform(&[&RESERVED[..], &["Steps_", "a"]].concat());
        let plan = Plan::of(&table);
        let names: Vec<&str> = plan.meshes.iter().map(|shown| &*shown.name).collect();
        let changed = [
            "Assembly_",
            "Steps_",
            "PointData_",
            "CellData_",
            "FieldData_",
        ];
        assert_eq!(names, [&changed[..], &["Steps__", "a"]].concat());
    }
}
