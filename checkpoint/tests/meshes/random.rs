//! Random meshes and blocks, with random fields and lengths.

use crate::Files;
use crate::build::{Datum, Kind, Spec, build};
use crate::common::{PLAIN, STAMP, Version};
use crate::files::assert_restores;
use crate::series::grow;
use proptest::prelude::*;
use tcasm_checkpoint::{Checkpoint, Options, SeriesOptions};
use tcasm_core::field::{Block, CellType, Centering, DType, Order};

/// The capacity of meshes whose sizes change.
const MOST: usize = 12;

fn datum() -> impl Strategy<Value = Datum> {
    let real: Vec<DType> = DType::ALL.into_iter().filter(|d| !d.is_complex()).collect();
    let centering = prop_oneof![
        2 => Just(Centering::Point),
        2 => Just(Centering::Cell),
        1 => Just(Centering::None),
    ];
    let all = (centering, prop::sample::select(real), 1..5_usize);
    all.prop_map(|(centering, dtype, components)| Datum {
        centering,
        dtype,
        components,
    })
}

fn index() -> impl Strategy<Value = DType> {
    prop::sample::select(vec![DType::I32, DType::I64, DType::U32, DType::U64])
}

fn cell() -> impl Strategy<Value = CellType> {
    let types = [1, 3, 5, 9, 10, 12, 13, 14, 21, 22, 23, 24, 25].map(CellType);
    prop::sample::select(types.to_vec())
}

/// Returns kinds of a fixed size. A uniform mesh is no single point.
fn fixed() -> impl Strategy<Value = Kind> {
    let order = prop_oneof![Just(Order::C), Just(Order::F)];
    let curvilinear = (
        prop::collection::vec(1..5_usize, 1..4),
        order,
        any::<bool>(),
    );
    prop_oneof![
        prop::array::uniform3(1..5_usize)
            .prop_filter("a single point", |points| *points != [1; 3])
            .prop_map(Kind::Uniform),
        prop::collection::vec(1..5_usize, 1..4).prop_map(Kind::Rectilinear),
        curvilinear
            .prop_map(|(extents, order, ghosts)| { Kind::Curvilinear(extents, order, ghosts) }),
    ]
}

/// Returns the places of blocks.
fn block() -> impl Strategy<Value = Block> {
    let refinement = prop::array::uniform3(1..4_u32);
    let offset = prop::array::uniform3(-9..9_i64);
    let of = prop::sample::select(vec!["whole", "rest"]);
    let all = (of, 0..3_u32, refinement, offset);
    all.prop_map(|(of, level, refinement, offset)| Block {
        of: of.to_owned(),
        level,
        refinement,
        offset,
    })
}

/// Returns a mesh of the same kind without points or cells.
fn emptied(kind: &Kind) -> Kind {
    match kind {
        Kind::Same(cell, _, _, dtype) => Kind::Same(*cell, 0, 0, *dtype),
        Kind::Mixed(_, points, dtypes) => Kind::Mixed(vec![], *points, *dtypes),
        Kind::Particles(_, components, dtype) => Kind::Particles(0, *components, *dtype),
        fixed => fixed.clone(),
    }
}

/// Returns kinds whose size may change within [`MOST`], each with its next sizes. Half of them have
/// nothing in the second version.
fn variable(versions: usize) -> impl Strategy<Value = Vec<Kind>> {
    let sizes = || prop::collection::vec((0..=MOST, 0..=MOST), versions);
    let cells = (cell(), index(), sizes()).prop_map(|(cell, dtype, sizes)| {
        let kind = |(cells, points): (usize, usize)| match points {
            0 => Kind::Same(cell, 0, 0, dtype),
            _ => Kind::Same(cell, cells, points, dtype),
        };
        sizes.into_iter().map(kind).collect::<Vec<Kind>>()
    });
    let lists = prop::collection::vec(prop::collection::vec(cell(), 0..=MOST), versions);
    let mixed = (lists, 1..=MOST, [index(), index()]).prop_map(|(lists, points, dtypes)| {
        let kind = |types: Vec<CellType>| Kind::Mixed(types, points, dtypes);
        lists.into_iter().map(kind).collect::<Vec<Kind>>()
    });
    let float = prop_oneof![Just(DType::F32), Just(DType::F64)];
    let particles = (1..4_usize, float, sizes()).prop_map(|(components, dtype, sizes)| {
        let kind = |(count, _): (usize, usize)| Kind::Particles(count, components, dtype);
        sizes.into_iter().map(kind).collect::<Vec<Kind>>()
    });
    let kinds = prop_oneof![cells, mixed, particles];
    (kinds, any::<bool>()).prop_map(|(mut kinds, is_emptied)| {
        if is_emptied && let Some(second) = kinds.get_mut(1) {
            *second = emptied(second);
        }
        kinds
    })
}

/// Returns the versions of several meshes.
pub fn versions(count: usize) -> impl Strategy<Value = Vec<Version>> {
    let fixed = fixed().prop_map(move |kind| (vec![kind; count], None::<[usize; 2]>));
    let variable = variable(count).prop_map(|kinds| (kinds, Some([MOST; 2])));
    let kinds = prop_oneof![fixed, variable];
    let block = prop::option::of(block());
    let mesh = (kinds, prop::collection::vec(datum(), 0..4), block);
    prop::collection::vec(mesh, 1..5).prop_map(move |meshes| {
        let version = |n: usize| {
            let specs = meshes.iter().map(|((kinds, most), data, block)| Spec {
                kind: kinds[n].clone(),
                data: data.clone(),
                most: *most,
                block: block.clone(),
            });
            build(&specs.collect::<Vec<_>>())
        };
        (0..count).map(version).collect::<Vec<Version>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_meshes_are_read_back_exactly(
        versions in versions(3),
        is_compressed in any::<bool>(),
        keep in 1..4_usize,
        chapter in 2..4_usize,
    ) {
        let mut files = Files::new();
        let options = if is_compressed { Options::default() } else { PLAIN };
        for (n, version) in versions.iter().enumerate() {
            let file = format!("file{n}.vtkhdf");
            let path = files.path(&file);
            tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
            assert_restores(&Checkpoint::open(&path).unwrap(), version);
            let described = files.described(&file, version, STAMP);
            files.add(&file, false, &[described]);
        }
        let options = SeriesOptions {
            compression: options.compression,
            keep,
            chapter,
            ..SeriesOptions::default()
        };
        grow(&mut files, &versions, &options);
        let differences = files.differences();
        prop_assert!(differences.is_ok(), "{}", differences.unwrap_err());
    }
}
