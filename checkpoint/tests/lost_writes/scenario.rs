//! The scenarios that are run, and the reports of what they wrote.

use crate::common::{PLAIN, Version, field};
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tcasm_checkpoint::job::{
    Channels, JobError, JobSettings, JobWriter, NodeSnapshot, Redundancy, channels,
};
use tcasm_checkpoint::{
    Checkpointer, Compression, Draining, Layout, Options, SeriesOptions, Settings, TimeSeries,
    WriteError, Written,
};
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::format::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_64;

/// The environment variables of a child: its scenario, its folder, and the file for its report.
pub const NAME: &str = "TCASM_TEST_SCENARIO";
pub const FILES: &str = "TCASM_TEST_FILES";
pub const REPORT: &str = "TCASM_TEST_REPORT";

const PAGE: u64 = 4096;

/// The step from which on versions have a field that is large enough to be written past the page
/// cache. So are the changes of half of its pages.
const DIRECT: u64 = 1_000_000;

/// A scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// One file, as `export` and `restore` write it.
    Single,
    /// A full checkpoint and increments on it.
    Chain,
    /// Compressed full checkpoints with copies of the fields, and increments.
    OpenPmd,
    /// The same as `Chain`, copied to a slow tier.
    Drained,
    /// A chain that is compacted to a full checkpoint.
    Compacted,
    /// A time series with a chapter.
    Series,
    /// A chain with a field that is written past the page cache.
    Direct,
    /// The checkpoints of a job of one node, copied to a slow tier.
    Job,
    /// The same with a manifest that is long, so that it is replaced.
    LongJob,
}

pub const ALL: [Scenario; 9] = [
    Scenario::Single,
    Scenario::Chain,
    Scenario::OpenPmd,
    Scenario::Drained,
    Scenario::Compacted,
    Scenario::Series,
    Scenario::Direct,
    Scenario::Job,
    Scenario::LongJob,
];

impl Scenario {
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// Returns true if there are files that HDF5 does not write.
    pub fn has_manifest(self) -> bool {
        !matches!(self, Scenario::Single | Scenario::Series)
    }

    /// Returns the steps to write. There is another one after a failure where that matters.
    pub fn steps(self) -> &'static [u64] {
        match self {
            Scenario::Single => &[10],
            Scenario::Chain | Scenario::Series | Scenario::Job | Scenario::LongJob => &[10, 20, 30],
            Scenario::OpenPmd | Scenario::Drained | Scenario::Compacted => &[10, 20],
            Scenario::Direct => &[DIRECT, DIRECT + 10],
        }
    }

    pub fn options(self) -> Options {
        match self {
            Scenario::OpenPmd => Options {
                compression: Compression::Deflate(1),
                layout: Layout::OpenPmd,
                ..PLAIN
            },
            _ => PLAIN,
        }
    }
}

/// Returns a small field, one that HDF5 writes at once, and one with ghost layers, of which there
/// is a copy. From step [`DIRECT`] on there is a larger one.
fn fields(step: u64) -> Vec<FieldDesc> {
    let mut ghosts = field("ghosts", DType::F64, &[4, 5, 6]);
    ghosts.ghosts = vec![[1, 1]; 3];
    let mut large = field("large", DType::F64, &[40, 20, 30]);
    large.components = 2;
    let mut fields = vec![large, ghosts, field("small", DType::U8, &[2, 3, 4])];
    if step >= DIRECT {
        fields.push(field("direct", DType::U8, &[(3 << 20) + 5]));
    }
    fields
}

/// Returns the stamp of a step.
pub fn stamp(step: u64) -> Stamp {
    Stamp {
        version: step / 10,
        step,
        time: step as f64 / 8.0,
    }
}

/// Returns true if the page changes from step to step. Every second page does, so that an increment
/// has many runs.
fn changes(page: u64) -> bool {
    page.is_multiple_of(2)
}

/// Returns the fields and bytes of a step.
pub fn version(step: u64) -> Version {
    let mut version = Version::of(fields(step));
    for bytes in version.bytes.values_mut() {
        for (page, bytes) in bytes.chunks_mut(PAGE as usize).enumerate() {
            if changes(page as u64) {
                bytes.fill(step as u8);
            }
        }
    }
    version
}

