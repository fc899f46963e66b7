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
use tcasm_observer::{ReadError, Version, View, ViewError};
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
    /// The version has no such field, or its bytes cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
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

/// Computes the moments of field `name` of a version, without mapping it. The result has the same
/// bits as that of [`moments`].
///
/// This is for readers that look at a version once. It copies the field piece by piece, each time
/// that it is called. A view costs less for versions that are looked at one after the other.
pub fn read_moments(version: &Version, name: &str) -> Result<Of<PerComponent<Moments>>, OverError> {
    let desc = described(version, name)?;
    let read = dynamic::read_moments(desc, |at, out| {
        version.read_bytes(name, at, out).map_err(OverError::from)
    });
    Ok(of_version(version, desc, read?))
}

/// Computes the histogram of field `name` of a version, as [`read_moments`] computes moments.
pub fn read_histogram(
    version: &Version,
    name: &str,
    bins: usize,
    range: Range,
) -> Result<Of<PerComponent<Histogram>>, OverError> {
    let desc = described(version, name)?;
    let read = |at: u64, out: &mut [u8]| version.read_bytes(name, at, out).map_err(OverError::from);
    let histogram = dynamic::read_histogram(desc, read, bins, range)?;
    Ok(of_version(version, desc, histogram))
}

fn described<'v>(version: &'v Version, name: &str) -> Result<&'v FieldDesc, ReadError> {
    version.field(name).ok_or_else(|| {
        let fields = version.table().fields.iter();
        ReadError::NoField {
            name: name.to_owned(),
            available: fields.map(|f| f.name.clone()).collect(),
        }
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
    Ok(of_version(view.version(), desc, result))
}

fn of_version<R>(version: &Version, desc: &FieldDesc, result: R) -> Of<R> {
    Of {
        field: desc.name.clone(),
        dtype: desc.dtype.name(),
        unit: desc.unit.clone(),
        stamp: version.stamp(),
        result,
    }
}
