//! Time series: meshes that stay, move, and change their sizes.

use crate::Files;
use crate::build::{Kind, Spec, build};
use crate::common::{PLAIN, Version, field};
use crate::files::add_free;
use crate::rounded::add_with_ghosts;
use serde_json::Value;
use tcasm_checkpoint::{Appended, Compression, SeriesOptions, TimeSeries};
use tcasm_core::field::{Block, CellType, DType, FieldDesc, Order};
use tcasm_core::format::stamp::Stamp;

pub fn stamp(n: u64) -> Stamp {
    Stamp {
        version: n,
        step: 10 * n,
        time: n as f64 * 0.25,
    }
}

/// Grows a series of `versions`, and has it read when it has 1, 2 and all of them. A field whose
/// bytes are those of the version before is declared as unchanged.
pub fn grow(files: &mut Files, versions: &[Version], options: &SeriesOptions) {
    let name = format!("series{}", files.cases.len());
    let path = files.path(&format!("{name}.vtkhdf"));
    let mut series = TimeSeries::open(&path, "test", options.clone()).unwrap();
    let mut described: Vec<Value> = Vec::new();
    for (n, version) in (1..).zip(versions) {
        let before = (n > 1).then(|| &versions[n - 2].bytes);
        let changed = |field: &FieldDesc| {
            before.is_none_or(|bytes| bytes[&field.name] != version.bytes[&field.name])
        };
        let appended = append(&mut series, version, n as u64, changed);
        assert_eq!(appended.path, path);
        described.push(files.described(&format!("{name}.{n}"), version, stamp(n as u64)));
        let kept = described.len().saturating_sub(options.keep);
        // With `keep`, the rows of older versions do not stay.
        let is_early = options.keep == usize::MAX && n < 3;
        if is_early || n == versions.len() {
            let now = format!("{name}-at-{n}.vtkhdf");
            // The rows stay where they are: the file names their folder.
            std::fs::hard_link(&path, files.path(&now)).unwrap();
            files.add(&now, true, &described[kept..]);
        }
    }
}

pub fn append(
    series: &mut TimeSeries,
    version: &Version,
    n: u64,
    changed: impl Fn(&FieldDesc) -> bool,
) -> Appended {
    series.append(&version.snapshot(stamp(n)), changed).unwrap()
}

fn all_options() -> [SeriesOptions; 3] {
    let plain = SeriesOptions {
        compression: PLAIN.compression,
        ..SeriesOptions::default()
    };
    let chapters = SeriesOptions {
        compression: Compression::Deflate(1),
        chapter: 2,
        ..plain.clone()
    };
    let few = SeriesOptions {
        chapter: 2,
        keep: 3,
        ..plain.clone()
    };
    [plain, chapters, few]
}

/// Returns versions with the meshes that `specs` returns for each number.
pub fn versions(count: usize, specs: impl Fn(usize) -> Vec<Spec>) -> Vec<Version> {
    let mut versions: Vec<Version> = (0..count).map(|n| build(&specs(n))).collect();
    // Geometry stays unless its size changes. All other fields change.
    for (n, version) in versions.iter_mut().enumerate() {
        for field in version.table.fields.iter().filter(|f| f.on.is_some()) {
            let bytes = version.bytes.get_mut(&field.name).unwrap();
            let turn = n * field.dtype.size();
            if !bytes.is_empty() {
                let turn = turn % bytes.len();
                bytes.rotate_left(turn);
            }
        }
    }
    versions
}

pub fn grow_all(versions: &[Version]) {
    let mut files = Files::new();
    for options in all_options() {
        grow(&mut files, versions, &options);
    }
    files.check();
}

