//! The checks of the files after a failure. A file that was reported written must be right, and so
//! must every other file that has its final name.

use crate::scenario::{self, Report, Scenario, stamp, version};
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobCheckpoint, JobWriter, Places, channels, committed};
use tcasm_checkpoint::{Checkpoint, Checkpointer, Contents};

type Verdict = Result<(), String>;

/// Checks the files in `dir` after a run of `scenario` that has reported `report`.
pub fn all(scenario: Scenario, dir: &Path, report: &Report) -> Verdict {
    match scenario {
        Scenario::Single => single(dir, report),
        Scenario::Series => series(&dir.join("run.vtkhdf"), report),
        Scenario::Job | Scenario::LongJob => job(scenario, dir, report),
        _ => tiers(scenario, dir, report),
    }
}

fn said<T>(what: &str, result: Result<T, impl std::fmt::Display>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

fn single(dir: &Path, report: &Report) -> Verdict {
    for &step in Scenario::Single.steps() {
        let path = dir.join(format!("{step}.vtkhdf"));
        match path.exists() {
            true => said("a file", holds(&path, step))?,
            false if report.written.contains(&step) => return Err(format!("{path:?} is gone")),
            false => {}
        }
    }
    Ok(())
}

/// Checks that every checkpoint in `dir` that has its final name is right.
pub fn named(dir: &Path) -> Verdict {
    tier(dir, &[])
}

/// Checks that the checkpoint at `path` has the values of `step`, also for other programs.
fn holds(path: &Path, step: u64) -> Verdict {
    let checkpoint = said("opening", Checkpoint::open(path))?;
    restores(&checkpoint, step)?;
    said("verify", checkpoint.verify())?;
    said("verify copies", checkpoint.verify_copies())?;
    if path.extension().is_some_and(|e| e == "vtkhdf") {
        shows(path, step)?;
    }
    Ok(())
}

fn restores(checkpoint: &Checkpoint, step: u64) -> Verdict {
    let expected = version(step);
    if checkpoint.stamp() != stamp(step) || *checkpoint.table() != expected.table {
        return Err(format!("{:?} describes another version", checkpoint.path()));
    }
    for field in &expected.table.fields {
        let mut bytes = vec![0xAA; field.bytes() as usize];
        said("reading", checkpoint.read_bytes(&field.name, &mut bytes))?;
        let wrong = bytes.iter().zip(&expected.bytes[&field.name]);
        let wrong = wrong.filter(|(a, b)| a != b).count();
        if wrong != 0 {
            let path = checkpoint.path();
            return Err(format!("{wrong} wrong bytes of {} in {path:?}", field.name));
        }
    }
    Ok(())
}

/// Checks the step, version and time that a full checkpoint shows to ParaView.
fn shows(path: &Path, step: u64) -> Verdict {
    let shown = || -> hdf5::Result<(Vec<u64>, Vec<u64>, Vec<f64>)> {
        let data = open(path)?.group("VTKHDF/FieldData")?;
        Ok((
            data.dataset("step")?.read_raw()?,
            data.dataset("version")?.read_raw()?,
            data.dataset("TimeValue")?.read_raw()?,
        ))
    };
    let (stamp, shown) = (stamp(step), said("FieldData", shown())?);
    match shown == (vec![step], vec![stamp.version], vec![stamp.time]) {
        true => Ok(()),
        false => Err(format!("{path:?} shows {shown:?}")),
    }
}

fn open(path: &Path) -> hdf5::Result<hdf5::File> {
    hdf5::File::with_options()
        .with_fapl(|p| p.file_locking(false))
        .open(path)
}

/// Returns the checkpoints in a folder by their names.
fn checkpoints(dir: &Path) -> Vec<PathBuf> {
    tcasm_checkpoint::checkpoint_files(dir).unwrap_or_default()
}

fn step_of(path: &Path) -> u64 {
    let name = path.file_name().unwrap().to_str().unwrap();
    let digits = name.split(['_', '.']).nth(1).unwrap();
    digits.parse().unwrap()
}

fn tiers(scenario: Scenario, dir: &Path, report: &Report) -> Verdict {
    let fast = scenario::tier(dir, "fast");
    tier(&fast, &report.written)?;
    let slow = scenario::tier(dir, "slow");
    if slow.exists() {
        let drained: &[u64] = if report.drained { &report.written } else { &[] };
        tier(&slow, drained)?;
    }
    // A compaction that fails costs nothing and is not reported. The list may lack its file until
    // the next start.
    let reports_all = scenario != Scenario::Compacted;
    if reports_all && report.ended && !report.trouble && report.failed.is_empty() {
        list(&fast)?;
        if report.drained {
            list(&slow)?;
        }
    }
    // The next start must find the folder in order, and must continue from right checkpoints.
    if fast.exists() {
        let settings = scenario::settings(scenario, dir);
        drop(said("the next start", Checkpointer::open("run", settings))?);
        tier(&fast, &report.written)?;
        manifest(&fast)?;
        list(&fast)?;
    }
    Ok(())
}

/// Checks that all committed steps of a job are right, those that were reported among them, and
/// that the next start goes on.
fn job(scenario: Scenario, dir: &Path, report: &Report) -> Verdict {
    let [fast, slow] = ["fast", "slow"].map(|name| scenario::tier(dir, name));
    if !slow.exists() {
        return Ok(());
    }
    committed_steps(&fast, &slow, &report.written)?;
    let messages = channels(1).remove(0);
    let next = JobWriter::connect(scenario::job_settings(dir), "host", messages);
    let mut next = said("the next start", next)?;
    said("the next step", scenario::prepare(&mut next, 40))?;
    said("the next copy", next.committed(40))?;
    let length = said("the manifest", std::fs::metadata(slow.join("run.job")))?.len();
    if scenario == Scenario::LongJob && length > 1 << 20 {
        return Err(format!("the manifest has {length} bytes"));
    }
    committed_steps(&fast, &slow, &[40])
}

fn committed_steps(fast: &Path, slow: &Path, written: &[u64]) -> Verdict {
    let all = said("the manifest of the job", committed(slow, "run"))?;
    let steps: Vec<u64> = all.iter().map(|found| found.commit.step).collect();
    if let Some(lost) = written.iter().find(|step| !steps.contains(step)) {
        return Err(format!("step {lost} is not in {steps:?}"));
    }
    let places = Places::new(slow, &[fast]);
    for step in steps {
        let found = JobCheckpoint::find("run", &places, Some(step));
        let found = said(&format!("step {step}"), found)?;
        let expected = version(step);
        for field in &expected.table.fields {
            let mut bytes = vec![0xAA; field.bytes() as usize];
            said("reading", found.read_block(0, &field.name, &mut bytes))?;
            if bytes != expected.bytes[&field.name] {
                return Err(format!("wrong bytes of {} in step {step}", field.name));
            }
        }
    }
    Ok(())
}

/// Checks that `dir` restores the steps `written`, and that every other checkpoint is right too.
fn tier(dir: &Path, written: &[u64]) -> Verdict {
    let files = checkpoints(dir);
    for path in &files {
        said(&format!("{path:?}"), holds(path, step_of(path)))?;
    }
    for step in written {
        let restored = Checkpoint::restart(&[dir], Some(*step));
        let what = format!("restoring step {step} of {dir:?}");
        restores(&said(&what, restored)?, *step)?;
    }
    Ok(())
}

/// Checks that the manifest names the checkpoints that exist.
fn manifest(dir: &Path) -> Verdict {
    let there: Vec<u64> = checkpoints(dir).iter().map(|path| step_of(path)).collect();
    if there.is_empty() {
        return Ok(());
    }
    let contents = said("the manifest", Contents::read(&dir.join("run.manifest")))?;
    let listed: Vec<u64> = contents.items.keys().copied().collect();
    match listed == there && contents.damaged.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "steps {there:?} exist, but the manifest has {contents:?}"
        )),
    }
}

