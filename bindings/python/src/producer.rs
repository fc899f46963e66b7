//! A region that Python publishes.

#[cfg(feature = "files")]
use crate::background::in_background;
use crate::describe::FieldDict;
use crate::errors;
use crate::fields;
use crate::info::ProducerStats;
use crate::live::{Buffer, Shared, adopt, live};
use crate::meshes;
use crate::receipt::Receipt;
use crate::settings::{Settings, builder};
use crate::values::{self, Value, seconds};
use crate::wait::{Limit, in_slices};
use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_core::field::{Block, MeshDesc, MeshKind};
use tcasm_core::sys::fork::Process;
use tcasm_producer::{Captured, PublishError};

/// Version, step and time of the state that a producer continues from.
#[cfg(feature = "files")]
type Restored = (u64, u64, f64);

/// A region. Threads can share it: each call takes it for itself.
#[pyclass(frozen, module = "tcasm._tcasm")]
pub struct Producer {
    shared: Shared,
    closed: AtomicBool,
    /// The lock may have been held when the process forked, so a child must not wait for it.
    process: Process,
}

#[pymethods]
impl Producer {
    #[new]
    fn new(py: Python<'_>, settings: Settings) -> PyResult<Self> {
        let builder = builder(settings)?;
        let producer = py.detach(|| builder.create()).map_err(errors::create)?;
        Ok(Producer::of(producer))
    }

    /// Returns a region as it was, with the number, step and time of its last version, or a new
    /// one.
    #[cfg(feature = "files")]
    #[staticmethod]
    fn restore_or_begin(
        py: Python<'_>,
        settings: Settings,
        folders: Vec<std::path::PathBuf>,
    ) -> PyResult<(Self, Option<Restored>)> {
        use tcasm_restart::{Continue, Start};
        let builder = builder(settings)?;
        // Reading a large state takes long.
        let start = in_background(py, move || builder.restore_or_begin(&folders))?;
        Ok(match start.map_err(errors::restore)? {
            Start::New(producer) => (Producer::of(producer), None),
            Start::Restored(last) => {
                let stamp = last.stamp;
                let stamp = (stamp.version, stamp.step, stamp.time);
                (Producer::of(last.producer), Some(stamp))
            }
        })
    }

