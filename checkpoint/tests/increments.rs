//! Increments: every checkpoint of a chain reads back bit by bit, whatever changes between
//! versions.

mod common;

use common::{LAYOUTS, PLAIN, Version, field, mixed, names_in};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Contents, Kind, Layout, Options, ReadError, Settings,
    Written,
};
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::format::stamp::Stamp;

const PAGE: u64 = 4096;

fn at(step: u64) -> Stamp {
    Stamp {
        version: step + 1,
        step,
        time: step as f64 / 8.0,
    }
}

fn checkpointer(dir: &Path, most_files: usize, options: Options) -> Checkpointer {
    let settings = Settings {
        most_files,
        options,
        ..Settings::new(dir)
    };
    Checkpointer::open("run", settings).unwrap()
}

/// Changes pages of fields, and writes these pages as an increment.
fn advance(
    to: &mut Checkpointer,
    version: &mut Version,
    step: u64,
    pages: &[(usize, u64)],
) -> Written {
    let mut changed: BTreeMap<String, Vec<Range<u64>>> = BTreeMap::new();
    for (number, page) in pages {
        let desc = &version.table.fields[number % version.table.fields.len()];
        let count = desc.bytes().div_ceil(PAGE);
        let start = page % count * PAGE;
        let range = start..desc.bytes().min(start + PAGE);
        let bytes = version.bytes.get_mut(&desc.name).unwrap();
        bytes[range.start as usize..range.end as usize].fill(step as u8);
        changed.entry(desc.name.clone()).or_default().push(range);
    }
    let runs = |field: &FieldDesc| {
        let mut runs = changed.get(&field.name).cloned().unwrap_or_default();
        runs.sort_by_key(|run| run.start);
        runs.dedup();
        runs
    };
    let filled = to
        .fill_increment(&version.snapshot(at(step)), runs)
        .unwrap();
    to.commit(filled).unwrap()
}

fn assert_holds(path: &Path, version: &Version, step: u64) {
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(checkpoint.stamp(), at(step));
    assert_eq!(*checkpoint.table(), version.table);
    checkpoint.verify().unwrap();
    for field in &version.table.fields {
        let mut bytes = vec![0xAA; field.bytes() as usize];
        checkpoint.read_bytes(&field.name, &mut bytes).unwrap();
        assert!(
            bytes == version.bytes[&field.name],
            "{} of step {step}",
            field.name
        );
    }
}

/// Returns a version with fields of several pages and dtypes. One field ends inside a page.
fn large() -> Version {
    let mut vector = field("vector", DType::F32, &[40, 50]);
    vector.components = 3;
    let mut ghosts = field("ghosts", DType::F64, &[20, 30, 40]);
    ghosts.ghosts = vec![[1, 1]; 3];
    Version::of([
        vector,
        ghosts,
        field("complex", DType::C64, &[700]),
        field("bytes", DType::U8, &[9000]),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_checkpoint_of_a_chain_reads_back(
        steps in prop::collection::vec(prop::collection::vec((0usize..4, 0u64..60), 0..12), 1..9),
        most_files in 1usize..5,
        compression in prop::sample::select(vec![
            Compression::None, Compression::Deflate(1), Compression::Zstd(3),
        ]),
        layout in prop::sample::select(LAYOUTS.to_vec()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            compression,
            layout,
            ..PLAIN
        };
        let mut to = checkpointer(dir.path(), most_files, options);
        let mut version = large();
        let mut states = Vec::new();
        for (i, pages) in steps.iter().enumerate() {
            let step = i as u64 * 10;
            let written = advance(&mut to, &mut version, step, pages);
            states.push((written.path, version.clone(), step));
            prop_assert_eq!(to.contents().files(step), i % most_files + 1);
        }
        for (path, version, step) in &states {
            assert_holds(path, version, *step);
        }
        let newest = Checkpoint::open(dir.path()).unwrap();
        prop_assert_eq!(newest.stamp().step, states.last().unwrap().2);
    }
}

#[test]
fn increment_holds_little_more_than_the_changed_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut to = checkpointer(dir.path(), 9, PLAIN);
    let mut version = Version::of([field("t", DType::F64, &[1 << 20])]);
    advance(&mut to, &mut version, 0, &[]);
    let pages: Vec<_> = (0..2048)
        .filter(|page| page % 2 == 0)
        .map(|page| (0, page))
        .collect();
    let written = advance(&mut to, &mut version, 1, &pages);
    let changed = pages.len() as u64 * PAGE;
    assert!(
        written.bytes < changed + changed / 10,
        "{} of {changed}",
        written.bytes
    );
    assert_holds(&written.path, &version, 1);
}

#[test]
fn arrays_of_a_chain_equal_those_of_a_full_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut to = checkpointer(dir.path(), 9, PLAIN);
    let mut version = mixed();
    advance(&mut to, &mut version, 0, &[]);
    let chain = advance(&mut to, &mut version, 1, &[(0, 0), (2, 0)]).path;
    drop(to);
    let other = tempfile::tempdir().unwrap();
    let mut to = checkpointer(other.path(), 1, PLAIN);
    let full = advance(&mut to, &mut version, 1, &[]).path;
    for name in ["scalar", "ghosts"] {
        let shape = version.table.get(name).unwrap().array_shape();
        let read = |path: &Path| {
            let mut array = ndarray::ArrayD::<f64>::zeros(shape.clone());
            let checkpoint = Checkpoint::open(path).unwrap();
            checkpoint.read_array(name, array.view_mut()).unwrap();
            array
        };
        assert!(read(&chain).iter().any(|x| *x != 0.0));
        assert_eq!(
            read(&chain).mapv(f64::to_bits),
            read(&full).mapv(f64::to_bits)
        );
    }
}

