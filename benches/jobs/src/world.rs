//! The events of a job, in the order of time.

mod deaths;

use crate::checker::Violation;
use crate::checkpoints::Checkpoints;
use crate::failures::Failure;
use crate::job::{Job, Turn};
use crate::plan::Plan;
use crate::random::Random;
use crate::report::Report;
use crate::work::Timeline;
use crate::{MILLISECOND, Nanos};
use std::collections::BTreeMap;
use tcasm_agent::agreement::{Appointed, Decision};
use tcasm_agent::{Agreed, RunId};

/// The most rounds whose times are kept.
const TIMED: usize = 100_000;

/// An event.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// An agent has its turn.
    Turn(usize),
    /// A node has written a step.
    Written(usize, Agreed),
    /// Something dies.
    Fail(Failure),
    /// The agents are connected anew.
    Connect,
    /// The ranks start again after a failure.
    Restart,
}

struct World {
    plan: Plan,
    job: Job,
    timeline: Timeline,
    run: RunId,
    /// The next step of each rank.
    next: Vec<u64>,
    events: BTreeMap<(Nanos, u64), Event>,
    count: u64,
    /// The time of each agent's next turn.
    wake: Vec<Option<Nanos>>,
    /// The time when each agent began its round.
    begun: Vec<Option<Nanos>>,
    /// The steps that each agent has pinned, and the time when they changed.
    news: Vec<(Vec<Agreed>, Nanos)>,
    checkpoints: Checkpoints,
    /// The newest step that is committed: all nodes have written it.
    safe: Option<Agreed>,
    random: Random,
    report: Report,
}

/// Simulates a job to its end. Fails if an invariant does not hold.
pub fn simulate(plan: Plan) -> Result<Report, Violation> {
    let mut world = World::new(plan);
    while let Some(((now, _), event)) = world.events.pop_first() {
        world.job.set_time(now);
        world.happen(event)?;
        if world.is_over() {
            break;
        }
    }
    world.report.end = world.job.now();
    Ok(world.report)
}

impl World {
    fn new(plan: Plan) -> World {
        let run = RunId(1);
        let job = Job::new(plan.size(), run);
        let (ranks, nodes) = (plan.work.ranks(), job.nodes().len());
        let mut world = World {
            timeline: Timeline::new(plan.work, plan.seed, 0, 1, plan.steps),
            job,
            run,
            next: vec![1; ranks],
            events: BTreeMap::new(),
            count: 0,
            wake: vec![None; nodes],
            begun: vec![None; nodes],
            news: vec![(Vec::new(), 0); nodes],
            checkpoints: Checkpoints::new(plan.copy.map(|_| plan.rule), nodes),
            safe: None,
            random: Random::new(plan.seed ^ 0x5eed),
            report: Report {
                nodes,
                steps: plan.steps,
                ..Report::default()
            },
            plan,
        };
        for (at, failure) in world.plan.failures.clone() {
            world.at(at, Event::Fail(failure));
        }
        world.wake_all(0);
        world
    }

    fn at(&mut self, time: Nanos, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    /// Returns true if the simulation has ended, and the agents have had the time to notice.
    fn is_over(&mut self) -> bool {
        let unfinished = self.next.iter().any(|next| *next <= self.plan.steps);
        let failing = |event: &Event| !matches!(event, Event::Turn(_) | Event::Written(..));
        if unfinished || self.events.values().any(failing) {
            return false;
        }
        self.job.now() > self.timeline.end() + 20 * self.plan.patience + 20 * MILLISECOND
    }

    fn happen(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Turn(agent) => return self.turn(agent),
            Event::Written(agent, of) => self.written(agent, of),
            Event::Fail(failure) => self.fail(failure),
            Event::Connect => {
                self.job.connect();
                self.checkpoints.connected();
                self.wake_all(self.job.now());
            }
            Event::Restart => self.restart(),
        }
        Ok(())
    }

    /// Gives an agent its turn, unless another one is scheduled for it.
    fn turn(&mut self, agent: usize) -> Result<(), Violation> {
        let now = self.job.now();
        if self.wake[agent] != Some(now) {
            return Ok(());
        }
        self.wake[agent] = None;
        self.publish(agent);
        let (checkpoints, mut step) = (&mut self.checkpoints, None);
        let turn = self.job.turn_with(agent, |living, decision| {
            step = checkpoints.go_on(agent, living, decision);
        })?;
        if let Turn::Decided { decision, first } = turn {
            self.decided(agent, &decision, first);
        }
        self.write(agent, step);
        self.look_for_news(agent);
        if self.begun[agent].is_none() && self.job.network().offer(agent).is_some() {
            self.begun[agent] = Some(now);
        }
        self.schedule(agent);
        if let Some(end) = self.job.network().take_done() {
            self.wake_all(end);
        }
        Ok(())
    }

    /// Notes when the steps that an agent has pinned have changed.
    fn look_for_news(&mut self, agent: usize) {
        let now = self.job.now();
        if let Some(living) = self.job.agent(agent) {
            let held = living.held();
            if held != self.news[agent].0 {
                self.news[agent] = (held, now);
            }
        }
    }

