//! Views of the bytes of a field as an ndarray, with the strides that its description gives.

use super::desc::{FieldDesc, Kind};
use super::dtype::{DType, Element};
use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, ShapeBuilder, SliceInfoElem};
use thiserror::Error;

/// The reason why a field cannot be viewed as an array of the type that was asked for.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[non_exhaustive]
pub enum ArrayError {
    /// The field has another dtype.
    #[error("field {name:?} has dtype {stored}, not {asked}; ask for {stored}")]
    WrongType {
        /// The name of the field.
        name: String,
        /// The dtype of the field.
        stored: DType,
        /// The dtype that was asked for.
        asked: DType,
    },
    /// The field holds raw structures.
    #[error("field {name:?} holds raw structures ({type_name:?}), not an array; read it as raw")]
    NotAnArray {
        /// The name of the field.
        name: String,
        /// The name of the structures' type.
        type_name: String,
    },
    /// The bytes have the wrong length or alignment.
    #[error("field {name:?} needs {need} bytes aligned to its type, got {have}")]
    BadBytes {
        /// The name of the field.
        name: String,
        /// The number of bytes that the field has.
        need: u64,
        /// The number of bytes that were given.
        have: usize,
    },
}

/// Returns an array that views `bytes`, which hold the field `desc`. Its shape is
/// [`FieldDesc::array_shape`], which includes ghost layers.
pub fn view<'a, T: Element>(
    desc: &FieldDesc,
    bytes: &'a [u8],
) -> Result<ArrayViewD<'a, T>, ArrayError> {
    check_type::<T>(desc)?;
    if desc.bytes() == 0 {
        // ndarray refuses strides of our own for an array without elements.
        let shape = IxDyn(&desc.array_shape());
        return ArrayViewD::from_shape(shape, &[]).map_err(|_| bad(desc, bytes.len()));
    }
    let (shape, strides) = layout(desc);
    let data: &[T] = bytemuck::try_cast_slice(bytes).map_err(|_| bad(desc, bytes.len()))?;
    ArrayViewD::from_shape(shape.strides(strides), data).map_err(|_| bad(desc, bytes.len()))
}

/// Returns a writable array that views `bytes`, as [`view`] does.
pub fn view_mut<'a, T: Element>(
    desc: &FieldDesc,
    bytes: &'a mut [u8],
) -> Result<ArrayViewMutD<'a, T>, ArrayError> {
    check_type::<T>(desc)?;
    let have = bytes.len();
    if desc.bytes() == 0 {
        let shape = IxDyn(&desc.array_shape());
        return ArrayViewMutD::from_shape(shape, &mut []).map_err(|_| bad(desc, have));
    }
    let (shape, strides) = layout(desc);
    let data: &mut [T] = bytemuck::try_cast_slice_mut(bytes).map_err(|_| bad(desc, have))?;
    ArrayViewMutD::from_shape(shape.strides(strides), data).map_err(|_| bad(desc, have))
}

/// Returns the slices that select the interior, without ghost layers, of an array of shape
/// [`FieldDesc::array_shape`]: `array.slice(interior(&desc).as_slice())`.
pub fn interior(desc: &FieldDesc) -> Vec<SliceInfoElem> {
    // An empty axis has no ghost layers.
    let cut = |(n, g): (&usize, &[usize; 2])| SliceInfoElem::Slice {
        start: g[0].min(*n) as isize,
        end: Some(n.saturating_sub(g[1]) as isize),
        step: 1,
    };
    let all = SliceInfoElem::Slice {
        start: 0,
        end: None,
        step: 1,
    };
    let components = (desc.components > 1).then_some(all);
    desc.shape
        .iter()
        .zip(&desc.ghosts)
        .map(cut)
        .chain(components)
        .collect()
}

