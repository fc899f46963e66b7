//! Layouts: ordered lists of segments of memory, and their description as sub-arrays and blocks.

use crate::segment::Segment;
use thiserror::Error;

/// The largest number of segments of a layout.
const MOST_SEGMENTS: usize = 1 << 20;

/// The reason why a layout is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The layout has no bytes.
    #[error("the layout has no segments; declare at least one byte")]
    Empty,
    /// A segment has no bytes.
    #[error("segment {index} has no bytes; leave it out")]
    NoBytes {
        /// The number of the segment.
        index: usize,
    },
    /// A segment wraps around.
    #[error("segment {index}, {len} bytes at {addr:#x}, wraps around the end of the addresses")]
    Wraps {
        /// The number of the segment.
        index: usize,
        /// Its first address.
        addr: usize,
        /// Its number of bytes.
        len: usize,
    },
    /// Two segments overlap.
    #[error(
        "{} bytes at {:#x} and {} bytes at {:#x} overlap; declare each byte once",
        first.len, first.addr, second.len, second.addr
    )]
    Overlap {
        /// The segment at the lower address.
        first: Segment,
        /// The other one.
        second: Segment,
    },
    /// The layout has too many segments.
    #[error(
        "the layout has more than {most} segments; describe longer runs, or make several \
         declarations"
    )]
    TooMany {
        /// The largest number of segments.
        most: usize,
    },
    /// A shape and its strides, or a size, are not usable.
    #[error("{0}")]
    Shape(&'static str),
}

/// An ordered list of segments that do not overlap. Its bytes are those of the first segment, then
/// those of the second one, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    segments: Vec<Segment>,
    /// The offset after each segment.
    ends: Vec<u64>,
}

impl Layout {
    /// Returns the layout of a list of segments. Segments that follow each other in memory become
    /// one.
    pub fn new(segments: impl IntoIterator<Item = Segment>) -> Result<Self, LayoutError> {
        let mut merged = Vec::new();
        for (index, segment) in segments.into_iter().enumerate() {
            push(&mut merged, index, segment)?;
        }
        Layout::of(merged)
    }

    /// Returns the layout of a part of an array, in the order of the indices, the last one fastest.
    /// `strides` are in bytes, and may be negative. `base` is the address of the first element.
    pub fn strided(
        base: usize,
        element: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        if shape.len() != strides.len() {
            return Err(LayoutError::Shape("shape and strides differ in length"));
        }
        let (mut run, mut outer) = (element, shape.len());
        while outer > 0 && usize::try_from(strides[outer - 1]) == Ok(run) {
            let longer = run.checked_mul(shape[outer - 1]);
            run = longer.ok_or(LayoutError::Shape("the array has too many bytes"))?;
            outer -= 1;
        }
        let mut segments = Vec::new();
        for index in 0..runs(&shape[..outer])? {
            let addr = address(base, index, &shape[..outer], strides)
                .ok_or(LayoutError::Shape("the array leaves the addresses"))?;
            push(&mut segments, index, Segment { addr, len: run })?;
        }
        Layout::of(segments)
    }

    /// Returns the layout of `count` blocks of `block` elements, whose beginnings are `stride`
    /// elements apart (`MPI_Type_vector`).
    pub fn vector(
        base: usize,
        element: usize,
        count: usize,
        block: usize,
        stride: isize,
    ) -> Result<Self, LayoutError> {
        let size = isize::try_from(element).ok();
        let step = size.and_then(|size| Some((stride.checked_mul(size)?, size)));
        let (step, size) = step.ok_or(LayoutError::Shape("the stride is too large"))?;
        Layout::strided(base, element, &[count, block], &[step, size])
    }

