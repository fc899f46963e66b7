//! A checkpoint of a job that is read.

use super::error::JobError;
use super::node_file::{self, Rank, name_of};
use super::open_files::OpenFiles;
use super::places::Places;
use super::record::{Block, Commit, Committed, Level, Part, Steps};
use crate::error::ReadError;
use crate::read::Checkpoint;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tcasm_core::field::FieldDesc;

/// A committed checkpoint of a job, of which every block is there.
#[derive(Debug)]
pub struct JobCheckpoint {
    group: String,
    committed: Committed,
    /// The files of all nodes, in the order of the parts.
    files: Vec<NodeFile>,
    /// Where files are looked for that were not checked, if there may be some.
    source: Option<Source>,
    open: OpenFiles,
    passed_over: Vec<(u64, String)>,
}

/// The file of a node, which is opened when it is needed.
#[derive(Debug)]
struct NodeFile {
    /// Where it was seen, or may be rebuilt.
    seen: PathBuf,
    /// False if it was not seen.
    is_here: bool,
    /// Where it is, once its hash was checked, and the hashes of all that it builds on.
    whole: OnceLock<PathBuf>,
}

/// The places and the entries of files.
#[derive(Debug)]
struct Source {
    places: Places,
    /// The committed steps, without blocks.
    steps: Steps,
}

impl JobCheckpoint {
    /// Returns a checkpoint whose files are whole.
    pub(super) fn checked(group: &str, committed: Committed, paths: Vec<PathBuf>) -> Self {
        let files = paths.into_iter().map(NodeFile::whole).collect();
        Self::new(group, committed, files, None)
    }

    /// Opens a checkpoint whose files seem to be there, or to be possible to rebuild. Each is
    /// checked before it is read.
    pub(super) fn unchecked(
        group: &str,
        committed: Committed,
        places: &Places,
        steps: &Steps,
    ) -> Result<Self, JobError> {
        let commit = &committed.commit;
        let source = Source::new(places, steps, commit.step);
        let files = commit.parts.iter().map(|part| {
            if let Some(path) = places.seen(steps, part) {
                return Ok(NodeFile::seen(path));
            }
            if places.is_partial {
                return Ok(NodeFile::elsewhere(places.slow.join(&part.file.file)));
            }
            // Its error says what is missing.
            Ok(NodeFile::whole(source.file(group, commit, part)?))
        });
        let files = files.collect::<Result<Vec<NodeFile>, JobError>>()?;
        Ok(Self::new(group, committed, files, Some(source)))
    }

    fn new(
        group: &str,
        committed: Committed,
        files: Vec<NodeFile>,
        source: Option<Source>,
    ) -> Self {
        JobCheckpoint {
            group: group.to_owned(),
            committed,
            files,
            source,
            open: OpenFiles::default(),
            passed_over: Vec::new(),
        }
    }

