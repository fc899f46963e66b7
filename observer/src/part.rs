//! Parts of a region: the chunks that a view shows, and sub-arrays of fields.

use crate::error::ViewError;
use std::cmp::Reverse;
use std::ops::Range;
use tcasm_core::field::FieldDesc;
use tcasm_core::format::layout::Layout;
use tcasm_core::pageset::{CHUNK_PAGES, ChunkSet};

/// The most runs of chunks in a part. Each can take two mappings more than the version itself,
/// which no copying saves, and windows of different parts share nothing. A view of more runs shows
/// the whole version, in a window that views share.
const MOST_RUNS: usize = 64;

/// The chunks that a window shows, or that a view gives access to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All chunks of the region.
    Whole,
    /// These chunks, but not all.
    Chunks(ChunkSet),
}

impl Part {
    /// Returns the part with `chunks`, or the whole region if they are all or in too many runs.
    pub(crate) fn of(chunks: ChunkSet) -> Part {
        let whole = chunks.len() == chunks.capacity() || chunks.runs().count() > MOST_RUNS;
        match whole {
            true => Part::Whole,
            false => Part::Chunks(chunks),
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        *self == Part::Whole
    }

    /// Returns true if the part has all of `chunks`.
    pub(crate) fn has(&self, chunks: Range<usize>) -> bool {
        match self {
            Part::Whole => true,
            Part::Chunks(own) => own.count_in(chunks.clone()) == chunks.len(),
        }
    }

    /// Returns true if the part has all chunks of `other`.
    pub(crate) fn covers(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Whole, _) => true,
            (Part::Chunks(_), Part::Whole) => false,
            (Part::Chunks(own), Part::Chunks(other)) => has_all(own, other),
        }
    }

    /// Returns true if the part has all of `chunks`.
    pub(crate) fn has_all(&self, chunks: &ChunkSet) -> bool {
        match self {
            Part::Whole => true,
            Part::Chunks(own) => has_all(own, chunks),
        }
    }

    /// Removes chunks that are not in the part.
    pub(crate) fn restrict(&self, chunks: &mut ChunkSet) {
        if let Part::Chunks(own) = self {
            chunks.intersect(own);
        }
    }

    /// Returns the runs of neighbouring chunks of a part of a region of `chunks` chunks.
    pub(crate) fn runs(&self, chunks: usize) -> Vec<Range<usize>> {
        match self {
            Part::Whole => std::iter::once(0..chunks).collect(),
            Part::Chunks(own) => own.runs().collect(),
        }
    }
}

fn has_all(own: &ChunkSet, chunks: &ChunkSet) -> bool {
    let mut rest = chunks.clone();
    rest.subtract(own);
    rest.is_empty()
}

/// Returns the chunks in which some bytes of a region lie.
pub(crate) fn chunks_of(layout: &Layout, bytes: &Range<usize>) -> Range<usize> {
    let chunk = CHUNK_PAGES * layout.page_size;
    bytes.start / chunk..bytes.end.div_ceil(chunk)
}

/// A sub-array of a field: the values with indices in one range for each axis, and all components
/// of them. It lies in the region.
#[derive(Debug)]
pub(crate) struct SubArray {
    /// The offset of the first value in the region.
    pub(crate) start: usize,
    /// The length of each axis. If there are several components, they are the last axis.
    pub(crate) lens: Vec<usize>,
    /// The distance of neighbours on each axis, in values.
    pub(crate) strides: Vec<usize>,
    /// Bytes of a value.
    pub(crate) value: usize,
}

impl SubArray {
    /// Returns the sub-array of `ranges` of a field of a version. (Its description was checked.)
    pub(crate) fn of(desc: &FieldDesc, ranges: &[Range<usize>]) -> Result<Self, ViewError> {
        let fits = |(range, n): (&Range<usize>, &usize)| range.start < range.end && range.end <= *n;
        let axes = desc.shape.len();
        if ranges.len() != axes || !ranges.iter().zip(&desc.shape).all(fits) {
            return Err(ViewError::SubArray {
                name: desc.name.clone(),
                ranges: ranges.to_vec(),
                shape: desc.shape.clone(),
            });
        }
        let (strides, value) = (desc.array_strides(), desc.dtype.size());
        let starts = ranges.iter().zip(&strides);
        let first: usize = starts.map(|(range, stride)| range.start * stride).sum();
        let components = (desc.components > 1).then_some(desc.components);
        Ok(SubArray {
            start: desc.offset as usize + first * value,
            lens: ranges
                .iter()
                .map(ExactSizeIterator::len)
                .chain(components)
                .collect(),
            strides,
            value,
        })
    }

    /// Returns the offset of the end of the last value in the region.
    pub(crate) fn end(&self) -> usize {
        let axes = self.lens.iter().zip(&self.strides);
        let last: usize = axes.map(|(len, stride)| (len - 1) * stride).sum();
        self.start + (last + 1) * self.value
    }

    /// Returns the chunks that hold the values.
    pub(crate) fn chunks(&self, layout: &Layout) -> ChunkSet {
        let strides = self.strides.iter().map(|stride| stride * self.value);
        let mut axes: Vec<_> = self.lens.iter().copied().zip(strides).collect();
        axes.sort_by_key(|(_, stride)| Reverse(*stride));
        let mut set = ChunkSet::new(layout.chunks);
        insert(&mut set, layout, &axes, self.start, self.value);
        set
    }
}

