//! Adds fields and raw structures.

use super::buffers::Want;
use crate::error::DefineError;
use crate::handles::{Buffer, Field, HandedOver, InPlace, MeshHandle, Raw};
use crate::producer::Producer;
use ndarray::{Dimension, IntoDimension};
use std::marker::PhantomData;
use tcasm_core::field::{
    Attr, Centering, DType, Element, FieldDesc, GlobalPlace, Kind, Mesh, Order,
};

/// A field that is not added yet: see [`Producer::field`].
#[must_use = "a field exists after add()"]
pub struct FieldBuilder<'p, T, D, M = InPlace> {
    producer: &'p mut Producer,
    desc: FieldDesc,
    vector: bool,
    variable: bool,
    on: Option<MeshHandle>,
    handed_over: bool,
    _type: PhantomData<Buffer<T, D, M>>,
}

impl<'p, T: Element, D: Dimension, M> FieldBuilder<'p, T, D, M> {
    /// Makes the field a handed-over one: the program rewrites it whole before each publish, and
    /// versions get its pages without a copy.
    ///
    /// After publish the field can only be read. [`Producer::rewrite`] begins the next rewriting.
    /// The buffer then has other pages of undefined content, so every element must be written,
    /// ghost layers included, and of a variable field each up to its length. (Programs that keep
    /// two copies of a field hand both over and bind them in turn.)
    ///
    /// The field begins at a multiple of 2 MiB, which the capacity must allow for. Its live memory
    /// counts against the bound on memory. Memory for all versions that may be alive at once is
    /// taken here, not in the first steps. (On a machine with several nodes of memory it is taken
    /// in the first steps, where the program's threads store.)
    pub fn handed_over(self) -> FieldBuilder<'p, T, D, HandedOver> {
        FieldBuilder {
            producer: self.producer,
            desc: self.desc,
            vector: self.vector,
            variable: self.variable,
            on: self.on,
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

    /// Makes the length of the field variable: the extent of its slowest axis may change from
    /// version to version ([`Producer::set_len`]), and may be 0. The shape is the most that there
    /// is room for. The length includes the ghost layers of that axis. A field without values has
    /// none.
    ///
    /// The field begins with length 0, or with that of the mesh that it is on.
    pub fn variable(mut self) -> Self {
        self.variable = true;
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

    /// Places the values neither on points nor in cells: the field is a table that belongs to its
    /// mesh, of any size.
    pub fn no_centring(mut self) -> Self {
        self.desc.centering = Centering::None;
        self
    }

    /// Puts the field on a named mesh. Without ghost layers it has the extents of the points of the
    /// mesh, or of its cells. On a structured mesh, slowest axes of one point may be there or not:
    /// `[1, ny, nx]` is as good as `[ny, nx]`.
    pub fn on(mut self, mesh: &MeshHandle) -> Self {
        self.on = Some(*mesh);
        self
    }

    /// Sets the name of the quantity that the field holds, if the fields of several meshes hold the
    /// same one. Without it, the name of the field is that of the quantity.
    pub fn quantity(mut self, name: &str) -> Self {
        self.desc.quantity = Some(name.to_owned());
        self
    }

    /// Sets a uniform mesh of the field itself: the coordinates (x, y, z) of the first interior
    /// point, and the distance between points. Coordinates are finite and distances positive, also
    /// along axes that the field does not have.
    pub fn mesh(mut self, origin: [f64; 3], spacing: [f64; 3]) -> Self {
        self.desc.mesh = Some(Mesh { origin, spacing });
        self
    }

    /// Makes the field a block of a global array, of which other processes have other blocks:
    /// `shape` is the extent of that array along each axis, without components.
    /// [`FieldBuilder::at`] sets the place of the block in it. Observers of a
    /// [group](crate::Builder::group) see the blocks of all ranks as one array.
    pub fn global(mut self, shape: impl AsRef<[usize]>) -> Self {
        self.place().shape = shape.as_ref().to_vec();
        self
    }

    /// Sets the global index of the first value of the block that is no ghost, along each axis of
    /// the [global](FieldBuilder::global) array. The block without its ghost layers must be inside
    /// that array. Its blocks need not have the same size.
    pub fn at(mut self, offset: impl AsRef<[usize]>) -> Self {
        self.place().offset = offset.as_ref().to_vec();
        self
    }

    fn place(&mut self) -> &mut GlobalPlace {
        self.desc.global.get_or_insert_default()
    }

    /// Sets an attribute of the field, under any name.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.desc.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves the field out of the files of `tcasm checkpoint`. A restart from them creates it as
    /// zeros, and the program fills it: it can compute the values from other fields. The geometry
    /// of a mesh is stored nevertheless.
    pub fn not_in_checkpoints(mut self) -> Self {
        self.desc.not_in_checkpoints = true;
        self
    }

    /// Adds the field, bound to a buffer of its own.
    pub fn add(mut self) -> Result<Field<T, D, M>, DefineError> {
        if self.vector {
            split_components(&mut self.desc)?;
        }
        self.put_on_mesh()?;
        let want = match self.handed_over {
            true => Want::HandedOver,
            false => Want::Tracked,
        };
        let (field, buffer) = self.producer.add_new(self.desc, self.variable, want)?;
        Ok(Field {
            region: self.producer.id,
            field,
            buffer,
            _type: PhantomData,
        })
    }
}

impl<T: Element, D: Dimension> FieldBuilder<'_, T, D> {
    /// Adds the field. Its memory is the array that begins at `pointer`, with the shape, the
    /// components and the order of the field. Of a variable field it has room for the longest. See
    /// [`Producer::adopt`].
    ///
    /// # Safety
    /// As for [`Producer::adopt`].
    #[allow(unsafe_code)]
    pub unsafe fn adopt(mut self, pointer: *mut T) -> Result<Field<T, D>, DefineError> {
        if self.vector {
            split_components(&mut self.desc)?;
        }
        self.put_on_mesh()?;
        let address = pointer.expose_provenance();
        let producer = self.producer;
        let (field, buffer) = producer.add_adopted(self.desc, self.variable, address)?;
        Ok(Field {
            region: producer.id,
            field,
            buffer,
            _type: PhantomData,
        })
    }
}

impl<T, D, M> FieldBuilder<'_, T, D, M> {
    /// Finds the mesh that the field is on, if it is on one.
    fn put_on_mesh(&mut self) -> Result<(), DefineError> {
        let Some(mesh) = self.on else {
            return Ok(());
        };
        self.producer.check_handle(mesh.region)?;
        let mesh = self.producer.table.meshes[mesh.mesh].name.clone();
        if self.desc.mesh.is_some() {
            let field = self.desc.name.clone();
            return Err(DefineError::TwoMeshes { field, mesh });
        }
        self.desc.on = Some(mesh);
        Ok(())
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

    /// Leaves the structures out of the files of `tcasm checkpoint`. A restart from them creates
    /// them as zeros, and the program fills them.
    pub fn not_in_checkpoints(mut self) -> Self {
        self.desc.not_in_checkpoints = true;
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
            variable: false,
            on: None,
            handed_over: false,
            _type: PhantomData,
        }
    }

    /// Begins `count` structures of plain data under `name`, for content that is not an array, such
    /// as trees and lists. The structures can point at each other with [`crate::RegionPtr`], and
    /// observers can follow these pointers. Particles are better declared with
    /// [`Producer::particles`]: other programs can show the fields on them.
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
}

/// Returns the last part of a type's path. Users recognise it, and a C or Fortran type would have
/// such a name.
fn short_type_name<T>() -> String {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name).to_owned()
}