#[test]
fn requested_zstd_compression_is_used() {
    let version = Version::of([field("t", DType::F64, &[1 << 16])]);
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.h5");
        let size = |compression| {
            let options = Options {
                compression,
                layout,
                ..PLAIN
            };
            tcasm_checkpoint::write(&path, &version.snapshot(at(1)), &options).unwrap()
        };
        let plain = size(Compression::None);
        let small = size(Compression::Zstd(1));
        assert!(small < plain / 4, "{small} of {plain}");
        let file = hdf5::File::open(&path).unwrap();
        let filters = file.dataset("tcasm/fields/t").unwrap().filters();
        assert!(format!("{filters:?}").contains("ZStd"), "{filters:?}");
    }
}

#[test]
fn a_field_that_is_new_or_has_another_shape_begins_a_new_chain() {
    let dir = tempfile::tempdir().unwrap();
    let mut to = checkpointer(dir.path(), 9, PLAIN);
    let kind = |to: &Checkpointer, step: u64| to.contents().items[&step].entry.kind.clone();
    let mut version = Version::of([field("t", DType::F64, &[600])]);
    advance(&mut to, &mut version, 0, &[]);
    advance(&mut to, &mut version, 1, &[(0, 0)]);
    assert_eq!(kind(&to, 1), Kind::Increment { base: 0 });
    let mut version = Version::of([field("t", DType::F64, &[600]), field("p", DType::F64, &[4])]);
    assert!(!to.can_increment(&version.table));
    advance(&mut to, &mut version, 2, &[]);
    assert_eq!(kind(&to, 2), Kind::Full);
    let mut version = Version::of([
        field("t", DType::F64, &[300, 2]),
        field("p", DType::F64, &[4]),
    ]);
    advance(&mut to, &mut version, 3, &[(0, 0)]);
    assert_eq!(kind(&to, 3), Kind::Full);
    assert_holds(dir.path(), &version, 3);
}

/// Writes three files that build on each other, and returns them with their states.
fn chain(dir: &Path) -> Vec<(std::path::PathBuf, Version)> {
    let mut to = checkpointer(dir, 9, PLAIN);
    let mut version = Version::of([
        field("t", DType::F64, &[3000]),
        field("p", DType::F32, &[5]),
    ]);
    let mut step = |n: u64, pages: &[(usize, u64)]| {
        let path = advance(&mut to, &mut version, n, pages).path;
        (path, version.clone())
    };
    vec![step(1, &[]), step(2, &[(0, 1), (1, 0)]), step(3, &[(0, 4)])]
}

