//! Tests of the places of fields.

use super::*;
use tcasm_core::field::{CellType, Cells, DType};

fn table(fields: Vec<FieldDesc>, meshes: Vec<MeshDesc>) -> FieldTable {
    let table = FieldTable {
        fields,
        meshes,
        ..FieldTable::default()
    };
    table.check_meshes().unwrap();
    table
}

fn field(name: &str, shape: &[usize]) -> FieldDesc {
    FieldDesc::new(name, DType::F64, shape)
}

/// Returns a field on a mesh.
fn on(mesh: &str, quantity: &str, name: &str, shape: &[usize]) -> FieldDesc {
    let mut field = field(name, shape);
    field.on = Some(mesh.to_owned());
    field.quantity = Some(quantity.to_owned());
    field
}

fn points(name: &str, count: usize) -> FieldDesc {
    let mut field = field(name, &[count]);
    field.components = 3;
    field
}

fn mesh(name: &str, kind: MeshKind) -> MeshDesc {
    MeshDesc {
        name: name.to_owned(),
        kind,
        block: None,
        attrs: BTreeMap::new(),
    }
}

fn particles(name: &str, positions: &str) -> MeshDesc {
    let positions = positions.to_owned();
    mesh(name, MeshKind::Particles { positions })
}

fn grid(name: &str) -> MeshDesc {
    let kind = MeshKind::Uniform {
        points: [3, 2, 1],
        origin: [0.0; 3],
        spacing: [1.0; 3],
    };
    mesh(name, kind)
}

/// Returns the record of a field on a mesh.
fn record(plan: &Plan, field: &str) -> String {
    match &plan.places[field] {
        Place::Mesh(name, _) => name.clone(),
        other => panic!("{field}: {other:?}"),
    }
}

fn in_species(species: &str, name: &str) -> Place {
    Place::Particles {
        species: species.to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn record_names_are_valid_in_openpmd_and_unique() {
    let names = ["a-b", "a_b", "a_b_", "c-d", "e"];
    let called = unique(&names, &[]);
    assert_eq!(called, ["a_b__", "a_b", "a_b_", "c_d", "e"]);
    assert_eq!(unique(&["e", "e_"], &["e"]), ["e_", "e__"]);
}

#[test]
fn records_are_named_after_quantities_unless_several_fields_hold_the_same() {
    let fields = vec![
        on("left", "temperature", "t_left", &[2, 3]),
        on("right", "temperature", "t_right", &[2, 3]),
        on("left", "pressure", "p_left", &[2, 3]),
        field("t_right_", &[7]),
    ];
    let plan = Plan::of(&table(fields, vec![grid("left"), grid("right")]));
    let names = ["t_left", "t_right", "p_left", "t_right_"].map(|name| record(&plan, name));
    assert_eq!(names, ["t_left", "t_right", "pressure", "t_right_"]);
    assert!(plan.left_out.is_empty() && plan.species.is_empty());
}

#[test]
fn particles_have_records_of_their_own() {
    let mut index = on("ions", "id", "index", &[4]);
    index.dtype = DType::U64;
    let mut tally = on("ions", "tally", "tally", &[9]);
    tally.centering = Centering::None;
    let fields = vec![
        points("x", 5),
        points("y", 4),
        on("free-electrons", "velocity", "v-e", &[5]),
        on("ions", "velocity", "v-i", &[4]),
        on("ions", "position", "other", &[4]),
        index,
        tally,
    ];
    let meshes = vec![
        particles("free-electrons", "x"),
        particles("ions", "y"),
        particles("probes", "y"),
    ];
    let plan = Plan::of(&table(fields, meshes));
    let positions = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        Place::Positions(names.collect())
    };
    assert_eq!(plan.places["x"], positions(&["free_electrons"]));
    assert_eq!(plan.places["y"], positions(&["ions", "probes"]));
    assert_eq!(plan.places["v-e"], in_species("free_electrons", "velocity"));
    assert_eq!(plan.places["v-i"], in_species("ions", "velocity"));
    assert_eq!(plan.places["index"], in_species("ions", "id"));
    assert_eq!(plan.places["other"], in_species("ions", "position_"));
    assert_eq!(record(&plan, "tally"), "tally");
    let counts = plan.species.iter().map(|s| (s.name.as_str(), s.count));
    let counts: Vec<_> = counts.collect();
    assert_eq!(counts, [("free_electrons", 5), ("ions", 4), ("probes", 4)]);
}

#[test]
fn fields_that_openpmd_cannot_hold_are_left_out_with_a_reason() {
    let mut connectivity = field("cells", &[2]);
    (connectivity.dtype, connectivity.components) = (DType::I32, 4);
    let mut complex = field("c", &[4]);
    complex.dtype = DType::C64;
    let mut raw = field("raw", &[4]);
    (raw.dtype, raw.components) = (DType::U8, 8);
    raw.kind = Kind::Raw {
        type_name: "Point".to_owned(),
        align: 8,
    };
    let fields = vec![
        points("points", 5),
        connectivity,
        on("tets", "t", "t", &[5]),
        complex,
        raw,
        field("plain", &[3]),
    ];
    let cells = Cells::Same {
        cell_type: CellType::TETRA,
        connectivity: "cells".to_owned(),
    };
    let kind = MeshKind::Unstructured {
        points: "points".to_owned(),
        cells,
    };
    let plan = Plan::of(&table(fields, vec![mesh("tets", kind)]));
    assert_eq!(plan.places.keys().collect::<Vec<_>>(), ["plain"]);
    let left_out: Vec<_> = plan
        .left_out
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(left_out, ["points", "cells", "t", "c", "raw"]);
    assert_eq!(plan.left_out[2].1, NO_CELLS);
}

#[test]
fn positions_that_are_also_on_another_mesh_are_told() {
    let fields = |y: FieldDesc| vec![y, points("z", 4)];
    let meshes = || vec![particles("atoms", "y"), particles("tracers", "z")];
    let plan = Plan::of(&table(fields(points("y", 4)), meshes()));
    assert!(plan.left_out.is_empty());
    let plan = Plan::of(&table(fields(on("tracers", "q", "y", &[4])), meshes()));
    assert_eq!(plan.left_out, [("y".to_owned(), NOT_ON_MESH)]);
    let atoms = vec!["atoms".to_owned()];
    assert_eq!(plan.places["y"], Place::Positions(atoms));
}
