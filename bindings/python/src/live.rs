//! Live memory of a producer as arrays, which keep it mapped.

use crate::arrays::{Counted, with_type};
use crate::errors;
use numpy::{PyArrayDyn, PyArrayMethods};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::slice;
use std::sync::Arc;
use tcasm_core::field::{self, DType, Element, FieldDesc, Kind};
use tcasm_core::num_complex::Complex;
use tcasm_producer::{AnyBuffer, DefineError, Producer};

/// A producer. It is closed early, but its memory stays mapped until no array needs it.
pub type Shared = Arc<Mutex<Producer>>;

/// The base of an array: the producer, whose memory it is.
#[pyclass(frozen, module = "tcasm._tcasm")]
struct Live {
    _shared: Shared,
    _counted: Counted,
}

/// A buffer of a producer: memory that fields can be bound to.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Buffer {
    pub buffer: AnyBuffer,
    /// The description of a field that it fits, at its capacity.
    desc: FieldDesc,
}

impl Buffer {
    /// Returns `buffer`, which is like the one of field `name`.
    pub fn new(producer: &Producer, name: &str, buffer: AnyBuffer) -> PyResult<Self> {
        let desc = producer.description(name).map(FieldDesc::at_capacity);
        let desc = desc.ok_or_else(|| errors::other(format!("there is no field {name:?}")))?;
        Ok(Buffer { buffer, desc })
    }

    /// Returns `buffer`, which was made as a scratch buffer of this dtype and shape.
    pub fn scratch(buffer: AnyBuffer, dtype: DType, shape: &[usize]) -> Self {
        let desc = FieldDesc::new("scratch", dtype, shape);
        Buffer { buffer, desc }
    }

    /// Returns the description of an array of the memory. That of structures has a row of bytes for
    /// each.
    fn rows(&self) -> FieldDesc {
        FieldDesc {
            kind: Kind::Array,
            ..self.desc.clone()
        }
    }
}

/// Adopts the array at `address` as the field that `desc` describes.
#[allow(unsafe_code)]
pub fn adopt(producer: &mut Producer, desc: &FieldDesc, address: usize) -> Result<(), DefineError> {
    // SAFETY: the Python part passes the address of a numpy array, which it keeps until the field
    // is released. Programs must not store to fields while a function of the producer runs, as
    // with all fields. No reference of Rust to the memory is made: the array itself stands for the
    // live memory in Python. Memory that does not exist is an error.
    unsafe { producer.adopt_described(desc, address) }
}

/// Returns the live memory of a buffer: all that there is room for. The array can be written if
/// `writable` says so.
pub fn live<'py>(
    py: Python<'py>,
    shared: &Shared,
    buffer: &Buffer,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let base = Live {
        _shared: shared.clone(),
        _counted: Counted::new(),
    };
    let base = Bound::new(py, base)?.into_any();
    let producer = shared.lock();
    let address = producer.buffer_address(buffer.buffer);
    let (desc, address) = (buffer.rows(), address.map_err(errors::live)?);
    with_type!(desc.dtype, array(&desc, address, base, writable))
}

#[allow(unsafe_code)]
fn array<'py, T: Element + numpy::Element>(
    desc: &FieldDesc,
    address: usize,
    base: Bound<'py, PyAny>,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let memory = NonNull::new(with_exposed_provenance_mut::<u8>(address));
    let memory = memory.ok_or_else(|| errors::other("a buffer without an address"))?;
    // SAFETY: the buffer has at least as many bytes as its description, which the producer maps at
    // a fixed address until it is dropped, also after `close`. The caller holds its lock. The slice
    // is used only to find the address of the first element: nothing is read or written.
    let bytes =
        unsafe { slice::from_raw_parts_mut(memory.as_ptr(), desc.capacity_bytes() as usize) };
    let view = field::view_mut::<T>(desc, bytes).map_err(errors::other)?;
    // SAFETY: the memory stays mapped: `base` owns a share of the producer, and the new array a
    // reference to `base`. No reference of Rust to this memory exists while Python runs: the lock
    // of the producer guards those that are made in calls. (Its copiers read the memory as raw
    // bytes, whatever a program stores meanwhile.)
    let array = unsafe { PyArrayDyn::borrow_from_array(&view, base) };
    if !writable {
        array.readwrite().make_nonwriteable();
    }
    Ok(array.into_any())
}
