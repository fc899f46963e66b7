//! Memory in pieces that is published as versions.

use crate::errors;
use crate::receipt::Receipt;
use crate::transfer::{Owner, gathered};
use numpy::PyUntypedArray;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::mem;
use tcasm_core::sys::fork::Process;

/// Arrays that are published together. It keeps them.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Gathered {
    // Dropped in this order: what reads the arrays before the arrays.
    gathered: Mutex<Option<tcasm_transfer::Gathered>>,
    arrays: Mutex<Vec<Py<PyAny>>>,
    cookie: [u8; 16],
    /// A lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

#[pymethods]
impl Gathered {
    #[new]
    fn new(
        py: Python<'_>,
        owner: &Owner,
        name: &str,
        arrays: Vec<Bound<'_, PyUntypedArray>>,
    ) -> PyResult<Self> {
        let made = gathered(py, &owner.owner()?, name, &arrays)?;
        let arrays = arrays.into_iter().map(|array| array.into_any().unbind());
        Ok(Gathered {
            cookie: made.cookie().to_bytes(),
            gathered: Mutex::new(Some(made)),
            arrays: Mutex::new(arrays.collect()),
            process: Process::current(),
        })
    }

    #[getter]
    fn cookie(&self) -> [u8; 16] {
        self.cookie
    }

    fn publish(&self, py: Python<'_>, step: u64, time: f64) -> PyResult<Receipt> {
        if !self.process.is_current() {
            return Err(errors::forked("gathered memory"));
        }
        let published = py.detach(|| {
            let mut gathered = self.gathered.lock();
            let publish =
                |g: &mut tcasm_transfer::Gathered| g.publish(step, time).map_err(errors::gather);
            gathered.as_mut().map(publish)
        });
        let published = published.ok_or_else(|| errors::closed("gathered memory"))?;
        Ok(published?.into())
    }

    /// Ends the region and its cookie, and lets go of the arrays.
    fn close(&self, py: Python<'_>) {
        if !self.process.is_current() {
            return;
        }
        py.detach(|| drop(self.gathered.lock().take()));
        // The lock is not held meanwhile: dropping an array can run Python code.
        let arrays = mem::take(&mut *self.arrays.lock());
        drop(arrays);
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.process.is_current() && py.detach(|| self.gathered.lock().is_none())
    }
}
