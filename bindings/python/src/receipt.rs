//! The receipt of a call of publish.

use crate::errors;
use crate::values::seconds;
use crate::wait::{Limit, in_slices};
use pyo3::prelude::*;
use tcasm_core::sys::fork::Process;
use tcasm_producer::{GivenUp, Published};

/// The result of a call of publish. It is true if a version was published.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Receipt {
    published: Option<Published>,
    reason: Option<String>,
    duration: f64,
    /// A forked child has no copiers, so it must not wait for them.
    process: Process,
}

impl From<tcasm_producer::Receipt> for Receipt {
    fn from(receipt: tcasm_producer::Receipt) -> Self {
        let process = Process::current();
        match receipt {
            tcasm_producer::Receipt::Published(published) => Receipt {
                duration: published.duration.as_secs_f64(),
                published: Some(published),
                reason: None,
                process,
            },
            tcasm_producer::Receipt::Skipped { reason, duration } => Receipt {
                published: None,
                reason: Some(reason.to_string()),
                duration: duration.as_secs_f64(),
                process,
            },
        }
    }
}

#[pymethods]
impl Receipt {
    #[getter]
    fn version(&self) -> Option<u64> {
        self.published.as_ref().map(|p| p.version)
    }

    #[getter]
    fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    #[getter]
    fn pages(&self) -> u64 {
        self.published.as_ref().map_or(0, |p| p.pages)
    }

    #[getter]
    fn lost(&self) -> Vec<String> {
        self.published
            .as_ref()
            .map_or_else(Vec::new, |p| p.lost.clone())
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.published.as_ref().map_or(0, |p| p.bytes)
    }

    #[getter]
    fn duration(&self) -> f64 {
        self.duration
    }

    /// Waits until observers can see the version. Returns false if they cannot in time, or if there
    /// is no version.
    #[pyo3(signature = (timeout=None))]
    fn wait_visible(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let Some(published) = &self.published else {
            return Ok(false);
        };
        if !self.process.is_current() {
            return Err(errors::forked("producer"));
        }
        let limit = Limit::new(timeout.map(seconds));
        let wait = |slice| published.wait_visible(slice);
        let running = |found: &Result<bool, GivenUp>| matches!(found, Ok(false));
        in_slices(py, &limit, wait, running)?.map_err(errors::other)
    }

    fn __reduce__(&self) -> PyResult<()> {
        let instead = "send receipt.version and what else is needed of it";
        Err(errors::cannot_pickle("a receipt", instead))
    }

    fn __bool__(&self) -> bool {
        self.published.is_some()
    }

    fn __repr__(&self) -> String {
        match (&self.published, &self.reason) {
            (Some(published), _) => format!("<Receipt version={}>", published.version),
            (None, reason) => format!("<Receipt skipped: {}>", reason.as_deref().unwrap_or("")),
        }
    }
}