#[test]
fn other_programs_read_series_of_each_kind_whose_mesh_stays() {
    let kinds = [
        Kind::Uniform([4, 3, 2]),
        Kind::Rectilinear(vec![4, 3, 2]),
        Kind::Curvilinear(vec![3, 4], Order::F, true),
        Kind::Same(CellType::TETRA, 5, 9, DType::I64),
        Kind::Mixed(
            vec![CellType::QUAD, CellType::TRIANGLE],
            6,
            [DType::U32, DType::I64],
        ),
        Kind::Particles(5, 2, DType::F32),
    ];
    for kind in kinds {
        grow_all(&versions(4, |_| vec![Spec::new(kind.clone())]));
    }
}

#[test]
fn other_programs_read_series_of_particles_that_come_and_go() {
    let counts = [3, 0, 7, 7, 0, 1];
    grow_all(&versions(6, |n| {
        let kind = Kind::Particles(counts[n], 3, DType::F64);
        vec![Spec::new(kind).up_to(8, 1)]
    }));
    grow_all(&versions(6, |n| {
        let kind = Kind::Particles(counts[5 - n], 2, DType::F32);
        vec![Spec::new(kind).up_to(7, 1)]
    }));
}

#[test]
fn other_programs_read_series_of_meshes_that_are_adapted() {
    let cells = [4, 4, 0, 6, 2];
    let points = [9, 7, 0, 9, 9];
    grow_all(&versions(5, |n| {
        let kind = Kind::Same(CellType::TETRA, cells[n], points[n], DType::I32);
        vec![Spec::new(kind).up_to(9, 6)]
    }));
    grow_all(&versions(5, |n| {
        let types = [CellType::HEXAHEDRON, CellType::LINE, CellType::TETRA];
        let types = types.into_iter().cycle().take(cells[n]).collect();
        let kind = Kind::Mixed(types, points[n].max(1), [DType::I64, DType::I32]);
        vec![Spec::new(kind).up_to(10, 6)]
    }));
}

#[test]
fn other_programs_read_series_of_several_meshes() {
    let counts = [2, 5, 0, 1];
    grow_all(&versions(4, |n| {
        let block = Block {
            of: "whole".to_owned(),
            level: 1,
            refinement: [2; 3],
            offset: [-1, 0, 4],
        };
        vec![
            Spec {
                block: Some(block),
                ..Spec::new(Kind::Uniform([3, 3, 1]))
            },
            Spec::new(Kind::Particles(counts[n], 3, DType::F64)).up_to(5, 1),
            Spec::new(Kind::Rectilinear(vec![2, 3])),
        ]
    }));
}

#[test]
fn other_programs_read_series_of_several_uniform_meshes() {
    let points = [[3, 3, 1], [1, 1, 4], [2, 3, 4]];
    let mut all = versions(4, |_| points.map(|n| Spec::new(Kind::Uniform(n))).to_vec());
    for (n, version) in all.iter_mut().enumerate() {
        add_with_ghosts(version, &[3, 3]);
        add_free(version);
        for name in ["around", "free"] {
            let bytes = version.bytes.get_mut(name).unwrap();
            bytes.rotate_left(n * size_of::<f64>());
        }
    }
    grow_all(&all);
}

#[test]
fn other_programs_read_fields_with_ghost_layers_and_another_capacity_than_the_mesh() {
    let rows = [2, 4, 3, 4];
    for capacity in [4, 6, 9] {
        let mut all = versions(4, |n| {
            let kind = Kind::Curvilinear(vec![rows[n], 3], Order::C, false);
            vec![Spec {
                data: Vec::new(),
                ..Spec::new(kind)
            }]
        });
        for (n, version) in all.iter_mut().enumerate() {
            version.table.fields[0].capacity = Some(6);
            let mut around = field("around", DType::F64, &[rows[n], 6]);
            around.ghosts = vec![[0, 0], [1, 2]];
            (around.on, around.capacity) = (Some("m0".to_owned()), Some(capacity));
            let mut added = Version::of([around]);
            let bytes = added.bytes.get_mut("around").unwrap();
            bytes.rotate_left(n * size_of::<f64>());
            version.table.fields.extend(added.table.fields);
            version.bytes.extend(added.bytes);
            version.table.check_meshes().unwrap();
        }
        grow_all(&all);
    }
}

