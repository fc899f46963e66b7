//! Uniform meshes and blocks that move, and blocks that are unused in some versions.

use crate::Files;
use crate::build::{Kind, Spec};
use crate::common::{Version, field};
use crate::files::add;
use crate::series::{append, grow_all, stamp, versions};
use tcasm_checkpoint::{SeriesOptions, TimeSeries};
use tcasm_core::field::{Block, DType, MeshKind};

/// Returns a block with so many layers of points, of at most three, and none if it is unused.
fn block(layers: usize) -> Spec {
    let place = Block {
        of: "whole".to_owned(),
        level: 0,
        refinement: [2; 3],
        offset: [0; 3],
    };
    Spec {
        block: Some(place),
        ..Spec::new(Kind::Uniform([3, 4, layers])).up_to(3, 2)
    }
}

/// Moves mesh number `mesh` of `version` by `steps`.
fn place(version: &mut Version, mesh: usize, steps: usize) {
    let mesh = &mut version.table.meshes[mesh];
    if let MeshKind::Uniform {
        origin, spacing, ..
    } = &mut mesh.kind
    {
        *origin = [steps as f64, -0.5, 0.25];
        *spacing = [0.5 / (steps + 1) as f64; 3];
    }
    if let Some(block) = &mut mesh.block {
        block.level = steps as u32;
        block.offset = [4 * steps as i64, -1, 0];
    }
}

/// Returns versions with blocks that have so many layers of points. The first one stays, and each
/// other one moves by its number in each version.
fn blocks<const N: usize>(layers: &[[usize; N]]) -> Vec<Version> {
    let mut all = versions(layers.len(), |n| layers[n].map(block).to_vec());
    for (n, version) in all.iter_mut().enumerate() {
        for mesh in 0..N {
            place(version, mesh, n * mesh);
        }
        version.table.check_meshes().unwrap();
    }
    all
}

#[test]
fn other_programs_read_series_of_blocks_that_move_and_are_unused() {
    grow_all(&blocks(&[
        [3, 0, 3],
        [3, 3, 0],
        [0, 3, 3],
        [3, 3, 3],
        [3, 0, 0],
        [3, 0, 3],
    ]));
}

#[test]
fn other_programs_read_series_of_blocks_whose_number_of_layers_changes() {
    grow_all(&blocks(&[[3, 2], [2, 3], [0, 2], [2, 0], [2, 2]]));
}

#[test]
fn other_programs_read_series_of_a_single_block_and_its_places() {
    let mut all = blocks(&[[3], [3], [0], [3]]);
    for (n, version) in all.iter_mut().enumerate() {
        place(version, 0, n / 2);
    }
    grow_all(&all);
}

#[test]
fn other_programs_read_ghost_layers_of_blocks_that_may_be_unused() {
    let layers = [[3, 3], [0, 3], [2, 0], [3, 2]];
    let mut all = blocks(&layers);
    for (version, layers) in all.iter_mut().zip(layers) {
        for (mesh, layers) in layers.into_iter().enumerate() {
            let name = format!("around{mesh}");
            let length = if layers == 0 { 0 } else { layers + 3 };
            let mut around = field(&name, DType::F64, &[length, 6, 5]);
            around.ghosts = vec![[1, 2], [1, 1], [2, 0]];
            (around.on, around.capacity) = (Some(format!("m{mesh}")), Some(6));
            let added = Version::of([around]);
            version.table.fields.extend(added.table.fields);
            version.bytes.extend(added.bytes);
        }
        version.table.check_meshes().unwrap();
    }
    grow_all(&all);
    let mut files = Files::new();
    all.iter().for_each(|version| add(&mut files, version));
    files.check();
}

#[test]
fn other_programs_read_files_without_unused_blocks() {
    let mut files = Files::new();
    for version in blocks(&[[3, 0, 3], [0, 2, 0], [3, 2, 2], [0, 0, 0]]) {
        add(&mut files, &version);
    }
    files.check();
    // A version with a single used block is a collection, as all others of the region are.
    let kind = |file: &str| {
        let file = hdf5::File::open(files.path(file)).unwrap();
        let members = file.group("VTKHDF").unwrap().member_names().unwrap();
        members.contains(&"Assembly".to_owned())
    };
    assert!(["case0.vtkhdf", "case3.vtkhdf"].map(kind) == [true; 2]);
}

/// Writes a series in which mesh 0 moves after `still` of five versions, and has it read. Each
/// version is appended by another start of the writer. Returns the types of the uniform meshes in
/// the groups `paths` of both parts.
fn move_after(still: usize, specs: &[Spec], paths: &[&str]) -> [Vec<String>; 2] {
    let mut files = Files::new();
    let mut all = versions(5, |_| specs.to_vec());
    let (path, mut described) = (files.path("run.vtkhdf"), Vec::new());
    for (n, version) in all.iter_mut().enumerate() {
        place(version, 0, (n + 1).saturating_sub(still));
        let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
        let number = n as u64 + 1;
        let appended = append(&mut series, version, number, |_| true);
        assert_eq!(appended.path, files.path(PARTS[usize::from(n >= still)]));
        described.push(files.described(&format!("run.{n}"), version, stamp(number)));
    }
    files.add(PARTS[0], true, &described[..still]);
    files.add(PARTS[1], true, &described[still..]);
    files.check();
    PARTS.map(|part| {
        let file = hdf5::File::open(files.path(part)).unwrap();
        let group = |path: &&str| file.group(path).unwrap();
        let types = paths.iter().map(|path| type_of(&group(path)));
        types.collect()
    })
}

const PARTS: [&str; 2] = ["run.vtkhdf", "run_2.vtkhdf"];

/// Returns the type that a group has in VTKHDF.
fn type_of(group: &hdf5::Group) -> String {
    let of = group.attr("Type").unwrap();
    let of: hdf5::types::FixedAscii<28> = of.read_scalar().unwrap();
    of.to_string()
}

#[test]
fn single_mesh_that_moves_is_an_image_in_its_first_version_only() {
    let types = move_after(1, &[Spec::new(Kind::Uniform([4, 3, 2]))], &["VTKHDF"]);
    assert_eq!(types, [["ImageData"], ["UnstructuredGrid"]]);
}

#[test]
fn uniform_meshes_among_several_are_images_until_one_moves() {
    let specs = [
        Spec::new(Kind::Uniform([4, 3, 2])),
        Spec::new(Kind::Particles(2, 3, DType::F64)),
        Spec::new(Kind::Uniform([3, 2, 1])),
    ];
    for still in 1..4 {
        let types = move_after(still, &specs, &["VTKHDF/m0", "VTKHDF/m2"]);
        assert_eq!(types, [["ImageData"; 2], ["UnstructuredGrid"; 2]]);
    }
}

#[test]
fn only_the_points_of_a_block_that_moves_are_stored_again() {
    let files = Files::new();
    let path = files.path("run.vtkhdf");
    let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
    let all = blocks(&[[3, 3], [3, 3], [3, 3]]);
    for (n, version) in (1..).zip(&all) {
        append(&mut series, version, n, |_| true);
    }
    let made = |number: u64| {
        let rows = files.path(&format!("run.steps/{number:08}.h5"));
        let made = hdf5::File::open(rows).unwrap().group("tcasm/made");
        made.unwrap().member_names().unwrap().len()
    };
    // Points, connectivity, offsets and types of both; then the points of the second.
    assert_eq!([1, 2, 3].map(made), [8, 1, 1]);
}
