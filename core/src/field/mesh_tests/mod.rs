//! Tests of tables with named meshes.

mod refused;
mod sizes;
mod tables;

use super::*;
use proptest::prelude::*;
use tables::{decoded, every_kind, plan};

proptest! {
    #[test]
    fn sound_tables_are_decoded_as_they_were(plans in proptest::collection::vec(plan(), 0..5)) {
        let mut table = FieldTable::default();
        for (i, plan) in plans.iter().enumerate() {
            plan.add_to(&mut table, &format!("m{i}"));
        }
        let read = decoded(&table).unwrap();
        prop_assert_eq!(&read, &table);
        for mesh in &read.meshes {
            let size = read.size_of(mesh).unwrap();
            for field in read.fields_on(&mesh.name) {
                prop_assert_eq!(read.mesh_of(field), Some(mesh));
                prop_assert!(field.capacity.is_none_or(|most| field.length() <= most));
            }
            for name in mesh.geometry() {
                prop_assert_eq!(read.geometry_of(name), Some(mesh));
            }
            prop_assert_eq!(size.points.len(), size.cells.len());
        }
    }
}

#[test]
fn mesh_without_points_has_no_cells() {
    let table = every_kind([0, 0]);
    assert!(decoded(&table).is_ok());
    let size = |name: &str| table.size_of(table.mesh(name).unwrap()).unwrap();
    assert_eq!((size("m4").points, size("m4").cells), (vec![0], vec![0]));
    let cells = [0, 1, 2, 5].map(cells_between);
    assert_eq!(cells, [0, 1, 1, 4]);
}

#[test]
fn blocks_of_one_whole_are_in_order_of_level_and_name() {
    let mut table = every_kind([5, 2]);
    let places = [("gas", 1), ("gas", 0), ("dust", 0), ("gas", 0)];
    for (mesh, (of, level)) in table.meshes.iter_mut().zip(places) {
        mesh.block = Some(Block {
            of: of.to_owned(),
            level,
            refinement: [2; 3],
            offset: [0; 3],
        });
    }
    let names = |of: &str| {
        let names = table.blocks(of).into_iter().map(|mesh| mesh.name.clone());
        names.collect::<Vec<String>>()
    };
    assert_eq!(names("gas"), ["m1", "m3", "m0"]);
    assert_eq!(names("dust"), ["m2"]);
    assert!(names("m4").is_empty());
}

#[test]
fn table_without_meshes_has_the_bytes_of_earlier_releases() {
    let table = FieldTable {
        fields: vec![FieldDesc::new("t", DType::F64, &[4])],
        ..FieldTable::default()
    };
    let bytes = table.encode().unwrap();
    let has = |word: &str| bytes.windows(word.len()).any(|w| w == word.as_bytes());
    for word in ["meshes", "quantity", "capacity", "block"] {
        assert!(!has(word), "{word}");
    }
    // A map of two members, `fields` (the field is a map of 12) and `attrs`.
    assert_eq!(bytes[..8], *b"\x82\xa6fields");
    assert_eq!(bytes[8..10], [0x91, 0x8c]);
    assert_eq!(bytes[bytes.len() - 7..], *b"\xa5attrs\x80");
    assert_eq!(decoded(&table).unwrap(), table);
}
