//! Tests of the contents of a time series.

use super::*;
use tcasm_core::field::{Centering, DType, Mesh, MeshDesc, MeshKind};

fn table(shape: &[usize]) -> FieldTable {
    FieldTable {
        fields: vec![FieldDesc::new("t", DType::F64, shape)],
        ..FieldTable::default()
    }
}

fn series(times: &[f64]) -> Contents {
    let mut contents = Contents::new("heat", &table(&[4]));
    for (i, &time) in times.iter().enumerate() {
        let (version, step) = (i as u64 + 1, 10 * i as u64);
        contents.versions.push(Row {
            stamp: Stamp {
                version,
                step,
                time,
            },
            files: vec![version],
            chapter: (version < 3).then_some(Chapter {
                file: 9,
                at: version - 1,
                rows: 2,
            }),
            lens: Vec::new(),
            made: Vec::new(),
            blocks: Vec::new(),
        });
    }
    contents
}

#[test]
fn series_goes_on_although_the_mesh_holds_a_nan() {
    let mut old = table(&[4]);
    old.fields[0].mesh = Some(Mesh {
        origin: [f64::NAN; 3],
        spacing: [1.0; 3],
    });
    let contents = Contents::new("heat", &old);
    assert!(contents.takes(&old) && contents.takes(&table(&[4])));
    old.fields[0].mesh = Some(Mesh::default());
    assert!(!contents.takes(&old));
}

#[test]
fn steps_replace_times_that_do_not_ascend() {
    assert_eq!(series(&[0.0, 0.5, 2.0]).times(), [0.0, 0.5, 2.0]);
    for times in [[0.0, 0.0, 1.0], [1.0, 0.5, 2.0], [0.0, f64::NAN, 1.0]] {
        assert_eq!(series(&times).times(), [0.0, 10.0, 20.0], "{times:?}");
    }
}

#[test]
fn cut_and_keep_remove_versions() {
    let mut contents = series(&[0.0, 1.0, 2.0, 3.0]);
    contents.cut(20);
    assert_eq!(contents.last().unwrap().step, 10);
    contents.keep(1);
    assert_eq!(contents.files(), BTreeSet::from([2, 9]));
    assert_eq!((contents.loose(), series(&[0.0; 4]).loose()), (1..1, 2..4));
    contents.keep(5);
    assert_eq!(contents.versions.len(), 1);
}

#[test]
fn series_accepts_fields_of_the_same_shape_at_any_offset() {
    let contents = series(&[]);
    let mut moved = table(&[4]);
    moved.fields[0].offset = 4096;
    moved.fields[0].attrs.insert("a".to_owned(), 1.into());
    assert!(contents.takes(&moved));
    assert!(!contents.takes(&table(&[5])));
    assert!(!contents.takes(&FieldTable::default()));
}

#[test]
fn what_only_restarts_need_is_not_in_a_series() {
    let mut marked = table(&[4]);
    marked.fields[0].not_in_checkpoints = true;
    marked.lacking = table(&[5]).fields;
    let contents = Contents::new("heat", &marked);
    assert_eq!(contents, Contents::new("heat", &table(&[4])));
    assert!(contents.takes(&marked));
}

#[test]
fn bounds_of_errors_are_read_back_in_a_newer_format() {
    let mut rounded = table(&[4]);
    rounded.fields.push(FieldDesc::new("n", DType::I32, &[4]));
    let exact = Contents::new("heat", &rounded);
    rounded.fields[0].relative_error = Some(1e-3);
    let contents = Contents::new("heat", &rounded);
    assert_eq!((exact.format, contents.format), (1, 2));
    let read = Contents::decode(&contents.encode().unwrap(), Path::new("x")).unwrap();
    assert_eq!(read, contents);
    assert!(read.takes(&rounded) && !exact.takes(&rounded));
    rounded.fields[0].relative_error = Some(1e-2);
    assert!(!read.takes(&rounded));
    rounded.fields[0].capacity = Some(8);
    let both = Contents::new("heat", &rounded);
    let read = Contents::decode(&both.encode().unwrap(), Path::new("x")).unwrap();
    assert_eq!(read, both);
}

#[test]
fn contents_are_encoded_with_any_times() {
    let contents = series(&[f64::INFINITY, -0.0]);
    let bytes = contents.encode().unwrap();
    assert_eq!(rmp_serde::from_slice::<Contents>(&bytes).unwrap(), contents);
}

#[test]
fn fields_with_lengths_make_a_series_of_format_2_and_others_one_of_format_1() {
    assert_eq!(series(&[0.0]).format, 1);
    let mut variable = table(&[3]);
    variable.fields[0].capacity = Some(8);
    let mut contents = Contents::new("heat", &variable);
    assert_eq!(contents.format, 2);
    contents.versions.push(Row {
        stamp: Stamp {
            version: 1,
            step: 0,
            time: 0.0,
        },
        files: vec![1],
        chapter: None,
        lens: vec![3],
        made: vec![MadeRow {
            file: 7,
            stored: 4,
            count: 3,
        }],
        blocks: Vec::new(),
    });
    let bytes = contents.encode().unwrap();
    assert_eq!(Contents::decode(&bytes, Path::new("x")).unwrap(), contents);
    assert_eq!(contents.files(), BTreeSet::from([1, 7]));
    variable.fields[0].shape = vec![0];
    assert!(!contents.takes(&variable), "there is no array to make");
    contents.versions[0].made.clear();
    assert!(contents.takes(&variable));
    variable.fields[0].capacity = Some(9);
    assert!(!contents.takes(&variable));
}

