//! Meshes with good and with hostile geometry.

mod coarse;
mod grids;
mod hostile;
mod surfaces;
mod whole;

use super::*;
use crate::request::SceneRequest;
use tcasm_analytics::dynamic;
use tcasm_core::field::{Centering, DType, FieldDesc, FieldTable, MeshDesc, MeshKind};

/// Fields in the memory of the test. Their bytes are aligned.
#[derive(Default)]
struct Made {
    table: FieldTable,
    bytes: Vec<Vec<u64>>,
    version: u64,
    /// True if the version says that no field has changed.
    same: bool,
}

impl Fields for Made {
    fn table(&self) -> &FieldTable {
        &self.table
    }
    fn get(&self, name: &str) -> Result<(&FieldDesc, &[u8]), MeshError> {
        let at = self
            .table
            .fields
            .iter()
            .position(|field| field.name == name);
        let at = at.ok_or_else(|| MeshError::Field(format!("no {name}")))?;
        let (desc, bytes) = (
            &self.table.fields[at],
            bytemuck::cast_slice(&self.bytes[at]),
        );
        Ok((desc, &bytes[..desc.bytes() as usize]))
    }
    fn version(&self) -> u64 {
        self.version
    }
    fn same_as_before(&self, _: &[&str]) -> bool {
        self.same
    }
}

impl Made {
    /// Adds a field. `shape` has its components as the last extent.
    fn add<T: bytemuck::NoUninit>(
        &mut self,
        (name, dtype): (&str, DType),
        shape: &[usize],
        values: &[T],
    ) -> &mut FieldDesc {
        let (components, shape) = shape.split_last().unwrap();
        let mut desc = FieldDesc::new(name, dtype, shape);
        desc.components = *components;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        assert_eq!(bytes.len() as u64, desc.bytes());
        let mut aligned = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<u64, u8>(&mut aligned)[..bytes.len()].copy_from_slice(bytes);
        self.bytes.push(aligned);
        self.table.fields.push(desc);
        self.table.fields.last_mut().unwrap()
    }

    fn on(&mut self, name: &str, centering: Centering, values: &[f64]) {
        let desc = self.add((name, DType::F64), &[values.len(), 1], values);
        (desc.on, desc.centering) = (Some("m".to_owned()), centering);
    }

    fn mesh(&mut self, kind: MeshKind) {
        self.table.meshes.push(MeshDesc {
            name: "m".to_owned(),
            kind,
            block: None,
            attrs: Default::default(),
        });
    }

    fn scene(&self, name: &str, points: usize) -> Result<Scene, MeshError> {
        self.scene_again(name, &wanted(points), &mut Cache::default())
    }

    /// Computes a scene with what is known of the versions before.
    fn scene_again(
        &self,
        name: &str,
        wanted: &SceneRequest,
        cache: &mut Cache,
    ) -> Result<Scene, MeshError> {
        let (desc, bytes) = self.get(name)?;
        let all = dynamic::moments(desc, bytes).ok();
        let all = all.as_ref();
        let moments = all.and_then(|all| all.magnitude.as_ref().or(all.components.first()));
        let whole = moments.map_or_else(Extent::default, Extent::from);
        scene(self, name, None, whole, wanted, cache)
    }
}

/// Returns a request for a surface, or for this number of points.
fn wanted(points: usize) -> SceneRequest {
    SceneRequest {
        points,
        surface: true,
        triangles: MAX_TRIANGLES,
    }
}

fn owned(name: &str) -> String {
    name.to_owned()
}

/// Returns particles with these coordinates along one axis, and values.
fn particles(places: &[f64], values: &[f64]) -> Made {
    let mut made = Made::default();
    made.add(("x", DType::F64), &[places.len(), 1], places);
    made.mesh(MeshKind::Particles {
        positions: owned("x"),
    });
    made.on("v", Centering::Point, values);
    made.table.check_meshes().unwrap();
    made
}

#[test]
fn particles_have_places_and_values() {
    let made = particles(&[0.0, f64::NAN, 4.0], &[1e9, 1e9 + 1.0, 1e9 + 2.0]);
    let scene = made.scene("v", 10).unwrap();
    assert_eq!(
        (scene.all, scene.invalid_points, &*scene.numbers),
        (3, 1, &[0, 2][..])
    );
    assert_eq!(scene.bounds, Some([[0.0; 3], [4.0, 0.0, 0.0]]));
    let place = |i: usize| scene.origin[0] + f64::from(scene.positions[i][0]);
    assert_eq!([place(0), place(1)], [0.0, 4.0]);
    let value = |i: usize| scene.base + f64::from(scene.values[i]);
    assert_eq!([value(0), value(1)], [1e9, 1e9 + 2.0]);
    assert_eq!((scene.range, scene.not_finite), (Some([1e9, 1e9 + 2.0]), 0));
    let places = made.scene("x", 10).unwrap();
    assert_eq!(places.range, Some([0.0, 4.0]), "positions are values, too");
}

#[test]
fn particles_without_any_place_are_an_empty_scene() {
    for places in [vec![], vec![f64::INFINITY; 4]] {
        let made = particles(&places, &places);
        let scene = made.scene("v", 2).unwrap();
        assert_eq!(
            (scene.bounds, scene.positions.len(), scene.range),
            (None, 0, None)
        );
        assert_eq!(scene.invalid_points, places.len());
    }
}