    /// Publishes what the ranks of a node have published until now. Nobody looks at them between
    /// the turns of their agent, so this need not happen earlier.
    fn publish(&mut self, node: usize) {
        let now = self.job.now();
        let mut node = self.job.nodes()[node].borrow_mut();
        for local in 0..node.len() {
            let rank = node.first() as usize + local;
            while self.timeline.at(rank, self.next[rank]) <= now {
                let step = self.next[rank];
                node.publish(local, step, self.plan.skips(rank, step));
                self.next[rank] += 1;
            }
        }
    }

    /// Schedules an agent's next turn: when its slowest rank has published, or when it has waited
    /// long enough, or when its round ends, if all agents have begun it.
    fn schedule(&mut self, agent: usize) {
        let now = self.job.now();
        let mut time = self.published(agent);
        if self.begun[agent].is_none() {
            time = time.min(now + self.plan.patience);
        }
        if let Some(end) = self.job.network().end(agent) {
            time = time.min(end.max(now));
        }
        self.wake_at(agent, time);
    }

    /// Returns the time when all ranks of a node will have published the next step of the slowest.
    fn published(&mut self, node: usize) -> Nanos {
        let node = self.job.nodes()[node].borrow();
        let first = node.first() as usize;
        let ranks = first..first + node.len();
        let step = ranks.clone().map(|rank| self.next[rank]).min();
        let step = step.unwrap_or(Nanos::MAX);
        let behind = ranks.filter(|rank| self.next[*rank] == step);
        let times = behind.map(|rank| self.timeline.at(rank, step));
        times.max().unwrap_or(Nanos::MAX)
    }

    /// Lets an agent notice something that happens at `time`.
    fn wake_at(&mut self, agent: usize, time: Nanos) {
        if time == Nanos::MAX {
            return;
        }
        let quiet = time.saturating_sub(self.news[agent].1);
        let time = time + 1 + self.plan.latency.notice(quiet, &mut self.random);
        if self.wake[agent].is_none_or(|wake| time < wake) {
            self.wake[agent] = Some(time);
            self.at(time, Event::Turn(agent));
        }
    }

    fn wake_all(&mut self, time: Nanos) {
        for agent in 0..self.wake.len() {
            self.wake_at(agent, time);
        }
    }

    fn decided(&mut self, agent: usize, decision: &Decision, first: bool) {
        let now = self.job.now();
        if let Some(begun) = self.begun[agent].take()
            && self.report.round_times.len() < TIMED
        {
            self.report.round_times.push(now - begun);
        }
        if first {
            self.note(decision);
        }
        let Some(living) = self.job.agent(agent) else {
            return;
        };
        self.report.pinned.add(living.held().len() as f64);
    }

    /// Lets a node write a step.
    fn write(&mut self, agent: usize, step: Option<Agreed>) {
        if let (Some(of), Some(copy)) = (step, self.plan.copy) {
            let slower = 1.0 + self.random.exponential(0.1);
            let end = self.job.now() + (copy as f64 * slower) as Nanos;
            self.at(end, Event::Written(agent, of));
        }
    }

    /// Notes the first decision of a round.
    fn note(&mut self, decision: &Decision) {
        let now = self.job.now();
        self.report.rounds += 1;
        self.safe = decision.committed.or(self.safe);
        match decision.appointed {
            Some(Appointed::Kept(_)) => self.report.appointments[0] += 1,
            Some(Appointed::Missed(_)) => self.report.appointments[1] += 1,
            None => {}
        }
        let Some(agreed) = decision.agreed.filter(|_| decision.is_new) else {
            return;
        };
        self.report.agreed.push(agreed.step);
        self.report.lag.add(decision.lag.unwrap_or(0) as f64);
        // Agents can agree on a newer step of ranks that have died.
        if let Some(loss) = self.report.losses.last_mut()
            && loss.agreed != Some(agreed)
            && !self.checkpoints.lost()
        {
            loss.gap.get_or_insert(now - loss.at);
        }
        self.note_delay(agreed);
    }

    /// Notes the time since the last rank has published a step.
    fn note_delay(&mut self, agreed: Agreed) {
        if agreed.run == self.run {
            let ranks = 0..self.next.len();
            let times = ranks.map(|rank| self.timeline.at(rank, agreed.step));
            let published = times.max().unwrap_or(0);
            let delay = self.job.now().saturating_sub(published);
            self.report.delay.add(delay as f64);
            // No older step will be agreed.
            self.timeline.forget_before(agreed.step);
        }
    }

    fn written(&mut self, agent: usize, of: Agreed) {
        // A writer that died meanwhile has written nothing.
        let written = self.checkpoints.written(agent, of);
        if let Some(living) = self.job.agent(agent).filter(|_| written) {
            living.prepared(of);
            self.wake_at(agent, self.job.now());
        }
    }
}
