//! The life of an agent, from the start of MPI to the end of the job.

use super::arguments::Arguments;
use super::introduction::Introduction;
use super::signals::Signals;
use super::status::{Failure, Status};
use crate::agreement::{Agreed, Decision};
use crate::mpi::{Job, MpiExchange, MpiPost, MpiRounds};
use crate::node::{End, Node, RanksHere, Use, UseError};
use crate::notice::{Notice, Whose};
use crate::regions::Observed;
use crate::relay::{Relay, RelayStats, Shown};
use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long the agent sleeps before it looks again, at least. Each look reads the indexes of local
/// regions.
const AGAIN: Duration = Duration::from_micros(200);
/// The same, at most.
const AGAIN_IDLE: Duration = Duration::from_millis(2);
/// The agent sleeps for this part of the time since the last new step, so that it takes little from
/// ranks with long steps, and is late by two percent of a step at most.
const PART_OF_QUIET: u32 = 64;
/// How long an agent that was told to end waits for the end of a round, by which the others learn
/// it.
const LAST_ROUND: Duration = Duration::from_secs(5);

/// The place of this agent among all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of this agent, from 0.
    pub rank: usize,
    /// The names of the hosts of all agents.
    pub hosts: Vec<String>,
    /// The numbers of the agents on analysis nodes.
    pub relays: Vec<usize>,
}

/// The uses that a program adds, or why it cannot.
pub type MadeUses = Result<Vec<Box<dyn Use>>, UseError>;

/// Runs the agent of this node until the job ends. `uses` makes what is done with agreed steps
/// besides publishing them; it is called once MPI runs. Returns the exit status.
///
/// An agent that cannot go on writes why to standard error, and ends all agents.
pub fn run(arguments: Arguments, uses: impl FnOnce(&Place) -> MadeUses) -> i32 {
    let signals = Signals::catch();
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("tcasm-agent: {error}; start it with mpirun or srun");
            return Status::Lost as i32;
        }
    };
    let Job {
        rounds,
        exchange,
        post,
        letters,
        rank,
        agents: _,
        universe,
    } = job;
    let connections = (rounds, exchange, post, letters);
    match live(&arguments, rank, connections, &signals, uses) {
        Ok(()) => Status::Ended as i32,
        // The others cannot be told: they may be gone.
        Err(failure) => {
            eprintln!(
                "tcasm-agent {rank} of group {:?}: {failure}",
                arguments.group
            );
            universe.abort(failure.status() as i32)
        }
    }
}

fn live(
    arguments: &Arguments,
    rank: usize,
    (rounds, mut exchange, post, letters): (MpiRounds, MpiExchange, MpiPost, MpiPost),
    signals: &Signals,
    uses: impl FnOnce(&Place) -> MadeUses,
) -> Result<(), Box<Failure>> {
    let own = Introduction::of(arguments, &host());
    let all = own.exchange(&mut exchange).map_err(failed)?;
    let relays = |(agent, other): (usize, &Introduction)| other.relay.then_some(agent);
    let place = Place {
        rank,
        relays: all.iter().enumerate().filter_map(relays).collect(),
        hosts: all.into_iter().map(|other| other.host).collect(),
    };
    let whose = Whose {
        group: arguments.group.clone(),
        host: own.host,
        agents: u32::try_from(place.hosts.len()).unwrap_or(u32::MAX),
    };
    let shown = Shown::default();
    let notice = Notice::new(whose, exchange, shown.clone()).map_err(failed)?;
    let mut all: Vec<Box<dyn Use>> = vec![Box::new(notice)];
    let mut report = Report {
        who: format!("tcasm-agent {rank} of group {:?}", arguments.group),
        prints: rank == 0 && !arguments.quiet,
        ranks: RanksHere::None,
        relay: None,
    };
    if !place.relays.is_empty() {
        let relay = Relay::new(&arguments.group, rank, place.relays.clone(), post, shown);
        report.relay = Some(relay.stats());
        all.push(Box::new(relay));
    }
    let checkpoints = checkpoints(arguments, &place, letters, report.prints);
    all.extend(checkpoints.map_err(|error| failed(Failure::Use(error)))?);
    all.extend(uses(&place).map_err(|error| failed(Failure::Use(error)))?);
    let regions = match arguments.relay {
        true => Observed::nothing(),
        false => Observed::new(&arguments.group),
    };
    let node = Node::new(regions, rounds, arguments.settings(), all);
    report.line(&format!("agents: {}", place.hosts.join(" ")));
    follow(node.stay(arguments.stay), signals, report)
}

/// Returns the use that writes checkpoints, if the arguments ask for them.
#[cfg(feature = "files")]
fn checkpoints(
    arguments: &Arguments,
    place: &Place,
    letters: MpiPost,
    prints: bool,
) -> Result<Option<Box<dyn Use>>, UseError> {
    use crate::checkpoints::{Checkpoints, Due};
    let agents = 0..place.hosts.len();
    let nodes: Vec<usize> = agents.filter(|a| !place.relays.contains(a)).collect();
    let (group, host) = (&arguments.group, &place.hosts[place.rank]);
    let settings = arguments.checkpoints.settings(group, host, nodes.len());
    let Some(settings) = settings else {
        return Ok(None);
    };
    let due = Due::by(arguments.settings().rule);
    let Some(node) = nodes.iter().position(|agent| *agent == place.rank) else {
        return Ok(Some(Box::new(Checkpoints::<MpiPost>::none(due))));
    };
    let due = (due, arguments.checkpoints.increments);
    let made = Checkpoints::of_node((node, nodes), settings, due, letters, prints)?;
    Ok(Some(Box::new(made)))
}

