//! Files with one version.

use crate::Files;
use crate::build::{Datum, Kind, Spec, build};
use crate::common::{PLAIN, STAMP, Version, field};
use ndarray::ArrayD;
use tcasm_checkpoint::{Checkpoint, Compression, Options};
use tcasm_core::field::{Block, CellType, Centering, DType, Element, Mesh, Order};

/// Writes `version` in each way, and checks that TCASM reads it back.
pub fn add(files: &mut Files, version: &Version) {
    let zstd = Options {
        compression: Compression::Zstd(3),
        ..PLAIN
    };
    for options in [PLAIN, Options::default(), zstd] {
        let file = format!("case{}.vtkhdf", files.cases.len());
        let path = files.path(&file);
        tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
        assert_restores(&Checkpoint::open(&path).unwrap(), version);
        let described = files.described(&file, version, STAMP);
        files.add(&file, false, &[described]);
    }
}

/// Checks that `checkpoint` has the table and the bytes of `version`.
pub fn assert_restores(checkpoint: &Checkpoint, version: &Version) {
    assert_eq!(checkpoint.table(), &version.table);
    checkpoint.verify().unwrap();
    for (name, bytes) in &version.bytes {
        let mut read = vec![1; bytes.len()];
        checkpoint.read_bytes(name, &mut read).unwrap();
        assert_eq!(&read, bytes, "{name}");
    }
}

pub fn kinds() -> Vec<Kind> {
    use DType::{I32, I64, U32, U64};
    let types = vec![CellType::TETRA, CellType::HEXAHEDRON, CellType::TRIANGLE];
    vec![
        Kind::Uniform([5, 4, 3]),
        Kind::Uniform([5, 4, 1]),
        Kind::Rectilinear(vec![4, 3, 2]),
        Kind::Rectilinear(vec![4, 1, 2]),
        Kind::Rectilinear(vec![6]),
        Kind::Curvilinear(vec![2, 3, 4], Order::C, false),
        Kind::Curvilinear(vec![2, 3, 4], Order::F, true),
        Kind::Curvilinear(vec![3, 4], Order::C, true),
        Kind::Curvilinear(vec![5], Order::C, false),
        Kind::Same(CellType::TETRA, 5, 9, I64),
        Kind::Same(CellType::QUADRATIC_HEXAHEDRON, 2, 30, I32),
        Kind::Same(CellType::VERTEX, 3, 4, U32),
        Kind::Same(CellType::LINE, 3, 4, U64),
        Kind::Mixed(types.clone(), 8, [I64, I64]),
        Kind::Mixed(types.clone(), 8, [I32, I32]),
        Kind::Mixed(types, 8, [I32, U64]),
        Kind::Particles(7, 3, DType::F64),
        Kind::Particles(7, 2, DType::F32),
        Kind::Particles(1, 1, DType::F64),
    ]
}

#[test]
fn other_programs_read_a_mesh_of_each_kind() {
    let mut files = Files::new();
    for kind in kinds() {
        add(&mut files, &build(&[Spec::new(kind)]));
    }
    files.check();
}

#[test]
fn other_programs_read_all_meshes_of_a_file() {
    let mut files = Files::new();
    let all: Vec<Spec> = kinds().into_iter().map(Spec::new).collect();
    add(&mut files, &build(&all));
    let mut version = build(&all[all.len() - 2..]);
    add_free(&mut version);
    add(&mut files, &version);
    files.check();
}

/// Adds fields that are on no named mesh, but have a mesh of their own, and one on none.
pub fn add_free(version: &mut Version) {
    let mut free = field("free", DType::F64, &[3, 4]);
    free.mesh = Some(Mesh {
        origin: [1.0, 2.0, 3.0],
        spacing: [0.5; 3],
    });
    let others = [
        free,
        field("with_it", DType::I32, &[3, 4]),
        field("e", DType::F64, &[9]),
    ];
    let others = Version::of(others);
    version.table.fields.extend(others.table.fields);
    version.bytes.extend(others.bytes);
}

#[test]
fn blocks_of_one_whole_have_their_places() {
    let block = |level, offset| Spec {
        block: Some(Block {
            of: "whole".to_owned(),
            level,
            refinement: [2, 2, 1],
            offset,
        }),
        ..Spec::new(Kind::Uniform([3, 4, 1]))
    };
    let mut files = Files::new();
    let specs = [
        block(0, [0, 0, 0]),
        block(1, [2, -4, 0]),
        block(1, [4, 0, 0]),
    ];
    add(&mut files, &build(&specs));
    files.check();
    let file = hdf5::File::open(files.path("case0.vtkhdf")).unwrap();
    let mut names = file
        .group("VTKHDF/Assembly/whole")
        .unwrap()
        .member_names()
        .unwrap();
    names.sort();
    assert_eq!(names, ["m0", "m1", "m2"]);
}

#[test]
fn other_programs_read_meshes_without_points_and_cells() {
    let mut files = Files::new();
    let empty = [
        Spec::new(Kind::Particles(0, 3, DType::F64)),
        Spec::new(Kind::Particles(0, 2, DType::F32)),
        Spec::new(Kind::Same(CellType::TETRA, 0, 0, DType::I64)),
        Spec::new(Kind::Same(CellType::TETRA, 0, 5, DType::U32)),
        Spec::new(Kind::Mixed(vec![], 0, [DType::I64, DType::I64])),
    ];
    let empty = empty.map(|spec| spec.up_to(9, 8));
    for spec in &empty {
        add(&mut files, &build(std::slice::from_ref(spec)));
    }
    add(&mut files, &build(&empty));
    files.check();
}

#[test]
fn values_that_vtk_can_have_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("once.vtkhdf");
    let version = build(&[Spec {
        data: vec![Datum {
            centering: Centering::Point,
            dtype: DType::F64,
            components: 1,
        }],
        ..Spec::new(Kind::Mixed(
            vec![CellType::HEXAHEDRON; 4000],
            9000,
            [DType::I64, DType::I64],
        ))
    }]);
    let bytes = tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &PLAIN).unwrap();
    let values: usize = version.bytes.values().map(Vec::len).sum();
    let more = bytes - values as u64;
    assert!(more < values as u64 / 4, "{bytes} bytes for {values}");
}

#[test]
fn fields_keep_their_shapes_for_programs_of_tcasm() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shapes.vtkhdf");
    let specs = [
        Spec::new(Kind::Curvilinear(vec![2, 3, 4], Order::F, false)),
        Spec::new(Kind::Same(CellType::TETRA, 5, 9, DType::I64)),
    ];
    let version = build(&specs);
    tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &PLAIN).unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    assert_reads::<f64>(&checkpoint, &version, "m0_at");
    assert_reads::<f64>(&checkpoint, &version, "m1_at");
    assert_reads::<i64>(&checkpoint, &version, "m1_ids");
}

/// Checks that the field `name` is read as an array of its own shape.
fn assert_reads<T: Element + PartialEq>(checkpoint: &Checkpoint, version: &Version, name: &str) {
    let desc = version.table.get(name).unwrap();
    let values: Vec<T> = bytemuck::allocation::pod_collect_to_vec(&version.bytes[name]);
    let expected = tcasm_core::field::view::<T>(desc, bytemuck::cast_slice(&values)).unwrap();
    let mut read = ArrayD::from_elem(desc.array_shape(), T::zeroed());
    checkpoint.read_array(name, read.view_mut()).unwrap();
    assert_eq!(read, expected, "{name}");
}
