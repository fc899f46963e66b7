//! Owners of memory that peers read and write by cookie.

use crate::errors;
use crate::shared::SharedMemory;
use crate::values::seconds;
use crate::wait::{Limit, in_slices};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::sys::fork::Process;
use tcasm_transfer::{Access, Allowed, Cookie, Declaration, Layout, Owner as RustOwner};

/// An owner. It keeps the arrays that are declared.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Owner {
    owner: Mutex<Option<Arc<RustOwner>>>,
    address: PathBuf,
    /// Arrays in memory that the declaration itself does not keep.
    kept: Mutex<HashMap<[u8; 16], Py<PyAny>>>,
    /// A lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

#[pymethods]
impl Owner {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let owner = py.detach(|| RustOwner::create(Allowed::SameUser));
        let owner = owner.map_err(errors::other)?;
        Ok(Owner {
            address: owner.address().to_owned(),
            owner: Mutex::new(Some(Arc::new(owner))),
            kept: Mutex::default(),
            process: Process::current(),
        })
    }

    #[getter]
    fn address(&self) -> PathBuf {
        self.address.clone()
    }

    /// Declares an array. `memory` is what it lies in, if that is shared memory of this package.
    fn declare<'py>(
        &self,
        array: &Bound<'py, PyUntypedArray>,
        memory: Option<&SharedMemory>,
        access: &str,
        once: bool,
    ) -> PyResult<[u8; 16]> {
        let owner = self.owner()?;
        let (layout, access) = (layout(array)?, access_of(access)?);
        let declaration = match memory {
            Some(memory) => Declaration::shared(&memory.memory, layout, access),
            None if access.writes() => return Err(errors::write_needs_shared()),
            None => readable(layout),
        };
        let declaration = declaration.map_err(errors::declare)?;
        let declaration = if once {
            declaration.once()
        } else {
            declaration
        };
        let cookie = owner.declare(declaration).map_err(errors::declare)?;
        let cookie = cookie.to_bytes();
        if memory.is_none() {
            let array = array.clone().into_any().unbind();
            self.kept.lock().insert(cookie, array);
        }
        Ok(cookie)
    }

    /// Ends a cookie. Returns true when no transfer uses it.
    fn revoke(&self, py: Python<'_>, cookie: [u8; 16], timeout: Option<f64>) -> PyResult<bool> {
        let owner = self.owner()?;
        let limit = Limit::new(timeout.map(seconds));
        let named = Cookie::from_bytes(cookie);
        let ended = in_slices(py, &limit, |slice| owner.revoke(named, slice), |done| !done)?;
        if ended {
            let array = self.kept.lock().remove(&cookie);
            drop(array);
        }
        Ok(ended)
    }

    fn declarations(&self) -> PyResult<usize> {
        Ok(self.owner()?.declarations())
    }

    /// Ends all connections. Arrays that peers still copy are kept for ever.
    fn close(&self, py: Python<'_>) {
        let owner = self.end();
        py.detach(|| drop(owner));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.process.is_current() && self.owner.lock().is_none()
    }
}

impl Owner {
    fn owner(&self) -> PyResult<Arc<RustOwner>> {
        if !self.process.is_current() {
            return Err(errors::forked("owner"));
        }
        let owner = self.owner.lock().clone();
        owner.ok_or_else(|| errors::closed("owner"))
    }

    /// Revokes all cookies of arrays that this keeps. Dropping the result ends all connections.
    /// Does nothing in a forked child: the connections are those of its parent.
    fn end(&self) -> Option<Arc<RustOwner>> {
        if !self.process.is_current() {
            return None;
        }
        let owner = self.owner.lock().take()?;
        // The lock is not held meanwhile: dropping an array can run Python code.
        let kept = mem::take(&mut *self.kept.lock());
        for (cookie, array) in kept {
            match owner.revoke(Cookie::from_bytes(cookie), Duration::ZERO) {
                true => drop(array),
                false => mem::forget(array),
            }
        }
        Some(owner)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// Declares memory that this process may write meanwhile.
#[allow(unsafe_code)]
fn readable(layout: Layout) -> Result<Declaration, tcasm_transfer::DeclareError> {
    // SAFETY: peers only read. The owner keeps the array until the cookie is revoked, or for ever,
    // so the memory is used for nothing else, and the program has chosen to show it.
    unsafe { Declaration::live(layout, Access::Read) }
}

/// Returns where the elements of an array are, in the order of its indices, the last one fastest.
fn layout(array: &Bound<'_, PyUntypedArray>) -> PyResult<Layout> {
    let interface = array.getattr("__array_interface__")?;
    let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let size: usize = array.getattr("itemsize")?.extract()?;
    let layout = Layout::strided(address, size, array.shape(), array.strides());
    layout.map_err(|error| errors::declare(error.into()))
}

fn access_of(name: &str) -> PyResult<Access> {
    match name {
        "read" => Ok(Access::Read),
        "write" => Ok(Access::Write),
        "readwrite" => Ok(Access::ReadWrite),
        _ => Err(errors::choice("access", name, "read, write, readwrite")),
    }
}
