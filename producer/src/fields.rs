//! Adds fields, buffers and raw structures, and binds fields to buffers.

use crate::error::DefineError;
use crate::handles::{Buffer, Field, HandedOver, InPlace, Raw};
use crate::producer::Producer;
use ndarray::{Dimension, IntoDimension};
use std::marker::PhantomData;
use std::ops::Range;
use tcasm_core::field::{Attr, Centering, DType, Element, FieldDesc, Kind, Mesh, Order};

/// A part of the region's memory that was handed out.
#[derive(Debug)]
pub(crate) struct BufferInfo {
    pub(crate) pages: Range<usize>,
    pub(crate) desc: FieldDesc,
    pub(crate) memory: Memory,
}

impl BufferInfo {
    /// Returns its pages if writes to them are tracked, or none.
    pub(crate) fn tracked(&self) -> Range<usize> {
        match self.memory {
            Memory::Tracked => self.pages.clone(),
            _ => 0..0,
        }
    }
}

/// The kind of live memory that a buffer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Private memory. Writes to it are tracked.
    Tracked,
    /// Private memory that is never captured.
    Scratch,
    /// Pages of a plane, for a handed-over buffer. The number is the store's for this buffer.
    HandedOver(usize),
}

/// The kind of live memory that a new buffer is to have.
#[derive(Clone, Copy, Debug)]
enum Want {
    Tracked,
    Scratch,
    HandedOver,
}

/// A field of the table, and the buffer that it is bound to.
#[derive(Debug)]
pub(crate) struct FieldInfo {
    pub(crate) desc: FieldDesc,
    pub(crate) buffer: usize,
}

/// A field that is not added yet: see [`Producer::field`].
#[must_use = "a field exists after add()"]
pub struct FieldBuilder<'p, T, D, M = InPlace> {
    producer: &'p mut Producer,
    desc: FieldDesc,
    vector: bool,
    handed_over: bool,
    _type: PhantomData<Buffer<T, D, M>>,
}

impl<'p, T: Element, D: Dimension, M> FieldBuilder<'p, T, D, M> {
    /// Makes the field a handed-over one: the program rewrites it whole before each publish, and
    /// versions get its pages without a copy.
    ///
    /// After publish the field can only be read. [`Producer::rewrite`] begins the next rewriting.
    /// The buffer then has other pages of undefined content, so every element must be written,
    /// ghost layers included. (Programs that keep two copies of a field hand both over and bind
    /// them in turn.)
    ///
    /// The field begins at a multiple of 2 MiB, which the capacity must allow for. Its live memory
    /// counts against the bound on memory. Memory for all versions that may be alive at once is
    /// taken here, not in the first steps.
    pub fn handed_over(self) -> FieldBuilder<'p, T, D, HandedOver> {
        FieldBuilder {
            producer: self.producer,
            desc: self.desc,
            vector: self.vector,
            handed_over: true,
            _type: PhantomData,
        }
    }

    /// Makes the last axis of the shape the components of a vector (or tensor) at each point. In
    /// memory the components lie side by side, whatever the order.
    pub fn vector(mut self) -> Self {
        self.vector = true;
        self
    }

    /// Lays the array out with the first index fastest, as in Fortran: the shape reads
    /// `(nx, ny, nz)`.
    pub fn fortran_order(mut self) -> Self {
        self.desc.order = Order::F;
        self
    }

    /// Sets the ghost layers before and after the interior, a pair for each dimension. The shape
    /// includes them.
    pub fn ghosts(mut self, layers: &[[usize; 2]]) -> Self {
        self.desc.ghosts = layers.to_vec();
        self
    }

    /// Sets the unit of the values (`"m/s"`).
    pub fn unit(mut self, unit: &str) -> Self {
        self.desc.unit = unit.to_owned();
        self
    }

    /// Places the values in the cells of the mesh, not on its points.
    pub fn cell_centred(mut self) -> Self {
        self.desc.centering = Centering::Cell;
        self
    }

    /// Sets the uniform mesh: the coordinates (x, y, z) of the first interior point, and the
    /// distance between points.
    pub fn mesh(mut self, origin: [f64; 3], spacing: [f64; 3]) -> Self {
        self.desc.mesh = Some(Mesh { origin, spacing });
        self
    }

    /// Sets an attribute of the field, under any name.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.desc.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the field, bound to a buffer of its own.
    pub fn add(mut self) -> Result<Field<T, D, M>, DefineError> {
        if self.vector {
            split_components(&mut self.desc)?;
        }
        self.producer.check_new(&self.desc.name)?;
        let want = match self.handed_over {
            true => Want::HandedOver,
            false => Want::Tracked,
        };
        let buffer = self.producer.allocate(&self.desc, want)?;
        let field = self.producer.add_field(self.desc, buffer)?;
        Ok(Field {
            region: self.producer.id,
            field,
            buffer,
            _type: PhantomData,
        })
    }
}

