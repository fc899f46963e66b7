//! Finds the newest readable checkpoint by processes that do not reach each other's folders.

use super::carry::Process;
use super::collective::{broadcast, gather};
use super::error::JobError;
use super::find::{ATTEMPTS, ids, in_doubt};
use super::job_checkpoint::JobCheckpoint;
use super::manifest::{self, Contents};
use super::messages::{Lost, Messages};
use super::places::Places;
use super::prepared;
use super::record::{Block, Committed, Steps};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

impl JobCheckpoint {
    /// Opens the checkpoint that the processes of a new run continue from, where none of them
    /// reaches the folders of all hosts: the newest committed one of which every block is in a
    /// folder that some process reaches, or that of `step`. Returns `None` if nothing was ever
    /// committed.
    ///
    /// Each process gets the files of the nodes that have blocks for which `needs` is true, in the
    /// folder for rebuilt files: from the process that has them, or rebuilt from the parity of
    /// their set. The hashes of all files are checked first, each by a process that has it. Files
    /// that a process does not need stay where they are, and reading from them is an error. On a
    /// host with several ranks, one calls this with what all of them need. Then the others open the
    /// step by [`find_at`](Self::find_at) with [`only_own`](Places::only_own) and the same folders.
    ///
    /// All processes call this, with the same `group` and `step`. Process 0 must reach the
    /// manifest. All get the same, or an error each. `send` may wait for its receiver here. If a
    /// job that goes on has removed or replaced files since the manifest was read, all look again.
    pub fn find_with<M: Messages>(
        messages: &mut M,
        (group, step): (&str, Option<u64>),
        places: &Places,
        needs: impl Fn(&Block) -> bool,
    ) -> Result<Option<Self>, JobError> {
        let mut search = Search {
            messages,
            group,
            places,
            known: Known::default(),
        };
        search.read()?;
        for _ in 1..ATTEMPTS {
            let found = search.find(step, &needs);
            let seen = found.as_ref().map(Option::as_ref).transpose();
            let Some(range) = seen.and_then(|seen| in_doubt(seen, step)) else {
                return found;
            };
            if !search.read_again(&range)? {
                return found;
            }
        }
        search.find(step, &needs)
    }
}

/// The committed steps.
#[derive(Default)]
struct Known {
    /// All steps without their blocks, on all processes. A large job has many blocks.
    steps: Steps,
    /// The same with their blocks, on process 0.
    whole: Option<Steps>,
}

struct Search<'s, M> {
    messages: &'s mut M,
    group: &'s str,
    places: &'s Places,
    known: Known,
}

impl<M: Messages> Search<'_, M> {
    /// Reads the manifest on process 0, and tells the others.
    fn read(&mut self) -> Result<(), JobError> {
        let own = (self.messages.node() == 0).then(|| self.contents());
        let told = own.as_ref().map(|own| match own {
            Ok(contents) => Ok((contents.created, without_blocks(&contents.steps))),
            Err(error) => Err(vec![format!("node 0: {error}")]),
        });
        let told: Result<(u64, Steps), Vec<String>> = broadcast(self.messages, told)?;
        let whole = own.transpose()?.map(|contents| contents.steps);
        let group = self.group.to_owned();
        let (created, steps) = told.map_err(|why| JobError::NotLookedFor { group, why })?;
        self.known = Known { steps, whole };
        match created {
            0 => self.check_begin(),
            _ => Ok(()),
        }
    }

    fn contents(&self) -> Result<Contents, JobError> {
        manifest::read(&self.places.slow, self.group)
    }

    /// Checks that no process has files of a manifest, because there is none.
    fn check_begin(&mut self) -> Result<(), JobError> {
        let own = prepared::of_a_manifest(&self.places.locals, self.group);
        let all = gather(self.messages, own)?;
        let one = all.map(|all| all.into_iter().flatten().next());
        match broadcast(self.messages, one)? {
            None => Ok(()),
            Some(list) => Err(JobError::NoManifest {
                group: self.group.to_owned(),
                dir: self.places.slow.clone(),
                list,
            }),
        }
    }

    /// Reads the manifest again. Returns false if it has the same checkpoints in this range of
    /// steps, or none, or cannot be read: then nothing is changed.
    fn read_again(&mut self, range: &RangeInclusive<u64>) -> Result<bool, Lost> {
        let own = (self.messages.node() == 0).then(|| {
            let now = self.contents().ok()?.steps;
            let is_new = !now.is_empty() && ids(&now, range) != ids(&self.known.steps, range);
            is_new.then_some(now)
        });
        let told = own.as_ref().map(|now| now.as_ref().map(without_blocks));
        let told: Option<Steps> = broadcast(self.messages, told)?;
        let is_new = told.is_some();
        if let Some(steps) = told {
            let whole = own.flatten();
            self.known = Known { steps, whole };
        }
        Ok(is_new)
    }

    /// Opens the newest step of which every block is somewhere, or the one that is wanted.
    fn find(
        &mut self,
        step: Option<u64>,
        needs: impl Fn(&Block) -> bool,
    ) -> Result<Option<JobCheckpoint>, JobError> {
        let mut why = Vec::new();
        let Known { steps, whole } = &self.known;
        for number in steps
            .keys()
            .rev()
            .filter(|n| step.is_none_or(|step| step == **n))
        {
            let own = whole.as_ref().map(|whole| whole[number].clone());
            let found: Committed = broadcast(self.messages, own)?;
            let mut process = Process {
                messages: &mut *self.messages,
                group: self.group,
                places: self.places,
                steps,
                whole: BTreeMap::new(),
            };
            let parts = found.commit.parts.iter();
            let needed = parts.filter(|part| part.blocks.iter().any(&needs));
            match process.bring(*number, needed.map(|part| part.node).collect())? {
                Err(lost) => why.push((*number, lost)),
                Ok(()) => {
                    let places = self.places.clone().only_own();
                    let found = JobCheckpoint::unchecked(self.group, found, &places, steps)?;
                    return Ok(Some(found.passing_over(why)));
                }
            }
        }
        let (group, dir) = (self.group.to_owned(), self.places.slow.clone());
        match (why.is_empty(), step) {
            (false, _) => Err(JobError::NoneUsable { group, why }),
            (true, Some(step)) => Err(JobError::StepGone { group, step, dir }),
            (true, None) => Ok(None),
        }
    }
}

/// Returns the same steps without blocks.
fn without_blocks(steps: &Steps) -> Steps {
    let mut steps = steps.clone();
    let parts = steps.values_mut().flat_map(|found| &mut found.commit.parts);
    parts.for_each(|part| part.blocks = Vec::new());
    steps
}
