use super::super::messages::{Channels, channels};
use super::super::names;
use super::super::node_file::NodeSnapshot;
use super::super::scheme::Redundancy;
use super::super::settings::JobSettings;
use super::super::writer::JobWriter;
use super::*;
use crate::snapshot::Snapshot;
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tempfile::TempDir;

/// A job of one node and one rank, which is at step `last`.
struct Job {
    dir: TempDir,
    writer: JobWriter<Channels>,
    last: u64,
}

impl Job {
    /// Returns a job that keeps some checkpoints, and has none yet.
    fn new(keep: usize) -> Job {
        let dir = tempfile::tempdir().unwrap();
        let [local, slow] = ["local", "slow"].map(|name| dir.path().join(name));
        std::fs::create_dir(&local).unwrap();
        std::fs::create_dir(&slow).unwrap();
        let mut settings = JobSettings::new("heat", local, slow);
        (settings.redundancy, settings.keep) = (Redundancy::None, keep);
        settings.drain_every = 0;
        let writer = JobWriter::connect(settings, "a", channels(1).remove(0)).unwrap();
        let last = 0;
        Job { dir, writer, last }
    }

    /// Commits the next step.
    fn go_on(&mut self) {
        self.last += 1;
        let step = self.last;
        let bytes = step.to_ne_bytes();
        let table = FieldTable {
            fields: vec![FieldDesc::new("u", DType::U64, &[1])],
            ..FieldTable::default()
        };
        let stamp = Stamp {
            version: step,
            step,
            time: f64::NAN,
        };
        let snapshot = Snapshot::new("heat.0", stamp, &table, |_| &bytes[..]);
        let of = NodeSnapshot {
            run: "",
            ranks: 1,
            step,
            members: vec![(0, snapshot)],
        };
        self.writer.prepare(&of, None).unwrap();
        self.writer.committed(step).unwrap();
    }

    fn places(&self) -> Places {
        let path = |name: &str| self.dir.path().join(name);
        Places::new(path("slow"), &[path("local")])
    }

    /// Removes the file of a step, which stays committed.
    fn lose(&self, step: u64) {
        let file = names::blocks("heat", 0, step, false);
        std::fs::remove_file(self.dir.path().join("local").join(file)).unwrap();
    }

    /// Looks for the newest checkpoint, or that of `step`. The job goes on for a step after each of
    /// the first `more` readings of the manifest. Returns the step, and how often was read.
    fn search(&mut self, step: Option<u64>, more: usize) -> (Result<u64, JobError>, usize) {
        let (places, mut reads) = (self.places(), 0);
        let wanted = Wanted {
            step,
            is_chosen: false,
        };
        let found = search("heat", &places, wanted, || {
            let steps = manifest::read(&places.slow, "heat")?.steps;
            reads += 1;
            if reads <= more {
                self.go_on();
            }
            Ok(steps)
        });
        (found.map(|found| found.step()), reads)
    }
}

#[test]
fn step_that_the_job_removes_after_the_manifest_was_read_is_not_missed() {
    for more in 0..ATTEMPTS {
        let mut job = Job::new(1);
        job.go_on();
        let (found, reads) = job.search(None, more);
        assert_eq!((found.unwrap(), reads), (more as u64 + 1, more + 1));
    }
    let mut job = Job::new(1);
    job.go_on();
    let (found, reads) = job.search(None, ATTEMPTS);
    assert!(
        matches!(found, Err(JobError::NoneUsable { .. })),
        "{found:?}"
    );
    assert_eq!(reads, ATTEMPTS);
}

#[test]
fn step_that_is_committed_but_cannot_be_read_is_looked_for_once() {
    let mut job = Job::new(2);
    (0..2).for_each(|_| job.go_on());
    job.lose(2);
    let (found, reads) = job.search(None, 0);
    assert_eq!((found.unwrap(), reads), (1, 2));
    let (found, reads) = job.search(Some(2), 1);
    assert!(
        matches!(found, Err(JobError::NoneUsable { .. })),
        "{found:?}"
    );
    assert_eq!(reads, 2, "that step 3 is committed changes nothing");
    // The job has gone on to step 3. Now it keeps steps 3 and 4 only.
    job.lose(3);
    let (found, reads) = job.search(None, 1);
    assert_eq!((found.unwrap(), reads), (4, 2));
}

#[test]
fn step_that_was_asked_for_and_is_gone_is_not_committed() {
    let mut job = Job::new(1);
    job.go_on();
    let (found, reads) = job.search(Some(1), 1);
    let is_gone = matches!(found, Err(JobError::NoneCommitted { .. }));
    assert!(is_gone, "{found:?}");
    assert_eq!(reads, 2);
    let gone = JobCheckpoint::find_at("heat", &job.places(), 1).unwrap_err();
    assert!(matches!(gone, JobError::StepGone { step: 1, .. }), "{gone}");
}

#[test]
fn manifest_that_vanishes_meanwhile_is_no_reason_to_begin_anew() {
    let mut job = Job::new(1);
    job.go_on();
    job.lose(1);
    let places = job.places();
    let mut contents = vec![
        Steps::new(),
        manifest::read(&places.slow, "heat").unwrap().steps,
    ];
    let wanted = Wanted {
        step: None,
        is_chosen: false,
    };
    let found = search("heat", &places, wanted, || Ok(contents.pop().unwrap()));
    assert!(
        matches!(found, Err(JobError::NoneUsable { .. })),
        "{found:?}"
    );
    assert!(contents.is_empty());
}