/// Adds the chunks that hold values of `value` bytes from byte `at` on. `axes` are the length and
/// the stride in bytes of each axis, the largest stride first.
fn insert(set: &mut ChunkSet, layout: &Layout, axes: &[(usize, usize)], at: usize, value: usize) {
    match axes.split_first() {
        Some(((len, stride), inner)) if *stride >= CHUNK_PAGES * layout.page_size => {
            (0..*len).for_each(|i| insert(set, layout, inner, at + i * stride, value));
        }
        _ => {
            // Neighbours are nearer than a chunk is long, so no chunk lies between two of them.
            let last: usize = axes.iter().map(|(len, stride)| (len - 1) * stride).sum();
            set.insert_range(chunks_of(layout, &(at..at + last + value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, Order};

    const PAGE: usize = 4096;
    const CHUNK: usize = CHUNK_PAGES * PAGE;

    /// Returns the chunks that hold the values, value by value.
    fn one_by_one(sub: &SubArray, layout: &Layout) -> ChunkSet {
        let mut set = ChunkSet::new(layout.chunks);
        let count: usize = sub.lens.iter().product();
        for number in 0..count {
            let (mut at, mut rest) = (sub.start, number);
            for (len, stride) in sub.lens.iter().zip(&sub.strides) {
                at += rest % len * stride * sub.value;
                rest /= len;
            }
            set.insert_range(chunks_of(layout, &(at..at + sub.value)));
        }
        set
    }

    fn field(order: Order) -> FieldDesc {
        let mut desc = FieldDesc::new("f", DType::F64, &[6, 700, 100]);
        (desc.components, desc.order) = (2, order);
        desc.offset = 5 * PAGE as u64;
        desc
    }

    #[test]
    fn chunks_of_a_sub_array_are_those_of_its_values() {
        let layout = Layout::new(8 * CHUNK_PAGES, PAGE, 4).unwrap();
        let [c, f] = [Order::C, Order::F].map(field);
        let cases = [
            [0..6, 0..700, 0..100],
            [2..3, 699..700, 99..100],
            [0..6, 3..5, 7..9],
            [1..5, 0..700, 40..41],
            [5..6, 100..400, 0..100],
        ];
        let mut fewer = 0;
        for (desc, ranges) in [&c, &f]
            .into_iter()
            .flat_map(|d| cases.iter().map(move |r| (d, r)))
        {
            let sub = SubArray::of(desc, ranges).unwrap();
            let chunks = sub.chunks(&layout);
            assert_eq!(
                chunks,
                one_by_one(&sub, &layout),
                "{ranges:?} of {:?}",
                desc.order
            );
            fewer +=
                usize::from(chunks.len() < chunks_of(&layout, &(0..desc.bytes() as usize)).len());
        }
        assert!(
            fewer > 4,
            "only {fewer} sub-arrays are in fewer chunks than the field"
        );
    }

    #[test]
    fn chunks_between_rows_are_left_out() {
        let mut desc = FieldDesc::new("f", DType::U8, &[4, 3 * CHUNK]);
        let layout = Layout::new(13 * CHUNK_PAGES, PAGE, 4).unwrap();
        let sub = SubArray::of(&desc, &[1..4, 0..1]).unwrap();
        assert_eq!(sub.chunks(&layout).iter().collect::<Vec<_>>(), [3, 6, 9]);
        desc.offset = CHUNK as u64 - PAGE as u64;
        let sub = SubArray::of(&desc, &[0..2, 0..2 * PAGE]).unwrap();
        assert_eq!(sub.chunks(&layout).iter().collect::<Vec<_>>(), [0, 1, 3, 4]);
    }

    #[test]
    fn ranges_must_be_inside_the_field() {
        let desc = FieldDesc::new("f", DType::U8, &[4, 8]);
        let none: &[Range<usize>] = &[];
        for ranges in [none, &[0..4, 2..2], &[0..4, 0..9], &[0..4, 0..8, 0..1]] {
            let error = SubArray::of(&desc, ranges).unwrap_err();
            assert!(matches!(error, ViewError::SubArray { .. }), "{error}");
        }
    }

    #[test]
    fn part_of_all_chunks_or_of_too_many_runs_is_whole() {
        let mut chunks = ChunkSet::new(8);
        chunks.insert_range(0..7);
        let most = Part::of(chunks.clone());
        assert!(!most.is_whole() && most.has(2..7) && !most.has(2..8));
        chunks.insert(7);
        assert!(Part::of(chunks).is_whole());
        let mut odd = ChunkSet::new(4 * MOST_RUNS);
        (0..MOST_RUNS).for_each(|i| odd.insert(2 * i));
        assert!(!Part::of(odd.clone()).is_whole());
        odd.insert(2 * MOST_RUNS);
        assert!(Part::of(odd).is_whole());
    }

    #[test]
    fn part_covers_parts_with_no_other_chunks() {
        let part = |chunks: Range<usize>| {
            let mut set = ChunkSet::new(16);
            set.insert_range(chunks);
            Part::of(set)
        };
        assert!(part(2..6).covers(&part(3..5)) && part(2..6).covers(&part(2..6)));
        assert!(!part(2..6).covers(&part(3..7)) && !part(2..6).covers(&part(0..16)));
        assert!(part(0..16).covers(&part(3..7)) && part(3..5).covers(&part(0..0)));
    }
}