    /// Returns the same, with the newer checkpoints that could not be used.
    pub(super) fn passing_over(self, passed_over: Vec<(u64, String)>) -> Self {
        JobCheckpoint {
            passed_over,
            ..self
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

    /// Returns the paths of the files of all nodes. Of a checkpoint that another rank has chosen
    /// ([`find_at`](Self::find_at)), files that were not read yet may be lost or damaged.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.iter();
        files.map(|file| file.whole.get().unwrap_or(&file.seen).as_path())
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

    /// Returns the lowest rank whose file is here. That is the lowest one of all, unless the
    /// folders have some files only ([`Places::only_own`]).
    pub fn lowest_here(&self) -> Option<u32> {
        self.lowest(|_| true)
    }

    /// Returns the lowest rank with such a block, of those whose file is here if there is one.
    fn lowest(&self, is_it: impl Fn(&Block) -> bool) -> Option<u32> {
        let parts = self.committed.commit.parts.iter().zip(&self.files);
        let ranks = parts.flat_map(|(part, file)| {
            let blocks = part.blocks.iter().filter(|block| is_it(block));
            blocks.map(|block| (!file.is_here, block.rank))
        });
        ranks.min().map(|(_, rank)| rank)
    }

    /// Returns the path of the file that has the blocks of a rank.
    pub fn path_of(&self, rank: u32) -> Option<&Path> {
        let mut parts = self.committed.commit.parts.iter();
        let number = parts.position(|part| part.ranks.contains(&rank))?;
        self.paths().nth(number)
    }

    /// Returns the description of a global array, as if one process had all of it. Mesh, unit and
    /// attributes are those that the block of the lowest rank gives whose file is here.
    pub fn global(&self, field: &str) -> Result<FieldDesc, JobError> {
        if !self.is_global(field)? {
            return Err(JobError::Local(field.to_owned()));
        }
        let rank = self.lowest(|block| block.field == field);
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
        let mut parts = self.committed.commit.parts.iter();
        let number = parts.position(|part| part.ranks.contains(&rank));
        let number = number.ok_or(JobError::NoRank {
            rank,
            ranks: self.ranks(),
        })?;
        self.file(number)
    }

    /// Returns the file with this number, which is checked if it was not, and opened if it is not
    /// open.
    fn file(&self, number: usize) -> Result<Arc<Checkpoint>, JobError> {
        let part = &self.committed.commit.parts[number];
        let path = self.whole_file(number)?;
        Ok(self.open.get(number, || open(path, &part.id))?)
    }

    /// Returns the path of the file with this number, whose hash and those of all that it builds on
    /// are right.
    fn whole_file(&self, number: usize) -> Result<&Path, JobError> {
        let NodeFile { seen, whole, .. } = &self.files[number];
        if let (None, Some(source)) = (whole.get(), &self.source) {
            let commit = &self.committed.commit;
            let found = source.file(&self.group, commit, &commit.parts[number])?;
            // Another thread may have found it meanwhile.
            let _ = whole.set(found);
        }
        Ok(whole.get().unwrap_or(seen).as_path())
    }

    pub(super) fn no_field(&self, field: &str) -> JobError {
        JobError::NoField {
            field: field.to_owned(),
            have: self.fields().into_iter().map(str::to_owned).collect(),
        }
    }
}

impl Source {
    fn new(places: &Places, steps: &Steps, newest: u64) -> Source {
        let known = steps.range(..=newest);
        let mut steps: Steps = known.map(|(step, found)| (*step, found.clone())).collect();
        let parts = steps.values_mut().flat_map(|found| &mut found.commit.parts);
        // A large job has many blocks, and no file is found by them.
        parts.for_each(|part| part.blocks = Vec::new());
        Source {
            places: places.clone(),
            steps,
        }
    }

    /// Returns the path of the file of a node, which is whole. Rebuilds it if it is lost.
    fn file(&self, group: &str, of: &Commit, part: &Part) -> Result<PathBuf, JobError> {
        let part = std::slice::from_ref(part);
        let found = self.places.files(group, &self.steps, (of, part))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }
}

impl NodeFile {
    /// Returns a file that is whole.
    fn whole(path: PathBuf) -> NodeFile {
        NodeFile {
            seen: path.clone(),
            is_here: true,
            whole: OnceLock::from(path),
        }
    }

    /// Returns a file that was seen, but not checked.
    fn seen(path: PathBuf) -> NodeFile {
        NodeFile {
            seen: path,
            is_here: true,
            whole: OnceLock::new(),
        }
    }

    /// Returns a file that was not seen. This is where its error says that it is not.
    fn elsewhere(path: PathBuf) -> NodeFile {
        NodeFile {
            is_here: false,
            ..NodeFile::seen(path)
        }
    }
}

/// Opens a file, which must still be the one whose hash was checked: that of the state `id`.
fn open(path: &Path, id: &str) -> Result<Checkpoint, ReadError> {
    let found = Checkpoint::open(path)?;
    match found.id() == id {
        true => Ok(found),
        false => Err(ReadError::Damaged {
            path: path.to_owned(),
            why: "it was replaced since the checkpoint was found, so find it again".to_owned(),
        }),
    }
}
