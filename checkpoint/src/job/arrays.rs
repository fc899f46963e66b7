//! Parts of global arrays, from the blocks that have them. What manifest and files say of blocks is
//! compared, because both may be damaged.

use super::error::JobError;
use super::job_checkpoint::JobCheckpoint;
use super::record::Block;
use crate::file::memory;
use ndarray::{ArrayD, Axis, Slice};
use std::ops::Range;
use tcasm_core::field::{self, Element, FieldDesc, check_type};

/// A part of a global array, as one range for each axis.
type Ranges = Vec<Range<usize>>;

impl JobCheckpoint {
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
        // This cannot overflow: a description is read only if the whole array is possible.
        let bytes = points * desc.components * size_of::<T>();
        check_memory(field, bytes as u64)?;
        let mut out = ArrayD::from_elem(shape, T::zeroed());
        let mut covered = ArrayD::from_elem(
            ranges
                .iter()
                .map(ExactSizeIterator::len)
                .collect::<Vec<_>>(),
            false,
        );
        for (rank, part) in self.overlapping(field, ranges)? {
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
    fn overlapping(
        &self,
        field: &str,
        ranges: &[Range<usize>],
    ) -> Result<Vec<(u32, Ranges)>, JobError> {
        let mut parts = Vec::new();
        for block in self.blocks().filter(|block| block.field == field) {
            let own = block.place().filter(|own| own.len() == ranges.len());
            let own = own.ok_or_else(|| {
                let dims = ranges.len();
                bad_block(block, format!("its place is not one in {dims} dimensions"))
            })?;
            let part: Ranges = own
                .iter()
                .zip(ranges)
                .map(|(o, all)| common(o, all))
                .collect();
            if !part.iter().any(Range::is_empty) {
                parts.push((block.rank, part));
            }
        }
        parts.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        Ok(parts)
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
        let start = start_in(block, part).ok_or_else(|| JobError::BadBlock {
            rank,
            field: name.to_owned(),
            why: format!("{part:?} is not in its file"),
        })?;
        check_memory(name, block.bytes())?;
        let mut bytes = vec![0; block.bytes() as usize];
        self.read_block(rank, name, &mut bytes)?;
        // The bytes may lie at any address, so the values are copied to where they are aligned.
        let values: Vec<T> = bytemuck::allocation::pod_collect_to_vec(&bytes);
        let mut view = field::view::<T>(block, bytemuck::cast_slice(&values))?;
        for (axis, (start, range)) in start.into_iter().zip(part).enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::from(start..start + range.len()));
        }
        to.assign(&view);
        Ok(())
    }
}

/// Returns the indices in the memory of `block` at which `part` of the global array begins, if all
/// of it is there.
fn start_in(block: &FieldDesc, part: &[Range<usize>]) -> Option<Vec<usize>> {
    let own = block.block().filter(|own| own.len() == part.len())?;
    let axes = own.iter().zip(&block.ghosts).zip(part);
    let starts = axes.map(|((own, ghosts), range)| {
        let is_inside = own.start <= range.start && range.end <= own.end;
        is_inside.then(|| range.start - own.start + ghosts[0])
    });
    starts.collect()
}

fn check_memory(field: &str, bytes: u64) -> Result<(), JobError> {
    memory::check(bytes).map_err(|why| JobError::TooLarge {
        field: field.to_owned(),
        need: why.need,
        have: why.have,
    })
}

fn bad_block(block: &Block, why: String) -> JobError {
    JobError::BadBlock {
        rank: block.rank,
        field: block.field.clone(),
        why,
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
