//! The operators over a field of a version that an observer holds: where analytics and observer meet.

use crate::dynamic::{self, AnalyticsError};
use crate::histogram::{Histogram, Range};
use crate::lanes::PerComponent;
use crate::moments::Moments;
use crate::slice::Selection;
use crate::values::Values;
use serde::Serialize;
use tcasm_core::field::FieldDesc;
use tcasm_core::stamp::Stamp;
use tcasm_observer::{ObserveError, View, ViewError};
use thiserror::Error;

/// A result, and of what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Of<R> {
    /// Name of the field.
    pub field: String,
    /// Its dtype, by numpy's name.
    pub dtype: &'static str,
    /// Its unit; empty when not given.
    pub unit: String,
    /// The version: its number, step and time.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// The result.
    #[serde(flatten)]
    pub result: R,
}

/// Why there is no result for a field of a version.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages of the inner errors say it
pub enum OverError {
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
    #[error(transparent)]
    Observe(#[from] ObserveError),
}

/// Moments of field `name`.
pub fn moments(view: &View, name: &str) -> Result<Of<PerComponent<Moments>>, OverError> {
    of(view, name, dynamic::moments)
}

/// Histogram of field `name` in `bins` bins of equal width.
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

/// A copy of the selected part of field `name`.
pub fn slice(view: &View, name: &str, selection: &Selection) -> Result<Of<Values>, OverError> {
    of(view, name, |desc, bytes| {
        dynamic::slice(desc, bytes, selection)
    })
}

/// Apply `operator` to field `name`, and make sure afterwards that what it read was still the version.
pub fn of<R>(
    view: &View,
    name: &str,
    operator: impl FnOnce(&FieldDesc, &[u8]) -> Result<R, AnalyticsError>,
) -> Result<Of<R>, OverError> {
    let desc = view.field(name)?;
    let result = operator(desc, view.bytes(name)?)?;
    view.check()?;
    Ok(Of {
        field: desc.name.clone(),
        dtype: desc.dtype.name(),
        unit: desc.unit.clone(),
        stamp: view.stamp(),
        result,
    })
}
