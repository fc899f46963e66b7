//! A global array as the blocks that ranks have of it.

use super::boxes::{self, Ranges};
use super::error::GlobalArrayError;
use crate::group::version::{FieldBlock, GroupVersion};
use ndarray::ArrayD;
use std::collections::BTreeSet;
use std::ops::Range;
use tcasm_core::field::{DType, Element, FieldDesc, Kind, Order, check_type};

/// The most ranks that an error names.
const MOST_ABSENT: usize = 8;

/// A global array of a group: the blocks of one field that the ranks of this host have, with their
/// places. Nothing is mapped or copied before values are asked for.
///
/// Blocks may overlap, as blocks with common points on their borders do. There the values of the
/// lowest rank count.
///
/// If the ranks of a job are on several hosts, each host has a part of the array. Parts that no
/// block has are errors when they are asked for. [`GlobalField::here`] is the part that this host
/// has. With [`GlobalField::or_fill`] or [`GlobalField::or_nan`], parts that no block has have a
/// value instead.
///
/// ```no_run
/// # use tcasm_observer::{GroupVersion, GlobalArrayError};
/// # fn print(version: &GroupVersion) -> Result<(), GlobalArrayError> {
/// let t = version.global("t")?;
/// println!("{:?} in {} blocks", t.shape(), t.blocks().len());
/// let corner = t.read::<f64>(&[0..8, 0..8])?; // gathered
/// let view = t.view::<f64>()?;
/// for row in view.rows()? {
///     println!("{:?}: {}", row.index, row.values.sum()); // where the values are
/// }
/// let here = t.here().or_nan(); // what this host has of it
/// println!("{:?} of it: {}", t.bounds(), here.array::<f64>()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct GlobalField<'v> {
    /// The number of ranks of the group.
    ranks: u32,
    pub(super) desc: FieldDesc,
    pub(super) blocks: Vec<GlobalBlock<'v>>,
    /// The bytes of the value of indices that no block has, or `None` if they are errors.
    pub(super) fill: Option<Vec<u8>>,
}

/// A block of a global array.
#[derive(Clone, Debug)]
pub struct GlobalBlock<'v> {
    /// The rank that has the block, its version and its field.
    pub field: FieldBlock<'v>,
    /// The global indices of the block, a range for each axis.
    pub ranges: Vec<Range<usize>>,
}

impl GlobalBlock<'_> {
    /// Returns the global index of the first value.
    pub fn offset(&self) -> Vec<usize> {
        self.ranges.iter().map(|range| range.start).collect()
    }

    /// Returns the number of values along each axis, without ghost layers.
    pub fn count(&self) -> Vec<usize> {
        self.ranges.iter().map(ExactSizeIterator::len).collect()
    }

    /// Returns the indices of the field, ghost layers included, that have these global ones. They
    /// must be inside the block.
    pub(super) fn local(&self, ranges: &[Range<usize>]) -> Ranges {
        let starts = self.ranges.iter().zip(&self.field.field.ghosts);
        let shifted = ranges.iter().zip(starts).map(|(range, (own, ghosts))| {
            let start = range.start - own.start + ghosts[0];
            start..start + range.len()
        });
        shifted.collect()
    }
}

