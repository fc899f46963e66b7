//! A checkpoint of a job that is read.

use super::error::JobError;
use super::node_file::{self, Rank, name_of};
use super::open_files::OpenFiles;
use super::record::{Block, Committed, Level};
use crate::error::ReadError;
use crate::read::Checkpoint;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tcasm_core::field::FieldDesc;

/// A committed checkpoint of a job, of which every block is there.
#[derive(Debug)]
pub struct JobCheckpoint {
    group: String,
    committed: Committed,
    files: Vec<NodeFile>,
    open: OpenFiles,
    passed_over: Vec<(u64, String)>,
}

/// The file of a node, which is opened when it is needed.
#[derive(Debug)]
struct NodeFile {
    path: PathBuf,
    ranks: Vec<u32>,
    /// The identity of its state.
    id: String,
}

impl JobCheckpoint {
    pub(super) fn new(
        group: &str,
        committed: Committed,
        paths: Vec<PathBuf>,
        passed_over: Vec<(u64, String)>,
    ) -> Self {
        let files = committed.commit.parts.iter().zip(paths);
        let files = files.map(|(part, path)| NodeFile {
            path,
            ranks: part.ranks.clone(),
            id: part.id.clone(),
        });
        JobCheckpoint {
            group: group.to_owned(),
            files: files.collect(),
            open: OpenFiles::default(),
            committed,
            passed_over,
        }
    }

    /// Returns the name of the group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Returns the step.
    pub fn step(&self) -> u64 {
        self.committed.commit.step
    }

    /// Returns the simulated time.
    pub fn time(&self) -> f64 {
        self.committed.commit.time
    }

    /// Returns the name of the run, which may be empty.
    pub fn run(&self) -> &str {
        &self.committed.commit.run
    }

    /// Returns the number of ranks that have written it.
    pub fn ranks(&self) -> u32 {
        self.committed.commit.ranks
    }

    /// Returns its level when it was opened.
    pub fn level(&self) -> Level {
        self.committed.level
    }

    /// Returns the newer checkpoints that could not be used, and why.
    pub fn passed_over(&self) -> &[(u64, String)] {
        &self.passed_over
    }

    /// Returns the paths of the files of all nodes.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Returns the block table: the fields of all ranks.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let parts = self.committed.commit.parts.iter();
        parts.flat_map(|part| &part.blocks)
    }

    /// Returns the names of all fields, sorted.
    pub fn fields(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.blocks().map(|block| block.field.as_str()).collect();
        names.into_iter().collect()
    }

    /// Reads and checks the values of all files.
    pub fn verify(&self) -> Result<(), JobError> {
        for number in 0..self.files.len() {
            self.file(number)?.verify()?;
        }
        Ok(())
    }

    /// Returns what the region of a rank was.
    pub fn rank(&self, rank: u32) -> Result<Rank, JobError> {
        let file = self.file_of(rank)?;
        Ok(node_file::rank(&file, rank)?)
    }

    /// Reads a field of a rank into `buffer` as it lay in memory, ghost layers included.
    pub fn read_block(&self, rank: u32, field: &str, buffer: &mut [u8]) -> Result<(), JobError> {
        let file = self.file_of(rank)?;
        Ok(file.read_bytes(&name_of(field, rank), buffer)?)
    }

    /// Returns true if the field is a global array, so that it can be restored on any number of
    /// ranks.
    pub fn is_global(&self, field: &str) -> Result<bool, JobError> {
        let mut blocks = self
            .blocks()
            .filter(|block| block.field == field)
            .peekable();
        match blocks.peek() {
            None => Err(self.no_field(field)),
            Some(_) => Ok(blocks.all(|block| block.offset.is_some())),
        }
    }

    /// Checks that a field can be restored on `ranks` ranks.
    pub fn check_ranks(&self, field: &str, ranks: u32) -> Result<(), JobError> {
        match self.is_global(field)? || ranks == self.ranks() {
            true => Ok(()),
            false => Err(JobError::OtherRanks {
                field: field.to_owned(),
                stored: self.ranks(),
                asked: ranks,
            }),
        }
    }

    /// Returns the description of a global array, as if one process had all of it. Mesh, unit and
    /// attributes are those that the block of the lowest rank gives.
    pub fn global(&self, field: &str) -> Result<FieldDesc, JobError> {
        if !self.is_global(field)? {
            return Err(JobError::Local(field.to_owned()));
        }
        let ranks = self.blocks().filter(|block| block.field == field);
        let rank = ranks.map(|block| block.rank).min();
        let rank = rank.ok_or_else(|| self.no_field(field))?;
        self.whole(rank, field)
    }

    fn whole(&self, rank: u32, field: &str) -> Result<FieldDesc, JobError> {
        let described = self.rank(rank)?;
        let block = described.table.get(field);
        let whole = block.and_then(|block| block.whole(&described.table));
        whole.ok_or_else(|| self.no_field(field))
    }

    /// Returns the file that has the blocks of a rank.
    fn file_of(&self, rank: u32) -> Result<Arc<Checkpoint>, JobError> {
        let mut files = self.files.iter();
        let number = files.position(|file| file.ranks.contains(&rank));
        let number = number.ok_or(JobError::NoRank {
            rank,
            ranks: self.ranks(),
        })?;
        Ok(self.file(number)?)
    }

    /// Returns the file with this number, which is opened if it is not open.
    fn file(&self, number: usize) -> Result<Arc<Checkpoint>, ReadError> {
        self.open.get(number, || self.files[number].open())
    }

    pub(super) fn no_field(&self, field: &str) -> JobError {
        JobError::NoField {
            field: field.to_owned(),
            have: self.fields().into_iter().map(str::to_owned).collect(),
        }
    }
}

impl NodeFile {
    /// Opens the file, which must still be the one whose hash was checked.
    fn open(&self) -> Result<Checkpoint, ReadError> {
        let found = Checkpoint::open(&self.path)?;
        match found.id() == self.id {
            true => Ok(found),
            false => Err(ReadError::Damaged {
                path: self.path.clone(),
                why: "it was replaced since the checkpoint was found, so find it again".to_owned(),
            }),
        }
    }
}