fn changed(field: &FieldDesc) -> Vec<std::ops::Range<u64>> {
    let pages = (0..field.bytes().div_ceil(PAGE)).filter(|page| changes(*page));
    let range = |page: u64| page * PAGE..((page + 1) * PAGE).min(field.bytes());
    pages.map(range).collect()
}

/// The report of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Steps that were reported written.
    pub written: Vec<u64>,
    /// Steps that were reported failed.
    pub failed: Vec<u64>,
    /// True if the run reached its end.
    pub ended: bool,
    /// True if the run reported that all is on the slow tier.
    pub drained: bool,
    /// True if the run reported another failure.
    pub trouble: bool,
}

impl Report {
    /// Reads the report of a child, which may have been killed.
    pub fn read(path: &Path) -> Report {
        let mut report = Report::default();
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
            let step = || rest.split(' ').next().unwrap().parse().unwrap();
            match what {
                "written" => report.written.push(step()),
                "failed" => report.failed.push(step()),
                "drained" => report.drained = true,
                "trouble" => report.trouble = true,
                "end" => report.ended = true,
                other => panic!("{other:?} in a report"),
            }
        }
        report
    }

    pub fn failures(&self) -> usize {
        self.failed.len() + usize::from(self.trouble) + usize::from(!self.ended)
    }
}

/// The writer of the report. A line is in the file as soon as `tell` returns.
struct Reporter(File);

impl Reporter {
    fn report(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").unwrap();
    }

    fn result<T, E: Display>(&mut self, step: u64, result: Result<T, E>) {
        match result {
            Ok(_) => self.report(format!("written {step}")),
            Err(error) => self.report(format!("failed {step} {error}")),
        }
    }
}

/// Writes two checkpoints, takes the line of the second one out of the manifest, as if its writer
/// had been killed before, and opens the folder again. A file `again` marks that.
pub fn enter_what_is_not_listed() {
    let dir = PathBuf::from(std::env::var_os(FILES).expect("run by another test"));
    let open = || Checkpointer::open("run", settings_of(PLAIN, &dir)).unwrap();
    let mut to = open();
    for step in [10, 20] {
        advance(&mut to, step).unwrap();
    }
    drop(to);
    let manifest = dir.join("run.manifest");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&manifest, lines[..lines.len() - 1].concat()).unwrap();
    std::fs::write(dir.join("again"), "again").unwrap();
    assert_eq!(open().contents().items.len(), 2);
}

/// Runs the scenario that the environment variables name.
pub fn run() {
    let var = |name| PathBuf::from(std::env::var_os(name).expect("run by another test"));
    let mut reporter = Reporter(File::create(var(REPORT)).unwrap());
    let name = std::env::var(NAME).unwrap();
    let scenario = ALL.into_iter().find(|s| s.name() == name).unwrap();
    let dir = var(FILES);
    match scenario {
        Scenario::Single => single(scenario, &dir, &mut reporter),
        Scenario::Series => series(&dir, &mut reporter),
        Scenario::Job | Scenario::LongJob => job(scenario, &dir, &mut reporter),
        _ => tiers(scenario, &dir, &mut reporter),
    }
    reporter.report("end");
}

fn single(scenario: Scenario, dir: &Path, reporter: &mut Reporter) {
    for &step in scenario.steps() {
        let (version, path) = (version(step), dir.join(format!("{step}.vtkhdf")));
        let snapshot = version.snapshot(stamp(step));
        let written = tcasm_checkpoint::write(path, &snapshot, &scenario.options());
        reporter.result(step, written);
    }
}

fn series(dir: &Path, reporter: &mut Reporter) {
    let options = SeriesOptions {
        compression: Compression::None,
        chapter: 2,
        ..SeriesOptions::default()
    };
    let mut series = match TimeSeries::open(dir.join("run.vtkhdf"), "test", options) {
        Ok(series) => series,
        Err(error) => return reporter.report(format!("trouble {error}")),
    };
    for &step in Scenario::Series.steps() {
        let version = version(step);
        let appended = series.append(&version.snapshot(stamp(step)), |_| true);
        reporter.result(step, appended);
    }
}

