//! The places of the fields in a file, for people.

use super::geometry::Geometry;
use super::plan::{Plan, Shown};
use super::reasons::off_grid;
use crate::write::layouts::grid::Grid;
use tcasm_core::field::{Centering, FieldDesc, FieldTable};

/// The place of a field in the part of a VTKHDF file that ParaView shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the field.
    pub field: String,
    /// The paths of its values, or the reason why it is not shown.
    pub shown: Result<Vec<String>, String>,
}

/// Returns the places of all fields of `table` in a VTKHDF file. Fields that are not shown are
/// under `/tcasm` only.
pub fn places(table: &FieldTable) -> Vec<Place> {
    match table.meshes.is_empty() {
        true => on_grid(table),
        false => on_meshes(table, &Plan::of(table)),
    }
}

/// Does the same for a time series. A mesh that is unused in a version has its place there too, so
/// the places stay when meshes come and go.
pub fn places_in_series(table: &FieldTable) -> Vec<Place> {
    match table.meshes.is_empty() {
        true => on_grid(table),
        false => on_meshes(table, &Plan::of_series(table, false)),
    }
}

/// Returns the places on the grid of a table without named meshes.
fn on_grid(table: &FieldTable) -> Vec<Place> {
    let grid = Grid::of(table);
    let place = |field: &FieldDesc| {
        let group = match field.centering {
            Centering::Cell => "CellData",
            _ => "PointData",
        };
        Place {
            field: field.name.clone(),
            shown: match grid.shape_of(field) {
                Some(_) => Ok(vec![format!("/VTKHDF/{group}/{}", field.name)]),
                None => Err(off_grid(table, &grid, field)),
            },
        }
    };
    table.fields.iter().map(place).collect()
}

/// Returns the places on the named meshes of `plan`.
fn on_meshes(table: &FieldTable, plan: &Plan<'_>) -> Vec<Place> {
    let place = |name: &str| {
        let count = plan.count();
        let paths = plan
            .meshes
            .iter()
            .flat_map(|shown| paths(shown, count, name));
        let paths: Vec<String> = paths.collect();
        let why = plan.hidden.iter().find(|(hidden, _)| *hidden == name);
        match (paths.is_empty(), why) {
            (false, _) => Ok(paths),
            (true, Some((_, why))) => Err(why.clone()),
            (true, None) => Err("no mesh needs it".to_owned()),
        }
    };
    let places = table.fields.iter().map(|field| Place {
        field: field.name.clone(),
        shown: place(&field.name),
    });
    places.collect()
}

