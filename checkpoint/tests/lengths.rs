//! Fields whose lengths change: every checkpoint reads back bit by bit, whatever the lengths before
//! it were. Memory beyond the length of a field holds old values, as in a region.

mod common;

use common::{LAYOUTS, PLAIN, disk, field};
use proptest::prelude::*;
use std::path::Path;
use std::time::Duration;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Kind, Layout, Options, Settings, Snapshot, Verifier,
    Written, changed_bytes, checkpoint_files,
};
use tcasm_core::field::{DType, FieldDesc, FieldTable, Order};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::pageset::PageSet;

const PAGE: u64 = 4096;

/// Returns a field without values that has room for `capacity` of them along its slowest axis.
fn variable(name: &str, dtype: DType, capacity: usize) -> FieldDesc {
    let mut field = field(name, dtype, &[0]);
    field.capacity = Some(capacity);
    field
}

/// Returns the fields of the tests. Rows of some of them lie across the ends of pages.
fn fields() -> Vec<FieldDesc> {
    let mut position = variable("position", DType::F64, 700);
    position.components = 3;
    let mut fortran = variable("fortran", DType::F32, 900);
    (fortran.order, fortran.shape) = (Order::F, vec![5, 0]);
    fortran.ghosts = vec![[1, 1], [0, 0]];
    vec![
        field("fixed", DType::U8, &[9000]),
        position,
        variable("id", DType::U32, 3000),
        fortran,
    ]
}

/// A region in memory, and the pages that were written since the last checkpoint.
struct Memory {
    table: FieldTable,
    bytes: Vec<u8>,
    dirty: PageSet,
    /// The fields of the last checkpoint.
    older: FieldTable,
    writes: usize,
}

/// The fields and the memory of a version that was stored.
struct State {
    step: u64,
    table: FieldTable,
    bytes: Vec<u8>,
}

impl Memory {
    /// Returns memory with values everywhere, also where no field has its length yet.
    fn new() -> Self {
        let mut table = FieldTable::default();
        let mut offset = 0;
        for mut field in fields() {
            field.offset = offset;
            offset += field.capacity_bytes().next_multiple_of(PAGE);
            table.fields.push(field);
        }
        let value = |i: u64| (i % 251) as u8 | 1;
        Memory {
            bytes: (0..offset).map(value).collect(),
            dirty: PageSet::new((offset / PAGE) as usize),
            older: FieldTable::default(),
            table,
            writes: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Length(number, length) => self.set_length(number, length),
            Op::Write(number, page) => self.write(number, page),
        }
    }

    fn set_length(&mut self, number: usize, length: usize) {
        let field = &mut self.table.fields[number];
        if let (Some(axis), Some(capacity)) = (field.slowest_axis(), field.capacity) {
            field.shape[axis] = length.min(capacity);
        }
    }

    /// Writes a page of the memory of a field, which may lie beyond its length.
    fn write(&mut self, number: usize, page: u64) {
        let field = &self.table.fields[number];
        let page = field.offset / PAGE + page % field.capacity_bytes().div_ceil(PAGE);
        let start = (page * PAGE) as usize;
        self.writes += 1;
        let number = self.writes;
        let values = self.bytes[start..start + PAGE as usize].iter_mut();
        values
            .enumerate()
            .for_each(|(i, byte)| *byte = (i + number) as u8);
        self.dirty.insert(page as usize);
    }

    /// Writes a checkpoint, and returns what it must hold.
    fn store(&mut self, to: &mut Checkpointer, step: u64) -> (Written, State) {
        let stamp = Stamp {
            version: step + 1,
            step,
            time: step as f64,
        };
        let snapshot = Snapshot::new("test", stamp, &self.table, |field| {
            &self.bytes[field.offset as usize..][..field.bytes() as usize]
        });
        let changed = |field: &FieldDesc| changed_bytes(field, &self.older, &self.dirty, PAGE);
        let filled = to.fill_increment(&snapshot, changed).unwrap();
        let written = to.commit(filled).unwrap();
        self.older = self.table.clone();
        self.dirty.clear();
        let (table, bytes) = (self.table.clone(), self.bytes.clone());
        (written, State { step, table, bytes })
    }
}

