//! The hosts, processes and disks of a storm, their faults and their repair.

use super::checks::Known;
use crate::alone::{Run, wait_steps};
use crate::common::{
    HOSTS, Line, PATIENCE, ask_for, assert_blocks, reader, signal, stop, try_signal, wait_launcher,
    wait_line,
};
use crate::disks::{Disks, checking_agents};
use std::time::{Duration, Instant};
use tcasm_tests::child::{Child, DEADLINE, Received, poll_until, program};
use tcasm_tests::cluster::Cluster;
use tcasm_tests::name;

/// A rank, and the line that names its process.
struct Rank {
    child: Child,
    line: Line,
}

/// The keeper of a rank, and the line that names its process.
struct Keeper {
    child: Child,
    line: Line,
}

impl Keeper {
    /// Starts the keeper of a rank that lives.
    fn start(cluster: &Cluster, host: usize, region: &str) -> Keeper {
        let child = cluster.start(host, &[&program("examples/job"), "keep", region]);
        let line = wait_line(&child, "keeper ", |_| true);
        let keeper = Keeper { child, line };
        keeper.wait_attached();
        keeper
    }

    /// Waits until it has attached to the rank that was started last.
    fn wait_attached(&self) {
        self.child.hear_line("attached");
    }

    /// Waits until it says what it holds of a rank that has died, and checks that: a step that is
    /// no older than `seen`, and that the rank can have published.
    fn check_held(&self, seen: Option<u64>, by: u64) {
        let text = self.child.hear_line("held ");
        let step = text.strip_prefix("step=");
        let step = step.map(|step| step.parse::<u64>().unwrap());
        assert!(step >= seen, "{step:?} is held, but {seen:?} was seen");
        assert!(step <= Some(by), "{step:?} is held, and the job had {by}");
    }
}

pub struct World {
    pub disks: Disks,
    pub group: String,
    pub known: Known,
    cluster: Cluster,
    run: Run,
    /// The rank, the observer and the keeper of the rank of each host, if they live.
    ranks: Vec<Option<Rank>>,
    readers: Vec<Option<Child>>,
    keepers: Vec<Option<Keeper>>,
    agents: Child,
    /// The lines that name the agents.
    agent_lines: Vec<Line>,
    arguments: Vec<String>,
    /// The hosts that are dead.
    dead: Vec<usize>,
}