/// Takes the last axis of the shape as the components.
fn split_components(desc: &mut FieldDesc) -> Result<(), DefineError> {
    let Some(components) = desc.shape.pop() else {
        return Err(DefineError::NoComponents {
            name: desc.name.clone(),
            shape: Vec::new(),
        });
    };
    desc.components = components;
    desc.ghosts.truncate(desc.shape.len());
    Ok(())
}

/// Raw structures that are not added yet: see [`Producer::raw`].
#[must_use = "the structures exist after add()"]
pub struct RawBuilder<'p, T> {
    producer: &'p mut Producer,
    desc: FieldDesc,
    _type: PhantomData<fn() -> T>,
}

impl<T: bytemuck::Pod> RawBuilder<'_, T> {
    /// Sets an attribute of the structures, under any name.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.desc.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the structures.
    pub fn add(self) -> Result<Raw<T>, DefineError> {
        self.producer.check_new(&self.desc.name)?;
        let page_size = self.producer.live.span.page_size;
        if align_of::<T>() > page_size {
            return Err(DefineError::Alignment {
                name: self.desc.name,
                align: align_of::<T>(),
                page_size,
            });
        }
        let buffer = self.producer.allocate(&self.desc, Want::Tracked)?;
        self.producer.add_field(self.desc, buffer)?;
        Ok(Raw {
            region: self.producer.id,
            buffer,
            _type: PhantomData,
        })
    }
}