impl State {
    fn bytes_of(&self, field: &FieldDesc) -> &[u8] {
        &self.bytes[field.offset as usize..][..field.bytes() as usize]
    }

    /// Checks that `dir` has a checkpoint of this state.
    fn check(&self, dir: &Path) {
        let checkpoint = Checkpoint::restart(&[dir], Some(self.step)).unwrap();
        assert_eq!(*checkpoint.table(), self.table);
        let loaded = checkpoint.load().unwrap();
        for field in &self.table.fields {
            let is_same = loaded.bytes(&field.name) == Some(self.bytes_of(field));
            assert!(is_same, "{} of step {}", field.name, self.step);
        }
        self.check_array(&checkpoint);
    }

    /// Checks that an array of Fortran order has the values, too.
    fn check_array(&self, checkpoint: &Checkpoint) {
        let field = self.table.get("fortran").unwrap();
        let mut array = ndarray::ArrayD::<f32>::ones(field.array_shape());
        let read = checkpoint.read_array("fortran", array.view_mut());
        read.unwrap();
        let in_memory = array.reversed_axes();
        let values = in_memory.iter().flat_map(|x| x.to_le_bytes());
        let is_same = values.eq(self.bytes_of(field).iter().copied());
        assert!(is_same, "array of step {}", self.step);
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Gives a field a length, at most its capacity.
    Length(usize, usize),
    /// Writes a page of a field.
    Write(usize, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let length = prop_oneof![Just(0), Just(usize::MAX), 0usize..3000];
    prop_oneof![
        (1usize..4, length).prop_map(|(field, length)| Op::Length(field, length)),
        (0usize..4, 0u64..8).prop_map(|(field, page)| Op::Write(field, page)),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let compression = prop::sample::select(vec![
        Compression::None,
        Compression::Deflate(1),
        Compression::Zstd(3),
    ]);
    let layout = prop::sample::select(LAYOUTS.to_vec());
    (compression, layout).prop_map(|(compression, layout)| Options {
        compression,
        layout,
        ..PLAIN
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_checkpoint_reads_back_whatever_the_lengths_were(
        steps in prop::collection::vec(prop::collection::vec(op(), 0..6), 1..10),
        most_files in 1usize..6,
        compact in any::<bool>(),
        options in options(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings { most_files, compact, options, ..Settings::new(dir.path()) };
        let mut to = Checkpointer::open("run", settings).unwrap();
        let mut memory = Memory::new();
        let mut states = Vec::new();
        for (step, ops) in steps.iter().enumerate() {
            ops.iter().for_each(|op| memory.apply(*op));
            states.push(memory.store(&mut to, step as u64).1);
        }
        // This ends a compaction that is under way.
        drop(to);
        states.iter().for_each(|state| state.check(dir.path()));
        let mut verifier = Verifier::new();
        for file in checkpoint_files(dir.path()).unwrap() {
            verifier.verify(file).unwrap();
        }
    }
}

/// Sets the length of all fields that have a capacity.
fn set_lengths(memory: &mut Memory, length: usize) {
    (1..4).for_each(|number| memory.set_length(number, length));
}

#[test]
fn values_that_no_page_changed_are_stored_when_a_field_grows() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        most_files: 9,
        options: PLAIN,
        ..Settings::new(dir.path())
    };
    let mut to = Checkpointer::open("run", settings).unwrap();
    let mut memory = Memory::new();
    let mut states = Vec::new();
    // Nothing is written to memory at all. Only the lengths change.
    let lengths = [0, 3, 700, 100, 0, 0, 650, 651];
    for (step, length) in lengths.into_iter().enumerate() {
        set_lengths(&mut memory, length);
        let (written, state) = memory.store(&mut to, step as u64);
        let kind = to.contents().items[&state.step].entry.kind.clone();
        assert_eq!(kind == Kind::Full, step == 0, "{}", written.path.display());
        states.push(state);
    }
    states.iter().for_each(|state| state.check(dir.path()));
}

#[test]
fn increment_of_a_field_that_grows_holds_little_more_than_its_new_values() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        most_files: 9,
        options: PLAIN,
        ..Settings::new(dir.path())
    };
    let mut to = Checkpointer::open("run", settings).unwrap();
    let bytes = vec![1u8; 4 << 20];
    let mut store = |step: u64, length: usize| {
        let mut grown = variable("t", DType::U8, 4 << 20);
        grown.shape = vec![length];
        let table = FieldTable {
            fields: vec![field("fixed", DType::U8, &[16]), grown],
            ..FieldTable::default()
        };
        let stamp = Stamp {
            version: step,
            step,
            time: 0.0,
        };
        let of = |field: &FieldDesc| &bytes[..field.bytes() as usize];
        let snapshot = Snapshot::new("test", stamp, &table, of);
        let filled = to.fill_increment(&snapshot, |_| Vec::new()).unwrap();
        to.commit(filled).unwrap().bytes
    };
    let full = store(1, 3 << 20);
    assert!(full > 3 << 20, "{full}");
    let grown = store(2, (3 << 20) + 1000);
    assert!(grown < 64 << 10, "{grown}");
    let shrunk = store(3, 5);
    assert!(shrunk < 64 << 10, "{shrunk}");
}

#[test]
fn checkpoints_of_changing_lengths_are_copied_to_the_slow_tier() {
    for layout in LAYOUTS {
        changing_lengths_are_copied(layout);
    }
}

fn changing_lengths_are_copied(layout: Layout) {
    let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let settings = Settings {
        most_files: 3,
        slow: Some(slow.path().to_owned()),
        options: Options { layout, ..PLAIN },
        ..Settings::new(fast.path())
    };
    let mut to = Checkpointer::open("run", settings).unwrap();
    let mut memory = Memory::new();
    let mut states = Vec::new();
    for (step, length) in [0, 500, 0, 0, 3000, 1, 0].into_iter().enumerate() {
        set_lengths(&mut memory, length);
        memory.write(step % 4, 1);
        states.push(memory.store(&mut to, step as u64).1);
    }
    let state = to.wait_drained(Duration::from_secs(60)).unwrap();
    assert_eq!((state.outstanding, state.trouble), (0, None));
    drop(to);
    for dir in [fast.path(), slow.path()] {
        states.iter().for_each(|state| state.check(dir));
    }
}

#[test]
fn large_fields_that_are_written_past_the_page_cache_may_get_empty_and_back() {
    let dir = disk();
    let mut to = Checkpointer::new(dir.path(), "run", PLAIN).unwrap();
    let bytes: Vec<u8> = (0..3 << 20).map(|i: u32| (i ^ (i >> 8)) as u8).collect();
    for (step, length) in [3 << 20, 0, 2 << 20, 1].into_iter().enumerate() {
        let mut large = variable("t", DType::U8, 3 << 20);
        large.shape = vec![length];
        let table = FieldTable {
            fields: vec![field("fixed", DType::U8, &[16]), large],
            ..FieldTable::default()
        };
        let stamp = Stamp {
            version: 1,
            step: step as u64,
            time: 0.0,
        };
        let of = |field: &FieldDesc| &bytes[..field.bytes() as usize];
        to.write(&Snapshot::new("test", stamp, &table, of)).unwrap();
        let checkpoint = Checkpoint::open(dir.path()).unwrap();
        assert_eq!(checkpoint.stamp().step, step as u64);
        let loaded = checkpoint.load().unwrap();
        assert!(loaded.bytes("t") == Some(&bytes[..length]), "{length}");
    }
}
