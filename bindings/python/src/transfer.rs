//! Owners of memory that peers read and write by cookie.

use crate::errors;
use crate::shared::SharedMemory;
use crate::values::seconds;
use crate::wait::{Limit, in_slices};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut};
use std::mem;
use std::path::PathBuf;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::slice;
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::sys::fork::Process;
use tcasm_transfer::{
    Access, Allowed, Cookie, Declaration, Gathered, Layout, Owner as RustOwner, Segment,
};

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
    pub fn owner(&self) -> PyResult<Arc<RustOwner>> {
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

/// Publishes the memory of arrays, one after another, as the first version of the region `name`.
/// The caller keeps the arrays as long as the result.
#[allow(unsafe_code)]
pub fn gathered(
    py: Python<'_>,
    owner: &Arc<RustOwner>,
    name: &str,
    arrays: &[Bound<'_, PyUntypedArray>],
) -> PyResult<Gathered> {
    let mut segments = Vec::new();
    for array in arrays {
        segments.extend_from_slice(layout(array)?.segments());
    }
    let layout = Layout::new(segments).map_err(|error| errors::declare(error.into()))?;
    py.detach(|| {
        // SAFETY: arrays have their memory as long as they live, and the caller keeps them. The
        // package asks programs to let no other thread store to them while this or `publish` runs.
        unsafe { Gathered::create(owner, name, layout) }.map_err(errors::gather)
    })
}

/// Returns the memory of arrays, one after another, for a call that fills it. The package passes
/// arrays that can be written.
#[allow(unsafe_code)]
pub fn to_fill<'a>(arrays: &'a [Bound<'_, PyArrayDyn<u8>>]) -> PyResult<Vec<IoSliceMut<'a>>> {
    let pieces = pieces(arrays)?;
    // Refuses pieces that overlap.
    Layout::new(pieces.iter().copied()).map_err(errors::pieces)?;
    let bytes = |piece: Segment| {
        let first = with_exposed_provenance_mut(piece.addr);
        // SAFETY: the piece is memory of an array, which is there as long as the array is borrowed.
        // It overlaps none of the others. The package asks programs to use the arrays for nothing
        // else during the call.
        IoSliceMut::new(unsafe { slice::from_raw_parts_mut(first, piece.len) })
    };
    Ok(pieces.into_iter().map(bytes).collect())
}

/// Returns the memory of arrays, one after another, for a call that reads it.
#[allow(unsafe_code)]
pub fn to_send<'a>(arrays: &'a [Bound<'_, PyArrayDyn<u8>>]) -> PyResult<Vec<IoSlice<'a>>> {
    let bytes = |piece: Segment| {
        let first = with_exposed_provenance(piece.addr);
        // SAFETY: the piece is memory of an array, which is there as long as the array is borrowed.
        // The package asks programs not to write the arrays during the call.
        IoSlice::new(unsafe { slice::from_raw_parts(first, piece.len) })
    };
    Ok(pieces(arrays)?.into_iter().map(bytes).collect())
}

/// Returns where the bytes of arrays are, in the order of their indices, the last one fastest.
fn pieces(arrays: &[Bound<'_, PyArrayDyn<u8>>]) -> PyResult<Vec<Segment>> {
    let mut pieces = Vec::new();
    for array in arrays {
        let first = array.data().expose_provenance();
        let layout = Layout::strided(first, 1, array.shape(), array.strides());
        pieces.extend_from_slice(layout.map_err(errors::pieces)?.segments());
    }
    Ok(pieces)
}

fn access_of(name: &str) -> PyResult<Access> {
    match name {
        "read" => Ok(Access::Read),
        "write" => Ok(Access::Write),
        "readwrite" => Ok(Access::ReadWrite),
        _ => Err(errors::choice("access", name, "read, write, readwrite")),
    }
}
