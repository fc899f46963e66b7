//! Counts the versions that an observer holds, and warns when there are many.

use crate::errors;
use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tcasm_observer::Version;

/// An observer can hold 64 versions. From this many on there is a warning.
const MANY: usize = 32;

/// The versions that one observer holds.
#[derive(Default)]
pub struct Pins {
    held: AtomicUsize,
    /// True from a warning on, until few versions are held again.
    warned: AtomicBool,
}

/// A pinned version, which counts until it is dropped.
pub struct Pinned {
    pub version: Version,
    pins: Arc<Pins>,
}

impl Pins {
    /// Counts `version`. Fails if warnings are errors, and there is one.
    pub fn hold(self: &Arc<Self>, py: Python<'_>, version: Version) -> PyResult<Pinned> {
        let held = self.held.fetch_add(1, Ordering::Relaxed) + 1;
        let pins = self.clone();
        let pinned = Pinned { version, pins };
        if held >= MANY && !self.warned.swap(true, Ordering::Relaxed) {
            warn(py, pinned.version.region(), held)?;
        }
        Ok(pinned)
    }

    /// Returns how many versions are held.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let before = self.pins.held.fetch_sub(1, Ordering::Relaxed);
        if before <= MANY / 2 {
            self.pins.warned.store(false, Ordering::Relaxed);
        }
    }
}

fn warn(py: Python<'_>, region: &str, held: usize) -> PyResult<()> {
    let text = format!(
        "{held} versions of {region:?} are held, and 64 can be at most: each takes memory of the \
         simulation while it or an array of it lives. Drop some, or copy arrays \
         (version.read(name, copy=True))"
    );
    let text = CString::new(text).map_err(errors::other)?;
    let category = py.get_type::<PyResourceWarning>();
    PyErr::warn(py, &category, &text, 2)
}