/// Checks that the list for ParaView names the VTKHDF files that exist.
fn list(dir: &Path) -> Verdict {
    let mut there: Vec<String> = crate::common::names_in(dir);
    there.retain(|name| name.ends_with(".vtkhdf"));
    let path = dir.join("run.vtkhdf.series");
    if !path.exists() && there.is_empty() {
        return Ok(());
    }
    let text = said("the list", std::fs::read_to_string(path))?;
    let listed: serde_json::Value = said("the list", serde_json::from_str(&text))?;
    let files = listed["files"].as_array().ok_or("no files in the list")?;
    let names: Vec<_> = files
        .iter()
        .filter_map(|file| file["name"].as_str())
        .collect();
    match names == there {
        true => Ok(()),
        false => Err(format!("files {there:?} exist, but the list has {names:?}")),
    }
}

/// Checks that the series has the reported steps, in every array that other programs read.
fn series(path: &Path, report: &Report) -> Verdict {
    if !path.exists() {
        return match report.written.is_empty() {
            true => Ok(()),
            false => Err("the series is gone".to_owned()),
        };
    }
    let file = said("the series", open(path))?;
    let steps: Vec<u64> = said(
        "steps",
        file.dataset("tcasm/step").and_then(|d| d.read_raw()),
    )?;
    if let Some(lost) = report.written.iter().find(|step| !steps.contains(step)) {
        return Err(format!("step {lost} is not in {steps:?}"));
    }
    let image = said("the image", file.group("VTKHDF"))?;
    let numbers = |name: &str| image.dataset(name).and_then(|d| d.read_raw::<f64>());
    let times: Vec<f64> = steps.iter().map(|step| stamp(*step).time).collect();
    if said("times", numbers("Steps/Values"))? != times {
        return Err(format!("the times of {steps:?} are wrong"));
    }
    let shown = image
        .dataset("FieldData/step")
        .and_then(|d| d.read_raw::<u64>());
    if said("steps shown", shown)? != steps {
        return Err("the steps for ParaView are not those of the series".to_owned());
    }
    rows(&image, &steps)
}

/// Checks the rows of the field on the grid without ghost layers.
fn rows(image: &hdf5::Group, steps: &[u64]) -> Verdict {
    let values = image
        .dataset("PointData/large")
        .and_then(|d| d.read_raw::<f64>());
    let values = said("rows", values)?;
    let mut expected = Vec::new();
    for step in steps {
        let bytes = &version(*step).bytes["large"];
        expected.extend(bytemuck::allocation::pod_collect_to_vec::<u8, f64>(bytes));
    }
    let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|v| v.to_bits()).collect() };
    match bits(&values) == bits(&expected) {
        true => Ok(()),
        false => Err(format!("the rows of {steps:?} are wrong")),
    }
}
