//! Writes numpy files.

use crate::failure::{Code, Failure};
use ndarray::ArrayViewD;
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};
use std::io::Write;

/// Writes `array` as a numpy file. Fortran order is kept if the format can express it. It cannot if
/// ghost layers were cut off or the field has components; then the file is in C order.
pub fn write<T: WritableElement>(
    array: ArrayViewD<'_, T>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    array.write_npy(out).map_err(|error| match error {
        WriteNpyError::Io(error) => error.into(),
        other => Failure::new(Code::Other, format!("cannot write a numpy file: {other}")),
    })
}
