//! Large fields that are written past the page cache: the files hold the same bytes as without,
//! also if the file system refuses at any moment.

mod common;

use common::{LAYOUTS, PLAIN, STAMP, Version, disk, field, takes_direct_writes};
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, DirectIo, Options, ReadError, SeriesOptions, Settings,
    Snapshot, TimeSeries, Written,
};
use tcasm_core::field::{DType, Order};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::testing::fault::refuse_direct_io_after;

const PAGE: usize = 4096;
/// The size from which on datasets are written past the page cache.
const LEAST: usize = 1 << 20;
/// The sizes of fields, around those at which something changes.
const SIZES: [usize; 6] = [
    LEAST - 1,
    LEAST,
    LEAST + 1,
    LEAST + PAGE - 1,
    LEAST + PAGE,
    5 * LEAST + 13,
];
/// The direct operations that the fields of [`SIZES`] take: the file is opened, and each large
/// field is written at once, except that the last one takes two writes.
const OPERATIONS: u64 = 1 + 6;

/// The fields of a version in memory like that of a view, which begins with a page.
struct Memory(HashMap<String, (Vec<u8>, Range<usize>)>);

impl Memory {
    /// Returns memory in which each field lies `shift` bytes after the begin of a page.
    fn of(version: &Version, shift: usize) -> Self {
        let place = |(name, bytes): (&String, &Vec<u8>)| {
            let mut memory = vec![0_u8; bytes.len() + 2 * PAGE];
            let address = memory.as_ptr().addr();
            let start = address.next_multiple_of(PAGE) - address + shift;
            let range = start..start + bytes.len();
            memory[range.clone()].copy_from_slice(bytes);
            (name.clone(), (memory, range))
        };
        Memory(version.bytes.iter().map(place).collect())
    }

    fn snapshot<'a>(&'a self, version: &'a Version, stamp: Stamp) -> Snapshot<'a> {
        Snapshot::new("test", stamp, &version.table, |field| {
            let (memory, range) = &self.0[&field.name];
            &memory[range.clone()]
        })
    }
}

/// Returns a version with a field of each of [`SIZES`].
fn sizes() -> Version {
    let name = |size: usize| format!("b{size}");
    Version::of(SIZES.map(|size| field(&name(size), DType::U8, &[size])))
}

/// Returns the bytes of large fields of [`sizes`] that fill blocks.
fn blocks() -> u64 {
    let large = SIZES.iter().filter(|size| **size >= LEAST);
    large.map(|size| (size / PAGE * PAGE) as u64).sum()
}

/// Returns a version with large and small fields of many kinds.
fn kinds() -> Version {
    let mut ghosts = field("ghosts", DType::F64, &[70, 131, 90]);
    ghosts.ghosts = vec![[2, 1], [0, 1], [1, 0]];
    let mut fortran = field("fortran", DType::F32, &[90, 129, 67]);
    (fortran.order, fortran.components) = (Order::F, 3);
    Version::of([
        ghosts,
        field("small", DType::I16, &[67, 130]),
        fortran,
        field("complex", DType::C64, &[301, 299]),
    ])
}

fn at(step: u64) -> Stamp {
    Stamp { step, ..STAMP }
}

fn write(dir: &Path, version: &Version, shift: usize, options: Options) -> Written {
    let memory = Memory::of(version, shift);
    let mut to = Checkpointer::new(dir, "run", options).unwrap();
    to.write(&memory.snapshot(version, at(1))).unwrap()
}

/// Checks every byte of the file at `path`, as this crate and as HDF5 find it.
fn assert_holds(path: &Path, version: &Version) {
    let checkpoint = Checkpoint::open(path).unwrap();
    for field in &version.table.fields {
        let mut bytes = vec![0xAA; field.bytes() as usize];
        checkpoint.read_bytes(&field.name, &mut bytes).unwrap();
        assert!(bytes == version.bytes[&field.name], "{}", field.name);
    }
    checkpoint.verify().unwrap();
    checkpoint.verify_copies().unwrap();
}

fn open(path: &Path) -> hdf5::File {
    hdf5::File::with_options()
        .with_fapl(|p| p.file_locking(false))
        .open(path)
        .unwrap()
}

/// Returns where the values of `name` lie in the full checkpoint at `path`.
fn place(path: &Path, name: &str) -> Range<usize> {
    let dataset = open(path).dataset(&format!("tcasm/fields/{name}"));
    let dataset = dataset.unwrap();
    let start = dataset.offset().unwrap() as usize;
    start..start + dataset.storage_size() as usize
}

#[test]
fn files_hold_the_same_bytes_with_and_without_direct_writes() {
    for version in [sizes(), kinds()] {
        for layout in LAYOUTS {
            for (direct, shift) in [DirectIo::Auto, DirectIo::Off]
                .into_iter()
                .flat_map(|direct| [0, 8].map(|shift| (direct, shift)))
            {
                let dir = disk();
                let options = Options {
                    layout,
                    direct,
                    ..PLAIN
                };
                let written = write(dir.path(), &version, shift, options);
                assert_holds(&written.path, &version);
                let is_direct = direct == DirectIo::Auto && takes_direct_writes(dir.path());
                assert_eq!(written.direct != 0, is_direct, "{direct:?} {shift}");
            }
        }
    }
}