/// Returns a table with one block, `steps` away from the origin.
fn block(of: &str, steps: u8) -> FieldTable {
    let mut table = table(&[4]);
    table.fields[0].on = Some("b".to_owned());
    table.meshes.push(MeshDesc {
        name: "b".to_owned(),
        kind: MeshKind::Uniform {
            points: [4, 1, 1],
            origin: [f64::from(steps), 0.0, 0.0],
            spacing: [1.0; 3],
        },
        block: Some(Block {
            of: of.to_owned(),
            level: 0,
            refinement: [2; 3],
            offset: [i64::from(steps), 0, 0],
        }),
        attrs: Default::default(),
    });
    table.check_meshes().unwrap();
    table
}

#[test]
fn places_of_blocks_are_stored_for_each_version_in_format_3() {
    let mut contents = Contents::new("heat", &block("gas", 0));
    assert_eq!(contents.format, 3);
    for steps in 0..2 {
        contents.versions.push(Row {
            stamp: Stamp::default(),
            files: vec![1],
            chapter: None,
            lens: vec![4],
            made: Vec::new(),
            blocks: blocks(&block("gas", steps)),
        });
    }
    let bytes = contents.encode().unwrap();
    let read = Contents::decode(&bytes, Path::new("x")).unwrap();
    assert_eq!(read, contents);
    assert_eq!(read.versions[1].blocks[0].offset, [1, 0, 0]);
}

#[test]
fn single_mesh_that_moves_begins_a_part_that_takes_every_place() {
    let contents = Contents::new("heat", &block("gas", 0));
    assert!(contents.takes(&block("gas", 0)));
    assert!(!contents.takes(&block("gas", 1)), "an image has one place");
    let next = contents.next_part(&block("gas", 1));
    assert!(next.takes(&block("gas", 1)) && next.takes(&block("gas", 2)));
    assert!(!next.takes(&block("dust", 1)));
    // A part that began for another reason may have an image.
    let other = contents.next_part(&table(&[9]));
    assert!(!other.moves() && next.moves());
}

#[test]
fn series_of_a_block_with_one_layer_of_cells_takes_versions_without_it() {
    let layers = |layers: usize| {
        let mut table = block("gas", 0);
        table.fields[0] = FieldDesc {
            on: Some("b".to_owned()),
            capacity: Some(1),
            centering: Centering::Cell,
            ..FieldDesc::new("t", DType::F64, &[layers, 3, 4])
        };
        if let MeshKind::Uniform { points, .. } = &mut table.meshes[0].kind {
            *points = [5, 4, layers];
        }
        table.check_meshes().unwrap();
        table
    };
    assert!(Contents::new("heat", &layers(1)).takes(&layers(0)));
    assert!(Contents::new("heat", &layers(0)).takes(&layers(1)));
}

#[test]
fn rows_that_do_not_fit_the_table_are_damaged() {
    let good = series(&[0.0, 1.0, 2.0]);
    let changes: [fn(&mut Row); 5] = [
        |row| row.files.clear(),
        |row| row.files.push(1),
        |row| row.lens = vec![4, 4],
        |row| {
            row.chapter = Some(Chapter {
                file: 9,
                at: 2,
                rows: 2,
            })
        },
        |row| {
            let rows = u64::MAX;
            row.chapter = Some(Chapter {
                file: 9,
                at: 0,
                rows,
            });
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut wrong = good.clone();
        change(&mut wrong.versions[1]);
        let error = Contents::decode(&wrong.encode().unwrap(), Path::new("x")).unwrap_err();
        let is_named = error.to_string().contains("step 10");
        assert!(is_named, "{number}: {error}");
    }
    let mut wrong = Contents::new("heat", &block("gas", 0));
    wrong.versions.push(Row {
        files: vec![1],
        lens: vec![4],
        blocks: vec![blocks(&block("gas", 0)).remove(0); 2],
        ..good.versions[2].clone()
    });
    let decoded = Contents::decode(&wrong.encode().unwrap(), Path::new("x"));
    assert!(matches!(decoded, Err(ReadError::Damaged { .. })));
}

#[test]
fn newer_format_with_more_members_is_too_new_and_not_damaged() {
    let decode = |bytes: &[u8]| Contents::decode(bytes, Path::new("x"));
    let contents = series(&[0.0, 1.0]);
    assert_eq!(decode(&contents.encode().unwrap()).unwrap(), contents);
    let newer = (
        FORMAT + 1,
        "heat",
        vec!["another", "layout"],
        1.5,
        (),
        (),
        7,
    );
    let error = decode(&rmp_serde::to_vec(&newer).unwrap()).unwrap_err();
    assert!(
        matches!(error, ReadError::TooNew { found: 4, .. }),
        "{error}"
    );
    for damaged in [&[][..], &[0x90], &[0x93, 1], b"junk"] {
        let error = decode(damaged).unwrap_err();
        assert!(
            matches!(error, ReadError::Damaged { .. }),
            "{damaged:?}: {error}"
        );
    }
}