#[test]
fn increment_without_its_base_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let files = chain(dir.path());
    fs::remove_file(&files[1].0).unwrap();
    let error = Checkpoint::open(&files[2].0).unwrap_err();
    assert!(
        matches!(error, ReadError::NoBase { base: 2, .. }),
        "{error}"
    );
    // Another file of the same step does not replace the base.
    let (other, mut version) = (tempfile::tempdir().unwrap(), files[1].1.clone());
    let mut to = checkpointer(other.path(), 9, PLAIN);
    let another = advance(&mut to, &mut version, 2, &[]).path;
    fs::copy(another, dir.path().join("run_00000002.vtkhdf")).unwrap();
    let error = Checkpoint::open(&files[2].0).unwrap_err();
    assert!(
        matches!(error, ReadError::NoBase { base: 2, .. }),
        "{error}"
    );
    // Neither does a file of another step with the same name.
    fs::copy(&files[0].0, dir.path().join("run_00000002.vtkhdf")).unwrap();
    let error = Checkpoint::open(&files[2].0).unwrap_err();
    assert!(matches!(error, ReadError::BadBase { .. }), "{error}");
    assert_eq!(
        names_in(dir.path())
            .iter()
            .filter(|n| n.ends_with(".h5"))
            .count(),
        1
    );
}

#[test]
fn requested_step_is_restored_or_the_error_lists_the_steps() {
    let dir = tempfile::tempdir().unwrap();
    let files = chain(dir.path());
    let found = Checkpoint::restart(&[dir.path()], Some(2)).unwrap();
    assert_holds(found.path(), &files[1].1, 2);
    assert_eq!(found.steps(), [1, 2]);
    let error = Checkpoint::restart(&[dir.path()], Some(7)).unwrap_err();
    assert!(error.to_string().contains("[3, 2, 1]"), "{error}");
}

#[test]
fn compacted_chains_read_back_while_others_are_written() {
    LAYOUTS.into_iter().for_each(compacted_chains_read_back_in);
}

fn compacted_chains_read_back_in(layout: Layout) {
    let [dir, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let settings = Settings {
        most_files: 4,
        compact: true,
        options: Options { layout, ..PLAIN },
        slow: Some(slow.path().to_owned()),
        ..Settings::new(dir.path())
    };
    let mut to = Checkpointer::open("run", settings.clone()).unwrap();
    let mut version = large();
    let mut states = Vec::new();
    let (mut compacted, mut increments) = (0, Vec::new());
    for step in 0..40u64 {
        let pages = [(step as usize, step), (1, step * 3)];
        let written = advance(&mut to, &mut version, step, &pages).path;
        if written.to_str().unwrap().ends_with(".increment.h5") {
            increments.push(step);
        }
        states.push(version.clone());
        assert!(to.contents().files(step) <= 4);
        let contents = to.contents();
        let replaced = |step: &&u64| contents.items[step].entry.kind == Kind::Full;
        compacted = increments.iter().filter(replaced).count();
        // Some chains are compacted while the next file is written, and some before.
        std::thread::sleep(std::time::Duration::from_millis(step % 4 * 5));
    }
    assert!(compacted > 3, "{compacted}");
    // The compactor may still replace the newest increment, even after all is drained.
    drop(to);
    let settings = Settings {
        compact: false,
        ..settings
    };
    let to = Checkpointer::open("run", settings).unwrap();
    let state = to.wait_drained(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!((state.outstanding, state.trouble), (0, None));
    drop(to);
    let entries = |tier: &Path| {
        let contents = Contents::read(&tier.join("run.manifest")).unwrap();
        contents
            .items
            .into_values()
            .map(|item| item.entry)
            .collect::<Vec<_>>()
    };
    assert_eq!(entries(dir.path()), entries(slow.path()));
    for tier in [dir.path(), slow.path()] {
        let contents = Contents::read(&tier.join("run.manifest")).unwrap();
        assert_eq!(contents.items.len(), states.len());
        for (step, item) in &contents.items {
            assert_holds(&tier.join(&item.entry.file), &states[*step as usize], *step);
        }
        let names = names_in(tier);
        let is_full = |name: &&String| match layout {
            Layout::VtkHdf => name.ends_with(".vtkhdf"),
            Layout::OpenPmd => name.ends_with(".h5") && !name.ends_with(".increment.h5"),
        };
        let full = names.iter().filter(is_full).count();
        assert!(full > compacted, "{full} files are full: {names:?}");
        let files = names.iter().filter(|n| n.starts_with("run_")).count();
        let replaced = "files that were compacted must be removed";
        assert_eq!(files, states.len(), "{replaced}: {names:?}");
    }
}
