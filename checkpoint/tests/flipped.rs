//! Flips one byte anywhere in any file of a chain, in either layout and with each compression. The
//! error names the file, and the field if the byte belongs to one. A restart uses the newest
//! checkpoint that does not need the byte.

mod common;

use common::{LAYOUTS, PLAIN, Version, field};
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Layout, Options, ReadError, Settings,
};
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::format::stamp::Stamp;

const COMPRESSIONS: [Compression; 3] = [
    Compression::None,
    Compression::Deflate(1),
    Compression::Zstd(3),
];

/// A file of a chain, and the version that its checkpoint holds.
struct Link {
    path: PathBuf,
    version: Version,
    whole: Vec<u8>,
    /// The ranges of stored values, each with the name of its field or of its copy for other
    /// programs.
    stored: Vec<(Range<usize>, String)>,
}

/// Writes a full checkpoint of step 0 with fields of which there are copies for other programs, and
/// two increments, each on the one before.
fn chain(dir: &Path, options: Options) -> Vec<Link> {
    let mut vector = field("vector", DType::F32, &[20, 30]);
    vector.components = 3;
    let mut ghosts = field("ghosts", DType::F64, &[24, 34]);
    ghosts.ghosts = vec![[2, 2]; 2];
    let mut version = Version::of([field("plain", DType::F64, &[20, 30]), vector, ghosts]);
    let settings = Settings {
        most_files: 9,
        options,
        ..Settings::new(dir)
    };
    let mut to = Checkpointer::open("run", settings).unwrap();
    let mut write = |step: u64, changed: &[&str]| {
        for name in changed {
            let bytes = version.bytes.get_mut(*name).unwrap();
            bytes[..4096]
                .iter_mut()
                .for_each(|b| *b = b.wrapping_add(step as u8));
        }
        let stamp = Stamp {
            version: step + 1,
            step,
            time: 0.0,
        };
        let runs = |field: &FieldDesc| match changed.contains(&field.name.as_str()) {
            true => std::iter::once(0..4096).collect(),
            false => Vec::new(),
        };
        let filled = to.fill_increment(&version.snapshot(stamp), runs).unwrap();
        let path = to.commit(filled).unwrap().path;
        Link {
            whole: fs::read(&path).unwrap(),
            stored: stored(&path),
            version: version.clone(),
            path,
        }
    };
    vec![
        write(0, &[]),
        write(1, &["plain", "ghosts"]),
        write(2, &["vector"]),
    ]
}

/// Returns where HDF5 has stored the values of all fields and of their copies.
fn stored(path: &Path) -> Vec<(Range<usize>, String)> {
    let file = hdf5::File::open(path).unwrap();
    let mut all = Vec::new();
    for name in file.group("tcasm/fields").unwrap().member_names().unwrap() {
        let own = format!("tcasm/fields/{name}");
        match file.dataset(&own) {
            Ok(own) => {
                let copies = own
                    .attr("copies")
                    .map(|a| a.read_raw::<hdf5::types::VarLenUnicode>());
                for copy in copies.map_or(Vec::new(), |names| names.unwrap()) {
                    add(&mut all, &file.dataset(&copy).unwrap(), &copy);
                }
                add(&mut all, &own, &name);
            }
            Err(_) => add(
                &mut all,
                &file.dataset(&format!("{own}/values")).unwrap(),
                &name,
            ),
        }
    }
    all
}

fn add(all: &mut Vec<(Range<usize>, String)>, dataset: &hdf5::Dataset, name: &str) {
    let mut range =
        |at: u64, size: u64| all.push((at as usize..(at + size) as usize, name.to_owned()));
    if !dataset.is_chunked() {
        return range(dataset.offset().unwrap(), dataset.storage_size());
    }
    for i in 0..dataset.num_chunks().unwrap() {
        let chunk = dataset.chunk_info(i).unwrap();
        range(chunk.addr, chunk.size);
    }
}

