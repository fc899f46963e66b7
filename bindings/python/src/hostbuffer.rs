//! Host buffers: memory that all processes of a job have at the same address.

use crate::background::in_background;
use crate::errors;
use crate::shared::bytes;
use crate::values::seconds;
use crate::wait::{Limit, in_slices};
use numpy::{PyArray1, PyArrayMethods};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tcasm_hostbuffer::tcp::{Rendezvous, Secret};
use tcasm_hostbuffer::{HostBuffer as RustBuffer, HostBufferError as RustError, Section};

/// A host buffer. Its arrays keep it mapped after it is closed.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct HostBuffer {
    buffer: Mutex<Option<Arc<RustBuffer>>>,
    address: usize,
    created: bool,
}

/// The base of an array in a host buffer.
#[pyclass(frozen, module = "tcasm._tcasm")]
struct Kept {
    _buffer: Arc<RustBuffer>,
}

#[pymethods]
impl HostBuffer {
    #[new]
    fn new(
        py: Python<'_>,
        job: &str,
        sections: Vec<(String, usize, u32)>,
        processes: Option<usize>,
        rendezvous: Option<(String, PathBuf)>,
        timeout: f64,
    ) -> PyResult<Self> {
        let mut builder = RustBuffer::builder(job).timeout(seconds(timeout));
        for (name, bytes, ranks) in sections {
            builder = builder.section(match ranks {
                0 => Section::new(&name, bytes),
                ranks => Section::regions(&name, ranks, bytes),
            });
        }
        if let Some(count) = processes {
            builder = builder.processes(count);
        }
        if let Some((address, path)) = rendezvous {
            let secret = Secret::read(&path).map_err(|error| errors::secret(&path, error))?;
            builder = builder.agreement(Rendezvous::new(&address, job, secret));
        }
        let made = in_background(py, move || builder.create_or_attach())?;
        let buffer = made.map_err(errors::host_buffer)?;
        Ok(HostBuffer {
            address: buffer.address(),
            created: buffer.created(),
            buffer: Mutex::new(Some(Arc::new(buffer))),
        })
    }

    #[getter]
    fn address(&self) -> usize {
        self.address
    }

    #[getter]
    fn created(&self) -> bool {
        self.created
    }

    /// Returns the bytes of a section: read-only if it is sealed.
    #[allow(unsafe_code)]
    fn section<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let buffer = self.buffer()?;
        let (first, len) = buffer.section(name).map_err(errors::host_buffer)?;
        let sealed = buffer.wait_sealed(name, Duration::ZERO).is_ok();
        let base = Bound::new(py, Kept { _buffer: buffer })?.into_any();
        // SAFETY: the section has so many bytes there, which are mapped as long as the buffer
        // lives. The base of the array owns a share of it. If the section is sealed, the array is
        // made read-only. (If it is sealed later, a store is a SIGSEGV, as the package says.)
        let array = unsafe { bytes(first, len, base) };
        if sealed {
            array.readwrite().make_nonwriteable();
        }
        Ok(array)
    }

    /// Takes the part of a rank in a section for regions. Returns its address and its size.
    fn take_part(&self, name: &str, rank: u32) -> PyResult<(u64, u64)> {
        let part = self.buffer()?.take_part(name, rank);
        let part = part.map_err(errors::host_buffer)?;
        Ok((part.base, part.bytes))
    }

    fn seal(&self, py: Python<'_>, name: String) -> PyResult<()> {
        let buffer = self.buffer()?;
        let sealed = in_background(py, move || buffer.seal(&name))?;
        sealed.map_err(errors::host_buffer)
    }

    /// Waits until a section is sealed. Returns false if it is not in time.
    fn wait_sealed(&self, py: Python<'_>, name: &str, timeout: Option<f64>) -> PyResult<bool> {
        let buffer = self.buffer()?;
        let limit = Limit::new(timeout.map(seconds));
        let look = |slice| match buffer.wait_sealed(name, slice) {
            Ok(_) => Ok(true),
            Err(RustError::SealTimeout { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        let found = in_slices(py, &limit, look, |found| matches!(found, Ok(false)))?;
        found.map_err(errors::host_buffer)
    }

    /// Lets go of the buffer. The last of it and its arrays unmaps it.
    fn close(&self, py: Python<'_>) {
        let buffer = self.buffer.lock().take();
        py.detach(|| drop(buffer));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.buffer.lock().is_none()
    }
}

impl HostBuffer {
    fn buffer(&self) -> PyResult<Arc<RustBuffer>> {
        let buffer = self.buffer.lock().clone();
        buffer.ok_or_else(|| errors::closed("host buffer"))
    }
}
