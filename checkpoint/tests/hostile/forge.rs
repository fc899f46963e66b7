//! Checkpoints as another user might forge them.

use super::common::{PLAIN, Version, field};
use hdf5::types::VarLenUnicode;
use hdf5::{File, Group, Hyperslab, Selection};
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpointer, Settings};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_64;

/// The name of the run.
pub const NAME: &str = "run";
/// A number of values for which no machine has room.
const HUGE: usize = 1 << 50;

/// A way to forge a checkpoint.
pub struct Forgery {
    pub what: &'static str,
    /// A text that the error must contain.
    pub why: &'static str,
    /// True if the forgery changes an increment.
    on_increment: bool,
    make: fn(&File),
}

const fn full(what: &'static str, why: &'static str, make: fn(&File)) -> Forgery {
    Forgery {
        what,
        why,
        on_increment: false,
        make,
    }
}

const fn increment(what: &'static str, why: &'static str, make: fn(&File)) -> Forgery {
    Forgery {
        what,
        why,
        on_increment: true,
        make,
    }
}

pub const EVERY: &[Forgery] = &[
    full(
        "a table that claims 2^50 bytes in chunks",
        "not all stored",
        |file| {
            claim(&own(file), "table", HUGE, true);
        },
    ),
    full(
        "a table that claims 2^50 bytes in one piece",
        "not all stored",
        |file| {
            claim(&own(file), "table", HUGE, false);
        },
    ),
    full(
        "a field that claims 2^50 values, as its table does",
        "not all stored",
        |file| {
            table(file, HUGE);
            claim(&fields(file), "t", HUGE, true);
        },
    ),
    full(
        "a field that is not stored at all",
        "not all stored",
        |file| {
            claim(&fields(file), "t", 512, false);
        },
    ),
    full(
        "a field of which one chunk is missing",
        "not all stored",
        |file| {
            let group = fields(file);
            group.unlink("t").unwrap();
            let builder = group.new_dataset::<u8>().chunk(256).shape(512);
            let dataset = builder.create("t").unwrap();
            dataset.write_slice(&[1u8; 256], 0..256).unwrap();
        },
    ),
    full(
        "a field that is a link to another file",
        "is a link (External)",
        |file| {
            let group = fields(file);
            group.unlink("t").unwrap();
            group
                .link_external("run_00000001.vtkhdf", "/tcasm/fields/t", "t")
                .unwrap();
        },
    ),
    full(
        "all of it behind a link to another file",
        "is a link (External)",
        |file| {
            file.unlink("tcasm").unwrap();
            file.link_external("run_00000001.vtkhdf", "/tcasm", "tcasm")
                .unwrap();
        },
    ),
    full(
        "a field behind a symbolic link",
        "is a link (Soft)",
        |file| {
            let group = fields(file);
            group.relink("t", "elsewhere").unwrap();
            group.link_soft("/tcasm/fields/elsewhere", "t").unwrap();
        },
    ),
    full(
        "a field whose values are in another file",
        "in another file",
        |file| {
            let group = fields(file);
            group.unlink("t").unwrap();
            let builder = group.new_dataset_builder();
            let builder = builder.with_dcpl(|p| p.external("/etc/passwd", 0, 512));
            builder.empty::<u8>().shape(512).create("t").unwrap();
        },
    ),
    full(
        "a field that is made of another",
        "those of other datasets",
        |file| {
            let group = fields(file);
            group.unlink("t").unwrap();
            let all = || Selection::from(Hyperslab::from(0..512));
            let (file, name) = ("run_00000001.vtkhdf", "/tcasm/fields/t");
            let builder = group.new_dataset_builder();
            let builder = builder.virtual_map(file, name, 512, all(), 512, all());
            builder.empty::<u8>().shape(512).create("t").unwrap();
        },
    ),
    full(
        "a circle of groups, and a huge dataset in it",
        "not all stored",
        |file| {
            let group = file.create_group("circle").unwrap();
            file.link_hard("circle", "circle/again").unwrap();
            claim(&group, "huge", HUGE, true);
        },
    ),
    increment("runs that claim 2^50 values", "not all stored", |file| {
        claim(&fields(file).group("t").unwrap(), "first", HUGE, true);
    }),
    increment(
        "more runs than the field has values",
        "and 512 at most",
        |file| {
            for column in ["first", "count"] {
                let group = fields(file).group("t").unwrap();
                group.unlink(column).unwrap();
                let builder = group.new_dataset_builder();
                builder.with_data(&vec![0u64; 513]).create(column).unwrap();
            }
        },
    ),
    increment("a base of a later step", "comes later", |file| {
        own(file)
            .attr("base_step")
            .unwrap()
            .write_scalar(&9u64)
            .unwrap();
    }),
    increment("itself for a base", "comes later", |file| {
        own(file)
            .attr("base_step")
            .unwrap()
            .write_scalar(&2u64)
            .unwrap();
    }),
];

