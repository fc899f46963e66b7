//! Manifests, lists and files of checkpoints from outside.
//!
//! HDF5 gets to see what has an unbroken seal only: its C code crashes on damaged structures. So damage here is not sealed anew,
//! but for that of the fields' own bytes, which no seal covers: the decompressors see it.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::OnceLock;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Contents, Layout, Options, Settings, Snapshot,
};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_64;

/// Values of the one field.
const COUNT: usize = 3000;

/// Read a manifest made of `data`, and open a tier with it. The first byte says how: as it is, as lines with their checksums, or as
/// damage to a sound one.
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
    fs::write(&kept, "of somebody else").expect("a file");
    drop(black_box(Checkpointer::new(
        dir.path(),
        "run",
        Options::default(),
    )));
    assert!(
        fs::remove_file(kept).is_ok(),
        "a file of somebody else is gone"
    );
}

/// The lines of `data` as those of a manifest.
fn summed(data: &[u8]) -> Vec<u8> {
    let begin = br#"{"event":"begin","format":1,"run":"a","region":"run","created":0}"#;
    let lines = std::iter::once(&begin[..]).chain(data.split(|b| *b == b'\n'));
    let line = |line: &[u8]| [line, format!("#{:016x}\n", xxh3_64(line)).as_bytes()].concat();
    lines.flat_map(line).collect()
}

/// Open a folder of checkpoints of which one file is damaged: what is read of it is an error or right. The first byte says which
/// file of which chain; the next, what is done to it.
pub fn read_checkpoint(data: &[u8]) {
    let [which, how, data @ ..] = data else {
        return;
    };
    let chain = &sound()[usize::from(*which) % sound().len()];
    let number = usize::from(*which / 16) % chain.len();
    let dir = tempfile::tempdir().expect("a folder");
    for (i, (name, bytes)) in chain.iter().enumerate() {
        let bytes = match i == number {
            true => spoilt(bytes, *how, data),
            false => bytes.clone(),
        };
        fs::write(dir.path().join(name), bytes).expect("a file");
    }
    for (name, _) in chain {
        let _ = black_box(Checkpoint::open(dir.path().join(name)).map(|found| check(&found)));
    }
    let _ = black_box(Checkpoint::restart(&[dir.path()], None).map(|found| check(&found)));
}

fn spoilt(bytes: &[u8], how: u8, data: &[u8]) -> Vec<u8> {
    let tail = bytes.len().saturating_sub(data.len());
    match how % 4 {
        0 => damaged(bytes, data),
        1 => data.to_vec(),
        // Another seal, and one more.
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

/// `bytes` with some of them changed: four bytes each say where, one what.
fn damaged(bytes: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for part in data.chunks_exact(5) {
        let at = u32::from_le_bytes([part[0], part[1], part[2], part[3]]) as usize;
        let len = bytes.len();
        bytes[at % len] ^= part[4];
    }
    bytes
}

/// The values of a step: those of each page differ from step to step, or do not.
fn state(step: u64) -> Vec<u8> {
    let value = |i: usize| (i as u64 % 97) * (1 + step * (i as u64 / 512 % 2));
    (0..COUNT).flat_map(|i| value(i).to_le_bytes()).collect()
}

type Files = Vec<(String, Vec<u8>)>;

fn file(files: &Files, name: &str) -> Vec<u8> {
    let found = files.iter().find(|(other, _)| other == name);
    found.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
}

/// Folders with a full checkpoint and two increments, stored in all ways.
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
    files.retain(|(_, bytes)| !bytes.is_empty()); // the lock
    files.sort();
    files
}
