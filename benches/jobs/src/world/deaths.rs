//! Deaths, and new starts after them.

use super::{Event, World};
use crate::failures::{Failure, Loss};
use crate::work::Timeline;
use tcasm_agent::RunId;

impl World {
    pub(super) fn fail(&mut self, failure: Failure) {
        let now = self.job.now();
        (0..self.wake.len()).for_each(|node| self.publish(node));
        self.report.losses.push(Loss {
            failure,
            at: now,
            reached: self.next.iter().min().map_or(0, |next| next - 1),
            newest: self.next.iter().max().map_or(0, |next| next - 1),
            from: None,
            agreed: self.job.agreed(),
            gap: None,
        });
        match failure {
            Failure::Agent(agent) => self.kill_agents(agent..agent + 1),
            Failure::AllAgents => self.kill_agents(0..self.wake.len()),
            Failure::Rank => self.kill_ranks(),
            Failure::Node => {
                self.kill_ranks();
                self.kill_agents(0..self.wake.len());
                self.run = RunId(self.run.0 + 1);
                self.job.restart(self.run);
            }
        }
    }

    fn kill_agents(&mut self, agents: std::ops::Range<usize>) {
        for agent in agents {
            self.checkpoints.died(agent);
            self.job.kill_agent(agent);
        }
        self.begun.fill(None);
        self.wake_all(self.job.now());
        self.at(self.job.now() + self.plan.delays.agents, Event::Connect);
    }

    fn kill_ranks(&mut self) {
        self.timeline.cut(self.job.now());
        self.checkpoints.set_lost(true);
        self.at(self.job.now() + self.plan.delays.ranks, Event::Restart);
    }

    /// Starts all ranks again, from the newest step that is committed.
    pub(super) fn restart(&mut self) {
        let now = self.job.now();
        let Some(loss) = self.report.losses.last_mut() else {
            return;
        };
        let from = self.safe.map_or(0, |from| from.step);
        loss.from = Some(from);
        self.checkpoints.set_lost(false);
        self.run = RunId(self.run.0 + 1);
        let (first, last) = (from + 1, self.plan.steps);
        self.timeline = Timeline::new(self.plan.work, self.run.0, now, first, last);
        self.next.fill(first);
        self.job.restart(self.run);
        self.wake_all(now);
    }
}
