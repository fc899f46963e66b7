//! Files read back as they were written: every bit of every field, and its description.

mod common;

use common::{LAYOUTS, PLAIN, STAMP, Version, field};
use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tcasm_checkpoint::{Checkpoint, Compression, Layout, Options, ReadError};
use tcasm_core::field::{
    Attr, Centering, DType, FieldDesc, Kind, Mesh, MeshDesc, MeshKind, Order, view,
};
use tcasm_core::with_dtype;

const COMPRESSIONS: [Compression; 3] = [
    Compression::None,
    Compression::Deflate(1),
    Compression::Zstd(3),
];

fn any_shape() -> impl Strategy<Value = (Vec<usize>, Vec<[usize; 2]>)> {
    let dim = (1_usize..6, 0_usize..3, 0_usize..3);
    prop::collection::vec(dim, 0..=4).prop_map(|dims| {
        let ghosts = dims.iter().map(|&(_, a, b)| [a, b]).collect();
        (dims.iter().map(|&(n, a, b)| n + a + b).collect(), ghosts)
    })
}

fn any_attr() -> impl Strategy<Value = Attr> {
    prop_oneof![
        any::<i64>().prop_map(Attr::Int),
        prop::num::f64::NORMAL.prop_map(Attr::Float),
        ".*".prop_map(Attr::Text),
        prop::collection::vec(prop::num::f64::NORMAL, 0..4).prop_map(Attr::Floats),
    ]
}

prop_compose! {
    fn any_field()(
        (shape, ghosts) in any_shape(),
        dtype in prop::sample::select(DType::ALL.to_vec()),
        components in prop::sample::select(vec![1_usize, 1, 2, 3, 9]),
        fortran in any::<bool>(),
        ghostly in any::<bool>(),
        cell in any::<bool>(),
        origin in prop::option::of(prop::array::uniform3(-1e3..1e3)),
        unit in ".{0,8}",
        attrs in prop::collection::btree_map(".{0,8}", any_attr(), 0..3),
    ) -> FieldDesc {
        let mut field = FieldDesc::new("f", dtype, &shape);
        field.components = components;
        field.order = if fortran { Order::F } else { Order::C };
        field.centering = if cell { Centering::Cell } else { Centering::Point };
        field.mesh = origin.map(|origin| Mesh { origin, spacing: [0.1, 0.2, 0.3] });
        if ghostly {
            field.ghosts = ghosts;
        }
        field.unit = unit;
        field.attrs = attrs;
        field
    }
}

fn any_version() -> impl Strategy<Value = Version> {
    let attrs = prop::collection::btree_map(".{0,8}", any_attr(), 0..3);
    (prop::collection::vec(any_field(), 1..5), attrs, any::<u8>()).prop_map(
        |(mut fields, attrs, seed): (_, BTreeMap<_, _>, _)| {
            for (i, field) in fields.iter_mut().enumerate() {
                field.name = format!("f{i}");
            }
            let mut version = Version::of(fields);
            version.table.attrs = attrs;
            // Any bits are possible: NaNs and signed zeros must survive too.
            for (i, byte) in version.bytes.values_mut().flatten().enumerate() {
                *byte = byte.wrapping_mul(seed | 1).wrapping_add(i as u8 ^ seed);
            }
            version
        },
    )
}

fn read_array(checkpoint: &Checkpoint, field: &FieldDesc, expected: &[u8]) {
    with_dtype!(field.dtype, T => {
        let aligned: Vec<T> = bytemuck::allocation::pod_collect_to_vec(expected);
        let expected = view::<T>(field, bytemuck::cast_slice(&aligned)).unwrap();
        let shape = IxDyn(&field.array_shape());
        let mut array = ArrayD::<T>::from_elem(shape, bytemuck::Zeroable::zeroed());
        checkpoint.read_array(&field.name, array.view_mut()).unwrap();
        let bits = |v: &T| bytemuck::bytes_of(v).to_vec();
        assert!(array.iter().map(bits).eq(expected.iter().map(bits)), "{field:?}");
    })
}

