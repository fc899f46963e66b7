//! Tests of `export --follow`.

mod appended;
mod ends;
mod lossless;
mod readers;
mod refused;

use crate::checkpoint::attached;
use crate::common::{Background, command};
use ndarray::Ix1;
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_producer::{Field, Producer};

/// Starts a run and waits until it is attached.
pub fn start(name: &str, file: &Path, args: &[&str]) -> Background {
    let all = [&["export", name, file.to_str().unwrap(), "--follow"], args].concat();
    let run = Background::start(&all);
    attached(name, run.pid());
    run
}

/// Starts a run that cannot write files beyond 100 KiB: enough for a compressed constant field, but
/// not for noise.
fn start_limited(name: &str, file: &Path, args: &[&str]) -> Background {
    let limited = "trap '' XFSZ; ulimit -S -f 100; exec \"$@\"";
    let tcasm = command(&["export", name, file.to_str().unwrap(), "--follow"]);
    let mut shell = Command::new("bash");
    shell
        .args(["-c", limited, "bash"])
        .arg(tcasm.get_program())
        .args(tcasm.get_args())
        .args(args);
    let run = Background::from(shell);
    attached(name, run.pid());
    run
}

/// Fills a field with noise, which cannot be compressed. Returns its values.
fn fill_with_noise(p: &mut Producer, t: Field<f64, Ix1>) -> Vec<f64> {
    let mut random = 1_u64;
    for x in p.view_mut(t).unwrap().iter_mut() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *x = f64::from_bits(random >> 2);
    }
    p.view(t).unwrap().to_vec()
}

/// Returns the steps of a series, with the value of the field `t` in each, whose values are equal.
fn read(file: &Path) -> Vec<(u64, f64)> {
    let file = hdf5::File::open(file).unwrap();
    let steps: Vec<u64> = file.dataset("tcasm/step").unwrap().read_raw().unwrap();
    let dataset = file.dataset("VTKHDF/PointData/t").unwrap();
    let values: Vec<f64> = dataset.read_raw().unwrap();
    let each = values.len() / steps.len();
    let rows = values.chunks(each).map(|row| {
        assert!(row.iter().all(|v| *v == row[0]), "{row:?}");
        row[0]
    });
    steps.into_iter().zip(rows).collect()
}

/// Returns the expected result of [`read`] for these steps.
fn of(steps: &[u64]) -> Vec<(u64, f64)> {
    steps.iter().map(|step| (*step, *step as f64)).collect()
}

/// Returns the number of versions in a series.
fn versions(file: &Path) -> usize {
    let file = hdf5::File::open(file).unwrap();
    file.dataset("tcasm/step").unwrap().size()
}

/// Returns true if the last version of a series is of this step.
fn has(file: &Path, step: u64) -> bool {
    file.exists() && read(file).last().unwrap().0 == step
}

fn in_dir() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.vtkhdf");
    (dir, file)
}
