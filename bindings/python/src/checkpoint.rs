//! Checkpoints, read as versions are.

use crate::describe::{FieldDict, MeshDict, mesh_dicts};
use crate::errors;
use crate::values::{Values, values};
use numpy::{PyArray1, PyArrayMethods};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::path::PathBuf;
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::sys::fork::Process;

/// An open checkpoint.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Checkpoint {
    stamp: Stamp,
    region: String,
    table: FieldTable,
    /// `None` once it is released.
    inner: Mutex<Option<tcasm_checkpoint::Checkpoint>>,
    /// The lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

/// Returns the files of all checkpoints in a folder.
#[pyfunction]
pub fn checkpoint_files(folder: PathBuf, name: Option<&str>) -> PyResult<Vec<PathBuf>> {
    let files = match name {
        Some(name) => tcasm_checkpoint::checkpoint_files_named(&folder, name),
        None => tcasm_checkpoint::checkpoint_files(&folder),
    };
    files.map_err(errors::checkpoint)
}

impl Drop for Checkpoint {
    /// A forked child leaves the file to its parent. Closing it takes the lock of HDF5, which may
    /// have been held when the process forked.
    fn drop(&mut self) {
        if !self.process.is_current() {
            std::mem::forget(self.inner.get_mut().take());
        }
    }
}

#[pymethods]
impl Checkpoint {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let inner = py.detach(|| tcasm_checkpoint::Checkpoint::open(path));
        let inner = inner.map_err(errors::checkpoint)?;
        Ok(Checkpoint {
            stamp: inner.stamp(),
            region: inner.region().to_owned(),
            table: inner.table().clone(),
            inner: Mutex::new(Some(inner)),
            process: Process::current(),
        })
    }

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

    fn names(&self) -> Vec<String> {
        self.table.fields.iter().map(|f| f.name.clone()).collect()
    }

    /// Describes a field, or one that is lost, so that reading it says so.
    fn describe(&self, name: &str) -> Option<FieldDict> {
        let lost = || self.table.lost().find(|field| field.name == name);
        self.table.get(name).or_else(lost).map(FieldDict::new)
    }

    fn meshes(&self) -> Vec<MeshDict> {
        mesh_dicts(&self.table)
    }

    fn attrs(&self) -> Values {
        values(&self.table.attrs)
    }

    /// Returns the bytes of a field as they lay in memory.
    fn read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<u8>>> {
        if !self.process.is_current() {
            return Err(errors::forked("version"));
        }
        let bytes = self
            .table
            .get(name)
            .map_or(0, |field| field.bytes() as usize);
        let array = PyArray1::<u8>::zeros(py, bytes, false);
        let mut writer = array.readwrite();
        let buffer = writer.as_slice_mut().map_err(errors::other)?;
        let read = py.detach(|| {
            let inner = self.inner.lock();
            inner.as_ref().map(|inner| inner.read_bytes(name, buffer))
        });
        let read = read.ok_or_else(|| errors::closed("version"))?;
        read.map_err(errors::checkpoint)?;
        drop(writer);
        Ok(array)
    }

    fn release(&self) {
        if self.process.is_current() {
            drop(self.inner.lock().take());
        }
    }

    #[getter]
    fn released(&self) -> bool {
        self.process.is_current() && self.inner.lock().is_none()
    }
}
