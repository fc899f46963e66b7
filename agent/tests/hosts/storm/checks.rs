//! Checks of what lies on the disks at one moment.

use super::world::World;
use crate::common::HOSTS;
use crate::disks::{self, EVERY};
use std::collections::{BTreeMap, BTreeSet};
use tcasm_checkpoint::job::{JobCheckpoint, JobError};

/// The test's own knowledge of what must be there.
#[derive(Debug, Default)]
pub struct Known {
    /// The newest step that was reported or found as committed.
    newest: Option<u64>,
    /// The hosts whose disk was lost after a step was committed.
    lost: BTreeMap<u64, BTreeSet<usize>>,
    /// The last step that a rank which was killed may have published.
    died_by: Option<u64>,
}

impl Known {
    pub fn reported(&mut self, step: u64) {
        self.newest = self.newest.max(Some(step));
    }

    /// A rank was killed when it had come to this step at most.
    pub fn rank_died(&mut self, by: u64) {
        self.died_by = self.died_by.max(Some(by));
    }

    /// Checks that these steps were due: they are appointed, or a rank has died, and may have
    /// published them before.
    fn check_due(&self, steps: &[u64]) {
        let due = |step: &&u64| step.is_multiple_of(EVERY) || Some(**step) <= self.died_by;
        let wrong: Vec<&u64> = steps.iter().filter(|step| !due(step)).collect();
        assert!(wrong.is_empty(), "{wrong:?} of {steps:?} were not due");
    }

    /// The job goes on from this step. A commit of a later one replaces all that are later still.
    pub fn returned_to(&mut self, step: Option<u64>) {
        self.newest = step;
    }

    /// Returns true if the disk of a host may be lost when these steps are committed, and notes
    /// the loss: at most one disk after the newest step.
    pub fn may_lose(&mut self, steps: &[u64], host: usize) -> bool {
        let newest = steps.last().copied();
        let before = newest.and_then(|step| self.lost.get(&step));
        if before.is_some_and(|hosts| hosts.iter().any(|other| *other != host)) {
            return false;
        }
        for step in steps {
            self.lost.entry(*step).or_default().insert(host);
        }
        true
    }

    fn losses(&self, step: u64) -> usize {
        self.lost.get(&step).map_or(0, BTreeSet::len)
    }
}

/// Returns true if an earlier step was committed after this one, by a run that went on from a step
/// before both. What an agent of the run before says of its last commit may be heard later still.
fn is_replaced(step: u64, lines: &[u64]) -> bool {
    let last = lines.iter().rposition(|line| *line == step);
    last.is_some_and(|last| lines[last..].iter().any(|line| *line < step))
}

impl World {
    /// Freezes the agents, and checks the disks as if all had died now. Meanwhile the ranks must go
    /// on (G4).
    pub fn check(&mut self) {
        self.hear_agents();
        let runs = self.agents_run();
        if runs {
            self.signal_agents("-STOP");
        }
        self.hear_agents();
        self.ranks_go_on(20);
        self.check_disks();
        if runs {
            self.signal_agents("-CONT");
        }
        self.ask_readers();
    }

    fn check_disks(&mut self) {
        self.disks.empty(&self.disks.spare());
        let steps = self.disks.committed(&self.group);
        let newest = steps.last().copied();
        let lines = self.disks.commit_lines(&self.group);
        let known = self.known.newest;
        self.known.check_due(&lines);
        assert!(
            newest >= known || known.is_some_and(|step| is_replaced(step, &lines)),
            "{known:?} was committed, now {newest:?} is; all commits: {lines:?}"
        );
        self.known.newest = newest;
        assert!(steps.iter().all(|step| lines.contains(step)), "{steps:?}");
        // Older ones may be about to be removed.
        for step in steps.iter().rev().take(2) {
            match (self.open(Some(*step)), self.known.losses(*step)) {
                (Ok(found), _) => disks::check(&found, HOSTS),
                (Err(error), losses) => assert!(losses > 1, "step {step}: {error}"),
            }
        }
        let Some(newest) = newest else { return };
        let found = self.open(None).unwrap();
        assert_eq!((found.step(), found.passed_over()), (newest, &[][..]));
        for step in self.disks.steps_of_files(&self.group) {
            let offered = self.open(Some(step)).is_ok();
            assert!(
                !offered || lines.contains(&step),
                "{step} was not committed"
            );
        }
    }

    /// Opens a checkpoint. If no disk was lost since it was committed, nothing may have to be
    /// rebuilt.
    fn open(&self, step: Option<u64>) -> Result<JobCheckpoint, JobError> {
        let wanted = step.or(self.known.newest).unwrap_or(0);
        match self.known.losses(wanted) {
            0 => self.disks.open_as_it_is(&self.group, step),
            _ => self.disks.open(&self.group, step),
        }
    }
}