impl GroupVersion {
    /// Returns the global array `name`, of which the ranks have blocks.
    pub fn global(&self, name: &str) -> Result<GlobalField<'_>, GlobalArrayError> {
        let blocks = self.field_blocks(name)?.into_iter().map(|field| {
            let (desc, table) = (field.field, field.version.table());
            let local = || GlobalArrayError::Local {
                name: name.to_owned(),
                rank: field.rank,
            };
            let whole = desc.whole(table).ok_or_else(local)?;
            let ranges = desc.block().ok_or_else(local)?;
            Ok((whole, GlobalBlock { field, ranges }))
        });
        let blocks: Result<_, GlobalArrayError> = blocks.collect();
        GlobalField::new(self.ranks(), blocks?)
    }

    /// Returns the whole global array `name`, gathered from the blocks.
    pub fn array<T: Element>(&self, name: &str) -> Result<ArrayD<T>, GlobalArrayError> {
        self.global(name)?.array()
    }

    /// Returns the fields `name` of all ranks as one array: one behind the other along their first
    /// axis, in the order of ranks. They need not have a place in a global array, and may have
    /// different lengths.
    pub fn concatenated(&self, name: &str) -> Result<GlobalField<'_>, GlobalArrayError> {
        let fields = self.field_blocks(name)?;
        let lengths = fields.iter().map(|f| first_length(f.field));
        let total = lengths.sum();
        let mut start = 0;
        let blocks = fields.into_iter().map(|field| {
            let (mut shape, first) = (field.field.interior_shape(), first_length(field.field));
            let mut ranges: Ranges = shape.iter().map(|n| 0..*n).collect();
            match ranges.first_mut() {
                Some(range) => *range = start..start + first,
                None => ranges.push(start..start + 1),
            }
            start += first;
            match shape.first_mut() {
                Some(n) => *n = total,
                None => shape.push(total),
            }
            (listed(field.field, shape), GlobalBlock { field, ranges })
        });
        GlobalField::new(self.ranks(), blocks.collect())
    }

    /// Returns the blocks of field `name`, of at least one rank.
    fn field_blocks(&self, name: &str) -> Result<Vec<FieldBlock<'_>>, GlobalArrayError> {
        let blocks: Vec<_> = self.blocks(name).collect();
        if !blocks.is_empty() {
            return Ok(blocks);
        }
        let fields = self.members().flat_map(|(_, v)| &v.table().fields);
        let names: BTreeSet<&str> = fields.map(|field| field.name.as_str()).collect();
        Err(GlobalArrayError::NoField {
            name: name.to_owned(),
            available: names.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// Returns the length of the first axis without ghost layers, or 1 without dimensions.
fn first_length(desc: &FieldDesc) -> usize {
    desc.interior_shape().first().copied().unwrap_or(1)
}

/// Returns the description of concatenated fields.
fn listed(field: &FieldDesc, shape: Vec<usize>) -> FieldDesc {
    FieldDesc {
        ghosts: vec![[0, 0]; shape.len()],
        shape,
        mesh: None,
        on: None,
        capacity: None,
        global: None,
        offset: 0,
        ..field.clone()
    }
}

impl<'v> GlobalField<'v> {
    /// Combines the blocks, each with the description of the whole array. Fails if two differ.
    fn new(
        ranks: u32,
        all: Vec<(FieldDesc, GlobalBlock<'v>)>,
    ) -> Result<GlobalField<'v>, GlobalArrayError> {
        let mut blocks: Vec<GlobalBlock<'v>> = Vec::new();
        let mut first: Option<FieldDesc> = None;
        for (whole, block) in all {
            if let Some(first) = &first {
                same(first, &whole, [blocks[0].field.rank, block.field.rank])?;
            }
            first.get_or_insert(whole);
            blocks.push(block);
        }
        let desc = first.ok_or_else(|| GlobalArrayError::NoField {
            name: String::new(),
            available: Vec::new(),
        })?;
        Ok(GlobalField {
            ranks,
            desc,
            blocks,
            fill: None,
        })
    }

    /// Returns the number of ranks of the group, on all hosts.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the description of the array, as if one process had all of it. Mesh, attributes and
    /// unit are those that the block of the lowest rank gives.
    pub fn desc(&self) -> &FieldDesc {
        &self.desc
    }

    /// Returns the shape of the array, without components.
    pub fn shape(&self) -> &[usize] {
        &self.desc.shape
    }

    /// Returns the blocks of the ranks of this host, in ascending order of ranks.
    pub fn blocks(&self) -> &[GlobalBlock<'v>] {
        &self.blocks
    }

    /// Returns the parts of the array that are in no block, as one range for each axis.
    pub fn missing(&self) -> Vec<Vec<Range<usize>>> {
        self.missing_in(&self.all())
    }

    /// Returns the parts of `ranges`, one range of indices for each axis, that are in no block.
    pub fn missing_in(&self, ranges: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
        boxes::uncovered(ranges, self.blocks.iter().map(|b| b.ranges.as_slice()))
    }

    /// Returns the smallest part of the array, as one range for each axis, that has all blocks.
    pub fn bounds(&self) -> Vec<Range<usize>> {
        let along = |axis: usize| {
            let ranges = || self.blocks.iter().map(move |block| &block.ranges[axis]);
            let start = ranges().map(|range| range.start).min();
            let end = ranges().map(|range| range.end).max();
            start.unwrap_or(0)..end.unwrap_or(0)
        };
        (0..self.shape().len()).map(along).collect()
    }

    /// Returns the part of the array that this host has, as an array of its own: the smallest one
    /// that has all blocks ([`GlobalField::bounds`]), with indices from 0 on. Its description has
    /// its place in the array, and its mesh begins where it does. If the blocks reach from the
    /// first to the last index of all axes, the part is the array itself.
    ///
    /// Between the blocks, the part can have indices that are in no block
    /// ([`GlobalField::missing`]).
    #[must_use]
    pub fn here(&self) -> GlobalField<'v> {
        let bounds = self.bounds();
        if bounds == self.all() {
            return self.clone();
        }
        let moved = |block: &GlobalBlock<'v>| {
            let axes = block.ranges.iter().zip(&bounds);
            GlobalBlock {
                field: block.field,
                ranges: axes
                    .map(|(r, all)| r.start - all.start..r.end - all.start)
                    .collect(),
            }
        };
        GlobalField {
            ranks: self.ranks,
            desc: self.desc.block_at(&bounds),
            blocks: self.blocks.iter().map(moved).collect(),
            fill: self.fill.clone(),
        }
    }

    /// Returns the same array with `value` at all indices that no block has, in place of errors.
    /// Rows leave these indices out. Fails if the array has values of another type.
    pub fn or_fill<T: Element>(self, value: T) -> Result<GlobalField<'v>, GlobalArrayError> {
        check_type::<T>(&self.desc)?;
        let fill = Some(bytemuck::bytes_of(&value).to_vec());
        Ok(GlobalField { fill, ..self })
    }

    /// Does the same with NaN, in both parts of complex numbers. Arrays of integers, which have no
    /// NaN, are returned as they are.
    #[must_use]
    pub fn or_nan(self) -> GlobalField<'v> {
        let nan = match self.desc.dtype {
            DType::F32 | DType::C32 => f32::NAN.to_ne_bytes().to_vec(),
            DType::F64 | DType::C64 => f64::NAN.to_ne_bytes().to_vec(),
            _ => return self,
        };
        let fill = Some(nan.repeat(self.desc.dtype.size() / nan.len()));
        GlobalField { fill, ..self }
    }

    /// Checks that all of the array can be read: each index is in a block, or has the value of
    /// [`GlobalField::or_fill`]. The error is [`GlobalArrayError::Missing`].
    pub fn check_complete(&self) -> Result<(), GlobalArrayError> {
        self.check(&self.all())
    }

    /// Returns the whole array, gathered from the blocks. The last axis of a vector is its
    /// components.
    pub fn array<T: Element>(&self) -> Result<ArrayD<T>, GlobalArrayError> {
        self.read(&self.all())
    }

    /// Returns all indices.
    pub(super) fn all(&self) -> Ranges {
        self.shape().iter().map(|n| 0..*n).collect()
    }

    /// Returns the value of indices that no block has. The type must have been checked.
    pub(super) fn filling<T: Element>(&self) -> T {
        let fill = self.fill.as_deref();
        fill.map_or_else(T::zeroed, bytemuck::pod_read_unaligned)
    }

    /// Checks that the ranges are inside the array, and that the blocks have all of them if there
    /// is no value for the rest.
    pub(super) fn check(&self, ranges: &[Range<usize>]) -> Result<(), GlobalArrayError> {
        let fits =
            |(range, n): (&Range<usize>, &usize)| range.start <= range.end && range.end <= *n;
        let shape = self.shape();
        if ranges.len() != shape.len() || !ranges.iter().zip(shape).all(fits) {
            return Err(GlobalArrayError::Range {
                name: self.desc.name.clone(),
                ranges: ranges.to_vec(),
                shape: shape.to_vec(),
            });
        }
        match self.fill {
            Some(_) => Ok(()),
            None => self.check_present(ranges),
        }
    }

    /// Checks that the blocks have all values of the ranges.
    fn check_present(&self, ranges: &[Range<usize>]) -> Result<(), GlobalArrayError> {
        let parts = self.missing_in(ranges);
        if parts.is_empty() {
            return Ok(());
        }
        let present = self.blocks.iter().map(|b| b.field.rank).collect();
        let (without, absent) = absent(self.ranks, &present);
        Err(GlobalArrayError::Missing {
            name: self.desc.name.clone(),
            parts: parts.into_iter().map(|part| self.in_whole(part)).collect(),
            ranks: self.ranks,
            without,
            absent,
        })
    }

    /// Returns the global indices of a part. They are other ones if this is [`GlobalField::here`].
    fn in_whole(&self, part: Ranges) -> Ranges {
        let Some(place) = &self.desc.global else {
            return part;
        };
        let axes = part.into_iter().zip(&place.offset);
        axes.map(|(range, offset)| range.start + offset..range.end + offset)
            .collect()
    }
}

