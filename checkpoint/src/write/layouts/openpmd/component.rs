//! The components of records: their dimensions, and those without values.

use crate::file::Fault;
use crate::format::shape::slowest_first;
use crate::write::attributes;
use hdf5::Group;
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::with_dtype;

/// Makes `group` a constant component of `shape`. All of its values are 0, if there are any.
pub fn constant(group: &Group, dtype: DType, shape: &[usize]) -> Result<(), Fault> {
    with_dtype!(dtype, T => {
        attributes::number(group, "value", <T as bytemuck::Zeroable>::zeroed())?;
    });
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    attributes::numbers(group, "shape", &shape)?;
    Ok(())
}

/// Returns the dimensions of a record, from slowest to fastest. A single number is an array of one
/// value.
pub fn shape(field: &FieldDesc) -> Vec<usize> {
    match field.shape.is_empty() {
        true => vec![1],
        false => slowest_first(field, &field.interior_shape()),
    }
}
