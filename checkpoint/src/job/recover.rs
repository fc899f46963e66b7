//! Recovery by messages, after the nodes were connected anew: each node gets back its own files,
//! also where no node can reach the folder of another one.

use super::code;
use super::collective::{broadcast, gather, whole};
use super::error::JobError;
use super::hashed;
use super::manifest;
use super::messages::Messages;
use super::parity_file::{Header, Parity, data_piece, pieces};
use super::plan::{Job, Own, plan};
use super::record::{Commit, FileEntry, Steps, chain};
use super::scheme::Stripe;
use super::writer::JobWriter;
use crate::error::{ReadError, WriteError};
use crate::file::{Fault, atomic, regular};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

impl<M: Messages> JobWriter<M> {
    /// Gives each node its files of the newest committed step of which every block is left, and
    /// returns that step. Files that a node has lost are rebuilt from those of the others, which
    /// send them. Returns `None` if nothing was ever committed.
    ///
    /// All nodes call this directly after [`connect`](Self::connect). There must be as many nodes
    /// as have written the step.
    pub fn recover(&mut self) -> Result<Option<u64>, JobError> {
        let (steps, all) = self.left()?;
        let mut why = Vec::new();
        for step in steps.keys().rev() {
            match plan(&steps, *step, &all) {
                Ok(jobs) => {
                    self.rebuild_all(&steps, *step, &jobs)?;
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
        let (steps, all) = self.left()?;
        let Some(step) = steps.keys().next_back().copied() else {
            return Ok(());
        };
        let jobs = plan(&steps, step, &all);
        let jobs = jobs.map_err(|why| JobError::NotRebuilt {
            step,
            why: vec![why],
        })?;
        self.rebuild_all(&steps, step, &jobs)
    }

    /// Returns the committed steps, and the files that each node can read. If a node cannot read
    /// the manifest, all get the error.
    fn left(&mut self) -> Result<(Steps, Vec<Own>), JobError> {
        let read = manifest::read(&self.settings.slow, &self.settings.group);
        let steps = read.map(|contents| contents.steps);
        let own = steps.as_ref().map(|steps| self.own(steps));
        let all = gather(&mut self.messages, own.map_err(ToString::to_string))?;
        let all: Result<Vec<Own>, Vec<String>> = broadcast(&mut self.messages, all.map(whole))?;
        let group = self.settings.group.clone();
        let all = all.map_err(|why| JobError::NotLookedFor { group, why })?;
        Ok((steps?, all))
    }

    /// Returns which files this node can read.
    fn own(&self, steps: &Steps) -> Own {
        let mut own = Own::default();
        for (step, found) in steps {
            let Some(part) = found.commit.part(self.node()) else {
                continue;
            };
            if self.place_of(&part.file).is_some() {
                own.files.insert(*step);
            }
            if self.parity(&found.commit).is_some() {
                own.parities.insert(*step);
            }
        }
        own
    }

    /// Returns the parity that this node has of a checkpoint, if it is whole.
    fn parity(&self, of: &Commit) -> Option<Parity> {
        let path = self.place_of(of.part(self.node())?.parity.as_ref()?)?;
        let header = Header::of(&self.settings.group, of, self.node())?;
        Parity::open(&path, &header).ok()
    }

    /// Returns the path of a file that is whole, in the local folder or on the slow tier.
    fn place_of(&self, entry: &FileEntry) -> Option<PathBuf> {
        let dirs = [&self.settings.local, &self.settings.slow];
        let mut paths = dirs.into_iter().map(|dir| dir.join(&entry.file));
        paths.find(|path| hashed::check(path, entry).is_ok())
    }

    /// Gives each node its files of a step, of which `jobs` are lost. If one node does not get its
    /// files, all get the error.
    fn rebuild_all(&mut self, steps: &Steps, step: u64, jobs: &[Job<'_>]) -> Result<(), JobError> {
        let mut result = Ok(());
        for job in jobs {
            let member = job.set.iter().position(|node| *node == self.node());
            match member {
                Some(member) if member == job.lost => {
                    let rebuilt = self.receive_file(job)?;
                    result = result.and(rebuilt.map_err(|e| e.to_string()));
                }
                Some(member) => self.send_pieces(job, member)?,
                None => {}
            }
        }
        let mut fetch = || self.fetch(steps, step).map_err(|e| e.to_string());
        let result = result.and_then(|()| fetch());
        let votes = gather(&mut self.messages, result)?;
        let done: Result<Vec<()>, _> = broadcast(&mut self.messages, votes.map(whole))?;
        done.map_err(|why| JobError::NotRebuilt { step, why })?;
        Ok(())
    }

    /// Sends what this node has of the stripes of a lost file.
    fn send_pieces(&mut self, job: &Job<'_>, member: usize) -> Result<(), JobError> {
        let part = job.commit.part(self.node());
        let file = part.and_then(|part| regular::open(&self.place_of(&part.file)?).ok());
        let parity = self.parity(job.commit);
        let chunk = job.chunk();
        let to = job.set[job.lost];
        for (s, stripe) in job.stripes() {
            for (at, length) in pieces(chunk) {
                // An empty message says that the piece is gone meanwhile.
                if let Some(number) = stripe.chunk_of(member).filter(|_| job.files[member]) {
                    let piece = file
                        .as_ref()
                        .map(|f| data_piece(f, chunk, number, at, length));
                    let piece = piece.and_then(Result::ok).unwrap_or_default();
                    self.send_piece(to, piece)?;
                }
                if stripe.parity.contains(&member) && job.parities[member] {
                    let piece = parity
                        .as_ref()
                        .map(|parity| parity_piece(parity, s, at, length));
                    let piece = piece.and_then(Result::ok).unwrap_or_default();
                    self.send_piece(to, piece)?;
                }
            }
        }
        Ok(())
    }

    /// Sends a piece, and waits until it has come. So no more than one is on its way.
    fn send_piece(&mut self, to: usize, piece: Vec<u8>) -> Result<(), JobError> {
        self.messages.send(to, piece)?;
        self.messages.receive(to)?;
        Ok(())
    }

    /// Receives a piece, and says so.
    fn answered(&mut self, from: usize) -> Result<Vec<u8>, JobError> {
        let piece = self.messages.receive(from)?;
        self.messages.send(from, Vec::new())?;
        Ok(piece)
    }

    /// Rebuilds the file of this node from what the others send. The outer error says that a node
    /// is lost. Receives all messages in any case, because others would come too late.
    fn receive_file(&mut self, job: &Job<'_>) -> Result<Result<(), WriteError>, JobError> {
        let Some(part) = job.commit.part(self.node()) else {
            return Ok(Ok(()));
        };
        let path = self.settings.local.join(&part.file.file);
        let begun = atomic::begin(&path, self.settings.options.mode, |_| Ok(()));
        let mut pending = begun.map(|(pending, ())| pending);
        for (_, stripe) in job.stripes() {
            let Some(number) = stripe.chunk_of(job.lost) else {
                continue;
            };
            for (at, length) in pieces(job.chunk()) {
                let piece = self.receive_piece(job, &stripe, length)?;
                let put = |file: &File| {
                    let piece = piece.map_err(io::Error::other)?;
                    file.write_all_at(&piece, number as u64 * job.chunk() + at)
                };
                pending = pending.and_then(|pending| {
                    put(pending.file()).map_err(|e| Fault::from(e).at(&path))?;
                    Ok(pending)
                });
            }
        }
        Ok(pending.and_then(|pending| {
            let cut = pending.file().set_len(part.file.bytes);
            cut.map_err(|e| Fault::from(e).at(&path))?;
            let same = hashed::check(&pending.here(), &part.file);
            same.map_err(|why| WriteError::NotWritten {
                path: path.clone(),
                why,
            })?;
            pending.commit().map(drop)
        }))
    }

    /// Receives the pieces of a stripe, and computes that of this node.
    fn receive_piece(
        &mut self,
        job: &Job<'_>,
        stripe: &Stripe,
        length: u64,
    ) -> Result<Result<Vec<u8>, String>, JobError> {
        let whole = |piece: Vec<u8>| (piece.len() as u64 == length).then_some(piece);
        let (mut data, mut parity) = (Vec::new(), Vec::new());
        for (member, _) in &stripe.data {
            data.push(match job.files[*member] {
                true => whole(self.answered(job.set[*member])?),
                false => None,
            });
        }
        for member in &stripe.parity {
            parity.push(match job.parities[*member] {
                true => whole(self.answered(job.set[*member])?),
                false => None,
            });
        }
        let own = stripe
            .data
            .iter()
            .position(|(member, _)| *member == job.lost);
        let all = code::decode(data, parity);
        Ok(all.and_then(|all| {
            let piece = own.and_then(|own| all.into_iter().nth(own));
            piece.ok_or_else(|| "a piece was not computed".to_owned())
        }))
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
}

fn parity_piece(of: &Parity, stripe: usize, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let slot = of.header.stripes().iter().position(|(s, _)| *s == stripe);
    let slot = slot.ok_or(io::ErrorKind::NotFound)?;
    of.get(slot, at, length)
}
