//! Peers, which read and write the memory of an owner by cookie.

use crate::background::in_background;
use crate::errors;
use crate::shared;
use crate::transfer::{to_fill, to_send};
use crate::wait::{Limit, in_slices};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::path::PathBuf;
use tcasm_core::sys::fork::Process;
use tcasm_transfer::{Access, Consistency, Cookie, Peer as RustPeer, TransferError, Transport};

thread_local! {
    /// The exception that a signal handler has raised while this thread waited for an owner.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// A connection to an owner. Threads can share it: each call takes it for itself.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Peer {
    peer: Mutex<Option<RustPeer>>,
    /// The lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

/// The description of a declaration.
#[derive(IntoPyObject)]
struct DescribedDict {
    nbytes: u64,
    access: &'static str,
    mapped: bool,
    once: bool,
    version: Option<u64>,
}

#[pymethods]
impl Peer {
    #[new]
    fn new(py: Python<'_>, address: PathBuf, only: Option<&str>) -> PyResult<Self> {
        let only = only.map(transport).transpose()?;
        let peer = in_background(py, move || RustPeer::connect(&address))?;
        let mut peer = peer.map_err(errors::transfer)?;
        peer.set_interrupted(interrupted);
        peer.use_only(only);
        Ok(Peer {
            peer: Mutex::new(Some(peer)),
            process: Process::current(),
        })
    }

    /// Returns why direct copies do not work, if they do not.
    fn not_direct(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |p| Ok(p.direct().err().map(str::to_owned)))
    }

    fn describe(&self, py: Python<'_>, cookie: [u8; 16]) -> PyResult<DescribedDict> {
        let found = self.with(py, |p| p.describe(Cookie::from_bytes(cookie)))?;
        Ok(DescribedDict {
            nbytes: found.len,
            access: match found.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::ReadWrite => "readwrite",
            },
            mapped: found.mapped,
            once: found.once,
            version: found.version.map(|number| number.get()),
        })
    }

    /// Reads bytes into `out`.
    fn read(
        &self,
        py: Python<'_>,
        cookie: [u8; 16],
        offset: u64,
        out: &Bound<'_, PyArray1<u8>>,
    ) -> PyResult<()> {
        let mut out = out.try_readwrite()?;
        let out = out.as_slice_mut().map_err(errors::other)?;
        let cookie = Cookie::from_bytes(cookie);
        self.with(py, |p| p.read(cookie, offset, out).map(drop))
    }

    fn write(
        &self,
        py: Python<'_>,
        cookie: [u8; 16],
        offset: u64,
        source: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let source = source.as_slice().map_err(errors::other)?;
        let cookie = Cookie::from_bytes(cookie);
        self.with(py, |p| p.write(cookie, offset, source))
    }

    /// Reads bytes of one version into `out`. Returns its number.
    fn read_version(
        &self,
        py: Python<'_>,
        cookie: [u8; 16],
        offset: u64,
        out: &Bound<'_, PyArray1<u8>>,
    ) -> PyResult<u64> {
        let mut out = out.try_readwrite()?;
        let out = out.as_slice_mut().map_err(errors::other)?;
        let cookie = Cookie::from_bytes(cookie);
        let version = self.with(py, |p| p.read_version(cookie, offset, out))?;
        Ok(version.get())
    }

    /// Reads bytes into arrays, one after another. Returns the number of their version, if they are
    /// not those of live memory.
    fn read_vectored(
        &self,
        py: Python<'_>,
        cookie: [u8; 16],
        offset: u64,
        outs: Vec<Bound<'_, PyArrayDyn<u8>>>,
    ) -> PyResult<Option<u64>> {
        let mut pieces = to_fill(&outs)?;
        let cookie = Cookie::from_bytes(cookie);
        let read = self.with(py, |p| p.read_either(cookie, offset, &mut pieces))?;
        Ok(match read {
            Consistency::Version(number) => Some(number.get()),
            Consistency::MayBeTorn => None,
        })
    }

    /// Writes arrays, one after another.
    fn write_vectored(
        &self,
        py: Python<'_>,
        cookie: [u8; 16],
        offset: u64,
        sources: Vec<Bound<'_, PyArrayDyn<u8>>>,
    ) -> PyResult<()> {
        let pieces = to_send(&sources)?;
        let cookie = Cookie::from_bytes(cookie);
        self.with(py, |p| p.write_vectored(cookie, offset, &pieces))
    }

    fn map<'py>(&self, py: Python<'py>, cookie: [u8; 16]) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let mapped = self.with(py, |p| p.map(Cookie::from_bytes(cookie)))?;
        shared::mapped(py, mapped)
    }

    fn close(&self, py: Python<'_>) {
        if self.process.is_current() {
            py.detach(|| drop(self.peer.lock().take()));
        }
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.process.is_current() && py.detach(|| self.peer.lock().is_none())
    }
}

impl Peer {
    /// Calls `call` when no other thread uses the connection.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut RustPeer) -> Result<T, TransferError> + Send,
    ) -> PyResult<T> {
        if !self.process.is_current() {
            return Err(errors::forked("peer"));
        }
        let mut call = Some(call);
        let turn = |slice| {
            let mut peer = self.peer.try_lock_for(slice)?;
            let call = call.take()?;
            Some(peer.as_mut().map(call))
        };
        let done = in_slices(py, &Limit::new(None), turn, Option::is_none)?;
        let done = done.flatten().ok_or_else(|| errors::closed("peer"))?;
        done.map_err(|error| match RAISED.take() {
            Some(raised) => raised,
            None => errors::transfer(error),
        })
    }
}

/// Returns true if a signal handler has raised an exception, and keeps that.
fn interrupted() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    })
}

fn transport(name: &str) -> PyResult<Transport> {
    match name {
        "direct" => Ok(Transport::Direct),
        "mapped" => Ok(Transport::Mapped),
        "ring" => Ok(Transport::Ring),
        _ => Err(errors::choice("transport", name, "direct, mapped, ring")),
    }
}
