//! The values of a global array where they are: rows in the order of global indices.

use super::boxes::{Ranges, is_empty};
use super::error::GlobalArrayError;
use super::field::{GlobalBlock, GlobalField};
use crate::error::ViewError;
use crate::view::View;
use ndarray::{ArrayViewD, Axis, Slice};
use std::marker::PhantomData;
use std::ops::Range;
use tcasm_core::field::{Element, check_type};

/// The mapped blocks of a global array. Nothing is gathered.
#[derive(Debug)]
pub struct GlobalView<'v, T> {
    field: GlobalField<'v>,
    /// The view of each block.
    views: Vec<View>,
    _type: PhantomData<fn() -> T>,
}

/// A row of a global array, along its last axis, or the part of a row that one rank has.
#[derive(Clone, Debug)]
pub struct Row<'a, T> {
    /// The rank.
    pub rank: u32,
    /// The global index of the first value.
    pub index: Vec<usize>,
    /// The values. A vector has a second axis, its components.
    pub values: ArrayViewD<'a, T>,
}

/// An iterator over the rows of a part of a global array, in C order: the last index varies
/// fastest. Indices that no block has, if they are no errors, are in no row.
#[derive(Debug)]
pub struct Rows<'a, T> {
    blocks: Vec<Mapped<'a, T>>,
    /// The part, as one range for each axis.
    part: Ranges,
    /// The indices of the next row along all axes but the last, or `None` at the end.
    lead: Option<Vec<usize>>,
    /// The rest of the row that was begun, last part first.
    row: Vec<Row<'a, T>>,
}

/// A block, and its values without ghost layers.
#[derive(Debug)]
struct Mapped<'a, T> {
    rank: u32,
    ranges: Ranges,
    values: ArrayViewD<'a, T>,
}

impl<'v> GlobalField<'v> {
    /// Maps all blocks, with values of type `T`.
    pub fn view<T: Element>(&self) -> Result<GlobalView<'v, T>, GlobalArrayError> {
        check_type::<T>(&self.desc)?;
        let views = self.blocks.iter().map(|block| {
            let field = block.field;
            let view = field.version.view_of(&[field.field.name.as_str()]);
            view.map_err(|source| failed(block, source))
        });
        Ok(GlobalView {
            views: views.collect::<Result<_, _>>()?,
            field: self.clone(),
            _type: PhantomData,
        })
    }
}

impl<T: Element> GlobalView<'_, T> {
    /// Returns the rows of the whole array.
    pub fn rows(&self) -> Result<Rows<'_, T>, GlobalArrayError> {
        self.rows_of(&self.field.all())
    }

    /// Returns the rows of a part of the array: one range of global indices for each axis. Indices
    /// that no block has are an error, or are left out with [`GlobalField::or_fill`].
    pub fn rows_of(&self, part: &[Range<usize>]) -> Result<Rows<'_, T>, GlobalArrayError> {
        self.field.check(part)?;
        let lead = part.iter().rev().skip(1).rev().map(|range| range.start);
        Ok(Rows {
            blocks: self.mapped()?,
            lead: (!is_empty(part)).then(|| lead.collect()),
            part: part.to_vec(),
            row: Vec::new(),
        })
    }

    /// Copies bytes of the whole array in C order, from an offset on. The components of a point lie
    /// side by side. The bytes must be those of whole values.
    pub fn read_bytes(&self, at: u64, out: &mut [u8]) -> Result<(), GlobalArrayError> {
        let size = size_of::<T>();
        self.check_bytes(at, out.len() as u64)?;
        let (first, count) = (at as usize / size, out.len() / size);
        if count == 0 {
            return Ok(());
        }
        let mut rows = self.rows()?;
        if let Some(fill) = &self.field.fill {
            out.chunks_exact_mut(size)
                .for_each(|to| to.copy_from_slice(fill));
        }
        let width = self.field.shape().last().copied().unwrap_or(1) * self.field.desc.components;
        rows.lead = Some(rows.lead_of(first / width));
        for row in rows {
            let own = self.number_of(&row.index);
            let (start, end) = (own.max(first), (own + row.values.len()).min(first + count));
            if start < end {
                let to = (start - first) * size..(end - first) * size;
                copy_values(&row.values, start - own, &mut out[to]);
            }
            if own >= first + count {
                break;
            }
        }
        Ok(())
    }

    /// Returns the number of the value with this global index, of all values in C order.
    fn number_of(&self, index: &[usize]) -> usize {
        let axes = index.iter().zip(self.field.shape());
        axes.fold(0, |number, (i, n)| number * n + i) * self.field.desc.components
    }

    fn check_bytes(&self, at: u64, len: u64) -> Result<(), GlobalArrayError> {
        let (desc, size) = (&self.field.desc, size_of::<T>() as u64);
        let is_whole = at.is_multiple_of(size) && len.is_multiple_of(size);
        let end = at.saturating_add(len);
        match is_whole && end <= desc.bytes() {
            true => Ok(()),
            false => Err(GlobalArrayError::Bytes {
                name: desc.name.clone(),
                range: at..end,
                bytes: desc.bytes(),
                size,
            }),
        }
    }

    fn mapped(&self) -> Result<Vec<Mapped<'_, T>>, GlobalArrayError> {
        let blocks = self.field.blocks.iter().zip(&self.views);
        let mapped = blocks.map(|(block, view)| {
            let values = view.interior::<T>(&block.field.field.name);
            let values = values.map_err(|source| failed(block, source))?;
            Ok(Mapped {
                rank: block.field.rank,
                ranges: block.ranges.clone(),
                // A value without dimensions is a row of one when it is concatenated.
                values: match block.ranges.len() > block.field.field.shape.len() {
                    true => values.insert_axis(Axis(0)),
                    false => values,
                },
            })
        });
        mapped.collect()
    }
}

