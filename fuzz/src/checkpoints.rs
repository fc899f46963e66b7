//! Tests of the code that reads manifests and files of checkpoints from untrusted sources.
//!
//! HDF5 gets only files whose seal is intact, because its C code crashes on damaged structures. So
//! the damage that is done here does not get a new seal. No seal covers the bytes of the fields, so
//! damage to these reaches the decompressors.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Contents, Layout, Options, Settings, Snapshot,
};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_64;

/// The number of values of the only field.
const COUNT: usize = 3000;

/// Reads a manifest made of `data`, and opens a tier with it. The first byte selects how `data` is
/// used: as it is, as lines to which checksums are added, or as damage to a valid manifest.
pub fn read_manifest(data: &[u8]) {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    let bytes = match how % 3 {
        0 => data.to_vec(),
        1 => summed(data),
        _ => damaged(&file(&sound()[0], "run.manifest"), data),
    };
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("run.manifest");
    fs::write(&path, bytes).expect("a file");
    if let Ok(contents) = Contents::read(&path) {
        for (step, item) in &contents.items {
            let files = contents.files(*step);
            assert!((1..=contents.items.len()).contains(&files), "a circle");
            let file = Path::new(&item.entry.file);
            assert_eq!(
                file.file_name(),
                Some(file.as_os_str()),
                "outside the folder"
            );
        }
    }
    let kept = dir.path().with_extension("kept");
    fs::write(&kept, "of another program").expect("a file");
    drop(black_box(Checkpointer::new(
        dir.path(),
        "run",
        Options::default(),
    )));
    assert!(
        fs::remove_file(kept).is_ok(),
        "a file of another program is gone"
    );
}

/// Returns a manifest with the lines of `data` and their checksums.
fn summed(data: &[u8]) -> Vec<u8> {
    let begin = br#"{"event":"begin","format":1,"run":"a","region":"run","created":0}"#;
    let lines = std::iter::once(&begin[..]).chain(data.split(|b| *b == b'\n'));
    let line = |line: &[u8]| [line, format!("#{:016x}\n", xxh3_64(line)).as_bytes()].concat();
    lines.flat_map(line).collect()
}

/// Opens a folder of checkpoints in which one file is damaged. Reading from it must give an error
/// or the right values. The first byte selects the file and the chain, and the second byte selects
/// the kind of damage.
pub fn read_checkpoint(data: &[u8]) {
    let [which, how, data @ ..] = data else {
        return;
    };
    let chain = &sound()[usize::from(*which) % sound().len()];
    let number = usize::from(*which / 16) % chain.len();
    let dir = tempfile::tempdir().expect("a folder");
    for (i, (name, bytes)) in chain.iter().enumerate() {
        let bytes = match i == number {
            true => spoiled(bytes, *how, data),
            false => bytes.clone(),
        };
        fs::write(dir.path().join(name), bytes).expect("a file");
    }
    for (name, _) in chain {
        let _ = black_box(Checkpoint::open(dir.path().join(name)).map(|found| check(&found)));
    }
    let _ = black_box(Checkpoint::restart(&[dir.path()], None).map(|found| check(&found)));
}

/// Returns a damaged copy of the bytes of a file; `how` selects the kind of damage.
fn spoiled(bytes: &[u8], how: u8, data: &[u8]) -> Vec<u8> {
    let tail = bytes.len().saturating_sub(data.len());
    match how % 4 {
        0 => damaged(bytes, data),
        1 => data.to_vec(),
        // `data` replaces the end of the file, where the seal is, or follows it.
        2 => [&bytes[..tail], data].concat(),
        _ => [bytes, data].concat(),
    }
}

fn check(checkpoint: &Checkpoint) {
    let mut values = vec![0; COUNT * 8];
    let _ = black_box((checkpoint.verify(), checkpoint.verify_copies()));
    if checkpoint.read_bytes("t", &mut values).is_ok() {
        let step = checkpoint.stamp().step;
        assert!(values == state(step), "wrong values of step {step}");
    }
}

/// Returns `bytes` with some of them changed. Each change takes five bytes of `data`: four for the
/// position, and one for the value that is combined with the byte there by XOR.
fn damaged(bytes: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for part in data.chunks_exact(5) {
        let at = u32::from_le_bytes([part[0], part[1], part[2], part[3]]) as usize;
        let len = bytes.len();
        bytes[at % len] ^= part[4];
    }
    bytes
}

/// Returns the values of a step. In every second page they differ from step to step.
fn state(step: u64) -> Vec<u8> {
    let value = |i: usize| (i as u64 % 97) * (1 + step * (i as u64 / 512 % 2));
    (0..COUNT).flat_map(|i| value(i).to_le_bytes()).collect()
}

type Files = Vec<(String, Vec<u8>)>;

fn file(files: &Files, name: &str) -> Vec<u8> {
    let found = files.iter().find(|(other, _)| other == name);
    found.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
}

/// Returns folders with a full checkpoint and two increments each, for several layouts and
/// compressions.
fn sound() -> &'static [Files] {
    static FILES: OnceLock<Vec<Files>> = OnceLock::new();
    FILES.get_or_init(|| {
        let all = [
            (Layout::VtkHdf, Compression::None),
            (Layout::VtkHdf, Compression::Deflate(1)),
            (Layout::OpenPmd, Compression::Zstd(1)),
        ];
        all.map(|(layout, compression)| chain(layout, compression))
            .to_vec()
    })
}

fn chain(layout: Layout, compression: Compression) -> Files {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        most_files: 3,
        options: Options {
            layout,
            compression,
            ..Options::default()
        },
        ..Settings::new(dir.path())
    };
    let mut field = FieldDesc::new("t", DType::U64, &[COUNT]);
    field.ghosts = vec![[1, 1]];
    let table = FieldTable {
        fields: vec![field],
        ..FieldTable::default()
    };
    let mut to = Checkpointer::open("run", settings).expect("a checkpointer");
    for step in 1..=3 {
        let (values, stamp) = (
            state(step),
            Stamp {
                version: step,
                step,
                time: 0.5,
            },
        );
        let snapshot = Snapshot::new("run", stamp, &table, |_| &values);
        let changed = |_: &FieldDesc| vec![4096..8192, 12288..16384, 20480..24000];
        let filled = to.fill_increment(&snapshot, changed).expect("an increment");
        to.commit(filled).expect("a file");
    }
    drop(to);
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().expect("a name");
        (name, fs::read(entry.path()).expect("a file"))
    };
    let mut files: Files = fs::read_dir(dir.path())
        .expect("a folder")
        .flatten()
        .map(read)
        .collect();
    files.retain(|(_, bytes)| !bytes.is_empty()); // drops the lock file
    files.sort();
    files
}