impl World {
    /// Starts everything. Returns `None` if hosts are only folders here.
    pub fn new(arguments: &[&str]) -> Option<World> {
        let (group, disks) = (name("storm"), Disks::limited()?);
        let cluster = Cluster::new(HOSTS);
        let run = Run::from(0);
        let mut world = World {
            agents: checking_agents(&cluster, &group, &disks, &all(arguments)),
            agent_lines: Vec::new(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            known: Known::default(),
            dead: Vec::new(),
            ranks: (0..HOSTS).map(|_| None).collect(),
            readers: (0..HOSTS).map(|_| None).collect(),
            keepers: (0..HOSTS).map(|_| None).collect(),
            disks,
            group,
            cluster,
            run,
        };
        world.repair();
        Some(world)
    }

    /// Kills a rank. If it has a keeper, that must hold what an observer has seen, or more.
    pub fn kill_rank(&mut self, host: usize) {
        let Some(mut rank) = self.ranks[host].take() else {
            return;
        };
        let reader = self.readers[host].as_mut();
        let seen = reader.and_then(|reader| ask_for("latest", reader).ok());
        let seen = seen.filter(|line| line.get("run") == self.run.name());
        signal(&self.cluster, &rank.line, "-KILL");
        rank.child.wait();
        let by = self.run.now();
        self.known.rank_died(by);
        if let Some(keeper) = &self.keepers[host] {
            keeper.check_held(seen.map(|line| line.number("step")), by);
        }
    }

    pub fn kill_keeper(&mut self, host: usize) {
        if let Some(mut keeper) = self.keepers[host].take() {
            signal(&self.cluster, &keeper.line, "-KILL");
            keeper.child.wait();
        }
    }

    pub fn kill_agent(&mut self, host: usize) {
        let name = format!("h{}", host + 1);
        let found = poll_until("the agent of a host has started", || {
            self.hear_agents();
            let line = self.agent_lines.iter().find(|l| l.get("host") == name);
            let ended = self.agents.ended().is_some() || self.dead.contains(&host);
            (line.is_some() || ended).then(|| line.cloned().filter(|_| !ended))
        });
        if let Some(line) = found {
            signal(&self.cluster, &line, "-KILL");
            self.end_agents();
        }
    }

    pub fn kill_host(&mut self, host: usize, with_disk: bool) {
        if self.dead.contains(&host) {
            return;
        }
        self.cluster.kill(host);
        self.dead.push(host);
        (self.ranks[host], self.readers[host]) = (None, None);
        self.keepers[host] = None;
        self.end_agents();
        // Another disk may be lost when a checkpoint has been written to all disks anew.
        let steps = self.disks.committed(&self.group);
        if with_disk && self.known.may_lose(&steps, host) {
            self.disks.empty(&self.disks.fast(host));
        }
    }

    pub fn take_link_down(&mut self, host: usize) {
        if !self.dead.contains(&host) {
            self.cluster.set_link(host, false);
        }
    }

    pub fn slow_link(&mut self, host: usize, rate: u32) {
        if !self.dead.contains(&host) {
            self.cluster.slow_link(host, Some(rate));
        }
    }

    /// Kills all ranks, and goes on from the newest checkpoint, or from what was the newest one
    /// before they were killed.
    pub fn new_run(&mut self, returns: bool) {
        let newest = |world: &World| world.disks.committed(&world.group).into_iter().max();
        let before = newest(self);
        (0..HOSTS).for_each(|host| self.kill_rank(host));
        let from = if returns { before } else { newest(self) };
        self.run = Run::from(from.unwrap_or(0));
        self.known.returned_to(from);
        self.start_ranks();
    }

    fn start_ranks(&mut self) {
        for host in 0..HOSTS {
            if self.ranks[host].is_none() && !self.dead.contains(&host) {
                let child = self.run.start(&self.cluster, &self.group, host);
                let line = wait_line(&child, "rank ", |_| true);
                self.ranks[host] = Some(Rank { child, line });
                if let Some(keeper) = &self.keepers[host] {
                    keeper.wait_attached();
                }
            }
        }
    }

    /// Starts the keepers that are dead. All ranks live.
    fn start_keepers(&mut self) {
        for host in 0..HOSTS {
            let region = format!("{}.{host}", self.group);
            let keeper = || Keeper::start(&self.cluster, host, &region);
            self.keepers[host].get_or_insert_with(keeper);
        }
    }

    /// Repairs links and disks, and starts again what is dead.
    pub fn repair(&mut self) {
        for host in 0..HOSTS {
            if !self.dead.contains(&host) {
                self.cluster.set_link(host, true);
                self.cluster.slow_link(host, None);
            }
            self.disks.make_room(&self.disks.fast(host));
        }
        self.disks.make_room(&self.disks.slow());
        for host in std::mem::take(&mut self.dead) {
            self.cluster.restart(host);
        }
        self.start_ranks();
        self.start_keepers();
        for host in 0..HOSTS {
            let reader = || reader(&self.cluster, host, &self.group);
            self.readers[host].get_or_insert_with(reader);
        }
    }

    /// Waits until a checkpoint is committed that was not there before, also by new agents if the
    /// old ones have ended.
    pub fn settle(&mut self) {
        let newest = |world: &World| world.disks.committed(&world.group).into_iter().max();
        let before = newest(self);
        let start = Instant::now();
        let mut started = start;
        while newest(self) <= before {
            assert!(
                start.elapsed() < 2 * DEADLINE,
                "no checkpoint after {before:?}"
            );
            if started.elapsed() > PATIENCE && self.agents.ended().is_none() {
                self.end_agents();
            }
            if self.agents.ended().is_some() {
                self.hear_agents();
                self.start_agents();
                started = Instant::now();
            }
            self.hear_agents();
            self.ask_readers();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start_agents(&mut self) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let agents = checking_agents(&self.cluster, &self.group, &self.disks, &all(&arguments));
        self.agents = agents;
        self.agent_lines.clear();
    }

    /// Waits until all agents have ended because one has died. Where the launcher cannot end them,
    /// because a link is down, or hangs, the test does.
    fn end_agents(&mut self) {
        match wait_launcher(&mut self.agents) {
            Some(status) => {
                assert!(!status.success() || self.cluster.launcher().hides_lost_hosts());
            }
            None => {
                self.signal_agents("-KILL");
                self.agents.kill();
            }
        }
        self.hear_agents();
    }

    /// Checks what the agents say, and keeps it in mind.
    pub fn hear_agents(&mut self) {
        while let Received::Line(line) = self.agents.receive(Duration::ZERO) {
            if line.starts_with("agent ") {
                self.agent_lines.push(Line::new(&line));
            } else if line.starts_with("checked ") {
                assert_blocks(&Line::new(&line), 1);
            } else if let Some(step) = line.strip_prefix("checkpoint of step ") {
                self.known.reported(step.parse().unwrap());
            }
        }
    }

    /// Asks each observer for its newest and for the agreed step. There may be none, but no value
    /// of one may be wrong.
    pub fn ask_readers(&mut self) {
        for reader in self.readers.iter_mut().flatten() {
            for which in ["latest", "agreed"] {
                if let Ok(line) = ask_for(which, reader) {
                    assert_blocks(&line, 1);
                }
            }
        }
    }

    /// Waits until each rank that lives has published more steps, whatever else has failed. No
    /// observer finds a wrong value then.
    pub fn survivors_go_on(&mut self, steps: u64) {
        self.ranks_go_on(steps);
        self.ask_readers();
    }

    /// Waits until each rank that lives has published so many more steps.
    pub fn ranks_go_on(&mut self, steps: u64) {
        for rank in self.ranks.iter_mut().flatten() {
            wait_steps(&rank.child, steps);
            assert_eq!(
                rank.child.ended(),
                None,
                "a rank that was not killed has ended"
            );
        }
    }

    /// Sends a signal to all agents that live.
    pub fn signal_agents(&self, which: &str) {
        let lives = |line: &&Line| {
            let dead = self.dead.iter().map(|host| format!("h{}", host + 1));
            !dead.into_iter().any(|host| host == line.get("host"))
        };
        for line in self.agent_lines.iter().filter(lives) {
            // It may have ended by itself.
            let _ = try_signal(&self.cluster, line, which);
        }
    }

    /// Returns true if the agents run.
    pub fn agents_run(&mut self) -> bool {
        self.agents.ended().is_none()
    }

    /// Ends the agents well, and checks what is left.
    pub fn end(mut self) {
        self.settle();
        self.hear_agents();
        let line = self.agent_lines[0].clone();
        stop(&self.cluster, &line, &mut self.agents);
        self.hear_agents();
        self.check();
        assert_eq!(self.disks.temporary(), [] as [String; 0]);
    }
}

fn all<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["--stay", "--drain-every", "3"], arguments].concat()
}
