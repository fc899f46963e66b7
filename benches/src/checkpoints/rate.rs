//! The speed of writing a full checkpoint to the disk, compared with `dd` of as many bytes into the
//! same folder. Both take turns.

use super::figures::{Figures, ms};
use super::simulation::{self, BYTES, NAMES, Plain, Work};
use crate::bars::{Bar, Unit};
use crate::outcome::Outcome;
use crate::samples::Samples;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tcasm_checkpoint::Checkpoint;

const ROUNDS: u64 = 10;

/// Measures both.
pub fn measure(dir: &Path) -> Outcome<Figures> {
    let own = tempfile::tempdir_in(dir)?;
    let plain = Plain::new(Work::Memory);
    let [mut copied, mut written, mut pairs] = [(); 3].map(|()| Samples::default());
    for round in 0..=ROUNDS {
        let (by_dd, ours) = (
            dd(&own.path().join("dd"))?,
            write(own.path(), round, &plain)?,
        );
        // Both end with fsync, so each starts on an idle disk. The first round is not counted.
        if round > 0 {
            copied.add_ns(by_dd);
            written.add_ns(ours);
            pairs.add_ns(ours / by_dd);
        }
    }
    let rate = |ns: f64| {
        format!(
            "{:.0} MiB/s",
            BYTES as f64 / f64::from(1 << 20) / (ns / 1e9)
        )
    };
    let mut text = format!(
        "{} MiB, including fsync.\n\n\
         | program | time | p99 | max | rate (median) |\n|---|---|---|---|---|\n",
        BYTES >> 20
    );
    for (program, samples) in [("dd", &copied), ("a full checkpoint", &written)] {
        let times = [0.5, 0.99, 1.0]
            .map(|q| ms(samples.quantile(q)))
            .join(" | ");
        text += &format!("| {program} | {times} | {} |\n", rate(samples.median()));
    }
    let what = "a full checkpoint until it is on the disk, in times of dd (80 % of its rate)";
    let bars = vec![Bar::new(what, pairs.median(), 1.25, Unit::Ratio)];
    Ok(Figures { text, bars })
}

fn dd(path: &Path) -> Outcome<f64> {
    let start = Instant::now();
    let status = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "conv=fsync"])
        .arg(format!("count={}", BYTES >> 20))
        .arg(format!("of={}", path.display()))
        .stderr(Stdio::null())
        .status()?;
    let time = start.elapsed();
    std::fs::remove_file(path)?;
    match status.success() {
        true => Ok(time.as_nanos() as f64),
        false => Err(format!("dd ended with {status}").into()),
    }
}

fn write(dir: &Path, round: u64, plain: &Plain) -> Outcome<f64> {
    let path = dir.join("full.vtkhdf");
    let start = Instant::now();
    simulation::save(&path, round, plain.now(), &simulation::options())?;
    let time = start.elapsed();
    let checkpoint = Checkpoint::open(&path)?;
    let mut seen = vec![0; BYTES / 2];
    for (name, expected) in NAMES.into_iter().zip(plain.now()) {
        checkpoint.read_bytes(name, &mut seen)?;
        let expected = expected.as_slice().ok_or("an array with gaps")?;
        if seen != bytemuck::cast_slice::<f64, u8>(expected) {
            return Err(format!("field {name} of {path:?} differs from what was written").into());
        }
    }
    std::fs::remove_file(path)?;
    Ok(time.as_nanos() as f64)
}
