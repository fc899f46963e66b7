//! Groups: regions of several ranks, observed one step at a time.

use crate::arrays::with_type;
use crate::errors;
use crate::pins::Pins;
use crate::values::seconds;
use crate::version::Version;
use crate::wait::{Limit, in_slices};
use numpy::PyArrayDyn;
use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::field::{DType, Element};
use tcasm_core::num_complex::Complex;
use tcasm_core::sys::fork::Process;
use tcasm_observer::{GlobalField, GroupError};

/// The place of a region in a group.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Group {
    pub inner: tcasm_producer::Group,
}

#[pymethods]
impl Group {
    #[new]
    #[pyo3(signature = (rank, ranks, local_ranks = None, run = ""))]
    fn new(rank: u32, ranks: u32, local_ranks: Option<u32>, run: &str) -> Self {
        let inner = tcasm_producer::Group::new(rank, ranks);
        let inner = inner.local_ranks(local_ranks.unwrap_or(ranks)).run(run);
        Group { inner }
    }

    /// Returns the place that the launcher of this process tells.
    #[staticmethod]
    fn from_env() -> PyResult<Self> {
        let inner = tcasm_producer::Group::from_env().map_err(errors::other)?;
        Ok(Group { inner })
    }

    #[getter]
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    #[getter]
    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn __reduce__(&self) -> PyResult<()> {
        let instead = "send its rank, its number of ranks and its run, and make it there";
        Err(errors::cannot_pickle("a group", instead))
    }

    fn __repr__(&self) -> String {
        format!("<Group rank={} ranks={}>", self.rank(), self.ranks())
    }
}

/// An attachment to the regions of all ranks of this host.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct GroupObserver {
    /// `None` once it is closed.
    inner: Mutex<Option<tcasm_observer::GroupObserver>>,
    pins: Arc<Pins>,
    /// The lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

/// One step of a group, pinned in all of its ranks.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct GroupVersion {
    /// `None` once it is released.
    inner: Mutex<Option<Arc<tcasm_observer::GroupVersion>>>,
    pins: Arc<Pins>,
}

/// The ranks that publish no more.
#[derive(IntoPyObject)]
struct Ends {
    attached: usize,
    closed: Vec<u32>,
    lost: Vec<u32>,
}

#[pymethods]
impl GroupObserver {
    #[new]
    fn new(py: Python<'_>, name: &str, timeout: f64) -> PyResult<Self> {
        let attach = |slice: std::time::Duration| {
            let attached = tcasm_observer::GroupObserver::attach(name);
            if attached.is_err() {
                std::thread::sleep(slice.min(std::time::Duration::from_millis(20)));
            }
            attached
        };
        let absent =
            |found: &Result<_, GroupError>| matches!(found, Err(GroupError::NotFound { .. }));
        let limit = Limit::new(Some(seconds(timeout)));
        let inner = in_slices(py, &limit, attach, absent)?.map_err(errors::group)?;
        Ok(GroupObserver {
            inner: Mutex::new(Some(inner)),
            pins: Arc::default(),
            process: Process::current(),
        })
    }

    fn latest(&self, py: Python<'_>) -> PyResult<GroupVersion> {
        let found = self.with(py, |g| g.latest())?;
        Ok(self.hold(found.map_err(errors::group)?))
    }

    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<GroupVersion> {
        self.check_process()?;
        let limit = Limit::new(timeout.map(seconds));
        let turn = |slice| self.turn(|g| g.wait_newer(slice));
        let may_pass = |error: &GroupError| error.may_pass();
        let not_yet = |found: &Option<Result<_, _>>| {
            let error = found.as_ref().and_then(|found| found.as_ref().err());
            error.is_some_and(may_pass)
        };
        let found = in_slices(py, &limit, turn, not_yet)?;
        let found = found.ok_or_else(|| errors::closed("observer"))?;
        Ok(self.hold(found.map_err(errors::group)?))
    }

    fn version(&self, py: Python<'_>, step: u64) -> PyResult<Option<GroupVersion>> {
        let found = self.with(py, |g| g.version(step))?;
        let found = found.map_err(errors::group)?;
        Ok(found.map(|version| self.hold(version)))
    }