/// Returns offsets of bytes of all kinds: the beginning, the seal, each stored dataset from its
/// first to its last byte, and the structure in between.
fn sample(link: &Link) -> BTreeSet<usize> {
    let end = link.whole.len();
    let spread = |range: Range<usize>, count: usize| {
        let step = (range.len() / count).max(1) | 1;
        range.clone().step_by(step).chain(range.last())
    };
    let mut all: BTreeSet<usize> = spread(0..48, 12)
        .chain(spread(end - 160..end, 40))
        .collect();
    all.extend(spread(0..end, 60));
    for (range, _) in &link.stored {
        all.extend(spread(range.clone(), 10));
    }
    all
}

/// Does what `tcasm verify` does.
fn verify(path: &Path) -> Result<(), ReadError> {
    let checkpoint = Checkpoint::open(path)?;
    checkpoint.verify()?;
    checkpoint.verify_copies()
}

fn assert_holds(checkpoint: &Checkpoint, version: &Version) {
    for field in &version.table.fields {
        let mut bytes = vec![0; field.bytes() as usize];
        checkpoint.read_bytes(&field.name, &mut bytes).unwrap();
        assert!(
            bytes == version.bytes[&field.name],
            "a wrong value of {}",
            field.name
        );
    }
}

/// Flips a bit of the byte at `offset` of file `number` and checks the errors. Returns true if a
/// field was named.
fn flip(links: &[Link], number: usize, offset: usize, compressed: bool) -> bool {
    let link = &links[number];
    let mut bytes = link.whole.clone();
    bytes[offset] ^= 1 << (offset % 8);
    fs::write(&link.path, &bytes).unwrap();
    let dir = link.path.parent().unwrap();
    let place = format!("byte {offset} of {:?}", link.path);
    let within = link
        .stored
        .iter()
        .find(|(range, _)| range.contains(&offset));
    let found = match verify(&link.path) {
        Ok(()) => {
            assert!(compressed && within.is_some(), "{place} is not found");
            // A compressed stream has bits without meaning.
            assert_holds(&Checkpoint::open(&link.path).unwrap(), &link.version);
            None
        }
        Err(error) => {
            let text = error.to_string();
            let file = link.path.file_name().unwrap().to_str().unwrap();
            assert!(text.contains(file), "{place}: {text}");
            Some(error)
        }
    };
    let named = match (&found, within) {
        (Some(ReadError::DamagedField { field, .. }), Some((_, of))) => {
            assert_eq!(field, of, "{place}");
            true
        }
        (Some(error), Some((_, of))) => panic!("{place} is of {of}: {error}"),
        _ => false,
    };
    // A checkpoint that needs the byte is passed over. A copy for other programs is not needed.
    let needed = Checkpoint::open(&link.path)
        .and_then(|c| c.verify())
        .is_err();
    match Checkpoint::restart(&[dir], None) {
        Ok(restarted) => {
            let step = if needed { number - 1 } else { links.len() - 1 };
            assert_eq!(restarted.stamp().step, step as u64, "{place}");
            assert_holds(&restarted, &links[step].version);
        }
        Err(error) => assert!(needed && number == 0, "{place}: {error}"),
    }
    named
}

fn flip_all_over(layout: Layout, compression: Compression) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        layout,
        compression,
        ..PLAIN
    };
    let links = chain(dir.path(), options);
    assert_holds(
        &Checkpoint::restart(&[dir.path()], None).unwrap(),
        &links[2].version,
    );
    for (number, link) in links.iter().enumerate() {
        verify(&link.path).unwrap();
        let places = sample(link);
        let compressed = compression != Compression::None;
        let named = places
            .iter()
            .filter(|at| flip(&links, number, **at, compressed))
            .count();
        let hint = "errors must name the fields of the bytes";
        assert!(
            named >= 10 * link.stored.len() - 10,
            "{hint}: {named} of {}",
            places.len()
        );
        fs::write(&link.path, &link.whole).unwrap();
    }
}

#[test]
fn flipped_byte_in_a_vtkhdf_chain_is_located_and_restart_uses_an_older_step() {
    for compression in COMPRESSIONS {
        flip_all_over(LAYOUTS[0], compression);
    }
}

#[test]
fn flipped_byte_in_an_openpmd_chain_is_located_and_restart_uses_an_older_step() {
    for compression in COMPRESSIONS {
        flip_all_over(LAYOUTS[1], compression);
    }
}
