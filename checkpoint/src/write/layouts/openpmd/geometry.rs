//! The geometry of a mesh record: the attributes that place its values in space.

use super::component::shape;
use crate::file::Fault;
use crate::write::attributes;
use hdf5::Location;
use std::collections::BTreeMap;
use tcasm_core::field::{FieldDesc, Mesh, MeshDesc, MeshKind};

/// The geometry of a mesh record.
///
/// openPMD 1.1.0 knows uniform meshes only. For a mesh with coordinates of its own, `geometry`
/// begins with `other:`, spacings and offsets are those of the indices, and `geometryParameters`
/// names the mesh records that are the coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    name: &'static str,
    parameters: Option<String>,
    /// The names of the axes, from slowest to fastest, like the other members.
    labels: Vec<String>,
    spacing: Vec<f64>,
    offset: Vec<f64>,
}

impl Geometry {
    /// Returns the geometry of `field` on `mesh`. `records` are the names of the mesh records of
    /// fields.
    pub fn of(
        field: &FieldDesc,
        mesh: Option<&MeshDesc>,
        records: &BTreeMap<&str, String>,
    ) -> Geometry {
        let dims = shape(field).len();
        let kind = mesh.map(|mesh| &mesh.kind);
        let Mesh { origin, spacing } = match kind {
            Some(&MeshKind::Uniform {
                origin, spacing, ..
            }) => Mesh { origin, spacing },
            Some(_) => Mesh::default(),
            None => field.usable_mesh().unwrap_or_default(),
        };
        let (name, parameters) = other(kind, records).unzip();
        Geometry {
            name: name.unwrap_or("cartesian"),
            parameters,
            labels: (0..dims).rev().map(axis_label).collect(),
            spacing: per_axis(spacing, 1.0, dims),
            offset: per_axis(origin, 0.0, dims),
        }
    }

    /// Writes the attributes of a record.
    pub fn describe(&self, at: &Location) -> Result<(), Fault> {
        attributes::text(at, "geometry", self.name)?;
        if let Some(parameters) = &self.parameters {
            attributes::text(at, "geometryParameters", parameters)?;
        }
        attributes::text(at, "dataOrder", "C")?;
        attributes::texts(at, "axisLabels", &self.labels)?;
        attributes::numbers(at, "gridSpacing", &self.spacing)?;
        attributes::numbers(at, "gridGlobalOffset", &self.offset)?;
        attributes::number(at, "gridUnitSI", 1.0_f64)?;
        Ok(())
    }
}

/// Returns the name and the parameters of a geometry that is not cartesian.
fn other(
    kind: Option<&MeshKind>,
    records: &BTreeMap<&str, String>,
) -> Option<(&'static str, String)> {
    let record = |field: &String| records.get(field.as_str()).unwrap_or(field).clone();
    match kind? {
        MeshKind::Rectilinear { coordinates } => {
            let axes = coordinates.iter().enumerate();
            let axes = axes.map(|(axis, c)| format!("{}={}", axis_label(axis), record(c)));
            let parameters = axes.collect::<Vec<_>>().join(";");
            Some(("other:rectilinear", parameters))
        }
        MeshKind::Curvilinear { coordinates } => {
            let parameters = format!("coordinates={}", record(coordinates));
            Some(("other:curvilinear", parameters))
        }
        _ => None,
    }
}

/// Returns the name of an axis. Axes are counted from the fastest.
fn axis_label(axis: usize) -> String {
    match axis {
        0..3 => ["x", "y", "z"][axis].to_owned(),
        _ => format!("axis{axis}"),
    }
}

/// Returns the values `xyz` for `dims` dimensions, from slowest to fastest. Dimensions after z have
/// the value `else_`.
fn per_axis(xyz: [f64; 3], else_: f64, dims: usize) -> Vec<f64> {
    let value = |axis: usize| xyz.get(axis).copied().unwrap_or(else_);
    (0..dims).rev().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    #[test]
    fn axes_go_from_slowest_to_fastest_with_x_last() {
        assert_eq!(per_axis([1.0, 2.0, 3.0], 9.0, 2), [2.0, 1.0]);
        assert_eq!(per_axis([1.0, 2.0, 3.0], 9.0, 4), [9.0, 3.0, 2.0, 1.0]);
        assert_eq!((0..4).map(axis_label).collect::<String>(), "xyzaxis3");
    }

    #[test]
    fn meshes_with_coordinates_name_the_records_that_are_the_coordinates() {
        let field = FieldDesc::new("t", DType::F64, &[3, 4]);
        let records = BTreeMap::from([("x-c", "x_c".to_owned()), ("y", "y".to_owned())]);
        let geometry = |kind| {
            let mesh = MeshDesc {
                name: "m".to_owned(),
                kind,
                block: None,
                attrs: BTreeMap::new(),
            };
            let geometry = Geometry::of(&field, Some(&mesh), &records);
            assert_eq!(geometry.labels, ["y", "x"]);
            geometry
        };
        let coordinates = vec!["x-c".to_owned(), "y".to_owned()];
        let rectilinear = geometry(MeshKind::Rectilinear { coordinates });
        assert_eq!(rectilinear.name, "other:rectilinear");
        assert_eq!(rectilinear.parameters.as_deref(), Some("x=x_c;y=y"));
        assert_eq!(rectilinear.spacing, [1.0, 1.0]);
        let coordinates = "y".to_owned();
        let curvilinear = geometry(MeshKind::Curvilinear { coordinates });
        assert_eq!(curvilinear.name, "other:curvilinear");
        assert_eq!(curvilinear.parameters.as_deref(), Some("coordinates=y"));
        let uniform = geometry(MeshKind::Uniform {
            points: [4, 3, 1],
            origin: [1.0, 2.0, 3.0],
            spacing: [0.1, 0.2, 0.3],
        });
        assert_eq!((uniform.name, &uniform.parameters), ("cartesian", &None));
        assert_eq!(
            (uniform.offset, uniform.spacing),
            (vec![2.0, 1.0], vec![0.2, 0.1])
        );
    }
}
