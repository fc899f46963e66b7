//! A checkpoint of a job that is read.

use super::error::JobError;
use super::node_file::{self, Rank, name_of};
use super::record::{Block, Committed, Level};
use crate::error::ReadError;
use crate::file::memory;
use crate::read::Checkpoint;
use ndarray::{ArrayD, Axis, Slice};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tcasm_core::field::{self, Element, FieldDesc, check_type};

/// A committed checkpoint of a job, of which every block is there.
#[derive(Debug)]
pub struct JobCheckpoint {
    group: String,
    committed: Committed,
    files: Vec<NodeFile>,
    passed_over: Vec<(u64, String)>,
}

/// The file of a node, which is opened when it is needed.
#[derive(Debug)]
struct NodeFile {
    path: PathBuf,
    ranks: Vec<u32>,
    open: OnceCell<Checkpoint>,
}

/// A part of a global array, as one range for each axis.
type Ranges = Vec<Range<usize>>;

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
            open: OnceCell::new(),
        });
        JobCheckpoint {
            group: group.to_owned(),
            files: files.collect(),
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
        for file in &self.files {
            file.checkpoint()?.verify()?;
        }
        Ok(())
    }

    /// Returns what the region of a rank was.
    pub fn rank(&self, rank: u32) -> Result<Rank, JobError> {
        let file = self.file_of(rank)?;
        Ok(node_file::rank(file.checkpoint()?, rank)?)
    }

    /// Reads a field of a rank into `buffer` as it lay in memory, ghost layers included.
    pub fn read_block(&self, rank: u32, field: &str, buffer: &mut [u8]) -> Result<(), JobError> {
        let file = self.file_of(rank)?.checkpoint()?;
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

    /// Reads a part of a global array from whatever files have it: one range of global indices for
    /// each axis. The last axis of a vector is its components. Where blocks overlap, the value of
    /// the lowest rank counts.
    pub fn read<T: Element>(
        &self,
        field: &str,
        ranges: &[Range<usize>],
    ) -> Result<ArrayD<T>, JobError> {
        let desc = self.global(field)?;
        check_type::<T>(&desc)?;
        check_ranges(&desc, ranges)?;
        let mut shape: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        let points = shape.iter().product::<usize>();
        shape.extend((desc.components > 1).then_some(desc.components));
        let bytes = (points * desc.components * size_of::<T>()) as u64;
        memory::check(bytes).map_err(|why| JobError::TooLarge {
            field: field.to_owned(),
            need: why.need,
            have: why.have,
        })?;
        let mut out = ArrayD::from_elem(shape, T::zeroed());
        let mut covered = ArrayD::from_elem(
            ranges
                .iter()
                .map(ExactSizeIterator::len)
                .collect::<Vec<_>>(),
            false,
        );
        for (rank, part) in self.overlapping(field, ranges) {
            let inside: Ranges = part
                .iter()
                .zip(ranges)
                .map(|(p, all)| shifted(p, all.start))
                .collect();
            covered
                .slice_each_axis_mut(|axis| Slice::from(inside[axis.axis.index()].clone()))
                .fill(true);
            let to = out.slice_each_axis_mut(|axis| match inside.get(axis.axis.index()) {
                Some(range) => Slice::from(range.clone()),
                None => Slice::from(..),
            });
            self.copy_part::<T>((rank, field), &desc, &part, to)?;
        }
        match covered.iter().filter(|covered| !**covered).count() {
            0 => Ok(out),
            count => Err(JobError::Missing {
                field: field.to_owned(),
                count,
            }),
        }
    }

    /// Returns the ranks whose blocks have a part of `ranges`, highest rank first, and that part.
    fn overlapping(&self, field: &str, ranges: &[Range<usize>]) -> Vec<(u32, Ranges)> {
        let blocks = self.blocks().filter(|block| block.field == field);
        let parts = blocks.filter_map(|block| {
            let offset = block.offset.as_ref()?;
            let own = offset
                .iter()
                .zip(&block.count)
                .map(|(start, n)| *start..start + n);
            let part: Ranges = own
                .zip(ranges)
                .map(|(own, all)| common(&own, all))
                .collect();
            (!part.iter().any(Range::is_empty)).then_some((block.rank, part))
        });
        let mut parts: Vec<_> = parts.collect();
        parts.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        parts
    }

    /// Copies a part of a global array out of the block of a rank.
    fn copy_part<T: Element>(
        &self,
        (rank, name): (u32, &str),
        whole: &FieldDesc,
        part: &[Range<usize>],
        mut to: ndarray::ArrayViewMutD<'_, T>,
    ) -> Result<(), JobError> {
        let described = self.rank(rank)?;
        let block = described
            .table
            .get(name)
            .ok_or_else(|| self.no_field(name))?;
        let own = block
            .whole(&described.table)
            .unwrap_or_else(|| block.clone());
        same(whole, &own, rank)?;
        let mut bytes = vec![0; block.bytes() as usize];
        self.read_block(rank, name, &mut bytes)?;
        // The bytes may lie at any address, so the values are copied to where they are aligned.
        let values: Vec<T> = bytemuck::allocation::pod_collect_to_vec(&bytes);
        let mut view = field::view::<T>(block, bytemuck::cast_slice(&values))?;
        let offset = block.global.as_ref().map_or(&[][..], |place| &place.offset);
        for (axis, range) in part.iter().enumerate() {
            let start = range.start - offset[axis] + block.ghosts[axis][0];
            view.slice_axis_inplace(Axis(axis), Slice::from(start..start + range.len()));
        }
        to.assign(&view);
        Ok(())
    }

    fn whole(&self, rank: u32, field: &str) -> Result<FieldDesc, JobError> {
        let described = self.rank(rank)?;
        let block = described.table.get(field);
        let whole = block.and_then(|block| block.whole(&described.table));
        whole.ok_or_else(|| self.no_field(field))
    }

    fn file_of(&self, rank: u32) -> Result<&NodeFile, JobError> {
        let mut files = self.files.iter();
        let found = files.find(|file| file.ranks.contains(&rank));
        found.ok_or(JobError::NoRank {
            rank,
            ranks: self.ranks(),
        })
    }

    fn no_field(&self, field: &str) -> JobError {
        JobError::NoField {
            field: field.to_owned(),
            have: self.fields().into_iter().map(str::to_owned).collect(),
        }
    }
}

