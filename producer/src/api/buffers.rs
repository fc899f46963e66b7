//! Allocates buffers, and binds fields to them.

use crate::counts::len_on;
use crate::error::DefineError;
use crate::handles::{Buffer, Field};
use crate::producer::Producer;
use crate::table::{BufferInfo, Memory};
use ndarray::{Dimension, IntoDimension};
use std::marker::PhantomData;
use std::ops::Range;
use tcasm_core::field::{Element, FieldDesc, MeshDesc, MeshDescError};

/// The kind of live memory that a new buffer is to have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    Tracked,
    Scratch,
    HandedOver,
}

impl Producer {
    /// Returns another buffer like that of a field, to be bound in turn ([`Producer::bind`]).
    /// Programs that keep two copies of a field swap them this way. Like an adopted field, this
    /// returns memory of the region.
    pub fn buffer_like<T: Element, D: Dimension, M>(
        &mut self,
        like: impl Into<Buffer<T, D, M>>,
    ) -> Result<Buffer<T, D, M>, DefineError> {
        let like = like.into();
        self.check_handle(like.region)?;
        let desc = self.table.buffers[like.buffer].desc.clone();
        let want = match self.table.buffers[like.buffer].memory {
            Memory::Tracked | Memory::Adopted(_) | Memory::Gone => Want::Tracked,
            Memory::Scratch => Want::Scratch,
            Memory::HandedOver(_) => Want::HandedOver,
        };
        let buffer = self.allocate(&desc, want)?;
        Ok(Buffer {
            region: self.id,
            buffer,
            _type: PhantomData,
        })
    }

    /// Returns a scratch buffer. It lies in the region, so it can be viewed together with fields,
    /// but it is never tracked or captured.
    pub fn scratch<T: Element, S: IntoDimension>(
        &mut self,
        shape: S,
    ) -> Result<Buffer<T, S::Dim>, DefineError> {
        let desc = FieldDesc::new("scratch", T::DTYPE, shape.into_dimension().slice());
        let buffer = self.allocate(&desc, Want::Scratch)?;
        Ok(Buffer {
            region: self.id,
            buffer,
            _type: PhantomData,
        })
    }

    /// Binds `field` to `buffer`: from the next publish on, the content of the buffer is the
    /// field's. Returns the buffer that the field was bound to, in which the next step can be
    /// computed. `next = producer.bind(u, next)?` is the pointer swap of double-buffered programs.
    /// A variable field keeps its length, because buffers have none.
    pub fn bind<T: Element, D: Dimension, M>(
        &mut self,
        field: Field<T, D, M>,
        buffer: impl Into<Buffer<T, D, M>>,
    ) -> Result<Buffer<T, D, M>, DefineError> {
        let buffer = buffer.into();
        self.check_handle(field.region)?;
        self.check_handle(buffer.region)?;
        let old = self.rebind(field.field, buffer.buffer)?;
        Ok(Buffer {
            buffer: old,
            ..buffer
        })
    }

    /// Binds a field to a buffer, both given by their numbers. Returns the number of the buffer
    /// that the field was bound to.
    pub(super) fn rebind(&mut self, field: usize, new: usize) -> Result<usize, DefineError> {
        self.table.check_binding(field, new)?;
        let old = self.table.fields[field].buffer;
        self.dirty.unbind(self.table.buffers[old].tracked());
        self.dirty.bind(self.table.buffers[new].tracked());
        self.table.bind(field, new);
        Ok(old)
    }

    pub(super) fn check_new(&self, name: &str) -> Result<(), DefineError> {
        self.check_usable()?;
        let named = |m: &MeshDesc| m.name == name;
        match self.table.field(name).filter(|f| !f.desc.lost) {
            Some(_) => Err(DefineError::Twice(name.to_owned())),
            None if self.table.meshes.iter().any(named) => {
                Err(MeshDescError::Twice(name.to_owned()).into())
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_handle(&self, region: u64) -> Result<(), DefineError> {
        self.check_usable()?;
        if region == self.id {
            Ok(())
        } else {
            Err(DefineError::Foreign)
        }
    }

    pub(super) fn check_usable(&self) -> Result<(), DefineError> {
        match (self.forked(), self.stream.closed) {
            (true, _) => Err(DefineError::Forked),
            (_, true) => Err(DefineError::Closed),
            _ => Ok(()),
        }
    }

    /// Allocates a buffer for all that the array `desc` can hold. Returns its number.
    pub(super) fn allocate(&mut self, desc: &FieldDesc, want: Want) -> Result<usize, DefineError> {
        self.check_usable()?;
        let bytes = desc.check()?;
        let what = format!("{:?}", desc.name);
        let (pages, memory) = match want {
            Want::Tracked => (self.live.allocate(&what, bytes)?, Memory::Tracked),
            Want::Scratch => (self.live.allocate_scratch(&what, bytes)?, Memory::Scratch),
            Want::HandedOver => self.allocate_handed_over(&what, bytes)?,
        };
        let mut info = BufferInfo::new(pages, desc, memory);
        info.desc.offset = (info.pages.start * self.live.span.page_size) as u64;
        Ok(self.table.add_buffer(info))
    }

    /// Allocates live memory for a handed-over buffer.
    #[allow(unsafe_code)]
    fn allocate_handed_over(
        &mut self,
        what: &str,
        bytes: u64,
    ) -> Result<(Range<usize>, Memory), DefineError> {
        let pages = self.live.allocate_chunks(what, bytes)?;
        // SAFETY: `ptr` is the region's live memory, which is kept as long as the producer. These
        // pages and the rest of their last chunk were just allocated, and nobody else uses them.
        let number = unsafe {
            self.store
                .lock()
                .hand_over(self.live.ptr(), pages.clone())?
        };
        Ok((pages, Memory::HandedOver(number)))
    }

    /// Adds a new field, bound to a buffer of its own. Of a variable one, the shape is the most
    /// that there is room for. Returns the numbers of the field and of the buffer.
    pub(super) fn add_new(
        &mut self,
        mut desc: FieldDesc,
        variable: bool,
        want: Want,
    ) -> Result<(usize, usize), DefineError> {
        self.check_new(&desc.name)?;
        if variable {
            self.begin_length(&mut desc);
        }
        desc.check()?;
        desc.check_mesh()?;
        self.table.check_field(&desc)?;
        let buffer = self.allocate(&desc, want)?;
        let field = self.add_field(desc, buffer)?;
        Ok((field, buffer))
    }

    /// Makes the shape the capacity, and begins with the length that the mesh needs.
    pub(super) fn begin_length(&self, desc: &mut FieldDesc) {
        let table = self.table.described();
        let size = table
            .mesh_of(desc)
            .and_then(|mesh| table.size_of(mesh).ok());
        let len = size.and_then(|size| len_on(&size, desc));
        desc.capacity = Some(desc.length());
        desc.set_length(len.unwrap_or(0));
    }

    /// Adds a field that is bound to a new buffer. Returns its number.
    pub(super) fn add_field(
        &mut self,
        desc: FieldDesc,
        buffer: usize,
    ) -> Result<usize, DefineError> {
        let field = self.table.add_field(desc, buffer)?;
        self.dirty.bind(self.table.buffers[buffer].tracked());
        Ok(field)
    }
}
