//! The cost of checking folders with many checkpoints, counted in bytes read and calls made.

mod common;

use common::{PLAIN, Version, field};
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpoint, Checkpointer, ReadError, Settings, Verifier, checkpoint_files};
use tcasm_core::field::DType;
use tcasm_core::format::stamp::Stamp;

/// The number of values of the field. A full file is much larger than an increment.
const COUNT: usize = 1 << 17;

/// Writes a full checkpoint, and `increments` on it.
fn chain(dir: &Path, increments: u64) -> Vec<PathBuf> {
    let settings = Settings {
        most_files: usize::MAX,
        options: PLAIN,
        ..Settings::new(dir)
    };
    let mut to = Checkpointer::open("run", settings).unwrap();
    let version = Version::of([field("t", DType::F64, &[COUNT])]);
    let write = |step| {
        let stamp = Stamp {
            version: step,
            step,
            time: 0.0,
        };
        let page = step * 4096..(step + 1) * 4096;
        let snapshot = version.snapshot(stamp);
        let filled = to.fill_increment(&snapshot, |_| vec![page.clone()]);
        to.commit(filled.unwrap()).unwrap().path
    };
    (0..=increments).map(write).collect()
}

/// Returns the bytes that this thread has read so far, and the number of calls.
fn read_so_far() -> [u64; 2] {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    ["rchar: ", "syscr: "].map(|name| {
        let line = io.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().parse().unwrap()
    })
}

/// Returns the bytes that `work` reads, and the number of calls.
fn cost(work: impl FnOnce()) -> [u64; 2] {
    let before = read_so_far();
    work();
    let after = read_so_far();
    [after[0] - before[0], after[1] - before[1]]
}

fn total(files: &[PathBuf]) -> u64 {
    files
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .sum()
}

#[test]
fn verifying_a_folder_reads_each_file_once() {
    let dir = tempfile::tempdir().unwrap();
    let files = chain(dir.path(), 20);
    let [bytes, _] = cost(|| {
        let mut verifier = Verifier::new();
        for (i, file) in checkpoint_files(dir.path()).unwrap().iter().enumerate() {
            let verified = verifier.verify(file).unwrap();
            assert_eq!((verified.files, verified.first), (i + 1, 0));
        }
    });
    // The structure of a file is read by more than one check.
    let total = total(&files);
    assert!(bytes < 2 * total, "{bytes} bytes of {total} in all files");
}

#[test]
fn increments_on_a_damaged_base_are_passed_over_without_reading_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let files = chain(dir.path(), 20);
    let mut bytes = fs::read(&files[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&files[0], bytes).unwrap();
    let [bytes, _] = cost(|| {
        let error = Checkpoint::restart(&[dir.path()], None).unwrap_err();
        let ReadError::NoneUsable(_, tried) = error else {
            panic!("{error}");
        };
        assert_eq!(tried.len(), files.len());
        let blames = |error: &ReadError| match error {
            ReadError::BadBase { base, .. } => *base == files[0],
            _ => false,
        };
        assert!(
            tried[..20].iter().all(|(_, error)| blames(error)),
            "{tried:?}"
        );
        assert!(
            matches!(tried[20].1, ReadError::DamagedField { .. }),
            "{tried:?}"
        );
    });
    let total = total(&files);
    assert!(bytes < 2 * total, "{bytes} bytes of {total} in all files");
}

/// Checks chains whose first file is missing. Another user can make such a chain of any length.
#[test]
fn checking_a_chain_takes_calls_linear_in_its_length() {
    let calls = [40, 120].map(|increments| {
        let dir = tempfile::tempdir().unwrap();
        let files = chain(dir.path(), increments);
        fs::remove_file(&files[0]).unwrap();
        let [_, restart] = cost(|| {
            let error = Checkpoint::restart(&[dir.path()], None).unwrap_err();
            assert!(matches!(error, ReadError::NoneUsable(..)), "{error}");
        });
        let [_, verify] = cost(|| {
            let mut verifier = Verifier::new();
            for file in files[1..].iter().rev() {
                assert!(verifier.verify(file).is_err());
            }
        });
        [restart, verify]
    });
    for (short, long) in calls[0].iter().zip(calls[1]) {
        assert!(
            long < 4 * *short,
            "{short} calls for 40 files, {long} for 120"
        );
    }
}