/// Forgeries of copies for other programs. Nothing is restored from these.
pub const OF_COPIES: &[Forgery] = &[
    full(
        "more copies than there are components",
        "copies are listed",
        |file| {
            let name: VarLenUnicode = "tcasm/fields/t".parse().unwrap();
            let names = vec![name; 3000];
            let dataset = fields(file).dataset("t").unwrap();
            let _ = dataset.delete_attr("copies");
            let builder = dataset.new_attr_builder();
            builder.with_data(&names).create("copies").unwrap();
        },
    ),
    full("a copy without extent", "checksum differs", |file| {
        let name: VarLenUnicode = "empty".parse().unwrap();
        let empty = file
            .new_dataset::<u8>()
            .shape([5, 0])
            .create("empty")
            .unwrap();
        empty
            .new_attr::<u64>()
            .create("xxh3")
            .unwrap()
            .write_scalar(&1u64)
            .unwrap();
        let dataset = fields(file).dataset("t").unwrap();
        let _ = dataset.delete_attr("copies");
        let builder = dataset.new_attr_builder();
        builder.with_data(&[name]).create("copies").unwrap();
    }),
];

fn own(file: &File) -> Group {
    let own = file.group("tcasm").unwrap();
    // An attacker can also change the checksum. Files of older releases have none.
    let _ = own.delete_attr("xxh3");
    own
}

fn fields(file: &File) -> Group {
    own(file).group("fields").unwrap()
}

/// Creates a dataset of `count` values of which none is stored.
fn claim(group: &Group, name: &str, count: usize, chunked: bool) {
    let _ = group.unlink(name);
    let builder = group.new_dataset::<u8>();
    let builder = match chunked {
        true => builder.chunk(1 << 20.min(count.ilog2())),
        false => builder.no_chunk(),
    };
    builder.shape(count).create(name).unwrap();
}

/// Writes a table in which the field has `count` values.
fn table(file: &File, count: usize) {
    let table = FieldTable {
        fields: vec![FieldDesc::new("t", DType::U8, &[count])],
        ..FieldTable::default()
    };
    let bytes = table.encode().unwrap();
    own(file).unlink("table").unwrap();
    own(file)
        .new_dataset_builder()
        .with_data(&bytes)
        .create("table")
        .unwrap();
}

/// Makes the file at `path` hold `bytes` bytes of a field. All but the first are holes.
pub fn resize(path: &Path, bytes: usize) {
    change(path, |file| {
        table(file, bytes);
        let group = fields(file);
        group.unlink("t").unwrap();
        let dataset = group
            .new_dataset::<u8>()
            .no_chunk()
            .shape(bytes)
            .create("t")
            .unwrap();
        dataset.write_slice(&[1u8], 0..1).unwrap();
    });
}

/// A folder with a good checkpoint of step 1.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut to = Checkpointer::new(dir.path(), NAME, PLAIN).unwrap();
        to.write(&version().snapshot(at(1))).unwrap();
        Folder(dir)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Adds a forged checkpoint of step 2.
    pub fn forge(&self, forgery: &Forgery) -> PathBuf {
        let settings = Settings {
            most_files: 9,
            options: PLAIN,
            ..Settings::new(self.path())
        };
        let mut to = Checkpointer::open(NAME, settings).unwrap();
        // Step 1 is written again, so that there is a base for an increment.
        to.write(&version().snapshot(at(1))).unwrap();
        let version = version();
        let filled = match forgery.on_increment {
            true => to.fill_increment(&version.snapshot(at(2)), |_| iter::once(0..64).collect()),
            false => to.fill(&version.snapshot(at(2))),
        };
        let path = to.commit(filled.unwrap()).unwrap().path;
        drop(to);
        change(&path, forgery.make);
        path
    }
}

fn version() -> Version {
    Version::of([field("t", DType::U8, &[512])])
}

fn at(step: u64) -> Stamp {
    Stamp {
        version: step,
        step,
        time: 0.0,
    }
}

/// Changes the file at `path` with `make`, and seals it again.
fn change(path: &Path, make: impl FnOnce(&File)) {
    let bytes = fs::read(path).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let length = word(bytes.len() - 24);
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(length)
        .unwrap();
    let file = File::open_rw(path).unwrap();
    make(&file);
    file.flush().unwrap();
    file.close().unwrap();
    let size = fs::metadata(path).unwrap().len();
    // The middle of a large file is not hashed, as if it held fields.
    let ranges: Vec<u64> = if size > 1 << 30 {
        vec![1 << 20, size - (2 << 20)]
    } else {
        vec![]
    };
    seal(path, size, &ranges);
}

fn seal(path: &Path, size: u64, ranges: &[u64]) {
    use std::io::{Read, Seek, SeekFrom, Write};
    let mut file = fs::File::options()
        .read(true)
        .append(true)
        .open(path)
        .unwrap();
    let mut hashed = Vec::new();
    match ranges {
        [from, count] => {
            (&file).take(*from).read_to_end(&mut hashed).unwrap();
            file.seek(SeekFrom::Start(from + count)).unwrap();
            file.read_to_end(&mut hashed).unwrap();
        }
        _ => drop(file.read_to_end(&mut hashed).unwrap()),
    }
    let words = ranges
        .iter()
        .copied()
        .chain([ranges.len() as u64 / 2, size]);
    let seal: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    hashed.extend(&seal);
    file.write_all(&seal).unwrap();
    file.write_all(&xxh3_64(&hashed).to_le_bytes()).unwrap();
    file.write_all(b"TCASMSL1").unwrap();
}
