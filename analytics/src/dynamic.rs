//! The operators over a field of any dtype, given as its description and its bytes.
//!
//! Ghost layers are cut off first. Indices of a slice count from the first interior point.

use crate::blocks::BlocksError;
use crate::histogram::{Histogram, HistogramError, Range, histogram_of_points};
use crate::lanes::PerComponent;
use crate::moments::{Moments, moments_of_points};
use crate::number::Number;
use crate::slice::{Selection, SliceError};
use crate::values::Values;
use ndarray::{ArrayViewD, Axis};
use tcasm_core::field::{self, ArrayError, FieldDesc, FieldError};
use tcasm_core::with_dtype;
use thiserror::Error;

/// The reason why an operator cannot be applied to a field.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AnalyticsError {
    /// The description of the field is not valid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The bytes cannot be viewed as an array of the field's dtype.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The histogram is not possible.
    #[error("field {name:?}: {source}")]
    Histogram {
        /// Name of the field.
        name: String,
        /// The reason.
        source: HistogramError,
    },
    /// The window or the component does not fit the field.
    #[error("field {name:?}: {source}")]
    Blocks {
        /// Name of the field.
        name: String,
        /// The reason.
        source: BlocksError,
    },
    /// The selection does not fit the field.
    #[error("field {name:?}: {source}")]
    Slice {
        /// Name of the field.
        name: String,
        /// The reason.
        source: SliceError,
    },
}

/// Computes the moments of the field `desc`, whose bytes are `bytes`.
///
/// ```
/// use tcasm_analytics::dynamic;
/// use tcasm_core::field::{DType, FieldDesc};
/// let desc = FieldDesc::new("t", DType::F32, &[2, 2]);
/// let data = [1.0f32, 2.0, 3.0, 4.0];
/// let m = dynamic::moments(&desc, bytemuck::cast_slice(&data)).unwrap();
/// assert_eq!(m.components[0].mean.unwrap().to_f64(), 2.5);
/// ```
pub fn moments(desc: &FieldDesc, bytes: &[u8]) -> Result<PerComponent<Moments>, AnalyticsError> {
    with_dtype!(desc.dtype, T => Ok(moments_of_points(points::<T>(desc, bytes)?)))
}

/// Computes the histogram of the field `desc`, whose bytes are `bytes`, in `bins` bins of equal
/// width.
pub fn histogram(
    desc: &FieldDesc,
    bytes: &[u8],
    bins: usize,
    range: Range,
) -> Result<PerComponent<Histogram>, AnalyticsError> {
    with_dtype!(desc.dtype, T => {
        let points = points::<T>(desc, bytes)?;
        histogram_of_points(points, bins, range).map_err(|source| {
            let name = desc.name.clone();
            AnalyticsError::Histogram { name, source }
        })
    })
}

/// Copies the selected part of the field. With several components, the last axis holds them.
pub fn slice(
    desc: &FieldDesc,
    bytes: &[u8],
    selection: &Selection,
) -> Result<Values, AnalyticsError> {
    with_dtype!(desc.dtype, T => {
        let part = selection.of(interior::<T>(desc, bytes)?).map_err(|source| {
            let name = desc.name.clone();
            AnalyticsError::Slice { name, source }
        })?;
        Ok(Values::copy_of(part))
    })
}

/// Returns a view of the field without ghost layers. With several components, the last axis holds
/// them.
pub fn interior<'a, T: Number>(
    desc: &FieldDesc,
    bytes: &'a [u8],
) -> Result<ArrayViewD<'a, T>, AnalyticsError> {
    desc.check()?;
    let whole = field::view::<T>(desc, bytes)?;
    Ok(whole.slice_move(field::interior(desc).as_slice()))
}

/// Returns the same view as [`interior`], with a last axis for the components even if there is only
/// one.
pub fn points<'a, T: Number>(
    desc: &FieldDesc,
    bytes: &'a [u8],
) -> Result<ArrayViewD<'a, T>, AnalyticsError> {
    let interior = interior::<T>(desc, bytes)?;
    let axis = Axis(interior.ndim());
    Ok(if desc.components == 1 {
        interior.insert_axis(axis)
    } else {
        interior
    })
}