/// Returns how many of the ranks are not present, and the first few. Another process tells the
/// number of ranks, so it can be any.
fn absent(ranks: u32, present: &BTreeSet<u32>) -> (u32, Vec<u32>) {
    let here = present.range(..ranks).count() as u32;
    let absent = (0..ranks).filter(|rank| !present.contains(rank));
    (ranks - here, absent.take(MOST_ABSENT).collect())
}

/// Checks that the blocks of two ranks belong to the same array.
fn same(one: &FieldDesc, other: &FieldDesc, ranks: [u32; 2]) -> Result<(), GlobalArrayError> {
    let kind = |desc: &FieldDesc| match &desc.kind {
        Kind::Array => "array".to_owned(),
        Kind::Raw { type_name, .. } => type_name.clone(),
    };
    let order = |desc: &FieldDesc| match desc.order {
        Order::C => "C".to_owned(),
        Order::F => "Fortran".to_owned(),
    };
    type Text<'t> = &'t dyn Fn(&FieldDesc) -> String;
    let facts: [(&'static str, Text<'_>); 5] = [
        ("kind", &kind),
        ("dtype", &|desc| desc.dtype.to_string()),
        ("number of components", &|desc| desc.components.to_string()),
        ("order", &order),
        ("global shape", &|desc| format!("{:?}", desc.shape)),
    ];
    for (what, text) in facts {
        let found = [text(one), text(other)];
        if found[0] != found[1] {
            return Err(GlobalArrayError::Differs {
                name: one.name.clone(),
                what,
                ranks,
                found,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_few_of_any_number_of_ranks() {
        let present = BTreeSet::from([0, 2, 5, 7]);
        assert_eq!(absent(4, &present), (2, vec![1, 3]));
        assert_eq!(absent(1, &present), (0, vec![]));
        let (without, first) = absent(u32::MAX, &present);
        assert_eq!(without, u32::MAX - 4);
        assert_eq!(first, [1, 3, 4, 6, 8, 9, 10, 11]);

        let error = GlobalArrayError::Missing {
            name: "u".to_owned(),
            parts: vec![vec![0..1]],
            ranks: u32::MAX,
            without,
            absent: first,
        };
        let text = error.to_string();
        assert!(
            text.contains(": 1, 3, 4, 6 and 4294967287 more. "),
            "{text}"
        );
    }
}
