//! The size of increments, and the time to read back a checkpoint of one file or of several.

use super::figures::{Figures, ms};
use super::simulation;
use crate::bars::{Bar, Unit};
use crate::outcome::Outcome;
use crate::samples::Samples;
use crate::workload::{PAGE, Random, Simulation, random_pages, touch};
use std::fmt::Write as _;
use std::path::Path;
use tcasm_checkpoint::{Checkpoint, Checkpointer, Settings, Snapshot, Written, changed_bytes};
use tcasm_observer::{Observer, Version};

const BYTES: usize = simulation::BYTES;
/// Shares of the pages that change between two checkpoints, in per cent.
const SHARES: [usize; 3] = [1, 10, 50];
/// Number of increments for each share. To restore the last one, all of them and the full
/// checkpoint are read.
const EACH: usize = 3;
const READS: usize = 5;

/// Measures both.
pub fn measure(dir: &Path) -> Outcome<Figures> {
    let mut text =
        "| pages changed | changed | increment | time | restore: files | time | p99 | max |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut bars = Vec::new();
    for share in [100].into_iter().chain(SHARES) {
        let own = tempfile::tempdir_in(dir)?;
        let line = chain(own.path(), share)?;
        writeln!(text, "| {} |", line.cells.join(" | "))?;
        if share < 100 {
            let what =
                format!("bytes of an increment, in bytes of the {share} % of pages that changed");
            bars.push(Bar::new(&what, line.ratio, 1.1, Unit::Ratio));
        }
    }
    Ok(Figures { text, bars })
}

struct Line {
    cells: Vec<String>,
    /// Size of the file as a multiple of the bytes that changed.
    ratio: f64,
}

/// Writes a full checkpoint and increments that build on it. With 100 per cent, writes only the
/// full one. Then measures the restore.
fn chain(dir: &Path, share: usize) -> Outcome<Line> {
    let mut simulation = Simulation::new("checkpoints", BYTES);
    let mut observer = Observer::attach("checkpoints")?;
    let settings = Settings {
        options: simulation::options(),
        most_files: EACH + 1,
        ..Settings::new(dir)
    };
    let mut checkpointer = Checkpointer::open("chain", settings)?;
    let mut base = observer.latest()?;
    let mut last = write(&mut checkpointer, &base, None)?;
    let mut changed = BYTES;
    let mut random = Random(3);
    if share < 100 {
        for _ in 0..EACH {
            simulation.step += 1;
            let (step, pages) = (
                simulation.step,
                random_pages(&mut random, BYTES / PAGE, share),
            );
            touch(simulation.memory(), &pages, step);
            simulation.publish();
            simulation.settle();
            let version = observer.latest()?;
            last = write(&mut checkpointer, &version, Some(&base))?;
            (base, changed) = (version, pages.len() * PAGE);
        }
    }
    let restore = restore(dir, simulation.memory())?;
    let mib = |bytes: f64| format!("{:.1} MiB", bytes / f64::from(1 << 20));
    let files = if share < 100 { EACH + 1 } else { 1 };
    let what = if share < 100 {
        format!("{share} %")
    } else {
        "(full)".to_owned()
    };
    let mut cells = vec![
        what,
        mib(changed as f64),
        mib(last.bytes as f64),
        ms(last.duration.as_nanos() as f64),
    ];
    cells.push(files.to_string());
    cells.extend([0.5, 0.99, 1.0].map(|q| ms(restore.quantile(q))));
    Ok(Line {
        cells,
        ratio: last.bytes as f64 / changed as f64,
    })
}

/// Writes a checkpoint in the same way as `tcasm checkpoint`. Without `base`, it is a full one.
fn write(to: &mut Checkpointer, version: &Version, base: Option<&Version>) -> Outcome<Written> {
    let view = version.view()?;
    let of = |field: &_| view.bytes_of(field).unwrap_or_default();
    let snapshot = Snapshot::new("checkpoints", version.stamp(), view.table(), of);
    let filled = match base {
        None => to.fill(&snapshot)?,
        Some(base) => {
            let (pages, page_size) = (view.changes_since(base)?.pages, view.page_size()?);
            to.fill_increment(&snapshot, |field| {
                changed_bytes(field, base.table(), &pages, page_size)
            })?
        }
    };
    Ok(to.commit(filled)?)
}

/// Measures finding the newest checkpoint in `dir`, checking it, and reading all fields. Compares
/// the bytes with `expected`.
fn restore(dir: &Path, expected: &[u8]) -> Outcome<Samples> {
    let mut samples = Samples::default();
    let mut bytes = vec![0; expected.len()];
    for _ in 0..READS {
        bytes.fill(0xff);
        samples.time(|| -> Outcome<()> {
            let checkpoint = Checkpoint::restart(&[dir], None)?;
            Ok(checkpoint.read_bytes("bytes", &mut bytes)?)
        })?;
        if bytes != expected {
            return Err("a checkpoint differs from the published bytes".into());
        }
    }
    Ok(samples)
}
