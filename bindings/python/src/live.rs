//! Live memory of a producer as writable arrays, which keep it mapped.

use crate::arrays::{Counted, with_type};
use crate::errors;
use numpy::PyArrayDyn;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;
use tcasm_core::field::{self, DType, Element, FieldDesc};
use tcasm_core::num_complex::Complex;
use tcasm_producer::Producer;

/// A producer. It is closed early, but its memory stays mapped until no array needs it.
pub type Shared = Arc<Mutex<Producer>>;

/// The base of an array: the producer, whose memory it is.
#[pyclass(frozen, module = "tcasm._tcasm")]
struct Live {
    _shared: Shared,
    _counted: Counted,
}

/// Returns the live memory of the field `name`: all that there is room for.
pub fn live<'py>(py: Python<'py>, shared: &Shared, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let base = Live {
        _shared: shared.clone(),
        _counted: Counted::new(),
    };
    let base = Bound::new(py, base)?.into_any();
    let mut producer = shared.lock();
    let desc = producer.description(name).map(FieldDesc::at_capacity);
    let bytes = producer.field_bytes_mut(name).map_err(errors::live)?;
    let desc = desc.ok_or_else(|| errors::other(format!("there is no field {name:?}")))?;
    with_type!(desc.dtype, writable(&desc, bytes, base))
}

#[allow(unsafe_code)]
fn writable<'py, T: Element + numpy::Element>(
    desc: &FieldDesc,
    bytes: &mut [u8],
    base: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = field::view_mut::<T>(desc, bytes).map_err(errors::other)?;
    // SAFETY: the producer maps the memory at a fixed address until it is dropped, also after
    // `close`. `base` owns a share of the producer, and the new array a reference to `base`. The
    // address is that of a mutable borrow, so writing through it is allowed. No reference of Rust
    // to this memory exists while Python runs: the lock of the producer guards those that are made
    // in calls. (Its copiers read the memory as raw bytes, whatever a program stores meanwhile.)
    Ok(unsafe { PyArrayDyn::borrow_from_array(&array, base) }.into_any())
}
