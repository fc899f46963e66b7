//! The errors of the operators over a field of any dtype.

use crate::histogram::HistogramError;
use crate::slice::SliceError;
use std::ops::Range;
use tcasm_core::field::{ArrayError, FieldError};
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

/// The reason why a field has no such window.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlocksError {
    /// The window has another number of axes than the field.
    #[error(
        "a window of {given} axes was asked for, but the field of shape {shape:?} has {}",
        shape.len()
    )]
    Axes {
        /// Number of axes of the window.
        given: usize,
        /// Shape of the field.
        shape: Vec<usize>,
    },
    /// The window is empty or reaches over the end of an axis.
    #[error(
        "the window {}..{} is empty or not inside axis {axis} of length {len}",
        window.start,
        window.end
    )]
    Outside {
        /// The axis.
        axis: usize,
        /// The range of points along this axis.
        window: Range<usize>,
        /// Length of the axis.
        len: usize,
    },
    /// The field does not have this component.
    #[error("component {component} was asked for; there are {components}, counted from 0")]
    Component {
        /// The component that was asked for.
        component: usize,
        /// Number of components of the field.
        components: usize,
    },
}
