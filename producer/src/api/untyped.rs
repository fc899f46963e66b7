//! Fields and buffers without types, by name: for programs in other languages, and for tools. They
//! are what the typed functions add and return, with the same rules.

use super::buffers::Want;
use super::part::{Access, Request};
use crate::error::{DefineError, ViewError};
use crate::handles::Buffer;
use crate::producer::Producer;
use crate::table::{FieldInfo, Memory};
use ndarray::Ix1;
use std::marker::PhantomData;
use std::ops::Range;
use tcasm_core::field::{DType, FieldDesc};

/// How the content of a field gets into versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Captured {
    /// The field is computed in place: written pages are captured.
    #[default]
    InPlace,
    /// The field is rewritten whole before each publish, and versions get its pages without a copy:
    /// see [`FieldBuilder::handed_over`](crate::FieldBuilder::handed_over).
    HandedOver,
}

/// A buffer of any type. Observers see it while it is bound to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyBuffer {
    region: u64,
    buffer: usize,
}

impl Producer {
    /// Adds a field as `desc` describes it, except for its offset, bound to a buffer of its own. If
    /// the description has a capacity, the field is variable: its shape is the most that there is
    /// room for, and the field begins with length 0, or with that of the mesh that it is on.
    ///
    /// Unlike [`Producer::define`], this chooses the place of the field.
    pub fn add_described(
        &mut self,
        desc: &FieldDesc,
        captured: Captured,
    ) -> Result<(), DefineError> {
        self.check_on(desc)?;
        let want = match captured {
            Captured::InPlace => Want::Tracked,
            Captured::HandedOver => Want::HandedOver,
        };
        let variable = desc.capacity.is_some();
        self.add_new(desc.at_capacity(), variable, want)?;
        Ok(())
    }

    /// Checks that the mesh exists that a field is on, and that the field has no other.
    pub(super) fn check_on(&self, desc: &FieldDesc) -> Result<(), DefineError> {
        if let Some(mesh) = &desc.on {
            self.mesh_handle(mesh)?;
        }
        match (&desc.on, &desc.mesh) {
            (Some(mesh), Some(_)) => Err(DefineError::TwoMeshes {
                field: desc.name.clone(),
                mesh: mesh.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns another buffer like the one that the field `name` is bound to. See
    /// [`Producer::buffer_like`].
    pub fn any_buffer_like(&mut self, name: &str) -> Result<AnyBuffer, DefineError> {
        let like = self.bound(name)?.typed();
        let buffer = self.buffer_like(like)?.buffer;
        Ok(self.untyped(buffer))
    }

    /// Returns a scratch buffer: see [`Producer::scratch`]. It is filled with zeros.
    pub fn any_scratch(&mut self, dtype: DType, shape: &[usize]) -> Result<AnyBuffer, DefineError> {
        let desc = FieldDesc::new("scratch", dtype, shape);
        let buffer = self.allocate(&desc, Want::Scratch)?;
        Ok(self.untyped(buffer))
    }

    /// Binds the field `name` to `buffer`, as [`Producer::bind`] does. Returns the buffer that the
    /// field was bound to.
    pub fn bind_any(&mut self, name: &str, buffer: AnyBuffer) -> Result<AnyBuffer, DefineError> {
        self.check_handle(buffer.region)?;
        let field = self.number_of(name)?;
        self.check_same_capture(field, buffer.buffer)?;
        let old = self.rebind(field, buffer.buffer)?;
        Ok(self.untyped(old))
    }

    /// Returns the address of the live memory of a buffer, which stays the same. The rules for
    /// stores there are those of [`Producer::view_mut`]: none while a function of the producer
    /// runs, and none to a handed-over buffer from publish until its next rewriting begins.
    pub fn buffer_address(&self, buffer: AnyBuffer) -> Result<usize, ViewError> {
        self.check_view(buffer.region)?;
        self.address_of(buffer.buffer)
    }

    /// Begins the next rewriting of a handed-over buffer, as [`Producer::rewrite`] does. Its
    /// content is undefined, so every element must be written before the next publish. Does nothing
    /// to a buffer that is computed in place.
    pub fn rewrite_any(&mut self, buffer: AnyBuffer) -> Result<(), ViewError> {
        let request = Request {
            region: buffer.region,
            buffer: buffer.buffer,
            access: Access::Rewrite,
        };
        self.parts_mut(&[request]).map(drop)
    }

    /// Returns the buffer that the field `name` is bound to.
    pub fn bound(&self, name: &str) -> Result<AnyBuffer, DefineError> {
        self.check_usable()?;
        let field = self.number_of(name)?;
        Ok(self.untyped(self.table.fields[field].buffer))
    }

    /// Marks bytes `range` of a buffer as written, as [`Producer::mark_dirty_bytes`] does. Fails if
    /// the buffer is handed over: nothing tracks its pages.
    pub fn mark_dirty_any(
        &mut self,
        buffer: AnyBuffer,
        range: Range<usize>,
    ) -> Result<(), DefineError> {
        self.check_in_place(buffer)?;
        self.mark_dirty_bytes(buffer.typed(), range);
        Ok(())
    }

    /// Declares that devices write a buffer, as [`Producer::register_dma`] does. Fails if the
    /// buffer is handed over: a device would go on writing pages that a version has.
    pub fn register_dma_any(&mut self, buffer: AnyBuffer) -> Result<(), DefineError> {
        self.check_in_place(buffer)?;
        self.register_dma(buffer.typed());
        Ok(())
    }

    /// Checks that a buffer of this region is computed in place. Typed handles make sure of that by
    /// their types.
    fn check_in_place(&self, buffer: AnyBuffer) -> Result<(), DefineError> {
        self.check_usable()?;
        self.check_handle(buffer.region)?;
        let buffer = &self.table.buffers[buffer.buffer];
        match buffer.memory {
            Memory::HandedOver(_) => Err(DefineError::IsHandedOver {
                name: buffer.desc.name.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that a buffer gets into versions as the one does that a field is bound to. Typed
    /// handles make sure of that by their types.
    fn check_same_capture(&self, field: usize, buffer: usize) -> Result<(), DefineError> {
        let handed_over = |b: usize| matches!(self.table.buffers[b].memory, Memory::HandedOver(_));
        let FieldInfo {
            desc,
            buffer: bound,
        } = &self.table.fields[field];
        match handed_over(buffer) == handed_over(*bound) {
            true => Ok(()),
            false => Err(DefineError::OtherShape {
                field: desc.name.clone(),
                what: "way of capture",
            }),
        }
    }

    fn untyped(&self, buffer: usize) -> AnyBuffer {
        AnyBuffer {
            region: self.id,
            buffer,
        }
    }
}

impl AnyBuffer {
    /// Returns the handle with a type, for functions that do not use it.
    fn typed(self) -> Buffer<u8, Ix1> {
        Buffer {
            region: self.region,
            buffer: self.buffer,
            _type: PhantomData,
        }
    }
}
