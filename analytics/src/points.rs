//! Views of the points of a field, given as its description and its bytes.

use crate::error::AnalyticsError;
use crate::number::Number;
use ndarray::{ArrayViewD, Axis};
use tcasm_core::field::{self, FieldDesc};

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
