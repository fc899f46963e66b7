//! Lists the regions of this user.

use crate::errors;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Returns the name of each region, and whether its memory is kept for a dead producer.
#[pyfunction]
pub fn regions() -> PyResult<Vec<(String, bool)>> {
    let sockets = tcasm_observer::sockets(&tcasm_observer::runtime_dir()).map_err(errors::other)?;
    Ok(sockets.into_iter().map(|s| (s.name, s.kept)).collect())
}

/// Returns the folder of the sockets.
#[pyfunction]
pub fn runtime_dir() -> PathBuf {
    tcasm_observer::runtime_dir()
}
