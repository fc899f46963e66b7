//! The two jobs of the tests, and the lines of their processes.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use tcasm_tests::child::{Child, Received, poll_until, program};
use tcasm_tests::cluster::{Cluster, part};

pub const HOSTS: usize = 3;
pub const RANKS_PER_HOST: usize = 2;
/// How long a launcher gets to end a job of which a process or a host is lost.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the ranks of a job on all hosts.
pub fn ranks(cluster: &Cluster, group: &str, steps: u64, pause: u64) -> Child {
    so_many_ranks(RANKS_PER_HOST, cluster, group, steps, pause)
}

/// Starts so many ranks on each host.
pub fn so_many_ranks(
    per_host: usize,
    cluster: &Cluster,
    group: &str,
    steps: u64,
    pause: u64,
) -> Child {
    let (job, steps, pause) = (
        program("examples/job"),
        steps.to_string(),
        pause.to_string(),
    );
    let words = [job.as_str(), "rank", group, &steps, &pause];
    let parts: Vec<_> = (0..HOSTS).map(|i| part(i, per_host, &words)).collect();
    cluster.mpirun(&parts)
}

/// Starts an agent on each host.
pub fn agents(cluster: &Cluster, group: &str, arguments: &[&str]) -> Child {
    let job = program("examples/job");
    let words = [&[job.as_str(), "agent", group, "--quiet"], arguments].concat();
    let parts: Vec<_> = (0..HOSTS).map(|i| part(i, 1, &words)).collect();
    cluster.mpirun(&parts)
}

/// Waits until a job ends because a process of it is dead.
pub fn wait_failed(job: &mut Child) {
    let status = wait_told(job);
    assert!(status.is_none_or(|status| !status.success()), "{status:?}");
}

/// Waits until a job has ended whose launcher knows that it must end it. At times a launcher hangs
/// instead, and is killed.
pub fn wait_told(job: &mut Child) -> Option<ExitStatus> {
    let ended = wait_launcher(job);
    if ended.is_none() {
        job.kill();
    }
    ended
}

/// Waits until a launcher has ended, for [`PATIENCE`] at most.
pub fn wait_launcher(job: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + PATIENCE;
    while job.ended().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = job.ended();
    if ended.is_none() {
        eprintln!("the launcher does not end");
    }
    ended
}

/// Starts an observer on a host.
pub fn reader(cluster: &Cluster, host: usize, group: &str) -> Child {
    cluster.start(host, &[&program("examples/job"), "read", group])
}

/// A line of the form `name key=value ...`.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    values: BTreeMap<String, String>,
}

impl Line {
    pub fn new(text: &str) -> Line {
        let pairs = text.split(' ').filter_map(|word| word.split_once('='));
        Line {
            text: text.to_owned(),
            values: pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        }
    }

    pub fn get(&self, key: &str) -> &str {
        let value = self.values.get(key);
        value.unwrap_or_else(|| panic!("no {key} in {:?}", self.text))
    }

    pub fn number(&self, key: &str) -> u64 {
        self.get(key)
            .parse()
            .unwrap_or_else(|_| panic!("{:?}", self.text))
    }
}

/// Returns all lines of a program that begin with `name`, until it ends.
pub fn all_lines(child: &Child, name: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    poll_until("the output ends", || {
        loop {
            match child.receive(Duration::from_millis(20)) {
                Received::Line(line) => {
                    lines.extend(line.starts_with(name).then(|| Line::new(&line)))
                }
                Received::Nothing => return None,
                Received::Ended => return Some(()),
            }
        }
    });
    lines
}

/// Waits for a line that begins with `name` and for which `is_it` is true.
pub fn wait_line(child: &Child, name: &str, is_it: impl Fn(&Line) -> bool) -> Line {
    loop {
        let rest = child.hear_line(name);
        let line = Line::new(&format!("{name}{rest}"));
        if is_it(&line) {
            return line;
        }
    }
}

/// Asks an observer for the agreed step.
pub fn ask(reader: &mut Child) -> Result<Line, String> {
    ask_for("agreed", reader)
}

/// Asks an observer for the `agreed` or the `latest` step.
pub fn ask_for(which: &str, reader: &mut Child) -> Result<Line, String> {
    reader.send(which);
    let line = match reader.receive(tcasm_tests::child::DEADLINE) {
        Received::Line(line) => line,
        other => panic!("{other:?}"),
    };
    match line.strip_prefix("ok ") {
        Some(_) => Ok(Line::new(&line)),
        None => Err(line),
    }
}

/// Asks until there is an agreed step for which `is_it` is true.
pub fn ask_until(reader: &mut Child, is_it: impl Fn(&Line) -> bool) -> Line {
    poll_until("the agreed step", || ask(reader).ok().filter(&is_it))
}

/// Checks a line about a checked step: no value is wrong, and no rank of the host is missing.
pub fn assert_right(line: &Line) {
    assert_blocks(line, RANKS_PER_HOST);
}

/// The same for hosts with so many ranks.
pub fn assert_blocks(line: &Line, ranks: usize) {
    assert_eq!(line.number("wrong"), 0, "{:?}", line.text);
    assert_eq!(line.number("blocks"), 2 * ranks as u64, "{:?}", line.text);
}

/// Returns the place of the process that a line names: its host, and its id there.
fn place(cluster: &Cluster, line: &Line) -> (usize, String) {
    let host = match cluster.has_networks() {
        true => line.get("host").trim_start_matches('h').parse::<usize>(),
        false => Ok(1),
    };
    let host = host.unwrap_or_else(|_| panic!("{:?}", line.text));
    (host - 1, line.get("pid").to_owned())
}

/// Sends a signal to the process that a line names.
pub fn signal(cluster: &Cluster, line: &Line, signal: &str) {
    assert!(try_signal(cluster, line, signal));
}

/// The same. Returns false if there is no such process.
pub fn try_signal(cluster: &Cluster, line: &Line, signal: &str) -> bool {
    let (host, pid) = place(cluster, line);
    cluster
        .start(host, &["kill", signal, &pid])
        .wait()
        .success()
}

/// Tells one agent to end, and checks that all end well. (`mpirun` itself would kill them.)
pub fn stop(cluster: &Cluster, agent: &Line, job: &mut Child) {
    signal(cluster, agent, "-TERM");
    assert!(job.wait().success());
}
