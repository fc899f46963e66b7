//! Memory of a file, which peers can map, as arrays of bytes.

use crate::errors;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use tcasm_transfer::Mapped;

/// Memory that can be declared for reading and writing. It is the base of its arrays.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct SharedMemory {
    pub memory: Arc<tcasm_transfer::SharedMemory>,
}

#[pymethods]
impl SharedMemory {
    #[new]
    fn new(bytes: usize) -> PyResult<Self> {
        let memory = tcasm_transfer::SharedMemory::create(bytes).map_err(errors::other)?;
        Ok(SharedMemory { memory })
    }

    /// Returns the memory as bytes.
    #[allow(unsafe_code)]
    fn array<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u8>> {
        let memory = &slf.get().memory;
        let (first, len) = (memory.as_ptr(), memory.len());
        // SAFETY: `memory` has so many bytes there, which are mapped for writing as long as it
        // lives. The base of the array owns a share of it.
        unsafe { bytes(first, len, slf.clone().into_any()) }
    }
}

/// Memory of an owner that this process has mapped: the base of an array.
#[pyclass(frozen, module = "tcasm._tcasm")]
struct MappedMemory {
    mapped: Mapped,
}

/// Returns memory of an owner as read-only bytes, if it is in one piece.
#[allow(unsafe_code)]
pub fn mapped(py: Python<'_>, mapped: Mapped) -> PyResult<Bound<'_, PyArray1<u8>>> {
    let base = Bound::new(py, MappedMemory { mapped })?;
    // SAFETY: the slices are used only to find their addresses and lengths: nothing is read.
    let mut parts = unsafe { base.get().mapped.parts() }.map(|part| (part.as_ptr(), part.len()));
    let (Some((first, len)), None) = (parts.next(), parts.next()) else {
        return Err(errors::not_in_one_piece());
    };
    drop(parts);
    // SAFETY: the mapping has so many bytes there and lives as long as `base`. It is for reading
    // only, and the array is made so before it is returned.
    let array = unsafe { bytes(first.cast_mut(), len, base.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// Returns the array of `len` bytes at `first`.
///
/// # Safety
/// The bytes are mapped as long as `base` lives, and for writing unless the array is made
/// read-only. No reference of Rust to them exists.
#[allow(unsafe_code)]
pub unsafe fn bytes<'py>(
    first: *mut u8,
    len: usize,
    base: Bound<'py, PyAny>,
) -> Bound<'py, PyArray1<u8>> {
    let first = NonNull::new(first).unwrap_or(NonNull::dangling());
    // SAFETY: the caller promises that the bytes are mapped. The slice is used only to make the
    // array: nothing is read through it. The array owns a reference to `base`.
    unsafe {
        let bytes = slice::from_raw_parts(first.as_ptr(), len);
        PyArray1::borrow_from_array(&ArrayView1::from(bytes), base)
    }
}
