//! Real openPMD-api and h5py read particles and named meshes, whose lengths change from file to
//! file, to zero and back. They agree on every value, unit and position.

mod common;

use common::{PLAIN, Version, field};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tcasm_checkpoint::{Checkpointer, Compression, Layout, Options};
use tcasm_core::field::{Attr, Centering, DType, FieldDesc, FieldTable, MeshDesc, MeshKind};
use tcasm_core::format::stamp::Stamp;

/// Runs the script on the files in `dir`, which `cases` describe.
fn check(dir: &Path, cases: &[Value]) {
    std::fs::write(dir.join("manifest.json"), json!(cases).to_string()).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.unwrap().success(), "ci/python-env.sh made no Python");
    let output = Command::new(root.join("target/venv/bin/python"))
        .arg("-B") // writes no compiled scripts among the sources
        .arg(here.join("tests/openpmd_particles.py"))
        .arg(dir)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{error}");
    let fields = |case: &Value| case["fields"].as_array().unwrap().len();
    let fields: usize = cases.iter().map(fields).sum();
    assert_eq!(
        out,
        format!("{} files, {fields} fields agree\n", cases.len())
    );
}

/// A field, and its place in the file.
type Placed = (FieldDesc, Value);

/// Returns a field on a mesh.
fn on(mesh: &str, quantity: &str, field: FieldDesc, unit: &str, place: Value) -> Placed {
    let (on, quantity) = (Some(mesh.to_owned()), Some(quantity.to_owned()));
    let unit = unit.to_owned();
    let field = FieldDesc {
        on,
        quantity,
        unit,
        ..field
    };
    (field, place)
}

/// Returns a field of changing length with several components, of which it has `len` now.
fn variable(name: &str, dtype: DType, len: usize, components: usize) -> FieldDesc {
    let mut field = field(name, dtype, &[len]);
    (field.components, field.capacity) = (components, Some(9));
    field
}

fn at(path: &str) -> Value {
    json!({ "path": path })
}

/// Returns a place on a mesh with coordinates of its own.
fn other(path: &str, geometry: &str, parameters: &str) -> Value {
    let (origin, spacing) = ([0.0; 3], [1.0; 3]);
    json!({
        "path": path, "geometry": geometry, "parameters": parameters,
        "origin": origin, "spacing": spacing,
    })
}

/// Returns two species with `atoms` and `tracers` particles.
fn particles(atoms: usize, tracers: usize) -> Vec<Placed> {
    let mut x = variable("x", DType::F64, atoms, 3);
    x.unit = "nm".to_owned();
    let v = variable("v", DType::F32, atoms, 3);
    let index = variable("index", DType::U64, atoms, 1);
    let mass = variable("mass", DType::F64, atoms, 1);
    let tensor = variable("tensor", DType::F64, atoms, 6);
    let line = variable("line", DType::F32, tracers, 1);
    let charge = variable("charge", DType::F64, tracers, 1);
    let path = |record: &str| at(&format!("particles/atoms/{record}"));
    let charge_path = at("particles/tracers_1/charge_state");
    vec![
        (x, path("position")),
        on("atoms", "velocity", v, "nm/ps", path("velocity")),
        on("atoms", "id", index, "", path("id")),
        on("atoms", "mass", mass, "u", path("mass")),
        on("atoms", "position", tensor, "bar", path("position_")),
        (line, at("particles/tracers_1/position")),
        on("tracers-1", "charge-state", charge, "furlong", charge_path),
    ]
}

/// Returns a field on a block of version number `step`, which is unused if `is_used` is false.
fn on_block(step: usize, is_used: bool) -> Placed {
    let mut density = field("d", DType::F64, &[if is_used { 2 } else { 0 }, 3]);
    density.capacity = Some(2);
    let place = json!({
        "path": "meshes/density", "origin": [0.5, step, 0.0], "spacing": [0.5, 0.25, 1.0],
    });
    on("block", "density", density, "bar", place)
}

/// Returns fields on structured meshes, and on none, of version number `step`.
fn grids(len: usize, step: usize) -> Vec<Placed> {
    let values = |name: &str| field(name, DType::F64, &[2, 3]);
    let (mut points, mut cells) = (values("points"), field("cells", DType::F32, &[1, 2]));
    points.components = 3;
    cells.centering = Centering::Cell;
    let uniform = json!({
        "path": "meshes/temperature", "origin": [1.0, step, 0.0], "spacing": [0.5, 0.25, 1.0],
    });
    let pressure = other("meshes/pressure", "other:rectilinear", "x=a_x;y=b_y");
    let speed = other("meshes/speed", "other:curvilinear", "coordinates=points");
    vec![
        on("uniform", "temperature", values("t"), "K", uniform),
        on_block(step, len > 0),
        (field("a-x", DType::F64, &[3]), at_origin("meshes/a_x")),
        (field("b-y", DType::F64, &[2]), at_origin("meshes/b_y")),
        on("stretched", "pressure", cells, "bar", pressure),
        (points, at_origin("meshes/points")),
        on("bent", "speed", values("s"), "nm/ps", speed),
        (
            variable("free", DType::I32, len, 1),
            at_origin("meshes/free"),
        ),
        (
            variable("pairs", DType::I32, len, 2),
            at_origin("meshes/pairs"),
        ),
        (field("complex", DType::C64, &[4]), Value::Null),
    ]
}

/// Returns the place of a field on no named mesh.
fn at_origin(path: &str) -> Value {
    json!({ "path": path, "origin": [0.0, 0.0, 0.0], "spacing": [1.0, 1.0, 1.0] })
}