/// Writes a version in each layout, and reads every field of it.
fn reads_back(path: &std::path::Path, version: &Version) {
    for layout in LAYOUTS {
        reads_back_from(path, version, &Options { layout, ..PLAIN });
    }
}

fn reads_back_from(path: &std::path::Path, version: &Version, options: &Options) {
    let size = tcasm_checkpoint::write(path, &version.snapshot(STAMP), options).unwrap();
    assert_eq!(size, std::fs::metadata(path).unwrap().len());
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(checkpoint.stamp(), STAMP);
    assert_eq!(checkpoint.region(), "test");
    assert_eq!(*checkpoint.table(), version.table);
    for field in &version.table.fields {
        let expected = &version.bytes[&field.name];
        // The buffer may be unaligned, so read into one that is off by a byte.
        let mut buffer = vec![0; expected.len() + 1];
        checkpoint
            .read_bytes(&field.name, &mut buffer[1..])
            .unwrap();
        assert!(buffer[1..] == expected[..], "{field:?}");
        read_array(&checkpoint, field, expected);
    }
    checkpoint.verify().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_bit_and_every_description_reads_back(
        version in any_version(),
        compression in prop::sample::select(COMPRESSIONS.to_vec()),
        layout in prop::sample::select(LAYOUTS.to_vec()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.checkpoint");
        reads_back_from(&path, &version, &Options { compression, layout, ..PLAIN });
    }
}

#[test]
fn fields_of_many_chunks_and_blocks_read_back() {
    let mut ghosts = field("ghosts", DType::F64, &[70, 130, 90]);
    ghosts.ghosts = vec![[2, 1], [0, 1], [1, 0]];
    let mut fortran = field("fortran", DType::F32, &[90, 129, 67]);
    (fortran.order, fortran.components) = (Order::F, 3);
    let version = Version::of([ghosts, fortran]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.checkpoint");
    for compression in COMPRESSIONS {
        for layout in LAYOUTS {
            let options = Options {
                compression,
                layout,
                ..PLAIN
            };
            reads_back_from(&path, &version, &options);
        }
    }
}

/// Checks every combination of axes of extent 1, 2 and 3. Points and cells of a grid differ in
/// which axes are absent.
#[test]
fn fields_that_share_a_small_grid_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.checkpoint");
    for i in 0..54 {
        let points = [1 + i % 3, 1 + i / 3 % 3, 1 + i / 9 % 3];
        let cells = points.map(|n| (n - 1).max(1));
        let with = |name, shape: [usize; 3], centering, ghost| {
            let mut field = field(name, DType::I16, &shape.map(|n| n + 2 * ghost));
            field.ghosts = vec![[ghost; 2]; 3];
            field.order = if i < 27 { Order::C } else { Order::F };
            field.centering = centering;
            field
        };
        let version = Version::of([
            with("points", points, Centering::Point, 0),
            with("points_ghosts", points, Centering::Point, 1),
            with("cells", cells, Centering::Cell, 0),
            with("cells_ghosts", cells, Centering::Cell, 1),
        ]);
        reads_back(&path, &version);
    }
}

/// Checks a row of cells on a plane that is one cell high. Its datasets have an axis that the field
/// does not have.
#[test]
fn fields_of_fewer_dimensions_than_their_grid_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vtkhdf");
    let cells = |name, shape: &[usize], ghosts: Vec<[usize; 2]>| {
        let mut field = field(name, DType::I16, shape);
        (field.centering, field.components, field.ghosts) = (Centering::Cell, 3, ghosts);
        field
    };
    let version = Version::of([
        cells("plane", &[1, 5], vec![[0; 2]; 2]),
        cells("row", &[5], vec![[0; 2]]),
        cells("row_ghosts", &[7], vec![[1, 1]]),
    ]);
    reads_back(&path, &version);
}