fn job(scenario: Scenario, dir: &Path, reporter: &mut Reporter) {
    for folder in ["fast", "slow"] {
        std::fs::create_dir(tier(dir, folder)).unwrap();
    }
    if scenario == Scenario::LongJob {
        make_long_manifest(dir);
    }
    let mut writer = match JobWriter::connect(job_settings(dir), "host", channels(1).remove(0)) {
        Ok(writer) => writer,
        Err(error) => return reporter.report(format!("trouble {error}")),
    };
    for &step in Scenario::Job.steps() {
        let prepared = prepare(&mut writer, step);
        let committed = prepared.is_ok();
        reporter.result(step, prepared);
        if committed && let Err(error) = writer.committed(step) {
            reporter.report(format!("trouble {error}"));
        }
    }
}

/// Gives the job a manifest of which almost no line says anything. Another process makes it, whose
/// operations do not count.
fn make_long_manifest(dir: &Path) {
    let line = |json: &str| format!("{json}#{:016x}\n", xxh3_64(json.as_bytes()));
    let begin = line(r#"{"event":"begin","format":1,"group":"run","created":1}"#);
    let removed = line(r#"{"event":"removed","step":1}"#);
    let text = begin + &removed.repeat((1 << 20) / removed.len() + 1);
    let mut copy = Command::new("dd")
        .arg(format!(
            "of={}",
            tier(dir, "slow").join("run.job").display()
        ))
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    copy.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(copy.wait().unwrap().success());
}

/// Prepares a step of a job of one node, as an increment where possible.
pub fn prepare(writer: &mut JobWriter<Channels>, step: u64) -> Result<(), JobError> {
    let version = version(step);
    let of = NodeSnapshot {
        run: "",
        ranks: 1,
        step,
        members: vec![(0, version.snapshot(stamp(step)))],
    };
    let changes = |_: u32, name: &str| changed(version.table.get(name).unwrap());
    writer.prepare(&of, Some(&changes))
}

pub fn job_settings(dir: &Path) -> JobSettings {
    let mut settings = JobSettings::new("run", tier(dir, "fast"), tier(dir, "slow"));
    settings.redundancy = Redundancy::None;
    (settings.drain_every, settings.keep, settings.keep_slow) = (1, 9, 9);
    settings
}

/// Returns the folder of a tier.
pub fn tier(dir: &Path, name: &str) -> PathBuf {
    dir.join(name)
}

fn tiers(scenario: Scenario, dir: &Path, reporter: &mut Reporter) {
    let settings = settings(scenario, dir);
    let folders = [Some(&settings.fast), settings.slow.as_ref()];
    for folder in folders.into_iter().flatten() {
        std::fs::create_dir(folder).unwrap();
    }
    let mut to = match Checkpointer::open("run", settings) {
        Ok(to) => to,
        Err(error) => return reporter.report(format!("trouble {error}")),
    };
    for &step in scenario.steps() {
        reporter.result(step, advance(&mut to, step));
    }
    if to.counters().last_error.is_some() {
        reporter.report("trouble counters");
    }
    if scenario == Scenario::Drained {
        match settle(&to) {
            Some(why) => reporter.report(format!("trouble {why}")),
            None => reporter.report("drained"),
        }
    }
}

/// Writes the checkpoint of `step`, as an increment where possible.
pub fn advance(to: &mut Checkpointer, step: u64) -> Result<Written, WriteError> {
    let version = version(step);
    let filled = to.fill_increment(&version.snapshot(stamp(step)), changed)?;
    to.commit(filled)
}

/// Returns the settings for a chain in `dir` alone.
pub fn settings_of(options: Options, dir: &Path) -> Settings {
    Settings {
        options,
        most_files: 9,
        ..Settings::new(dir)
    }
}

pub fn settings(scenario: Scenario, dir: &Path) -> Settings {
    let compact = scenario == Scenario::Compacted;
    Settings {
        most_files: if compact { 3 } else { 9 },
        compact,
        slow: (scenario == Scenario::Drained).then(|| tier(dir, "slow")),
        ..settings_of(scenario.options(), &tier(dir, "fast"))
    }
}

/// Waits until all is copied. Returns the trouble that remains after several attempts.
fn settle(to: &Checkpointer) -> Option<String> {
    let mut state = Draining::default();
    for _ in 0..3 {
        state = to.wait_drained(Duration::from_secs(60))?;
        if state.outstanding == 0 && state.trouble.is_none() {
            return None;
        }
        // The drain tries again by itself after half a second.
        std::thread::sleep(Duration::from_millis(700));
    }
    Some(format!("{state:?}"))
}