/// The attributes of particles that no file has: HDF5 or openPMD cannot have them.
const LEFT_OUT: [&str; 4] = ["", "empty", "nu\0l", "zero"];

/// Returns the attributes of the atoms.
fn attributes() -> BTreeMap<String, Attr> {
    let all: [(&str, Attr); 8] = [
        ("element", "Ar".into()),
        ("diameter", 0.375.into()),
        ("stages", (-3).into()),
        ("sides", Attr::Floats(vec![1.5, 2.5, 3.5])),
        ("", 1.into()),
        ("empty", Attr::Floats(vec![])),
        ("nu\0l", 1.into()),
        ("zero", "a\0b".into()),
    ];
    let all = all.map(|(name, value)| (name.to_owned(), value));
    BTreeMap::from(all)
}

/// Returns the attributes that each species must have in a file.
fn species(table: &FieldTable) -> Value {
    let is_species = |mesh: &&MeshDesc| matches!(mesh.kind, MeshKind::Particles { .. });
    let species = table.meshes.iter().filter(is_species);
    let attributes = |mesh: &MeshDesc| {
        let all = mesh.attrs.iter();
        let stored = all.filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
        json!(stored.collect::<BTreeMap<_, _>>())
    };
    let species = species.map(|mesh| (mesh.name.replace('-', "_"), attributes(mesh)));
    species.collect()
}

/// Returns the meshes of version number `step`, of which one moves, and one is a block that may be
/// unused.
fn meshes(step: usize, is_used: bool) -> Vec<MeshDesc> {
    let mesh = |name: &str, kind| MeshDesc {
        name: name.to_owned(),
        kind,
        block: None,
        attrs: BTreeMap::new(),
    };
    let particles = |positions: &str| MeshKind::Particles {
        positions: positions.to_owned(),
    };
    let uniform = |rows, x| MeshKind::Uniform {
        points: [3, rows, 1],
        origin: [x, step as f64, 0.0],
        spacing: [0.5, 0.25, 1.0],
    };
    let stretched = MeshKind::Rectilinear {
        coordinates: vec!["a-x".to_owned(), "b-y".to_owned()],
    };
    let bent = MeshKind::Curvilinear {
        coordinates: "points".to_owned(),
    };
    let atoms = MeshDesc {
        attrs: attributes(),
        ..mesh("atoms", particles("x"))
    };
    vec![
        atoms,
        mesh("tracers-1", particles("line")),
        mesh("uniform", uniform(2, 1.0)),
        mesh("block", uniform(if is_used { 2 } else { 0 }, 0.5)),
        mesh("stretched", stretched),
        mesh("bent", bent),
    ]
}

/// Returns what the script must know of a file.
fn case(dir: &Path, file: &str, version: &Version, places: &[Value], stamp: Stamp) -> Value {
    let described = |(field, place): (&FieldDesc, &Value)| {
        let dump = format!("{file}.{}.bin", field.name);
        std::fs::write(dir.join(&dump), &version.bytes[&field.name]).unwrap();
        let mut described = serde_json::to_value(field).unwrap();
        described["dump"] = dump.into();
        described["place"] = place.clone();
        described
    };
    let fields = version.table.fields.iter().zip(places);
    let fields: Vec<Value> = fields.map(described).collect();
    let (attrs, species) = (&version.table.attrs, species(&version.table));
    json!({ "file": file, "stamp": stamp, "attrs": attrs, "species": species, "fields": fields })
}

/// Checks that a series with this compression is read back. With a bound, floats on meshes and of
/// particles are rounded. Geometry never is.
fn series_is_read_back(compression: Compression, relative_error: Option<f64>) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        layout: Layout::OpenPmd,
        compression,
        ..PLAIN
    };
    let mut to = Checkpointer::new(dir.path(), "run", options).unwrap();
    let mut cases = Vec::new();
    let lengths = [(3, 2), (0, 5), (9, 0), (0, 0), (1, 9)];
    for (i, (atoms, tracers)) in lengths.into_iter().enumerate() {
        let placed = [particles(atoms, tracers), grids(tracers, i)].concat();
        let (fields, places): (Vec<_>, Vec<_>) = placed.into_iter().unzip();
        let mut version = Version::of(fields);
        version.table.meshes = meshes(i, tracers > 0);
        version.table.check_meshes().unwrap();
        let on_meshes = version.table.fields.iter_mut().filter(|f| f.on.is_some());
        for field in on_meshes {
            let rounds = |bound: &f64| field.dtype.significant_bits(*bound).is_some();
            field.relative_error = relative_error.filter(rounds);
        }
        let attrs = &mut version.table.attrs;
        attrs.insert("author".to_owned(), "A. Author <author@example.org>".into());
        attrs.insert("beta".to_owned(), 0.5.into());
        attrs.insert("cells".to_owned(), 3.into());
        let stamp = Stamp {
            version: i as u64,
            step: 10 * i as u64,
            time: 0.5 * i as f64,
        };
        let written = to.write(&version.snapshot(stamp)).unwrap();
        let file = written.path.file_name().unwrap().to_str().unwrap();
        cases.push(case(dir.path(), file, &version, &places, stamp));
    }
    check(dir.path(), &cases);
}

#[test]
fn openpmd_api_reads_particles_and_meshes_whose_lengths_change() {
    series_is_read_back(Compression::None, None);
    series_is_read_back(Compression::Deflate(1), None);
}

#[test]
fn openpmd_api_reads_rounded_values_of_particles_and_on_meshes() {
    series_is_read_back(Compression::None, Some(0.1));
    series_is_read_back(Compression::Deflate(1), Some(0.1));
}