/// Returns the paths of the field called `name` in the group of `shown`, in a file for `count`
/// meshes.
fn paths(shown: &Shown<'_>, count: usize, name: &str) -> Vec<String> {
    let group = shown.path(count);
    let mut paths = Vec::new();
    if let Geometry::Explicit(explicit) = &shown.geometry {
        for (path, source) in explicit.arrays() {
            if source.fields().iter().any(|field| field.name == name) {
                paths.push(format!("{group}/{path}"));
            }
        }
    }
    let data = shown.data.iter().filter(|data| data.field.name == name);
    paths.extend(data.map(|data| format!("{group}/{}/{}", data.group, data.name)));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, Kind, Mesh, MeshDesc, MeshKind};

    fn particles() -> FieldTable {
        let mut x = FieldDesc::new("x", DType::F64, &[4]);
        x.components = 3;
        let on = |name: &str, dtype| FieldDesc {
            on: Some("atoms".to_owned()),
            ..FieldDesc::new(name, dtype, &[4])
        };
        let mut v = on("v_of_atoms", DType::F32);
        v.quantity = Some("v".to_owned());
        FieldTable {
            fields: vec![
                x,
                v,
                on("phase", DType::C64),
                FieldDesc::new("e", DType::F64, &[9]),
            ],
            meshes: vec![MeshDesc {
                name: "atoms".to_owned(),
                kind: MeshKind::Particles {
                    positions: "x".to_owned(),
                },
                block: None,
                attrs: Default::default(),
            }],
            ..FieldTable::default()
        }
    }

    #[test]
    fn each_field_has_a_path_or_a_reason() {
        let table = particles();
        table.check_meshes().unwrap();
        let shown: Vec<_> = places(&table)
            .into_iter()
            .map(|place| place.shown)
            .collect();
        assert_eq!(shown[0], Ok(vec!["/VTKHDF/Points".to_owned()]));
        assert_eq!(shown[1], Ok(vec!["/VTKHDF/PointData/v".to_owned()]));
        assert_eq!(shown[2], Err("VTK has no complex numbers".to_owned()));
        assert_eq!(shown[3], Err("it is on no mesh".to_owned()));
    }

    /// Returns a field of the grid of `u`.
    fn on_u(name: &str, change: impl FnOnce(&mut FieldDesc)) -> FieldDesc {
        let mut field = FieldDesc::new(name, DType::F64, &[4, 6]);
        change(&mut field);
        field
    }

    /// Returns the reasons why fields are not shown beside `u`, which has a mesh.
    fn reasons(fields: Vec<FieldDesc>) -> Vec<String> {
        let u = on_u("u", |u| u.mesh = Some(Mesh::default()));
        let table = FieldTable {
            fields: [u].into_iter().chain(fields).collect(),
            ..FieldTable::default()
        };
        let mut shown: Vec<_> = places(&table)
            .into_iter()
            .map(|place| place.shown)
            .collect();
        let u = shown.remove(0);
        assert_eq!(u, Ok(vec!["/VTKHDF/PointData/u".to_owned()]));
        shown.into_iter().map(|place| place.unwrap_err()).collect()
    }

    #[test]
    fn fields_that_vtk_has_on_no_grid_have_their_own_reason() {
        let kind = Kind::Raw {
            type_name: "Node".to_owned(),
            align: 1,
        };
        let fields = vec![
            on_u("psi", |f| f.dtype = DType::C32),
            on_u("tree", |f| f.kind = kind),
            on_u("sums", |f| f.centering = Centering::None),
            on_u("list", |f| f.capacity = Some(9)),
            FieldDesc::new("dt", DType::F64, &[]),
            FieldDesc::new("phase", DType::F64, &[2, 2, 2, 2]),
        ];
        let expected = [
            "VTK has no complex numbers",
            "VTK has no structures",
            "it is a table, on neither points nor cells",
            "its length may change, and that of a grid cannot",
            "it is a single value",
            "it has more than three axes",
        ];
        assert_eq!(reasons(fields), expected);
    }

    #[test]
    fn fields_beside_the_grid_of_the_file_are_compared_with_it() {
        let mesh = Mesh {
            origin: [0.5; 3],
            spacing: [1.0; 3],
        };
        let fields = vec![
            FieldDesc::new("v", DType::F64, &[10]),
            on_u("cells", |f| f.centering = Centering::Cell),
            on_u("w", |f| f.mesh = Some(mesh)),
        ];
        let of = "the grid of the file, which is that of u";
        let expected = [
            format!("its extents are [10], but {of}, has [4, 6] points"),
            format!("its extents are [4, 6], but {of}, has [3, 5] cells"),
            format!("its origin and spacing are not those of {of}"),
        ];
        assert_eq!(reasons(fields), expected);
    }

    #[test]
    fn single_point_is_no_grid() {
        let single = FieldDesc::new("dt", DType::F64, &[1]);
        let table = FieldTable {
            fields: vec![single, FieldDesc::new("t", DType::F64, &[9])],
            ..FieldTable::default()
        };
        let shown = places(&table).into_iter();
        let shown: Vec<String> = shown.map(|place| place.shown.unwrap_err()).collect();
        let expected = [
            "it has a single point",
            "the grid of the file is that of dt, a single point",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn several_meshes_have_groups_of_their_own() {
        let mut table = particles();
        let mut grid = table.meshes[0].clone();
        grid.name = "Assembly".to_owned();
        grid.kind = MeshKind::Uniform {
            points: [9, 1, 1],
            origin: [0.0; 3],
            spacing: [1.0; 3],
        };
        table.meshes.push(grid);
        table.fields[3].on = Some("Assembly".to_owned());
        table.check_meshes().unwrap();
        let shown: Vec<_> = places(&table)
            .into_iter()
            .map(|place| place.shown)
            .collect();
        assert_eq!(shown[0], Ok(vec!["/VTKHDF/atoms/Points".to_owned()]));
        assert_eq!(
            shown[3],
            Ok(vec!["/VTKHDF/Assembly_/PointData/e".to_owned()])
        );
    }
}
