//! Rounded values of fields on meshes, also of lengths that change and without values. The geometry
//! has no bound, so it stays exact.

use crate::Files;
use crate::build::{Kind, Spec, build};
use crate::common::{PLAIN, STAMP, Version, field};
use crate::files::kinds;
use crate::series::{grow, versions};
use tcasm_checkpoint::{Checkpoint, Options, SeriesOptions};
use tcasm_core::field::{CellType, DType, Order};

const BOUND: f64 = 0.1;
/// The bits of the mantissa of an `f64` that are zero within this bound.
const ZEROS: u64 = (1 << (52 - 3)) - 1;

/// Lets the writer round the fields that are on meshes.
fn round(version: &mut Version) {
    let fields = version.table.fields.iter_mut();
    for field in fields.filter(|field| field.on.is_some()) {
        field.relative_error = Some(BOUND);
    }
}

/// Adds a field with ghost layers on the points of `m0`, which have these extents.
pub fn add_with_ghosts(version: &mut Version, extents: &[usize]) {
    let shape: Vec<usize> = extents.iter().map(|n| n + 3).collect();
    let mut around = field("around", DType::F64, &shape);
    around.ghosts = vec![[1, 2]; shape.len()];
    around.on = Some("m0".to_owned());
    let added = Version::of([around]);
    version.table.fields.extend(added.table.fields);
    version.bytes.extend(added.bytes);
    version.table.check_meshes().unwrap();
}

/// Writes `version` with and without compression.
fn add(files: &mut Files, version: &Version) {
    for options in [PLAIN, Options::default()] {
        let file = format!("case{}.vtkhdf", files.cases.len());
        let path = files.path(&file);
        tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(*checkpoint.table(), version.table);
        checkpoint.verify().unwrap();
        let described = files.described(&file, version, STAMP);
        files.add(&file, false, &[described]);
    }
}

#[test]
fn other_programs_read_rounded_values_on_a_mesh_of_each_kind() {
    let mut files = Files::new();
    for kind in kinds() {
        let mut version = build(&[Spec::new(kind)]);
        round(&mut version);
        add(&mut files, &version);
    }
    for kind in [
        Kind::Curvilinear(vec![3, 4], Order::C, false),
        Kind::Rectilinear(vec![4, 3]),
        Kind::Uniform([4, 3, 1]),
    ] {
        let mut version = build(&[Spec::new(kind)]);
        add_with_ghosts(&mut version, &[3, 4]);
        round(&mut version);
        add(&mut files, &version);
    }
    let empty = [
        Spec::new(Kind::Particles(0, 3, DType::F64)),
        Spec::new(Kind::Same(CellType::TETRA, 0, 5, DType::U32)),
    ];
    let mut version = build(&empty.map(|spec| spec.up_to(9, 8)));
    round(&mut version);
    add(&mut files, &version);
    files.check();
}

#[test]
fn other_programs_read_series_of_rounded_values_whose_lengths_change() {
    let counts = [3, 0, 7, 7, 0, 5];
    let mut all = versions(6, |n| {
        let kind = Kind::Particles(counts[n], 3, DType::F64);
        vec![Spec::new(kind).up_to(8, 1)]
    });
    all.iter_mut().for_each(round);
    let mut files = Files::new();
    let plain = SeriesOptions::default();
    let chapters = SeriesOptions {
        chapter: 2,
        ..plain.clone()
    };
    for options in [plain, chapters] {
        let name = format!("series{}.vtkhdf", files.cases.len());
        grow(&mut files, &all, &options);
        let file = hdf5::File::open(files.path(&name)).unwrap();
        let shown = file.dataset("VTKHDF/PointData/q0").unwrap();
        let bound = shown.attr("relative_error").unwrap();
        assert_eq!(bound.read_scalar::<f64>().unwrap(), BOUND);
        let values = shown.read_raw::<f64>().unwrap();
        assert!(values.iter().all(|value| value.to_bits() & ZEROS == 0));
        let points = file.dataset("VTKHDF/Points").unwrap();
        assert!(points.attr("relative_error").is_err());
    }
    files.check();
}
