//! Parts of virtual datasets, and the values that they have without a source.

use hdf5::{Hyperslab, Selection, SliceOrIndex};
use std::ops::Range;
use tcasm_core::field::{DType, Element};

/// Returns the selection of a block, one range for each dimension.
pub fn block(ranges: impl Iterator<Item = Range<usize>>) -> Selection {
    let slices: Vec<SliceOrIndex> = ranges.map(SliceOrIndex::from).collect();
    Selection::from(Hyperslab::from(slices))
}

/// Returns the value that readers get where a file is missing: NaN for real numbers, zero for all
/// other types.
pub fn absent<T: Element>() -> T {
    let mut value = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut value);
    match T::DTYPE {
        DType::F32 => bytes.copy_from_slice(&f32::NAN.to_ne_bytes()),
        DType::F64 => bytes.copy_from_slice(&f64::NAN.to_ne_bytes()),
        _ => {}
    }
    value
}
