//! Arrays over mapped versions: read-only, and their version stays pinned as long as they live.

use crate::errors;
use crate::pins::Pinned;
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tcasm_core::field::{DType, Element, FieldDesc, Kind};
use tcasm_core::num_complex::Complex;
use tcasm_observer::View;
use tcasm_observer::ndarray::{ArrayViewD, IxDyn};

/// Calls a generic function with the type of a dtype.
macro_rules! with_type {
    ($dtype:expr, $call:ident ( $($arg:expr),* )) => {
        match $dtype {
            DType::I8 => $call::<i8>($($arg),*),
            DType::I16 => $call::<i16>($($arg),*),
            DType::I32 => $call::<i32>($($arg),*),
            DType::I64 => $call::<i64>($($arg),*),
            DType::U8 => $call::<u8>($($arg),*),
            DType::U16 => $call::<u16>($($arg),*),
            DType::U32 => $call::<u32>($($arg),*),
            DType::U64 => $call::<u64>($($arg),*),
            DType::F32 => $call::<f32>($($arg),*),
            DType::F64 => $call::<f64>($($arg),*),
            DType::C32 => $call::<Complex<f32>>($($arg),*),
            DType::C64 => $call::<Complex<f64>>($($arg),*),
        }
    };
}
pub(crate) use with_type;

/// Objects that arrays over memory of TCASM have as their base, in this process.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts an object as long as it lives.
pub struct Counted(());

impl Counted {
    pub fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Counted(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns how many arrays over versions or live memory there are, or views of them share.
#[pyfunction]
pub fn live_arrays() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// The base of an array: the mapped memory, and the pin of its version.
#[pyclass(frozen, module = "tcasm._tcasm")]
struct Mapped {
    // Dropped in this order: the view before the pin.
    view: View,
    _pinned: Arc<Pinned>,
    _counted: Counted,
}

/// Returns the field `name` of a version, or the part that `ranges` give, as a read-only array.
pub fn mapped<'py>(
    py: Python<'py>,
    pinned: Arc<Pinned>,
    name: &str,
    ranges: Option<&[Range<usize>]>,
) -> PyResult<Bound<'py, PyAny>> {
    let version = &pinned.version;
    let view = py.detach(|| match ranges {
        Some(ranges) => version.view_part(name, ranges),
        None => version.view_of(&[name]),
    });
    let view = view.map_err(errors::view)?;
    let desc = view.field(name).map_err(errors::view)?.clone();
    let base = Mapped {
        view,
        _pinned: pinned,
        _counted: Counted::new(),
    };
    let base = Bound::new(py, base)?;
    match desc.kind {
        Kind::Raw { .. } => structures(&base, &desc),
        Kind::Array => with_type!(desc.dtype, array(&base, name, ranges)),
    }
}

fn array<'py, T: Element + numpy::Element>(
    base: &Bound<'py, Mapped>,
    name: &str,
    ranges: Option<&[Range<usize>]>,
) -> PyResult<Bound<'py, PyAny>> {
    let view = &base.get().view;
    let array = match ranges {
        Some(ranges) => view.part::<T>(name, ranges),
        None => view.array::<T>(name),
    };
    Ok(borrowed(&array.map_err(errors::view)?, base))
}

/// Returns structures as their bytes, a row for each.
fn structures<'py>(base: &Bound<'py, Mapped>, desc: &FieldDesc) -> PyResult<Bound<'py, PyAny>> {
    let bytes = base.get().view.bytes(&desc.name).map_err(errors::view)?;
    let shape = IxDyn(&[desc.length(), desc.components]);
    let rows = ArrayViewD::from_shape(shape, bytes).map_err(errors::other)?;
    Ok(borrowed(&rows, base))
}

/// Returns a read-only array over the memory of `array`, which `base` keeps mapped.
#[allow(unsafe_code)]
fn borrowed<'py, T: numpy::Element>(
    array: &ArrayViewD<'_, T>,
    base: &Bound<'py, Mapped>,
) -> Bound<'py, PyAny> {
    // SAFETY: the memory belongs to the view in `base`, which is frozen, so the view stays there
    // until `base` is dropped. The new array owns a reference to `base`. Nobody writes the memory:
    // the version is pinned, and the array is made read-only before it is returned. numpy refuses
    // to make it writable again, because `base` gives no writable buffer.
    let array = unsafe { PyArrayDyn::borrow_from_array(array, base.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array.into_any()
}
