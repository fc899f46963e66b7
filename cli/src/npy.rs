//! Numpy files.

use crate::exit::{Code, Failure};
use ndarray::ArrayViewD;
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};
use std::io::Write;

/// Write `array` as a numpy file. Fortran order is kept where numpy can say so; ghost layers and components in between
/// make it C order.
pub fn write<T: WritableElement>(
    array: ArrayViewD<'_, T>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    array.write_npy(out).map_err(|error| match error {
        WriteNpyError::Io(error) => error.into(),
        other => Failure::new(Code::Other, format!("cannot write a numpy file: {other}")),
    })
}