    fn agreed(&self, py: Python<'_>) -> PyResult<GroupVersion> {
        let found = self.with(py, |g| g.agreed())?;
        Ok(self.hold(found.map_err(errors::group)?))
    }

    fn ends(&self, py: Python<'_>) -> PyResult<Ends> {
        let ends = self.with(py, |g| g.ends())?.map_err(errors::group)?;
        Ok(Ends {
            attached: ends.attached,
            closed: ends.closed,
            lost: ends.lost,
        })
    }

    fn steps(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let steps = self.with(py, |g| g.steps())?.map_err(errors::group)?;
        Ok(steps.common)
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

impl GroupObserver {
    fn hold(&self, version: tcasm_observer::GroupVersion) -> GroupVersion {
        GroupVersion {
            inner: Mutex::new(Some(Arc::new(version))),
            pins: self.pins.clone(),
        }
    }

    /// Calls `call` without the interpreter's lock. Fails if this is closed.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut tcasm_observer::GroupObserver) -> T + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        let result = py.detach(|| self.turn(call));
        result.ok_or_else(|| errors::closed("observer"))
    }

    /// Calls `call` unless this is closed. Then lets the thread in that waits longest.
    fn turn<T>(&self, call: impl FnOnce(&mut tcasm_observer::GroupObserver) -> T) -> Option<T> {
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

#[pymethods]
impl GroupVersion {
    #[getter]
    fn group(&self) -> PyResult<String> {
        Ok(self.inner()?.group().to_owned())
    }

    #[getter]
    fn run(&self) -> PyResult<String> {
        Ok(self.inner()?.run().to_owned())
    }

    #[getter]
    fn step(&self) -> PyResult<u64> {
        Ok(self.inner()?.step())
    }

    #[getter]
    fn time(&self) -> PyResult<f64> {
        Ok(self.inner()?.time())
    }

    #[getter]
    fn ranks(&self) -> PyResult<u32> {
        Ok(self.inner()?.ranks())
    }

    /// Returns the ranks of this host.
    fn members(&self) -> PyResult<Vec<u32>> {
        Ok(self.inner()?.members().map(|(rank, _)| rank).collect())
    }

    fn member(&self, py: Python<'_>, rank: u32) -> PyResult<Option<Version>> {
        let inner = self.inner()?;
        let Some(version) = inner.member(rank) else {
            return Ok(None);
        };
        Ok(Some(Version::new(self.pins.hold(py, version.clone())?)))
    }

    /// Returns the shape of a global array, without the axis of components, and the number of
    /// these.
    fn shape(&self, name: &str, concatenated: bool) -> PyResult<(Vec<usize>, usize)> {
        let inner = self.inner()?;
        let field = global(&inner, name, concatenated)?;
        Ok((field.shape().to_vec(), field.desc().components))
    }

    /// Copies a part of a global array, gathered from the blocks of the ranks.
    fn read<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        concatenated: bool,
        ranges: Vec<(usize, usize)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.inner()?;
        let field = global(&inner, name, concatenated)?;
        let ranges: Vec<_> = ranges.into_iter().map(|(from, to)| from..to).collect();
        with_type!(field.desc().dtype, gathered(py, &field, &ranges))
    }

    fn release(&self) {
        drop(self.inner.lock().take());
    }

    #[getter]
    fn released(&self) -> bool {
        self.inner.lock().is_none()
    }
}

impl GroupVersion {
    fn inner(&self) -> PyResult<Arc<tcasm_observer::GroupVersion>> {
        let inner = self.inner.lock().clone();
        inner.ok_or_else(|| errors::closed("version"))
    }
}

fn global<'v>(
    version: &'v tcasm_observer::GroupVersion,
    name: &str,
    concatenated: bool,
) -> PyResult<GlobalField<'v>> {
    let found = match concatenated {
        true => version.concatenated(name),
        false => version.global(name),
    };
    found.map_err(errors::global_array)
}

fn gathered<'py, T: Element + numpy::Element>(
    py: Python<'py>,
    field: &GlobalField<'_>,
    ranges: &[Range<usize>],
) -> PyResult<Bound<'py, PyAny>> {
    let part = py.detach(|| field.read::<T>(ranges));
    let part = part.map_err(errors::global_array)?;
    Ok(PyArrayDyn::from_owned_array(py, part).into_any())
}