/// Without files there are no checkpoints.
#[cfg(not(feature = "files"))]
fn checkpoints(
    _: &Arguments,
    _: &Place,
    _: MpiPost,
    _: bool,
) -> Result<Option<Box<dyn Use>>, UseError> {
    Ok(None)
}

/// Takes turns until the agents end.
fn follow(
    mut node: Node<MpiRounds>,
    signals: &Signals,
    mut report: Report,
) -> Result<(), Box<Failure>> {
    let start = Instant::now();
    let (mut told, mut last_round) = (None, start);
    let mut news = News::new();
    loop {
        if signals.came() {
            node.stop();
            let told = told.get_or_insert_with(|| {
                report.told(last_round.elapsed());
                Instant::now()
            });
            let silence = last_round.max(*told).elapsed();
            if silence > LAST_ROUND {
                return Err(failed(Failure::Silent(silence)));
            }
        }
        let turn = node.turn(start.elapsed());
        let (decision, end) = turn.map_err(failed)?;
        if decision.is_some() {
            last_round = Instant::now();
        }
        report.of(decision.as_ref(), &node);
        if let Some(end) = end {
            report.line(match end {
                End::JobOver => "the job has ended",
                End::Stopped => "an agent was told to end",
            });
            report.relayed();
            return Ok(());
        }
        let busy = [node.is_busy(), node.agent().in_round()];
        std::thread::sleep(pause(node.ranks(), busy, news.since(&node)));
    }
}

/// Returns how long the agent sleeps if the last new step came this time ago.
fn pause(ranks: &RanksHere, [is_busy, in_round]: [bool; 2], quiet: Duration) -> Duration {
    match ranks {
        _ if is_busy => AGAIN,
        RanksHere::Running => (quiet / PART_OF_QUIET).clamp(AGAIN, AGAIN_IDLE),
        _ if in_round => AGAIN,
        _ => AGAIN_IDLE,
    }
}

/// When the steps that the agent holds have last changed.
struct News {
    held: Vec<Agreed>,
    at: Instant,
}

impl News {
    fn new() -> News {
        News {
            held: Vec::new(),
            at: Instant::now(),
        }
    }

    /// Returns how long ago the last change was, as far as the agent has looked.
    fn since(&mut self, node: &Node<MpiRounds>) -> Duration {
        let held = node.agent().held();
        if held != self.held {
            (self.held, self.at) = (held, Instant::now());
        }
        self.at.elapsed()
    }
}

/// Returns the error of an agent that cannot go on.
fn failed(error: impl Into<Failure>) -> Box<Failure> {
    Box::new(error.into())
}

/// Lines on standard output about what happens.
struct Report {
    /// The name of this agent.
    who: String,
    prints: bool,
    ranks: RanksHere,
    relay: Option<Rc<RelayStats>>,
}

impl Report {
    /// Says that a signal has come. A launcher sends it when an agent or a host is lost, and the
    /// time since the last round tells that from a signal of the user.
    fn told(&self, since_round: Duration) {
        let who = &self.who;
        let milliseconds = since_round.as_millis();
        eprintln!("{who}: told to end; the last round of all agents was {milliseconds} ms ago");
    }

    fn relayed(&self) {
        if let Some(stats) = &self.relay {
            let (steps, sent) = (stats.steps.get(), stats.sent_bytes.get());
            let all = stats.all_bytes.get();
            self.line(&format!("relayed steps={steps} bytes={sent} of={all}"));
        }
    }

    fn line(&self, text: &str) {
        if self.prints {
            // Nobody may read it any more.
            let _ = writeln!(std::io::stdout(), "{text}");
        }
    }

    fn of(&mut self, decision: Option<&Decision>, node: &Node<MpiRounds>) {
        let ranks = node.ranks();
        if *ranks != self.ranks {
            self.ranks = ranks.clone();
            match ranks {
                RanksHere::Lost(lost) => {
                    self.line(&format!("ranks {lost:?} of this host have died"));
                }
                RanksHere::Closed => self.line("the ranks of this host have ended"),
                RanksHere::None | RanksHere::Running => {}
            }
        }
        let Some(decision) = decision.filter(|decision| decision.is_new) else {
            return;
        };
        let run = node.agent().agreed().map(|held| held.pin.run().to_owned());
        if let (Some(agreed), Some(run)) = (decision.agreed, run) {
            let lag = decision.lag.unwrap_or(0);
            self.line(&format!(
                "agreed step {} of run {run}, lag {lag}",
                agreed.step
            ));
        }
    }
}

/// Returns the name of this host.
fn host() -> String {
    let name = nix::unistd::gethostname().ok();
    name.and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_sleeps_longer_while_steps_take_long_but_not_while_others_wait_for_it() {
        let [free, in_round, busy] = [[false, false], [false, true], [true, false]];
        let after = |quiet: u64| pause(&RanksHere::Running, in_round, Duration::from_millis(quiet));
        assert_eq!(after(0), AGAIN);
        assert_eq!(after(64), Duration::from_millis(1));
        assert_eq!(after(10_000), AGAIN_IDLE);
        let long = Duration::from_secs(10);
        assert_eq!(pause(&RanksHere::Running, busy, long), AGAIN);
        for ranks in [RanksHere::None, RanksHere::Closed, RanksHere::Lost(vec![3])] {
            assert_eq!(pause(&ranks, free, Duration::ZERO), AGAIN_IDLE);
            assert_eq!(pause(&ranks, in_round, long), AGAIN);
        }
    }
}
