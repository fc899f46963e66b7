//! Files that are sent by messages: copies, and files that are rebuilt from the rest of their set.
//!
//! All processes go through the same list of transfers. Each piece is answered before the next one
//! is sent, so no more than one is on its way between two processes.

use super::lost_file::{Bytes, LostFile, Own, Piece};
use super::messages::{Lost, Messages};
use super::parity_file::pieces;
use super::places::Places;
use super::plan::{Key, Source, Transfer};
use super::received::Received;
use super::record::{FileEntry, Steps};
use crate::error::WriteError;
use crate::file::regular;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A process that sends and receives files of checkpoints.
pub struct Process<'p, M> {
    pub messages: &'p mut M,
    pub group: &'p str,
    /// Its folders. What it gets comes into the one for rebuilt files.
    pub places: &'p Places,
    /// The committed steps, which are the same on all processes.
    pub steps: &'p Steps,
    /// The files that were found to be whole here.
    pub whole: BTreeMap<Key, PathBuf>,
}

impl<M: Messages> Process<'_, M> {
    /// Does the part of this process in all transfers. The inner error says which file it did not
    /// get.
    pub fn carry(&mut self, transfers: &[Transfer]) -> Result<Result<(), String>, Lost> {
        let mut result = Ok(());
        for transfer in transfers {
            let done = self.carry_one(transfer)?;
            result = result.and(done.map_err(|error| error.to_string()));
        }
        Ok(result)
    }

    fn carry_one(&mut self, transfer: &Transfer) -> Result<Result<(), WriteError>, Lost> {
        let Transfer { key, to, from } = transfer;
        let Some(entry) = key.entry(self.steps) else {
            return Ok(Ok(()));
        };
        let own = self.messages.node();
        match from {
            Source::Copy(from) if *to == own => return self.receive_copy(entry, *from),
            Source::Copy(from) if *from == own => self.send_copy(*key, entry, *to)?,
            Source::Copy(_) => {}
            Source::Set { files, parities } => {
                let commit = key.commit(self.steps);
                match commit.and_then(|commit| LostFile::new(commit, key.node, files, parities)) {
                    Some(of) if *to == own => return self.rebuild(entry, &of),
                    Some(of) => self.send_pieces(&of, *to)?,
                    None => {}
                }
            }
        }
        Ok(Ok(()))
    }

    /// Sends a copy of a file.
    fn send_copy(&mut self, key: Key, entry: &FileEntry, to: usize) -> Result<(), Lost> {
        let path = self.whole.get(&key);
        let file = path.and_then(|path| regular::open(path).ok());
        for (at, length) in pieces(entry.bytes) {
            let piece = file.as_ref().and_then(|file| read(file, at, length));
            self.send_piece(to, piece)?;
        }
        Ok(())
    }

    /// Receives a copy of a file.
    fn receive_copy(
        &mut self,
        entry: &FileEntry,
        from: usize,
    ) -> Result<Result<(), WriteError>, Lost> {
        let mut received = Received::begin(self.places, entry);
        for (at, length) in pieces(entry.bytes) {
            let piece = self.answered(from, length)?;
            received.put(at, piece.ok_or(format!("process {from} cannot read it")));
        }
        Ok(received.finish(entry))
    }

    /// Sends what this process has of the stripes of a lost file.
    fn send_pieces(&mut self, of: &LostFile<'_>, to: usize) -> Result<(), Lost> {
        let node = self.messages.node();
        let own = of.own(node, self.group, &self.whole);
        for (stripe, _) in of.stripes() {
            for place in pieces(of.chunk()) {
                let sources = of.sources(&stripe).into_iter();
                for (_, piece) in sources.filter(|(holder, _)| *holder == node) {
                    self.send_piece(to, own.read(piece, place))?;
                }
            }
        }
        Ok(())
    }

    /// Rebuilds a file from what other processes send, and what this one has. Receives all
    /// messages in any case, because others would come too late.
    fn rebuild(
        &mut self,
        entry: &FileEntry,
        of: &LostFile<'_>,
    ) -> Result<Result<(), WriteError>, Lost> {
        let own = of.own(self.messages.node(), self.group, &self.whole);
        let mut received = Received::begin(self.places, entry);
        for (stripe, chunk) in of.stripes() {
            for place in pieces(of.chunk()) {
                let found = self.collect(&own, of.sources(&stripe), place)?;
                let at = chunk as u64 * of.chunk() + place.0;
                received.put(at, of.compute(&stripe.1, found));
            }
        }
        Ok(received.finish(entry))
    }

    /// Receives pieces from the processes that have them, or reads them.
    fn collect(
        &mut self,
        own: &Own,
        sources: Vec<(usize, Piece)>,
        place: (u64, u64),
    ) -> Result<Vec<(Piece, Bytes)>, Lost> {
        let node = self.messages.node();
        let collected = sources
            .into_iter()
            .map(|(holder, piece)| match holder == node {
                true => Ok((piece, own.read(piece, place))),
                false => Ok((piece, self.answered(holder, place.1)?)),
            });
        collected.collect()
    }

    /// Sends a piece, and waits until it has come. An empty one says that it could not be read.
    fn send_piece(&mut self, to: usize, piece: Bytes) -> Result<(), Lost> {
        self.messages.send(to, piece.unwrap_or_default())?;
        self.messages.receive(to)?;
        Ok(())
    }

    /// Receives a piece, and says so.
    fn answered(&mut self, from: usize, length: u64) -> Result<Bytes, Lost> {
        let piece = self.messages.receive(from)?;
        self.messages.send(from, Vec::new())?;
        Ok((piece.len() as u64 == length).then_some(piece))
    }
}

fn read(file: &File, at: u64, length: u64) -> Bytes {
    let mut piece = vec![0; length as usize];
    file.read_exact_at(&mut piece, at).ok()?;
    Some(piece)
}