    /// Returns the layout of blocks, each with its displacement and its length in elements
    /// (`MPI_Type_indexed`).
    pub fn blocks(
        base: usize,
        element: usize,
        blocks: &[(isize, usize)],
    ) -> Result<Self, LayoutError> {
        let far = LayoutError::Shape("a block lies outside of the addresses");
        let segment = |&(at, count): &(isize, usize)| {
            let distance = at.checked_mul(isize::try_from(element).ok()?)?;
            Some(Segment {
                addr: base.checked_add_signed(distance)?,
                len: element.checked_mul(count)?,
            })
        };
        let segments: Option<Vec<Segment>> = blocks.iter().map(segment).collect();
        Layout::new(segments.ok_or(far)?)
    }

    /// Checks that segments do not overlap, and adds their lengths up.
    pub(crate) fn of(segments: Vec<Segment>) -> Result<Self, LayoutError> {
        if segments.is_empty() {
            return Err(LayoutError::Empty);
        }
        let mut sorted = segments.clone();
        sorted.sort_unstable_by_key(|segment| segment.addr);
        if let Some(pair) = sorted.windows(2).find(|p| p[0].end() > Some(p[1].addr)) {
            let (first, second) = (pair[0], pair[1]);
            return Err(LayoutError::Overlap { first, second });
        }
        // The sum cannot overflow, because no two segments share an address.
        let mut sum = 0;
        let ends = segments.iter().map(|segment| {
            sum += segment.len as u64;
            sum
        });
        let ends = ends.collect();
        Ok(Layout { segments, ends })
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns false: a layout has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the segments, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the segments of `len` bytes from `offset` on, but at most `most` segments, and none
    /// beyond the end.
    pub(crate) fn window(&self, offset: u64, len: u64, most: usize) -> Vec<Segment> {
        let end = offset.saturating_add(len).min(self.len());
        let first = self.ends.partition_point(|after| *after <= offset);
        let (mut at, mut found) = (offset, Vec::new());
        for (segment, after) in self.segments.iter().zip(&self.ends).skip(first).take(most) {
            if at >= end {
                break;
            }
            let skip = segment.len - (after - at) as usize;
            let len = (after.min(&end) - at) as usize;
            let addr = segment.addr + skip;
            found.push(Segment { addr, len });
            at += len as u64;
        }
        found
    }
}

/// Adds a segment to a list, or to the last one if it follows that in memory.
fn push(list: &mut Vec<Segment>, index: usize, segment: Segment) -> Result<(), LayoutError> {
    let Segment { addr, len } = segment;
    if len == 0 {
        return Err(LayoutError::NoBytes { index });
    }
    // No object of Rust is longer, and offsets in files are signed.
    if segment.end().is_none_or(|end| end > isize::MAX as usize) {
        return Err(LayoutError::Wraps { index, addr, len });
    }
    let full = list.len() == MOST_SEGMENTS;
    match list.last_mut() {
        Some(last) if last.end() == Some(addr) => last.len += len,
        _ if full => {
            return Err(LayoutError::TooMany {
                most: MOST_SEGMENTS,
            });
        }
        _ => list.push(segment),
    }
    Ok(())
}

/// Returns the number of runs of an array whose outer dimensions are `shape`.
fn runs(shape: &[usize]) -> Result<usize, LayoutError> {
    let product = shape.iter().try_fold(1usize, |n, len| n.checked_mul(*len));
    match product {
        Some(0) => Err(LayoutError::Empty),
        Some(n) if n <= MOST_SEGMENTS => Ok(n),
        _ => Err(LayoutError::TooMany {
            most: MOST_SEGMENTS,
        }),
    }
}

/// Returns the address of run `index` of an array.
fn address(base: usize, index: usize, shape: &[usize], strides: &[isize]) -> Option<usize> {
    let (mut left, mut addr) = (index, base);
    for (len, stride) in shape.iter().zip(strides).rev() {
        let distance = isize::try_from(left % len).ok()?.checked_mul(*stride)?;
        addr = addr.checked_add_signed(distance)?;
        left /= len;
    }
    Some(addr)
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
