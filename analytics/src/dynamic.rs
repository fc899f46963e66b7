//! The operators over a field of any dtype, given as its description and its bytes.
//!
//! Ghost layers are cut off first. Indices of a slice count from the first interior point.

use crate::histogram::{Histogram, Range, histogram_of_points};
use crate::lanes::PerComponent;
use crate::moments::{Moments, MomentsOp, moments_of_points};
use crate::reading;
use crate::slice::Selection;
use crate::values::Values;
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;

pub use crate::error::AnalyticsError;
pub use crate::points::{interior, points};

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

/// Computes the moments of the field `desc`, which need not be in memory: `read` copies bytes of
/// it, from an offset on. Several threads call it at the same time. The result has the same bits as
/// that of [`moments`].
pub fn read_moments<E: From<AnalyticsError> + Send>(
    desc: &FieldDesc,
    read: impl Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<PerComponent<Moments>, E> {
    with_dtype!(desc.dtype, T => reading::fold::<T, _, _, _>(desc, &MomentsOp, &read))
}

/// Computes the histogram of the field `desc` as [`read_moments`] computes moments. With a range
/// that is not given, the field is read twice.
pub fn read_histogram<E: From<AnalyticsError> + Send>(
    desc: &FieldDesc,
    read: impl Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
    bins: usize,
    range: Range,
) -> Result<PerComponent<Histogram>, E> {
    with_dtype!(desc.dtype, T => reading::histogram::<T, _, _>(desc, &read, bins, range))
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
