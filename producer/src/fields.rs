//! Adding fields, buffers and raw structures, and binding fields to buffers.

use crate::error::DefineError;
use crate::handles::{Buffer, Field, HandedOver, InPlace, Raw};
use crate::producer::Producer;
use ndarray::{Dimension, IntoDimension};
use std::marker::PhantomData;
use std::ops::Range;
use tcasm_core::field::{Attr, Centering, DType, Element, FieldDesc, Kind, Mesh, Order};

/// Memory of the region that was handed out.
#[derive(Debug)]
pub(crate) struct BufferInfo {
    pub(crate) pages: Range<usize>,
    pub(crate) desc: FieldDesc,
    pub(crate) memory: Memory,
}

impl BufferInfo {
    /// Its pages, if writes to them are tracked.
    pub(crate) fn tracked(&self) -> Range<usize> {
        match self.memory {
            Memory::Tracked => self.pages.clone(),
            _ => 0..0,
        }
    }
}

/// What live memory of a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Private; writes to it are tracked.
    Tracked,
    /// Private, and never captured.
    Scratch,
    /// Pages of a plane: buffer number so of those that the store hands over.
    Lent(usize),
}

/// The live memory that a buffer is to have.
#[derive(Clone, Copy, Debug)]
enum Want {
    Tracked,
    Scratch,
    HandedOver,
}

/// A field of the table, and the buffer it is bound to.
#[derive(Debug)]
pub(crate) struct FieldInfo {
    pub(crate) desc: FieldDesc,
    pub(crate) buffer: usize,
}

/// A field to be: see [`Producer::field`].
#[must_use = "a field exists after add()"]
pub struct FieldBuilder<'p, T, D, M = InPlace> {
    producer: &'p mut Producer,
    desc: FieldDesc,
    vector: bool,
    handed_over: bool,
    _type: PhantomData<Buffer<T, D, M>>,
}

impl<'p, T: Element, D: Dimension, M> FieldBuilder<'p, T, D, M> {
    /// The program writes the field whole each time before it publishes: versions get its pages without a copy.
    ///
    /// What was published is then read only. [`Producer::rewrite`] begins the next rewriting, for which the buffer has other
    /// pages, of undefined content: every element has to be written, ghost layers included. (Codes that keep two copies of a
    /// field hand both over and bind them in turn.)
    ///
    /// The field begins at a multiple of 2 MiB, which has to be counted into the capacity, and its live memory counts against
    /// the bound on memory. Memory for the versions that are alive at once is taken here, not in the first steps.
    pub fn handed_over(self) -> FieldBuilder<'p, T, D, HandedOver> {
        FieldBuilder {
            producer: self.producer,
            desc: self.desc,
            vector: self.vector,
            handed_over: true,
            _type: PhantomData,
        }
    }

    /// The last axis of the shape is the components of a vector (or tensor) at each point. In memory they lie side by
    /// side, whatever the order.
    pub fn vector(mut self) -> Self {
        self.vector = true;
        self
    }

    /// First index fastest, as in Fortran: the shape reads `(nx, ny, nz)`.
    pub fn fortran_order(mut self) -> Self {
        self.desc.order = Order::F;
        self
    }

    /// Ghost layers before and after the interior, a pair for each dimension. The shape includes them.
    pub fn ghosts(mut self, layers: &[[usize; 2]]) -> Self {
        self.desc.ghosts = layers.to_vec();
        self
    }

    /// Unit of the values (`"m/s"`).
    pub fn unit(mut self, unit: &str) -> Self {
        self.desc.unit = unit.to_owned();
        self
    }

    /// Values sit in the cells of the mesh, not on its points.
    pub fn cell_centred(mut self) -> Self {
        self.desc.centering = Centering::Cell;
        self
    }

    /// The uniform mesh: coordinates (x, y, z) of the first interior point, and the distance of points.
    pub fn mesh(mut self, origin: [f64; 3], spacing: [f64; 3]) -> Self {
        self.desc.mesh = Some(Mesh { origin, spacing });
        self
    }

    /// A free attribute.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.desc.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Add the field, bound to a buffer of its own.
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

/// The last axis becomes the components.
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

/// Raw structures to be: see [`Producer::raw`].
#[must_use = "the structures exist after add()"]
pub struct RawBuilder<'p, T> {
    producer: &'p mut Producer,
    desc: FieldDesc,
    _type: PhantomData<fn() -> T>,
}

impl<T: bytemuck::Pod> RawBuilder<'_, T> {
    /// A free attribute.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.desc.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Add the structures.
    pub fn add(self) -> Result<Raw<T>, DefineError> {
        self.producer.check_new(&self.desc.name)?;
        let page_size = self.producer.region.span.page_size;
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
    /// A field `name` of `shape`, an array (`[nz, ny, nx]`) or a vector of extents, ghost layers included.
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

    /// `count` structures of plain data under `name`, for content that is no array: trees, lists, particles. With
    /// [`crate::RegionPtr`] they can point at each other, and observers follow the pointers.
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

    /// A second buffer for a field, to be bound in turn ([`Producer::bind`]): codes that keep two copies swap them.
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
            Memory::Lent(_) => Want::HandedOver,
        };
        let buffer = self.allocate(&desc, want)?;
        Ok(Buffer {
            region: self.id,
            buffer,
            _type: PhantomData,
        })
    }

    /// A scratch buffer: in the region, so that it can be viewed with the fields, but never tracked nor captured.
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

    /// From the next publish on, `field` is the content of `buffer`. Returns the buffer that it was bound to, free to
    /// compute the next step in: `next = producer.bind(u, next)?` is the pointer swap of double-buffered codes.
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
        self.bound.remove_range(self.buffers[old].tracked());
        self.bound.insert_range(self.buffers[new].tracked());
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
            Want::Tracked => (self.region.allocate(&what, bytes)?, Memory::Tracked),
            Want::Scratch => (self.region.allocate_scratch(&what, bytes)?, Memory::Scratch),
            Want::HandedOver => self.lend(&what, bytes)?,
        };
        let mut desc = desc.clone();
        desc.offset = (pages.start * self.region.span.page_size) as u64;
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
        self.bound.insert_range(self.buffers[buffer].tracked());
        Ok(self.fields.len() - 1)
    }
}

/// The last part of a type's path: what users recognise, and what a C or Fortran name would be.
fn short_type_name<T>() -> String {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name).to_owned()
}