#[test]
fn raw_structures_read_back_as_bytes() {
    let mut particles = FieldDesc::new("particles", DType::U8, &[10]);
    particles.components = 40;
    particles.kind = Kind::Raw {
        type_name: "Particle".to_owned(),
        align: 8,
    };
    let version = Version::of([particles]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vtkhdf");
    for layout in LAYOUTS {
        let options = Options { layout, ..PLAIN };
        tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
        let checkpoint = Checkpoint::open(&path).unwrap();
        let mut buffer = vec![0; 400];
        checkpoint.read_bytes("particles", &mut buffer).unwrap();
        assert_eq!(buffer, version.bytes["particles"]);
    }
    let checkpoint = Checkpoint::open(&path).unwrap();
    let mut array = ArrayD::<u8>::zeros(vec![10, 40]);
    let error = checkpoint
        .read_array("particles", array.view_mut())
        .unwrap_err();
    assert!(matches!(error, ReadError::NotAnArray { .. }), "{error}");
}

/// Returns attributes of which HDF5 cannot hold two.
fn with_zero_bytes() -> BTreeMap<String, Attr> {
    BTreeMap::from([
        ("nu\0l".to_owned(), Attr::Int(1)),
        ("text".to_owned(), Attr::from("a\0b")),
        ("sound".to_owned(), Attr::from("x")),
    ])
}

#[test]
fn attributes_with_a_zero_byte_are_in_the_table_only() {
    let mut positions = field("x", DType::F64, &[2]);
    (positions.attrs, positions.unit) = (with_zero_bytes(), "n\0m".to_owned());
    let mut version = Version::of([positions]);
    version.table.attrs = with_zero_bytes();
    let positions = "x".to_owned();
    version.table.meshes.push(MeshDesc {
        name: "atoms".to_owned(),
        kind: MeshKind::Particles { positions },
        block: None,
        attrs: with_zero_bytes(),
    });
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("zero.h5");
        let options = Options { layout, ..PLAIN };
        tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
        let table = Checkpoint::open(&path).unwrap().table().clone();
        assert_eq!(table, version.table);
        let file = hdf5::File::open(&path).unwrap();
        let x = file.dataset("tcasm/fields/x").unwrap();
        let mut names = x.attr_names().unwrap();
        if layout == Layout::OpenPmd {
            let atoms = file.group("data/42/particles/atoms").unwrap();
            names.extend(file.attr_names().unwrap());
            names.extend(atoms.attr_names().unwrap());
        }
        let count = |name: &str| names.iter().filter(|n| n.contains(name)).count();
        let places = if layout == Layout::OpenPmd { 3 } else { 1 };
        assert_eq!(count("sound"), places, "{names:?}");
        assert_eq!((count("nu"), count("text")), (0, 0), "{names:?}");
    }
}

#[test]
fn reading_a_wrong_type_shape_or_size_is_a_clear_error() {
    let version = Version::of([field("t", DType::F64, &[3, 4])]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vtkhdf");
    tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &PLAIN).unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();

    let message = |error: ReadError| error.to_string();
    let wrong_type = checkpoint.read_array("t", ArrayD::<f32>::zeros(vec![3, 4]).view_mut());
    assert_eq!(
        message(wrong_type.unwrap_err()),
        r#"field "t" has dtype float64, not float32; ask for float64"#
    );
    let wrong_shape = checkpoint.read_array("t", ArrayD::<f64>::zeros(vec![4, 3]).view_mut());
    assert_eq!(
        message(wrong_shape.unwrap_err()),
        r#"field "t" has shape [3, 4], not [4, 3]"#
    );
    let wrong_size = checkpoint.read_bytes("t", &mut [0; 95]);
    assert_eq!(
        message(wrong_size.unwrap_err()),
        r#"field "t" has 96 bytes, the buffer 95; pass one of 96 bytes"#
    );
    let no_field = checkpoint.read_bytes("u", &mut [0; 96]).unwrap_err();
    assert!(message(no_field).ends_with(r#"has no field "u"; it has t"#));
}
