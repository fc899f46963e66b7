//! A job whose ranks depend on nothing but themselves and a clock, one on each host.

use super::common::{HOSTS, Line};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tcasm_tests::child::{Child, Received, poll_until, program};
use tcasm_tests::cluster::Cluster;

/// Milliseconds per step.
const PAUSE: u64 = 10;

/// The start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The step from which it goes on.
    pub step: u64,
    /// The time of the start in milliseconds of Unix time.
    began: u64,
}

impl Run {
    /// Returns a run that goes on from `step` now.
    pub fn from(step: u64) -> Run {
        let began = milliseconds();
        Run { step, began }
    }

    /// Returns the name of the run.
    pub fn name(self) -> String {
        format!("from-{}-{}", self.step, self.began)
    }

    /// Returns the step that the ranks have come to now, at most.
    pub fn now(self) -> u64 {
        self.step + milliseconds().saturating_sub(self.began) / PAUSE
    }

    /// Starts the rank of a host. In a run that has begun earlier, it goes on where the others are.
    pub fn start(self, cluster: &Cluster, group: &str, host: usize) -> Child {
        let job = program("examples/job");
        let numbers = [self.step, self.began, PAUSE].map(|number| number.to_string());
        let place = [
            format!("TCASM_RANK={host}"),
            format!("TCASM_RANKS={HOSTS}"),
            "TCASM_LOCAL_RANKS=1".to_owned(),
            format!("TCASM_RUN={}", self.name()),
        ];
        let words = ["env"].into_iter().chain(place.iter().map(String::as_str));
        let words = words.chain([job.as_str(), "alone", group]);
        let words: Vec<&str> = words.chain(numbers.iter().map(String::as_str)).collect();
        cluster.start(host, &words)
    }

    pub fn start_all(self, cluster: &Cluster, group: &str) -> Vec<Child> {
        let start = |host| self.start(cluster, group, host);
        (0..HOSTS).map(start).collect()
    }
}

/// Returns the milliseconds of Unix time.
fn milliseconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as u64
}

/// Returns the newest step that a rank has printed.
fn newest_step(rank: &Child) -> Option<u64> {
    let mut newest = None;
    while let Received::Line(line) = rank.receive(Duration::ZERO) {
        if line.starts_with("at ") {
            newest = Some(Line::new(&line).number("step"));
        }
    }
    newest
}

/// Waits until a rank has published so many steps from now on.
pub fn wait_steps(rank: &Child, more: u64) {
    let next = || newest_step(rank);
    let goal = poll_until("a rank goes on", next) + more;
    poll_until("a rank goes on", || next().filter(|step| *step >= goal));
}
