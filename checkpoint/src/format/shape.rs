//! The shapes in which arrays are stored: from the slowest dimension to the fastest.

use tcasm_core::field::{FieldDesc, Order};

/// Returns the dimensions of `field` from slowest to fastest, then the number of components if
/// there are several. With this shape, the bytes of the field are a C-order array.
pub fn memory_shape(field: &FieldDesc) -> Vec<usize> {
    with_components(slowest_first(field, &field.shape), field)
}

/// Returns `per_dim`, which has one value for each dimension of `field`, in the order from slowest
/// to fastest.
pub fn slowest_first<T: Clone>(field: &FieldDesc, per_dim: &[T]) -> Vec<T> {
    match field.order {
        Order::C => per_dim.to_vec(),
        Order::F => per_dim.iter().rev().cloned().collect(),
    }
}

/// Returns `shape` with a dimension for the components of `field`, if there are several.
pub fn with_components(mut shape: Vec<usize>, field: &FieldDesc) -> Vec<usize> {
    if field.components > 1 {
        shape.push(field.components);
    }
    shape
}