fn failed(block: &GlobalBlock<'_>, source: ViewError) -> GlobalArrayError {
    let rank = block.field.rank;
    GlobalArrayError::View { rank, source }
}

/// Copies the bytes of as many values as `out` has room for, from number `first` on.
fn copy_values<T: Element>(values: &ArrayViewD<'_, T>, first: usize, out: &mut [u8]) {
    let count = out.len() / size_of::<T>();
    if let Some(values) = values.as_slice() {
        return out.copy_from_slice(bytemuck::cast_slice(&values[first..first + count]));
    }
    let from = values.iter().skip(first);
    for (to, value) in out.chunks_exact_mut(size_of::<T>()).zip(from) {
        to.copy_from_slice(bytemuck::bytes_of(value));
    }
}

impl<'a, T> Rows<'a, T> {
    /// Returns all values, in the order of their global indices. The components of a point follow
    /// each other.
    pub fn values(self) -> impl Iterator<Item = &'a T> {
        self.flat_map(|row| row.values.into_iter())
    }

    /// Returns the indices of row `number` along all axes but the last.
    fn lead_of(&self, mut number: usize) -> Vec<usize> {
        let axes = &self.part[..self.part.len().saturating_sub(1)];
        let mut lead: Vec<usize> = Vec::new();
        for range in axes.iter().rev() {
            lead.push(range.start + number % range.len());
            number /= range.len();
        }
        lead.reverse();
        lead
    }

    /// Moves on to the next row. Returns the indices of the one before.
    fn step(&mut self) -> Option<Vec<usize>> {
        let lead = self.lead.take()?;
        let mut next = lead.clone();
        for (axis, range) in self.part[..lead.len()].iter().enumerate().rev() {
            next[axis] += 1;
            if next[axis] < range.end {
                self.lead = Some(next);
                break;
            }
            next[axis] = range.start;
        }
        Some(lead)
    }

    /// Returns the parts of a row, the last one first.
    fn parts(&self, lead: &[usize]) -> Vec<Row<'a, T>> {
        let has = |b: &&Mapped<'a, T>| b.ranges.iter().zip(lead).all(|(r, i)| r.contains(i));
        let blocks: Vec<&Mapped<'a, T>> = self.blocks.iter().filter(has).collect();
        let Some(columns) = self.part.last() else {
            return blocks
                .first()
                .map(|b| b.row(lead, None))
                .into_iter()
                .collect();
        };
        let along = |b: &Mapped<'a, T>| b.ranges[lead.len()].clone();
        let next = |blocks: &[&Mapped<'a, T>], at: usize| {
            let starts = blocks.iter().map(|b| along(b).start);
            starts.filter(|start| *start > at).min()
        };
        let (mut parts, mut at) = (Vec::new(), columns.start);
        while at < columns.end {
            let Some(owner) = blocks.iter().position(|b| along(b).contains(&at)) else {
                // No block has the values before the next one.
                at = next(&blocks, at).unwrap_or(columns.end);
                continue;
            };
            // Lower ranks take over where their blocks begin.
            let end = columns.end.min(along(blocks[owner]).end);
            let end = next(&blocks[..owner], at).map_or(end, |start| start.min(end));
            parts.push(blocks[owner].row(lead, Some(at..end)));
            at = end;
        }
        parts.reverse();
        parts
    }
}

impl<'a, T> Mapped<'a, T> {
    /// Returns the values of a row that have the global indices `columns` along the last axis.
    fn row(&self, lead: &[usize], columns: Option<Range<usize>>) -> Row<'a, T> {
        let mut values = self.values.clone();
        for (range, i) in self.ranges.iter().zip(lead) {
            values = values.index_axis_move(Axis(0), i - range.start);
        }
        let mut index = lead.to_vec();
        if let Some(columns) = columns {
            index.push(columns.start);
            let first = self.ranges[lead.len()].start;
            let local = columns.start - first..columns.end - first;
            values.slice_axis_inplace(Axis(0), Slice::from(local));
        }
        Row {
            rank: self.rank,
            index,
            values,
        }
    }
}

impl<'a, T> Iterator for Rows<'a, T> {
    type Item = Row<'a, T>;

    fn next(&mut self) -> Option<Row<'a, T>> {
        loop {
            if let Some(row) = self.row.pop() {
                return Some(row);
            }
            let lead = self.step()?;
            self.row = self.parts(&lead);
        }
    }
}
