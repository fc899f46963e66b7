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

/// Returns a function that finds the interior points of `field` in memory: it returns the place of
/// the first component of point `i`, where the points are counted as they lie in memory.
pub fn interior_place(field: &FieldDesc) -> impl Fn(usize) -> usize + use<> {
    let inner = slowest_first(field, &field.interior_shape());
    let whole = slowest_first(field, &field.shape);
    let ghosts = slowest_first(field, &field.ghosts);
    let components = field.components;
    move |mut point| {
        let (mut place, mut stride) = (0, components);
        for axis in (0..inner.len()).rev() {
            place += (point % inner[axis] + ghosts[axis][0]) * stride;
            point /= inner[axis];
            stride *= whole[axis];
        }
        place
    }
}

/// Returns `shape` with a dimension for the components of `field`, if there are several.
pub fn with_components(mut shape: Vec<usize>, field: &FieldDesc) -> Vec<usize> {
    if field.components > 1 {
        shape.push(field.components);
    }
    shape
}