#[test]
fn all_whole_blocks_of_large_fields_pass_the_page_cache() {
    let (dir, version) = (disk(), sizes());
    for shift in [0, 1] {
        let dir = tempfile::tempdir_in(dir.path()).unwrap();
        let written = write(dir.path(), &version, shift, PLAIN);
        let is_taken = takes_direct_writes(dir.path());
        assert_eq!(written.direct, if is_taken { blocks() } else { 0 });
        let file = fs::read(&written.path).unwrap();
        for field in &version.table.fields {
            let place = place(&written.path, &field.name);
            assert!(
                place.len() < LEAST || place.start.is_multiple_of(PAGE),
                "{place:?}"
            );
            assert!(file[place] == version.bytes[&field.name], "{}", field.name);
        }
    }
}

#[test]
fn file_system_that_refuses_at_any_moment_gets_the_same_bytes() {
    let version = sizes();
    for operations in 0..=OPERATIONS {
        let dir = disk();
        refuse_direct_io_after(operations);
        let written = write(dir.path(), &version, 0, PLAIN);
        refuse_direct_io_after(u64::MAX);
        assert_holds(&written.path, &version);
        if takes_direct_writes(dir.path()) {
            let is_whole = written.direct == blocks();
            assert_eq!(is_whole, operations == OPERATIONS, "{operations}");
            assert_eq!(written.direct == 0, operations < 2, "{operations}");
        }
    }
}

#[test]
fn files_in_memory_hold_the_same_bytes() {
    for version in [sizes(), kinds()] {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let written = write(dir.path(), &version, 0, PLAIN);
        assert_holds(&written.path, &version);
    }
}

#[test]
fn compressed_fields_are_left_to_hdf5() {
    let (dir, version) = (disk(), sizes());
    let options = Options {
        compression: Compression::Deflate(1),
        ..PLAIN
    };
    let written = write(dir.path(), &version, 0, options);
    assert_holds(&written.path, &version);
    assert_eq!(written.direct, 0);
}

/// Checks increments with short runs, a long one, and one at the end that fills no page.
#[test]
fn increments_hold_the_same_bytes_with_and_without_direct_writes() {
    const COUNT: usize = 6 * LEAST + 13;
    let mut runs: Vec<Range<u64>> = (0..600).step_by(2).map(pages(1)).collect();
    runs.extend([pages(700)(700), 6 * LEAST as u64..COUNT as u64]);
    for (direct, shift) in [(DirectIo::Auto, 0), (DirectIo::Auto, 8), (DirectIo::Off, 0)] {
        let dir = disk();
        let settings = Settings {
            options: Options { direct, ..PLAIN },
            most_files: 2,
            ..Settings::new(dir.path())
        };
        let mut to = Checkpointer::open("run", settings).unwrap();
        let mut version = Version::of([field("b", DType::U8, &[COUNT])]);
        let memory = Memory::of(&version, shift);
        to.write(&memory.snapshot(&version, at(1))).unwrap();
        let bytes = version.bytes.get_mut("b").unwrap();
        for run in &runs {
            bytes[run.start as usize..run.end as usize].fill(200);
        }
        let memory = Memory::of(&version, shift);
        let filled = to.fill_increment(&memory.snapshot(&version, at(2)), |_| runs.clone());
        let written = to.commit(filled.unwrap()).unwrap();
        assert!(written.bytes < COUNT as u64, "it must be an increment");
        assert_holds(&written.path, &version);
        let is_direct = direct == DirectIo::Auto && takes_direct_writes(dir.path());
        let changed = if is_direct { 1000 * PAGE as u64 } else { 0 };
        assert_eq!(written.direct, changed, "{direct:?} {shift}");
    }
}

/// Returns a function that returns the bytes of `count` pages from a page on.
fn pages(count: u64) -> impl Fn(u64) -> Range<u64> {
    move |first| first * PAGE as u64..(first + count) * PAGE as u64
}

#[test]
fn time_series_hold_the_same_bytes_with_and_without_direct_writes() {
    for direct in [DirectIo::Auto, DirectIo::Off] {
        let dir = disk();
        let options = SeriesOptions {
            compression: Compression::None,
            direct,
            ..SeriesOptions::default()
        };
        let path = dir.path().join("run.vtkhdf");
        let mut series = TimeSeries::open(&path, "test", options).unwrap();
        let mut version = Version::of([field("b", DType::U8, &[LEAST + 5])]);
        let mut expected: Vec<u8> = Vec::new();
        for step in 1..=2 {
            version.bytes.get_mut("b").unwrap()[LEAST / 2..].fill(step as u8);
            let memory = Memory::of(&version, 0);
            let snapshot = memory.snapshot(&version, at(step));
            series.append(&snapshot, |_| true).unwrap();
            expected.extend_from_slice(&version.bytes["b"]);
        }
        let rows = open(&path).dataset("VTKHDF/PointData/b").unwrap();
        let seen: Vec<u8> = rows.read_raw().unwrap();
        assert!(seen == expected, "{direct:?}");
    }
}

#[test]
fn flipped_byte_of_a_field_that_was_written_directly_is_found() {
    let (dir, version) = (disk(), sizes());
    let written = write(dir.path(), &version, 0, PLAIN);
    let file = fs::read(&written.path).unwrap();
    for size in SIZES {
        let name = format!("b{size}");
        let place = place(&written.path, &name);
        for at in [place.start, place.start + size / 2, place.end - 1] {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            fs::write(&written.path, flipped).unwrap();
            let error = Checkpoint::open(&written.path).unwrap().verify();
            let error = error.unwrap_err();
            let named = matches!(&error, ReadError::DamagedField { field, .. } if *field == name);
            assert!(named, "{error}");
        }
    }
}