/// Checks that a field is an array of `T`.
pub fn check_type<T: Element>(desc: &FieldDesc) -> Result<(), ArrayError> {
    let name = desc.name.clone();
    if let Kind::Raw { type_name, .. } = &desc.kind {
        return Err(ArrayError::NotAnArray {
            name,
            type_name: type_name.clone(),
        });
    }
    if desc.dtype != T::DTYPE {
        return Err(ArrayError::WrongType {
            name,
            stored: desc.dtype,
            asked: T::DTYPE,
        });
    }
    Ok(())
}

fn layout(desc: &FieldDesc) -> (ndarray::Shape<IxDyn>, IxDyn) {
    (
        IxDyn(&desc.array_shape()).into_shape_with_order(),
        IxDyn(&desc.array_strides()),
    )
}

fn bad(desc: &FieldDesc, have: usize) -> ArrayError {
    ArrayError::BadBytes {
        name: desc.name.clone(),
        need: desc.bytes(),
        have,
    }
}

/// Evaluates `$body` with `$T` as an alias for the Rust type of `$dtype`.
///
/// ```
/// use tcasm_core::{field::DType, with_dtype};
/// let size = with_dtype!(DType::F32, T => size_of::<T>());
/// assert_eq!(size, 4);
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use $crate::field::DType as __D;
        use $crate::num_complex::Complex as __C;
        macro_rules! __as {
            ($t:ty) => {{
                type $T = $t;
                $body
            }};
        }
        match $dtype {
            __D::I8 => __as!(i8),
            __D::I16 => __as!(i16),
            __D::I32 => __as!(i32),
            __D::I64 => __as!(i64),
            __D::U8 => __as!(u8),
            __D::U16 => __as!(u16),
            __D::U32 => __as!(u32),
            __D::U64 => __as!(u64),
            __D::F32 => __as!(f32),
            __D::F64 => __as!(f64),
            __D::C32 => __as!(__C<f32>),
            __D::C64 => __as!(__C<f64>),
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Order;

    #[test]
    fn interior_of_an_empty_field_is_empty_and_that_of_others_has_all_between_ghost_layers() {
        let mut desc = FieldDesc::new("f", DType::F64, &[0, 4]);
        (desc.capacity, desc.ghosts) = (Some(6), vec![[1, 2], [1, 1]]);
        for (len, inner) in [(0, 0), (4, 1), (6, 3)] {
            desc.set_length(len);
            assert!(desc.check().is_ok());
            let lens = (desc.interior_length(), desc.length_around(inner));
            assert_eq!(lens, (inner, len));
            assert_eq!(desc.interior_shape(), [inner, 2]);
            let values = vec![0.0_f64; len * 4];
            let array = view::<f64>(&desc, bytemuck::cast_slice(&values)).unwrap();
            let inner_values = array.slice_move(interior(&desc).as_slice());
            assert_eq!(inner_values.shape(), [inner, 2]);
        }
        desc.set_length(3);
        assert!(desc.check().is_err(), "only ghost layers");
    }

    #[test]
    fn field_without_values_is_an_array_without_elements() {
        for order in [Order::C, Order::F] {
            let mut desc = FieldDesc::new("f", DType::F64, &[4, 4]);
            (desc.order, desc.components, desc.capacity) = (order, 3, Some(4));
            let (slowest, other) = match order {
                Order::C => (0, 1),
                Order::F => (1, 0),
            };
            desc.shape[slowest] = 0;
            desc.ghosts[other] = [1, 1];
            assert!(desc.check().is_ok());
            // The bytes of nothing need not be aligned.
            let bytes = [0u8; 16];
            let array = view::<f64>(&desc, &bytes[1..1]).unwrap();
            assert_eq!(array.shape(), desc.array_shape());
            let inner = array.slice_move(interior(&desc).as_slice());
            assert_eq!((inner.shape()[slowest], inner.shape()[other]), (0, 2));
            assert!(view_mut::<f64>(&desc, &mut []).unwrap().is_empty());
            assert!(view::<f32>(&desc, &[]).is_err());
        }
    }
}