    /// Returns the names of all fields.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |p| p.descriptions().map(|f| f.name.clone()).collect())
    }

    fn field(&self, py: Python<'_>, field: fields::Declared) -> PyResult<()> {
        let (desc, captured) = fields::described(field)?;
        let added = self.with(py, |p| p.add_described(&desc, captured))?;
        added.map_err(errors::define)
    }

    /// Adopts the array at `address`. The caller keeps it alive until it is released.
    fn adopt(&self, py: Python<'_>, field: fields::Declared, address: usize) -> PyResult<()> {
        let (desc, _) = fields::described(field)?;
        let adopted = self.with(py, |p| adopt(p, &desc, address))?;
        adopted.map_err(errors::define)
    }

    fn release(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(py, |p| p.release(name))?.map_err(errors::define)
    }

    fn lost(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |p| p.lost().map(str::to_owned).collect())
    }

    fn mesh(&self, py: Python<'_>, mesh: meshes::Declared) -> PyResult<()> {
        let mesh = meshes::described(mesh)?;
        let added = self.with(py, |p| p.define_mesh(&mesh).map(drop))?;
        added.map_err(errors::define)
    }

    /// Adds structures, of which arrays have a row of bytes for each.
    fn structures(
        &self,
        py: Python<'_>,
        name: &str,
        count: usize,
        bytes: usize,
        alignment: usize,
        type_name: String,
    ) -> PyResult<()> {
        let desc = fields::structures(name, count, bytes, alignment, type_name);
        let added = self.with(py, |p| p.add_described(&desc, Captured::InPlace))?;
        added.map_err(errors::define)
    }

    /// Gives a block another place in the same whole.
    fn set_block(&self, py: Python<'_>, name: &str, place: meshes::Place) -> PyResult<()> {
        let mut block = Block::from(place);
        self.change(py, name, |mesh| {
            if let Some(old) = &mesh.block {
                block.of.clone_from(&old.of);
            }
            mesh.block = Some(block);
        })
    }

    fn set_uniform_mesh(
        &self,
        py: Python<'_>,
        name: &str,
        points: [usize; 3],
        origin: [f64; 3],
        spacing: [f64; 3],
    ) -> PyResult<()> {
        let kind = MeshKind::Uniform {
            points,
            origin,
            spacing,
        };
        self.change(py, name, |mesh| mesh.kind = kind)
    }

    fn set_unused(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let changed = self.with(py, |p| {
            let mesh = p.mesh_handle(name)?;
            p.set_unused(&mesh)
        })?;
        changed.map_err(errors::define)
    }

    /// Returns the live memory of a buffer.
    fn array<'py>(
        &self,
        py: Python<'py>,
        buffer: &Buffer,
        writable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check()?;
        live(py, &self.shared, buffer, writable)
    }

    /// Returns the buffer that a field is bound to.
    fn bound(&self, py: Python<'_>, name: &str) -> PyResult<Buffer> {
        self.with(py, |p| {
            let bound = p.bound(name).map_err(errors::define)?;
            Buffer::new(p, name, bound)
        })?
    }

    /// Returns another buffer like the one that a field is bound to.
    fn buffer_like(&self, py: Python<'_>, name: &str) -> PyResult<Buffer> {
        self.with(py, |p| {
            let made = p.any_buffer_like(name).map_err(errors::define)?;
            Buffer::new(p, name, made)
        })?
    }

    /// Returns a buffer that versions never have.
    fn scratch(&self, py: Python<'_>, shape: Vec<usize>, dtype: &str) -> PyResult<Buffer> {
        let dtype = values::dtype(dtype)?;
        let made = self.with(py, |p| p.any_scratch(dtype, &shape))?;
        let made = made.map_err(errors::define)?;
        Ok(Buffer::scratch(made, dtype, &shape))
    }

    fn bind(&self, py: Python<'_>, name: &str, buffer: &Buffer) -> PyResult<()> {
        let bound = self.with(py, |p| p.bind_any(name, buffer.buffer).map(drop))?;
        bound.map_err(errors::define)
    }

    fn rewrite(&self, py: Python<'_>, buffer: &Buffer) -> PyResult<()> {
        let begun = self.with(py, |p| p.rewrite_any(buffer.buffer))?;
        begun.map_err(errors::live)
    }

    fn mark_dirty(
        &self,
        py: Python<'_>,
        buffer: &Buffer,
        first: usize,
        end: Option<usize>,
    ) -> PyResult<()> {
        let range = first..end.unwrap_or(usize::MAX);
        self.with(py, |p| p.mark_dirty_any(buffer.buffer, range))?
            .map_err(errors::define)
    }

    fn register_dma(&self, py: Python<'_>, buffer: &Buffer) -> PyResult<()> {
        self.with(py, |p| p.register_dma_any(buffer.buffer))?
            .map_err(errors::define)
    }

    fn describe(&self, py: Python<'_>, name: &str) -> PyResult<Option<FieldDict>> {
        self.with(py, |p| p.description(name).map(FieldDict::new))
    }

    fn set_len(&self, py: Python<'_>, name: &str, len: usize) -> PyResult<()> {
        self.with(py, |p| p.set_len(name, len))?
            .map_err(errors::define)
    }

    /// Sets several lengths, all or none.
    fn set_lens(&self, py: Python<'_>, lens: BTreeMap<String, usize>) -> PyResult<()> {
        let lens = lens.iter().map(|(name, len)| (name.as_str(), *len));
        let lens: Vec<_> = lens.collect();
        self.with(py, |p| p.set_lens(&lens))?
            .map_err(errors::define)
    }

    fn len(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        self.with(py, |p| p.len(name))?.map_err(errors::define)
    }

    fn set_attr(&self, py: Python<'_>, name: &str, value: Value) -> PyResult<()> {
        self.with(py, |p| p.set_attr(name, value))
    }

    fn wait_captured(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        self.check()?;
        let limit = Limit::new(timeout.map(seconds));
        in_slices(
            py,
            &limit,
            |slice| self.turn(|p| p.wait_captured(slice)),
            |done| !*done,
        )
    }

    /// Publishes. With a timeout, waits for room.
    fn publish(
        &self,
        py: Python<'_>,
        step: u64,
        time: f64,
        timeout: Option<f64>,
    ) -> PyResult<Receipt> {
        let Some(timeout) = timeout else {
            let receipt = self.with(py, |p| p.publish(step, time))?;
            return Ok(receipt.map_err(errors::publish)?.into());
        };
        self.check()?;
        let limit = Limit::new(Some(seconds(timeout)));
        let publish = |slice| self.turn(|p| p.publish_wait(step, time, slice));
        let receipt = in_slices(py, &limit, publish, is_skipped)?;
        Ok(receipt.map_err(errors::publish)?.into())
    }

    fn rollback(&self, py: Python<'_>, version: u64) -> PyResult<(u64, f64)> {
        let back = self.with(py, |p| p.rollback(version))?;
        let back = back.map_err(errors::rollback)?;
        Ok((back.step, back.time))
    }

    fn stats(&self, py: Python<'_>) -> PyResult<ProducerStats> {
        Ok(self.with(py, |p| p.stats())?.into())
    }

    /// Returns unused memory to the system, and the number of its bytes.
    fn trim(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |p| p.trim())?.map_err(errors::trim)
    }

    /// Revokes the leases of a process. Returns how many there were.
    fn revoke(&self, py: Python<'_>, pid: i32) -> PyResult<usize> {
        self.with(py, |p| p.revoke(pid))
    }

    fn close(&self, py: Python<'_>) {
        if self.process.is_current() && !self.closed.swap(true, Ordering::SeqCst) {
            py.detach(|| self.turn(|p| p.close()));
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

impl Producer {
    fn of(producer: tcasm_producer::Producer) -> Self {
        Producer {
            shared: Arc::new(Mutex::new(producer)),
            closed: AtomicBool::new(false),
            process: Process::current(),
        }
    }

    /// Changes the description of a mesh from the next version on.
    fn change(
        &self,
        py: Python<'_>,
        name: &str,
        change: impl FnOnce(&mut MeshDesc) + Send,
    ) -> PyResult<()> {
        let changed = self.with(py, |p| {
            // Says which meshes there are, if there is none of this name.
            p.mesh_handle(name)?;
            let mut mesh = p.mesh_description(name).cloned();
            if let Some(mesh) = &mut mesh {
                change(mesh);
            }
            p.redefine_meshes(mesh.as_slice())
        })?;
        changed.map_err(errors::define)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut tcasm_producer::Producer) -> T + Send,
    ) -> PyResult<T> {
        self.check()?;
        Ok(py.detach(|| self.turn(call)))
    }

    /// Calls `call`, and then lets the thread in that waits longest.
    fn turn<T>(&self, call: impl FnOnce(&mut tcasm_producer::Producer) -> T) -> T {
        let mut producer = self.shared.lock();
        let result = call(&mut producer);
        MutexGuard::unlock_fair(producer);
        result
    }

    fn check(&self) -> PyResult<()> {
        if !self.process.is_current() {
            return Err(errors::forked("producer"));
        }
        match self.closed() {
            true => Err(errors::closed("producer")),
            false => Ok(()),
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // Arrays may keep the memory. The stream ends nevertheless.
        if self.process.is_current() && !self.closed() {
            self.shared.lock().close();
        }
    }
}

fn is_skipped(found: &Result<tcasm_producer::Receipt, PublishError>) -> bool {
    matches!(found, Ok(receipt) if receipt.version().is_none())
}