impl Producer {
    /// Begins a field `name` of `shape`: an array (`[nz, ny, nx]`) or a vector of extents, ghost
    /// layers included.
    pub fn field<T: Element, S: IntoDimension>(
        &mut self,
        name: &str,
        shape: S,
    ) -> FieldBuilder<'_, T, S::Dim> {
        let desc = FieldDesc::new(name, T::DTYPE, shape.into_dimension().slice());
        FieldBuilder {
            producer: self,
            desc,
            vector: false,
            handed_over: false,
            _type: PhantomData,
        }
    }

    /// Begins `count` structures of plain data under `name`, for content that is not an array:
    /// trees, lists, particles. The structures can point at each other with [`crate::RegionPtr`],
    /// and observers can follow these pointers.
    pub fn raw<T: bytemuck::Pod>(&mut self, name: &str, count: usize) -> RawBuilder<'_, T> {
        let mut desc = FieldDesc::new(name, DType::U8, &[count]);
        desc.components = size_of::<T>();
        desc.kind = Kind::Raw {
            type_name: short_type_name::<T>(),
            align: align_of::<T>(),
        };
        RawBuilder {
            producer: self,
            desc,
            _type: PhantomData,
        }
    }

    /// Returns another buffer like that of a field, to be bound in turn ([`Producer::bind`]).
    /// Programs that keep two copies of a field swap them this way.
    pub fn buffer_like<T: Element, D: Dimension, M>(
        &mut self,
        like: impl Into<Buffer<T, D, M>>,
    ) -> Result<Buffer<T, D, M>, DefineError> {
        let like = like.into();
        self.check_handle(like.region)?;
        let desc = self.buffers[like.buffer].desc.clone();
        let want = match self.buffers[like.buffer].memory {
            Memory::Tracked => Want::Tracked,
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
    pub fn bind<T: Element, D: Dimension, M>(
        &mut self,
        field: Field<T, D, M>,
        buffer: impl Into<Buffer<T, D, M>>,
    ) -> Result<Buffer<T, D, M>, DefineError> {
        let buffer = buffer.into();
        self.check_handle(field.region)?;
        self.check_handle(buffer.region)?;
        self.check_binding(field.field, buffer.buffer)?;
        let (old, new) = (self.fields[field.field].buffer, buffer.buffer);
        self.dirty.unbind(self.buffers[old].tracked());
        self.dirty.bind(self.buffers[new].tracked());
        self.fields[field.field].buffer = new;
        self.fields[field.field].desc.offset = self.buffers[new].desc.offset;
        self.table = None;
        Ok(Buffer {
            buffer: old,
            ..buffer
        })
    }

    fn check_binding(&self, field: usize, buffer: usize) -> Result<(), DefineError> {
        let (f, b) = (&self.fields[field], &self.buffers[buffer]);
        let name = || f.desc.name.clone();
        if b.memory == Memory::Scratch {
            return Err(DefineError::Scratch { field: name() });
        }
        let differences = [
            ("dtype", f.desc.dtype != b.desc.dtype),
            ("shape", f.desc.shape != b.desc.shape),
            ("components", f.desc.components != b.desc.components),
            ("order", f.desc.order != b.desc.order),
        ];
        if let Some((what, _)) = differences.into_iter().find(|(_, differs)| *differs) {
            return Err(DefineError::OtherShape {
                field: name(),
                what,
            });
        }
        match self.fields.iter().position(|o| o.buffer == buffer) {
            Some(other) if other != field => Err(DefineError::Bound {
                field: self.fields[other].desc.name.clone(),
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_new(&self, name: &str) -> Result<(), DefineError> {
        self.check_usable()?;
        match self.fields.iter().any(|f| f.desc.name == name) {
            true => Err(DefineError::Twice(name.to_owned())),
            false => Ok(()),
        }
    }

    pub(crate) fn check_handle(&self, region: u64) -> Result<(), DefineError> {
        self.check_usable()?;
        if region == self.id {
            Ok(())
        } else {
            Err(DefineError::Foreign)
        }
    }

    pub(crate) fn check_usable(&self) -> Result<(), DefineError> {
        match (self.forked(), self.closed) {
            (true, _) => Err(DefineError::Forked),
            (_, true) => Err(DefineError::Closed),
            _ => Ok(()),
        }
    }

    fn allocate(&mut self, desc: &FieldDesc, want: Want) -> Result<usize, DefineError> {
        self.check_usable()?;
        let bytes = desc.check()?;
        let what = format!("{:?}", desc.name);
        let (pages, memory) = match want {
            Want::Tracked => (self.live.allocate(&what, bytes)?, Memory::Tracked),
            Want::Scratch => (self.live.allocate_scratch(&what, bytes)?, Memory::Scratch),
            Want::HandedOver => self.allocate_handed_over(&what, bytes)?,
        };
        let mut desc = desc.clone();
        desc.offset = (pages.start * self.live.span.page_size) as u64;
        self.buffers.push(BufferInfo {
            pages,
            desc,
            memory,
        });
        Ok(self.buffers.len() - 1)
    }

    pub(crate) fn add_field(
        &mut self,
        mut desc: FieldDesc,
        buffer: usize,
    ) -> Result<usize, DefineError> {
        desc.offset = self.buffers[buffer].desc.offset;
        self.fields.push(FieldInfo { desc, buffer });
        if let Err(error) = self.encode_table() {
            self.fields.pop();
            return Err(error);
        }
        self.dirty.bind(self.buffers[buffer].tracked());
        Ok(self.fields.len() - 1)
    }
}

/// Returns the last part of a type's path. Users recognise it, and a C or Fortran type would have
/// such a name.
fn short_type_name<T>() -> String {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name).to_owned()
}
