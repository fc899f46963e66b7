//! Random meshes in openPMD files, whose lengths change. openPMD-api and h5py read them.

use crate::build::{Datum, Kind, Spec, build};
use crate::common::{PLAIN, Version};
use crate::files::assert_restores;
use crate::python;
use crate::random::versions;
use crate::series::stamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tcasm_checkpoint::{Checkpoint, Checkpointer, Compression, Layout, Options};
use tcasm_core::field::{Centering, DType, FieldDesc, FieldTable, MeshDesc, MeshKind, Order};
use tcasm_core::format::stamp::Stamp;

/// The form of a field in openPMD.
enum Role<'t> {
    /// A mesh record, on a mesh or on none.
    Mesh(Option<&'t MeshDesc>),
    /// A record of the particles of this name.
    Particles(&'t str, &'t str),
    /// Nothing: openPMD has no unstructured meshes.
    Nothing,
}

fn role<'t>(table: &'t FieldTable, field: &'t FieldDesc) -> Role<'t> {
    if let Some(mesh) = table.geometry_of(&field.name) {
        return match mesh.kind {
            MeshKind::Particles { .. } => Role::Particles(&mesh.name, "position"),
            MeshKind::Unstructured { .. } => Role::Nothing,
            _ => Role::Mesh(None),
        };
    }
    let mesh = table.mesh_of(field);
    match mesh.filter(|_| field.centering != Centering::None) {
        None => Role::Mesh(None),
        Some(mesh) => match mesh.kind {
            MeshKind::Particles { .. } => Role::Particles(&mesh.name, field.quantity()),
            MeshKind::Unstructured { .. } => Role::Nothing,
            _ => Role::Mesh(Some(mesh)),
        },
    }
}

/// Returns the place of each field, as the script wants to know it.
fn places(table: &FieldTable) -> Vec<Value> {
    let roles: Vec<Role<'_>> = table.fields.iter().map(|f| role(table, f)).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for (field, role) in table.fields.iter().zip(&roles) {
        if matches!(role, Role::Mesh(_)) {
            *holders.entry(field.quantity()).or_default() += 1;
        }
    }
    let place = |(field, role): (&FieldDesc, &Role<'_>)| match role {
        Role::Nothing => Value::Null,
        Role::Particles(species, record) => {
            json!({ "path": format!("particles/{species}/{record}") })
        }
        // Records have the name of the quantity, unless several hold it.
        Role::Mesh(mesh) => match holders[field.quantity()] {
            1 => on_mesh(field.quantity(), *mesh),
            _ => on_mesh(&field.name, *mesh),
        },
    };
    table.fields.iter().zip(&roles).map(place).collect()
}

/// Returns the place of the mesh record `name` on `mesh`.
fn on_mesh(name: &str, mesh: Option<&MeshDesc>) -> Value {
    let path = format!("meshes/{name}");
    let (origin, spacing) = ([0.0; 3], [1.0; 3]);
    let by_index = json!({ "path": &path, "origin": origin, "spacing": spacing });
    let other = |geometry: &str, parameters: String| {
        let mut place = by_index.clone();
        place["geometry"] = geometry.into();
        place["parameters"] = parameters.into();
        place
    };
    match mesh.map(|mesh| &mesh.kind) {
        Some(MeshKind::Uniform {
            origin, spacing, ..
        }) => json!({ "path": &path, "origin": origin, "spacing": spacing }),
        Some(MeshKind::Rectilinear { coordinates }) => {
            let axes = ["x", "y", "z"].iter().zip(coordinates);
            let axes: Vec<String> = axes.map(|(axis, c)| format!("{axis}={c}")).collect();
            other("other:rectilinear", axes.join(";"))
        }
        Some(MeshKind::Curvilinear { coordinates }) => {
            other("other:curvilinear", format!("coordinates={coordinates}"))
        }
        _ => by_index.clone(),
    }
}

/// Returns what the script must know of a file.
fn described(dir: &Path, file: &Path, version: &Version, stamp: Stamp) -> Value {
    let file = file.file_name().unwrap().to_str().unwrap();
    let table = &version.table;
    let fields = table.fields.iter().zip(places(table));
    let fields = fields.map(|(field, place)| {
        let dump = format!("{file}.{}.bin", field.name);
        std::fs::write(dir.join(&dump), &version.bytes[&field.name]).unwrap();
        let mut described = serde_json::to_value(field).unwrap();
        described["dump"] = dump.into();
        described["place"] = place;
        described
    });
    let fields: Vec<Value> = fields.collect();
    let is_species = |mesh: &&MeshDesc| matches!(mesh.kind, MeshKind::Particles { .. });
    let species = table.meshes.iter().filter(is_species);
    let species: Value = species.map(|mesh| (mesh.name.clone(), json!({}))).collect();
    json!({ "file": file, "stamp": stamp, "attrs": {}, "species": species, "fields": fields })
}

/// Writes a series, and has it read. Returns what differs.
fn differences(versions: &[Version], compression: Compression) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        layout: Layout::OpenPmd,
        compression,
        ..PLAIN
    };
    let mut to = Checkpointer::new(dir.path(), "run", options).unwrap();
    let mut cases = Vec::new();
    for (n, version) in (1..).zip(versions) {
        let written = to.write(&version.snapshot(stamp(n))).unwrap();
        assert_restores(&Checkpoint::open(&written.path).unwrap(), version);
        cases.push(described(dir.path(), &written.path, version, stamp(n)));
    }
    drop(to);
    read(dir.path(), &cases)
}

/// Has the files in `dir` read. Returns what differs.
fn read(dir: &Path, cases: &[Value]) -> Result<(), String> {
    std::fs::write(dir.join("manifest.json"), json!(cases).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openpmd_particles.py");
    let mut command = Command::new(python());
    let output = command.arg("-B").arg(script).arg(dir).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fields = |case: &Value| case["fields"].as_array().unwrap().len();
    let fields: usize = cases.iter().map(fields).sum();
    let agreed = format!("{} files, {fields} fields agree\n", cases.len());
    match output.status.success() && text(&output.stdout) == agreed {
        true => Ok(()),
        false => Err(text(&output.stdout) + &text(&output.stderr)),
    }
}

#[test]
fn particles_and_tables_come_and_go_beside_each_structured_mesh() {
    let datum = |centering, components| Datum {
        centering,
        dtype: DType::F32,
        components,
    };
    let version = |count: usize| {
        let kinds = [
            Kind::Uniform([4, 3, 2]),
            Kind::Rectilinear(vec![4, 3]),
            Kind::Curvilinear(vec![2, 3], Order::F, true),
            Kind::Particles(count, 3, DType::F64),
            Kind::Particles(4 - count, 1, DType::F32),
        ];
        let spec = |kind| Spec {
            data: vec![
                datum(Centering::Point, 1),
                datum(Centering::Cell, 3),
                datum(Centering::None, 2),
            ],
            most: matches!(kind, Kind::Particles(..)).then_some([4, 4]),
            ..Spec::new(kind)
        };
        build(&kinds.map(spec))
    };
    let versions = [3, 0, 4, 1].map(version);
    if let Err(told) = differences(&versions, Compression::None) {
        panic!("{told}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_meshes_are_read_from_openpmd_files(
        versions in versions(3),
        is_compressed in any::<bool>(),
    ) {
        let compression = if is_compressed { Compression::Deflate(1) } else { Compression::None };
        let differences = differences(&versions, compression);
        prop_assert!(differences.is_ok(), "{}", differences.unwrap_err());
    }
}
