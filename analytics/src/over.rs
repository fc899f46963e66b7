//! The operators over a field of a version that an observer has pinned.

use crate::dynamic::{self, AnalyticsError};
use crate::histogram::{Histogram, Range};
use crate::lanes::PerComponent;
use crate::moments::Moments;
use crate::slice::Selection;
use crate::values::Values;
use serde::Serialize;
use tcasm_core::field::FieldDesc;
use tcasm_core::format::stamp::Stamp;
use tcasm_observer::{View, ViewError};
use thiserror::Error;

/// A result, with the field and the version that it was computed from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Of<R> {
    /// Name of the field.
    pub field: String,
    /// The dtype of the field, by numpy's name.
    pub dtype: &'static str,
    /// The unit of the field; empty if it has none.
    pub unit: String,
    /// The version: its number, step and time.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// The result.
    #[serde(flatten)]
    pub result: R,
}

/// The reason why there is no result for a field of a version.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OverError {
    /// The version has no such field, or the field cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The operator cannot be applied to the field.
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
}

/// Computes the moments of field `name`.
pub fn moments(view: &View, name: &str) -> Result<Of<PerComponent<Moments>>, OverError> {
    of(view, name, dynamic::moments)
}

/// Computes the histogram of field `name` in `bins` bins of equal width.
pub fn histogram(
    view: &View,
    name: &str,
    bins: usize,
    range: Range,
) -> Result<Of<PerComponent<Histogram>>, OverError> {
    of(view, name, |desc, bytes| {
        dynamic::histogram(desc, bytes, bins, range)
    })
}

/// Copies the selected part of field `name`.
pub fn slice(view: &View, name: &str, selection: &Selection) -> Result<Of<Values>, OverError> {
    of(view, name, |desc, bytes| {
        dynamic::slice(desc, bytes, selection)
    })
}

/// Applies `operator` to field `name`.
pub fn of<R>(
    view: &View,
    name: &str,
    operator: impl FnOnce(&FieldDesc, &[u8]) -> Result<R, AnalyticsError>,
) -> Result<Of<R>, OverError> {
    let desc = view.field(name)?;
    let result = operator(desc, view.bytes(name)?)?;
    Ok(Of {
        field: desc.name.clone(),
        dtype: desc.dtype.name(),
        unit: desc.unit.clone(),
        stamp: view.stamp(),
        result,
    })
}
