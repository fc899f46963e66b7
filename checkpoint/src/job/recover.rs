//! Recovery by messages, after the nodes were connected anew: each node gets back its own files,
//! also where no node can reach the folder of another one.

use super::carry::Process;
use super::collective::{broadcast, gather, whole};
use super::error::JobError;
use super::hashed;
use super::manifest;
use super::messages::Messages;
use super::places::Places;
use super::record::{FileEntry, Steps, chain};
use super::writer::JobWriter;
use crate::error::ReadError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

impl<M: Messages> JobWriter<M> {
    /// Gives each node its files of the newest committed step of which every block is left, and
    /// returns that step. Files that a node has lost are rebuilt from those of the others, which
    /// send them. Returns `None` if nothing was ever committed.
    ///
    /// All nodes call this directly after [`connect`](Self::connect). There must be as many nodes
    /// as have written the step.
    pub fn recover(&mut self) -> Result<Option<u64>, JobError> {
        let steps = self.steps()?;
        let mut why = Vec::new();
        for step in steps.keys().rev() {
            match self.bring_back(&steps, *step)? {
                Ok(()) => {
                    self.continue_from(*step)?;
                    return Ok(Some(*step));
                }
                Err(error) => why.push((*step, error)),
            }
        }
        let group = self.settings.group.clone();
        match why.is_empty() {
            true => Ok(None),
            false => Err(JobError::NoneUsable { group, why }),
        }
    }

    /// Gives each node back its files of the newest committed step, as [`recover`](Self::recover)
    /// does, but does not say that the job continues from there. If too little is left, or too few
    /// nodes are there, this is an error that changes nothing.
    ///
    /// All nodes call this directly after [`connect`](Self::connect).
    pub fn rebuild(&mut self) -> Result<(), JobError> {
        let steps = self.steps()?;
        let Some(step) = steps.keys().next_back().copied() else {
            return Ok(());
        };
        let brought = self.bring_back(&steps, step)?;
        brought.map_err(|why| JobError::NotRebuilt {
            step,
            why: vec![why],
        })
    }

    /// Returns the committed steps. If a node cannot read the manifest, all get the error. Each
    /// reads it, because the steps of a large job are too much to send.
    fn steps(&mut self) -> Result<Steps, JobError> {
        let read = manifest::read(&self.settings.slow, &self.settings.group);
        let vote = read.as_ref().map(|_| ()).map_err(ToString::to_string);
        let votes = gather(&mut self.messages, vote)?;
        let all: Result<Vec<()>, Vec<String>> = broadcast(&mut self.messages, votes.map(whole))?;
        let group = self.settings.group.clone();
        all.map_err(|why| JobError::NotLookedFor { group, why })?;
        Ok(read?.steps)
    }

    /// Gives each node its files of a step. The inner error says why a block of the step is lost.
    fn bring_back(&mut self, steps: &Steps, step: u64) -> Result<Result<(), String>, JobError> {
        let (node, nodes) = (self.node(), self.messages.nodes());
        let commit = &steps[&step].commit;
        if commit.parts.iter().any(|part| part.node >= nodes) {
            let why = format!("it was written by more than the {nodes} nodes that are there");
            return Ok(Err(why));
        }
        let settings = &self.settings;
        let places = Places {
            mode: settings.options.mode,
            ..Places::new(&settings.slow, &[&settings.local]).rebuild_in(&settings.local)
        };
        let group = settings.group.clone();
        let mut process = Process {
            messages: &mut self.messages,
            group: &group,
            places: &places,
            steps,
            whole: BTreeMap::new(),
        };
        let own = commit.part(node).map(|part| part.node);
        let brought = process.bring(step, own.into_iter().collect::<BTreeSet<usize>>())?;
        if let Err(why) = brought {
            return Ok(Err(why));
        }
        let fetched = self.fetch(steps, step).map_err(|e| e.to_string());
        let votes = gather(&mut self.messages, fetched)?;
        let done: Result<Vec<()>, _> = broadcast(&mut self.messages, votes.map(whole))?;
        done.map_err(|why| JobError::NotRebuilt { step, why })?;
        Ok(Ok(()))
    }

    /// Copies files of this node that are on the slow tier only, and lists all as prepared.
    fn fetch(&mut self, steps: &Steps, step: u64) -> Result<(), JobError> {
        for part in chain(steps, step, self.node())
            .unwrap_or_default()
            .into_iter()
            .rev()
        {
            let path = self.settings.local.join(&part.file.file);
            if hashed::check(&path, &part.file).is_err() {
                let gone = || ReadError::NoneFound(path.clone());
                let from = self.place_of(&part.file).ok_or_else(gone)?;
                self.copy_file(&from, &path, part)?;
            }
            self.prepared.add(part.clone());
        }
        Ok(self.write_prepared()?)
    }

    /// Returns the path of a file that is whole, in the local folder or on the slow tier.
    fn place_of(&self, entry: &FileEntry) -> Option<PathBuf> {
        let dirs = [&self.settings.local, &self.settings.slow];
        let mut paths = dirs.into_iter().map(|dir| dir.join(&entry.file));
        paths.find(|path| hashed::check(path, entry).is_ok())
    }
}
