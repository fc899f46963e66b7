//! Files of other programs, and exports, that have the name of a checkpoint: no checkpoint replaces
//! them. Checkpoints of the run itself are replaced, whole or damaged.

mod common;

use common::{LAYOUTS, PLAIN, STAMP, Version, field, names_in};
use std::fs;
use std::path::Path;
use tcasm_checkpoint::{Checkpoint, Checkpointer, Layout, Options, WriteError};
use tcasm_core::field::DType;
use tcasm_core::format::stamp::Stamp;

const THEIRS: &[u8] = b"of another program";

fn version() -> Version {
    Version::of([field("t", DType::F64, &[4])])
}

fn at(step: u64) -> Stamp {
    Stamp { step, ..STAMP }
}

fn open(dir: &Path, layout: Layout) -> Checkpointer {
    Checkpointer::new(dir, "run", Options { layout, ..PLAIN }).unwrap()
}

fn write(to: &mut Checkpointer, step: u64) -> Result<(), WriteError> {
    to.write(&version().snapshot(at(step))).map(drop)
}

fn name(step: u64, layout: Layout) -> String {
    match layout {
        Layout::VtkHdf => format!("run_{step:08}.vtkhdf"),
        Layout::OpenPmd => format!("run_{step:08}.h5"),
    }
}

/// Checks that the checkpoint of step 2 is refused because `file` exists, that later ones are
/// written, at the next start as well, and that `file` is as before.
fn assert_kept(dir: &Path, file: &Path, layout: Layout) {
    let before = fs::read(file).unwrap();
    let mut to = open(dir, layout);
    write(&mut to, 1).unwrap();
    let error = write(&mut to, 2).unwrap_err();
    assert!(
        matches!(&error, WriteError::Exists(path) if path == file),
        "{error}"
    );
    write(&mut to, 3).unwrap();
    drop(to);
    let mut to = open(dir, layout);
    write(&mut to, 4).unwrap();
    let steps: Vec<u64> = to.contents().items.keys().copied().collect();
    assert_eq!(steps, [1, 3, 4]);
    assert_eq!(fs::read(file).unwrap(), before);
}

#[test]
fn file_of_another_program_is_not_replaced() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name(2, layout));
        fs::write(&file, THEIRS).unwrap();
        assert_kept(dir.path(), &file, layout);
    }
}

#[test]
fn hdf5_file_of_another_program_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name(2, Layout::OpenPmd));
    let theirs = hdf5::File::create(&file).unwrap();
    theirs.create_group("data").unwrap();
    theirs.close().unwrap();
    assert_kept(dir.path(), &file, Layout::OpenPmd);
}

#[test]
fn export_is_not_replaced() {
    for layout in LAYOUTS {
        // An export of the step in the name, and one of another step.
        for step in [2, 20] {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join(name(2, layout));
            let options = Options { layout, ..PLAIN };
            tcasm_checkpoint::write(&file, &version().snapshot(at(step)), &options).unwrap();
            assert_kept(dir.path(), &file, layout);
        }
    }
}

#[test]
fn file_that_appears_while_a_checkpoint_is_written_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name(2, Layout::OpenPmd));
    let mut to = open(dir.path(), Layout::OpenPmd);
    let filled = to.fill(&version().snapshot(at(2))).unwrap();
    fs::write(&file, THEIRS).unwrap();
    let error = to.commit(filled).unwrap_err();
    assert!(matches!(error, WriteError::Exists(_)), "{error}");
    assert_eq!(fs::read(&file).unwrap(), THEIRS);
    let left = names_in(dir.path());
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
    write(&mut to, 3).unwrap();
}

#[test]
fn own_checkpoint_is_replaced_even_if_it_is_damaged() {
    for length in [None, Some(100), Some(0)] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name(2, Layout::VtkHdf));
        write(&mut open(dir.path(), Layout::VtkHdf), 2).unwrap();
        if let Some(length) = length {
            let cut = fs::File::options().write(true).open(&file).unwrap();
            cut.set_len(length).unwrap();
        }
        write(&mut open(dir.path(), Layout::VtkHdf), 2).unwrap();
        let checkpoint = Checkpoint::open(&file).unwrap();
        checkpoint.verify().unwrap();
        assert_eq!(checkpoint.stamp(), at(2));
    }
}
