//! A simulation with fields of each kind that runs for long, and observers that take its versions.
//! Memory, mappings, descriptors, threads and huge pages must stay as they were.
//!
//! `TCASM_SOAK_STEPS` is the number of steps of the soak test. Unless set, it is that of a day with
//! a step each second.

use tcasm_tests::child::{Child, DEADLINE, HUGE_PAGES, Received};
use tcasm_tests::procfs;
use tcasm_tests::puppet::number;

/// The number of observers. With four or more, scattered chunks are assembled for all of them.
const OBSERVERS: usize = 5;
const DAY: u64 = 24 * 60 * 60;

/// The limit of the memory that versions take, which the program `steady` gives.
const LIMIT: u64 = 512 << 20;
/// The most that versions take when nothing is published: at most three of them, with 24 MiB of
/// their own each and 48 MiB that they share, and a third of that for pages that are kept for
/// reuse.
const RESTED: u64 = 160 << 20;
/// The greatest difference of two figures of memory.
const MORE: u64 = 16 << 20;

/// A figure of a process: its name, how to read it, and by how much it may exceed the earlier
/// figure and a tenth of it.
type Figure = (&'static str, fn(&Sample) -> u64, u64);

const FIGURES: [Figure; 4] = [
    ("private bytes", |s| s.private, MORE),
    ("mappings", |s| s.mappings, 256),
    ("descriptors", |s| s.descriptors, 2),
    ("threads", |s| s.threads, 1),
];

/// The figures of one process at one moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Resident memory that is not shared, so without that of versions.
    private: u64,
    mappings: u64,
    descriptors: u64,
    threads: u64,
}

impl Sample {
    fn of(pid: i32) -> Sample {
        let status = |key| procfs::status(pid, key).expect("the process runs");
        Sample {
            private: status("RssAnon"),
            mappings: procfs::mapping_count(pid) as u64,
            descriptors: procfs::descriptors(pid).len() as u64,
            threads: status("Threads"),
        }
    }
}

/// The figures of a run.
#[derive(Debug, Default)]
struct Run {
    /// The figures of all processes, for each line of the producer.
    samples: Vec<Vec<Sample>>,
    /// These lines.
    lines: Vec<String>,
}

impl Run {
    /// Runs a simulation of `steps` steps to its end. With `rest`, its versions must take no more
    /// than these bytes some time later.
    fn of(steps: u64, huge: usize, rest: Option<u64>) -> Run {
        let dir = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_steady");
        let (steps, rest) = (steps.to_string(), rest.map(|bytes| bytes.to_string()));
        let start =
            |arguments: &[&str]| Child::start(program, arguments, dir.path(), &[HUGE_PAGES[huge]]);
        let produce = ["produce", "x", &steps].into_iter().chain(rest.as_deref());
        let mut producer = start(&produce.collect::<Vec<&str>>());
        let mut observers: Vec<_> = (0..OBSERVERS).map(|_| start(&["observe", "x"])).collect();
        let mut run = Run::default();
        loop {
            match producer.receive(2 * DEADLINE) {
                Received::Line(line) if line.starts_with("resting") => {}
                Received::Line(line) => run.note(line, &producer, &observers),
                Received::Ended => break,
                Received::Nothing => panic!("no line within {:?}: {run:?}", 2 * DEADLINE),
            }
        }
        assert!(producer.wait().success());
        for observer in &mut observers {
            assert!(observer.wait().success(), "an observer saw a wrong version");
        }
        run
    }

    fn note(&mut self, line: String, producer: &Child, observers: &[Child]) {
        assert_eq!(number(&line, "errors"), Some(0), "{line}");
        self.lines.push(line);
        let processes = [producer].into_iter().chain(observers);
        let samples = processes.map(|process| Sample::of(process.pid()));
        self.samples.push(samples.collect());
    }

    /// Checks that no figure of the last quarter is larger than in the second quarter, when all
    /// mechanisms had adapted.
    fn is_steady(&self) {
        let count = self.samples.len();
        assert!(count >= 32, "{count} lines");
        for (what, figure, more) in FIGURES {
            for process in 0..=OBSERVERS {
                let most = |of: &[Vec<Sample>]| of.iter().map(|s| figure(&s[process])).max();
                let early = most(&self.samples[count / 4..count / 2]).unwrap();
                let late = most(&self.samples[count * 3 / 4..]).unwrap();
                assert!(
                    late <= early + early / 10 + more,
                    "process {process}: {late} {what} at the end, {early} before"
                );
            }
        }
    }

    /// Checks that versions never take more memory than the limit. How much they take depends on
    /// how far the observers are behind. Live memory that is shared is checked like a figure.
    fn holds_no_more(&self) {
        let most = |of: &[u64]| of.iter().copied().max().unwrap_or(0);
        let held = most(&self.settled("held"));
        assert!(held <= LIMIT, "{held} bytes of {LIMIT}");
        let shared = self.settled("shared");
        let (early, late) = shared.split_at(shared.len() / 3);
        let bound = most(early) + most(early) / 10 + MORE;
        assert!(most(late) <= bound, "shared: {late:?}, before: {early:?}");
    }

    /// Returns the numbers called `name` in the lines of the last three quarters.
    fn settled(&self, name: &str) -> Vec<u64> {
        let lines = &self.lines[self.lines.len() / 4..];
        lines.iter().filter_map(|line| number(line, name)).collect()
    }
}

#[test]
fn figures_of_a_long_run_stay_as_they_were() {
    let run = Run::of(2_000, 1, None);
    run.is_steady();
    run.holds_no_more();
    assert!(
        run.settled("versions").last() > Some(&200),
        "{:?}",
        run.lines
    );
}

#[test]
#[ignore = "takes a quarter of an hour; run by `make soak`"]
fn soak_figures_of_a_days_steps_stay_as_they_were() {
    let wanted = std::env::var("TCASM_SOAK_STEPS");
    let steps = wanted.ok().and_then(|s| s.parse().ok()).unwrap_or(DAY);
    for huge in [1, 0] {
        let run = Run::of(steps, huge, Some(RESTED));
        run.is_steady();
        run.holds_no_more();
        let pages = run.settled("huge");
        let (least, most) = (pages.iter().min(), pages.iter().max());
        println!(
            "huge pages: {huge}: {:?}, {:?}",
            run.lines.last(),
            run.samples.last()
        );
        if huge == 1 {
            assert!(most > Some(&0), "no huge page: {:?}", run.lines);
        }
        assert_eq!(least, most, "huge pages come and go: {pages:?}");
    }
}