#[test]
fn geometry_that_stays_is_stored_once_and_refers_to_the_first_version() {
    let files = Files::new();
    let path = files.path("run.vtkhdf");
    let all = versions(4, |_| {
        vec![Spec::new(Kind::Same(CellType::TETRA, 5, 9, DType::I64))]
    });
    let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
    for (n, version) in (1..).zip(&all) {
        append(&mut series, version, n, |_| true);
    }
    let fields = |number: u64| {
        let rows = files.path(&format!("run.steps/{number:08}.h5"));
        let file = hdf5::File::open(rows).unwrap();
        let mut names = file.group("tcasm/fields").unwrap().member_names().unwrap();
        names.sort();
        (names, file.group("tcasm/made").is_ok())
    };
    assert_eq!(fields(1).0.len(), 6);
    assert!(fields(1).1);
    for number in 2..=4 {
        let names = ["m0_d0", "m0_d1", "m0_d2", "m0_d3"].map(String::from);
        assert_eq!(fields(number), (names.to_vec(), false));
    }
    let file = hdf5::File::open(&path).unwrap();
    let offsets = |name: &str| file.dataset(&format!("VTKHDF/Steps/{name}")).unwrap();
    let read = |name: &str| offsets(name).read_raw::<i64>().unwrap();
    assert_eq!(read("PartOffsets"), [0; 4]);
    assert_eq!(read("PointOffsets"), [0; 4]);
    assert_eq!(read("PointDataOffsets/q0"), [0, 9, 18, 27]);
    assert_eq!(read("CellDataOffsets/q2"), [0, 5, 10, 15]);
}

#[test]
fn points_of_a_uniform_mesh_are_stored_only_if_it_is_no_image() {
    let files = Files::new();
    let path = files.path("run.vtkhdf");
    let all = versions(3, |_| {
        vec![
            Spec::new(Kind::Uniform([3, 2, 1])),
            Spec::new(Kind::Uniform([3, 2, 1])).up_to(2, 1),
        ]
    });
    let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
    for (n, version) in (1..).zip(&all) {
        append(&mut series, version, n, |_| true);
        let rows = hdf5::File::open(files.path(&format!("run.steps/{n:08}.h5"))).unwrap();
        assert_eq!(rows.group("tcasm/made").is_ok(), n == 1, "version {n}");
    }
    let file = hdf5::File::open(&path).unwrap();
    assert!(file.dataset("VTKHDF/m0/Points").is_err());
    let array = |name: &str| file.dataset(&format!("VTKHDF/m1/{name}")).unwrap();
    let offsets = array("Steps/PointOffsets").read_raw::<i64>().unwrap();
    assert_eq!(offsets, [0; 3]);
    let points = array("Points").read_raw::<f64>().unwrap();
    let row = |y: f64| [1.0, 1.25, 1.5].map(|x| [x, y, 0.5]).concat();
    assert_eq!(points[..18], [row(-2.0), row(-1.5)].concat());
}

#[test]
fn next_start_continues_a_series_with_lengths() {
    let mut files = Files::new();
    let counts = [2, 5, 0, 1];
    let all = versions(4, |n| {
        vec![Spec::new(Kind::Particles(counts[n], 1, DType::F64)).up_to(5, 1)]
    });
    let path = files.path("run.vtkhdf");
    let mut described = Vec::new();
    for (n, version) in (1..).zip(&all) {
        let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
        append(&mut series, version, n, |_| true);
        described.push(files.described(&format!("run.{n}"), version, stamp(n)));
    }
    files.add("run.vtkhdf", true, &described);
    files.check();
    // Another capacity is another mesh.
    let wider = build(&[Spec::new(Kind::Particles(1, 1, DType::F64)).up_to(6, 1)]);
    let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
    let appended = append(&mut series, &wider, 5, |_| true);
    assert_eq!(appended.path, files.path("run_2.vtkhdf"));
}
