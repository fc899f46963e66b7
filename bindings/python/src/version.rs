//! A pinned version.

use crate::arrays::mapped;
use crate::describe::{Changed, FieldDict, MeshDict, mesh_dicts};
use crate::errors;
use crate::pins::Pinned;
use crate::values::{Values, values};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;
use tcasm_core::format::stamp::Stamp;

/// A pinned version. Its arrays share the pin.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Version {
    stamp: Stamp,
    region: String,
    /// `None` once it is released.
    pinned: Mutex<Option<Arc<Pinned>>>,
}

impl Version {
    pub fn new(pinned: Pinned) -> Self {
        Version {
            stamp: pinned.version.stamp(),
            region: pinned.version.region().to_owned(),
            pinned: Mutex::new(Some(Arc::new(pinned))),
        }
    }

    fn pinned(&self) -> PyResult<Arc<Pinned>> {
        let pinned = self.pinned.lock().clone();
        pinned.ok_or_else(|| errors::closed("version"))
    }
}

#[pymethods]
impl Version {
    #[getter]
    fn number(&self) -> u64 {
        self.stamp.version
    }

    #[getter]
    fn step(&self) -> u64 {
        self.stamp.step
    }

    #[getter]
    fn time(&self) -> f64 {
        self.stamp.time
    }

    #[getter]
    fn region(&self) -> &str {
        &self.region
    }

    #[getter]
    fn published(&self) -> PyResult<u64> {
        Ok(self.pinned()?.version.published())
    }

    fn names(&self) -> PyResult<Vec<String>> {
        let pinned = self.pinned()?;
        let fields = pinned.version.table().fields.iter();
        Ok(fields.map(|f| f.name.clone()).collect())
    }

    fn describe(&self, name: &str) -> PyResult<Option<FieldDict>> {
        Ok(self.pinned()?.version.field(name).map(FieldDict::new))
    }

    fn meshes(&self) -> PyResult<Vec<MeshDict>> {
        Ok(mesh_dicts(self.pinned()?.version.table()))
    }

    fn attrs(&self) -> PyResult<Values> {
        Ok(values(&self.pinned()?.version.table().attrs))
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        ranges: Option<Vec<(usize, usize)>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ranges = ranges.map(|all| all.into_iter().map(|(a, b)| a..b).collect::<Vec<_>>());
        mapped(py, self.pinned()?, name, ranges.as_deref())
    }

    fn changes(&self, since: Option<&Version>) -> PyResult<Changed> {
        let pinned = self.pinned()?;
        let changes = match since {
            Some(older) => pinned.version.changes_since(&older.pinned()?.version),
            None => pinned.version.changes(),
        };
        Ok(changes.map_err(errors::other)?.into())
    }

    /// Returns the offset and the length of each range of bytes of a field that may differ.
    fn changed_ranges(
        &self,
        py: Python<'_>,
        name: &str,
        since: Option<&Version>,
    ) -> PyResult<Vec<(u64, u64)>> {
        let pinned = self.pinned()?;
        let older = since.map(Version::pinned).transpose()?;
        let ranges = py.detach(|| {
            let older = older.as_ref().map(|older| &older.version);
            pinned.version.changed_ranges(name, older)
        });
        let ranges = ranges.map_err(errors::read)?.into_iter();
        Ok(ranges.map(|r| (r.start, r.end - r.start)).collect())
    }

    fn release(&self) {
        drop(self.pinned.lock().take());
    }

    #[getter]
    fn released(&self) -> bool {
        self.pinned.lock().is_none()
    }
}