impl NodeFile {
    fn checkpoint(&self) -> Result<&Checkpoint, ReadError> {
        if self.open.get().is_none() {
            // It stays empty only if the file cannot be opened.
            let _ = self.open.set(Checkpoint::open(&self.path)?);
        }
        let missing = || ReadError::NoneFound(self.path.clone());
        self.open.get().ok_or_else(missing)
    }
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start - by..range.end - by
}

fn common(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

/// Checks that ranges are inside a global array.
fn check_ranges(desc: &FieldDesc, ranges: &[Range<usize>]) -> Result<(), JobError> {
    let fits = |(range, n): (&Range<usize>, &usize)| range.start <= range.end && range.end <= *n;
    match ranges.len() == desc.shape.len() && ranges.iter().zip(&desc.shape).all(fits) {
        true => Ok(()),
        false => Err(JobError::Range {
            field: desc.name.clone(),
            ranges: format!("{ranges:?}"),
            shape: desc.shape.clone(),
        }),
    }
}

/// Checks that the block of a rank belongs to the same array as that of the lowest rank.
fn same(one: &FieldDesc, other: &FieldDesc, rank: u32) -> Result<(), JobError> {
    let facts = [
        ("dtype", one.dtype == other.dtype),
        ("kind", one.kind == other.kind),
        ("number of components", one.components == other.components),
        ("global shape", one.shape == other.shape),
    ];
    match facts.into_iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((what, _)) => Err(JobError::Differs {
            field: one.name.clone(),
            what,
            rank,
        }),
    }
}
