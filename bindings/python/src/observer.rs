//! An attachment to a region.

use crate::errors;
use crate::info::{Info, ObserverStats, Row};
use crate::pins::Pins;
use crate::values::seconds;
use crate::version::Version;
use crate::wait::{Limit, in_slices};
use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;
use tcasm_core::sys::fork::Process;
use tcasm_observer::{AttachError, ObserveError, Status};

/// An attachment to a region, which threads can share. Each call takes it for itself. Waiting calls
/// let the others in between slices.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Observer {
    /// `None` once it is closed.
    inner: Mutex<Option<tcasm_observer::Observer>>,
    pins: Arc<Pins>,
    /// The lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

type Found = Result<tcasm_observer::Version, ObserveError>;

#[pymethods]
impl Observer {
    #[new]
    #[pyo3(signature = (name, timeout, kept))]
    fn new(py: Python<'_>, name: &str, timeout: f64, kept: bool) -> PyResult<Self> {
        let attach = |slice| match kept {
            true => tcasm_observer::Observer::attach_kept(name),
            false => tcasm_observer::Observer::attach_wait(name, slice),
        };
        let absent = |found: &Result<_, AttachError>| {
            use AttachError::{Dead, Ended, NotFound};
            matches!(found, Err(NotFound { .. } | Dead { .. } | Ended { .. })) && !kept
        };
        let limit = Limit::new(Some(seconds(timeout)));
        let inner = in_slices(py, &limit, attach, absent)?.map_err(errors::attach)?;
        Ok(Observer {
            inner: Mutex::new(Some(inner)),
            pins: Arc::default(),
            process: Process::current(),
        })
    }

    fn latest(&self, py: Python<'_>) -> PyResult<Version> {
        let found = self.with(py, |o| o.latest())?;
        self.hold(py, found.map_err(errors::observe)?)
    }

    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Version> {
        self.find(py, timeout, |o, slice| o.wait_newer(slice))
    }

    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Version> {
        self.find(py, timeout, |o, slice| o.next(slice))
    }

    fn every_version(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        let set = self.with(py, |o| match on {
            true => o.begin_every_version(),
            false => {
                o.end_every_version();
                Ok(())
            }
        })?;
        set.map_err(errors::observe)
    }

    fn missed(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        self.with(py, |o| {
            let missed = o.missed().iter();
            missed.map(|range| (*range.start(), *range.end())).collect()
        })
    }

    fn version(&self, py: Python<'_>, number: u64) -> PyResult<Version> {
        let found = self.with(py, |o| o.version(number))?;
        self.hold(py, found.map_err(errors::observe)?)
    }

    fn available(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.with(py, |o| o.available())?.map_err(errors::observe)
    }

    fn status(&self, py: Python<'_>) -> PyResult<&'static str> {
        let status = self.with(py, |o| o.status())?.map_err(errors::observe)?;
        Ok(match status {
            Status::Ok => "OK",
            Status::NotReady => "NOT_READY",
            Status::EndOfStream => "END_OF_STREAM",
            Status::ProducerLost => "PRODUCER_LOST",
            Status::Revoked => "REVOKED",
        })
    }

    fn info(&self, py: Python<'_>) -> PyResult<Info> {
        let info = self.with(py, |o| o.info())?.map_err(errors::observe)?;
        Ok(info.into())
    }

    fn stats(&self, py: Python<'_>) -> PyResult<ObserverStats> {
        let stats = self.with(py, |o| o.stats())?.map_err(errors::observe)?;
        Ok(ObserverStats::new(&stats, self.pins.held()))
    }

    fn observers(&self, py: Python<'_>) -> PyResult<Vec<Row>> {
        let rows = self.with(py, |o| o.observers())?.map_err(errors::observe)?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    fn set_copy_budget(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.with(py, |o| o.set_copy_budget(bytes))
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let descriptor = self.with(py, |o| o.descriptor().map(|fd| fd.as_raw_fd()))?;
        descriptor.map_err(errors::observe)
    }

    fn close(&self, py: Python<'_>) {
        if self.process.is_current() {
            py.detach(|| drop(self.inner.lock().take()));
        }
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.process.is_current() && py.detach(|| self.inner.lock().is_none())
    }
}

impl Observer {
    fn find(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        mut look: impl FnMut(&mut tcasm_observer::Observer, Duration) -> Found + Send,
    ) -> PyResult<Version> {
        self.check_process()?;
        let limit = Limit::new(timeout.map(seconds));
        let turn = |slice| self.turn(|o| look(o, slice));
        let not_ready = |found: &Option<Found>| matches!(found, Some(Err(ObserveError::NotReady)));
        let found = in_slices(py, &limit, turn, not_ready)?;
        match (found.ok_or_else(|| errors::closed("observer"))?, timeout) {
            (Ok(version), _) => self.hold(py, version),
            (Err(ObserveError::NotReady), Some(seconds)) => Err(errors::not_ready(seconds)),
            (Err(error), _) => Err(errors::observe(error)),
        }
    }

    fn hold(&self, py: Python<'_>, version: tcasm_observer::Version) -> PyResult<Version> {
        Ok(Version::new(self.pins.hold(py, version)?))
    }

    /// Calls `call` without the interpreter's lock. Fails if this is closed.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut tcasm_observer::Observer) -> T + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        let result = py.detach(|| self.turn(call));
        result.ok_or_else(|| errors::closed("observer"))
    }

    /// Calls `call` unless this is closed. Then lets the thread in that waits longest: otherwise a
    /// thread that waits for versions in slices would keep the others out.
    fn turn<T>(&self, call: impl FnOnce(&mut tcasm_observer::Observer) -> T) -> Option<T> {
        let mut inner = self.inner.lock();
        let result = inner.as_mut().map(call);
        MutexGuard::unlock_fair(inner);
        result
    }

    fn check_process(&self) -> PyResult<()> {
        match self.process.is_current() {
            true => Ok(()),
            false => Err(errors::forked("observer")),
        }
    }
}
