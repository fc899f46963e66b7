//! Rebuilds a region for a restart: adds fields and meshes from their descriptions, finds them by
//! name, and gives access to their bytes.
//!
//! A saved table of fields describes all of them completely, except for the types that the program
//! used. So a region can be rebuilt without the program: [`Producer::define`] adds each field,
//! [`Producer::define_mesh`] each mesh, and [`Producer::field_bytes_mut`] fills the fields. The
//! program then asks for the handles that it works with, by name and type.

use crate::error::{DefineError, Structure, ViewError};
use crate::handles::{Field, MeshHandle, Raw};
use crate::producer::Producer;
use crate::table::{BufferInfo, FieldInfo, Memory};
use ndarray::Dimension;
use std::marker::PhantomData;
use tcasm_core::field::{self, DType, Element, FieldDesc, Kind, MeshDesc};

impl Producer {
    /// Adds a field as `desc` describes it, at the offset that the description gives. The field is
    /// computed in place and has a buffer of its own.
    ///
    /// A variable field has the length of the description, and room for its capacity. A field that
    /// is on a named mesh is on it from when [`Producer::define_mesh`] has defined that mesh. A
    /// mesh of its own that cannot be used, which older producers did not refuse, is left out.
    ///
    /// Fields must be added in ascending order of offsets. Memory of other fields follows the last
    /// one. Gaps between fields stay unused, and take no memory.
    pub fn define(&mut self, desc: &FieldDesc) -> Result<(), DefineError> {
        self.check_new(&desc.name)?;
        desc.check_in(self.live.bytes())?;
        self.check_structure(desc)?;
        let desc = of_region(desc);
        self.table.check_field(&desc)?;
        let pages = self.live.allocate_at(&desc)?;
        let info = BufferInfo::new(pages, &desc, Memory::Tracked);
        let buffer = self.table.add_buffer(info);
        self.add_field(desc, buffer)?;
        Ok(())
    }

    /// Adds a mesh as `mesh` describes it. The fields that are its geometry must exist.
    pub fn define_mesh(&mut self, mesh: &MeshDesc) -> Result<MeshHandle, DefineError> {
        self.add_mesh(mesh.clone())
    }

    /// Returns the handle of an existing mesh.
    pub fn mesh_handle(&self, name: &str) -> Result<MeshHandle, DefineError> {
        self.check_usable()?;
        let found = self.table.meshes.iter().position(|m| m.name == name);
        let mesh = found.ok_or_else(|| DefineError::NoMesh {
            name: name.to_owned(),
            meshes: self.table.meshes.iter().map(|m| m.name.clone()).collect(),
        })?;
        let region = self.id;
        Ok(MeshHandle { region, mesh })
    }

    /// Checks that the alignment of structures can be kept. They begin at a page, so it is at most
    /// the page size.
    fn check_structure(&self, desc: &FieldDesc) -> Result<(), DefineError> {
        let page_size = self.live.span.page_size;
        match desc.kind {
            Kind::Raw { align, .. } if !align.is_power_of_two() || align > page_size => {
                Err(DefineError::Alignment {
                    name: desc.name.clone(),
                    align,
                    page_size,
                })
            }
            _ => Ok(()),
        }
    }

    /// Returns the handle of an existing field: an array of `T` with dimensions `D`, of which the
    /// last are the components of a vector. Where a buffer is asked for, the handle stands for the
    /// buffer that the field is bound to now.
    pub fn handle<T: Element, D: Dimension>(&self, name: &str) -> Result<Field<T, D>, DefineError> {
        let (number, field) = self.existing(name)?;
        let desc = &field.desc;
        field::check_type::<T>(desc)?;
        check_dimensions::<D>(desc)?;
        Ok(Field {
            region: self.id,
            field: number,
            buffer: field.buffer,
            _type: PhantomData,
        })
    }

    /// Returns the handle of existing raw structures. `T` must have their size and alignment.
    pub fn raw_handle<T: bytemuck::Pod>(&self, name: &str) -> Result<Raw<T>, DefineError> {
        let (_, field) = self.existing(name)?;
        check_raw::<T>(&field.desc)?;
        Ok(Raw {
            region: self.id,
            buffer: field.buffer,
            _type: PhantomData,
        })
    }

    /// Returns an existing field that is computed in place, and its number.
    fn existing(&self, name: &str) -> Result<(usize, &FieldInfo), DefineError> {
        self.check_usable()?;
        let number = self.number_of(name)?;
        let field = &self.table.fields[number];
        match self.table.buffers[field.buffer].memory {
            Memory::HandedOver(_) => Err(DefineError::HandedOver {
                name: name.to_owned(),
            }),
            _ => Ok((number, field)),
        }
    }

    /// Returns the number of the field called `name`.
    pub(super) fn number_of(&self, name: &str) -> Result<usize, DefineError> {
        let fields = &self.table.fields;
        let found = fields
            .iter()
            .position(|f| f.desc.name == name && !name.is_empty());
        found.ok_or_else(|| DefineError::NoField {
            name: name.to_owned(),
            fields: self.table.named().map(|f| f.desc.name.clone()).collect(),
        })
    }

    /// Returns the description of a field, as the next version will have it.
    pub fn description(&self, name: &str) -> Option<&FieldDesc> {
        self.table.field(name).map(|f| &f.desc)
    }

    /// Returns the descriptions of all fields, as the next version will have them.
    pub fn descriptions(&self) -> impl ExactSizeIterator<Item = &FieldDesc> {
        self.table.fields.iter().map(|f| &f.desc)
    }

    /// Returns the bytes of a field in live memory, in the buffer that it is bound to. Of a
    /// variable field these are all that there is room for.
    pub fn field_bytes(&self, name: &str) -> Result<&[u8], ViewError> {
        let buffer = self.buffer_of(name)?;
        self.memory(buffer)
    }

    /// Returns the bytes of a field for writing, as many as [`Producer::field_bytes`] does. Changes
    /// are captured like any store. (A handed-over field can only be read from publish until
    /// [`Producer::rewrite`].)
    pub fn field_bytes_mut(&mut self, name: &str) -> Result<&mut [u8], ViewError> {
        let buffer = self.buffer_of(name)?;
        self.part_mut(self.id, buffer)
    }

    fn buffer_of(&self, name: &str) -> Result<usize, ViewError> {
        self.check_view(self.id)?;
        let field = self.table.field(name);
        field.map(|f| f.buffer).ok_or_else(|| ViewError::NoField {
            name: name.to_owned(),
        })
    }
}

/// Returns the description without its mesh if that cannot be used, and without what only files
/// have.
fn of_region(desc: &FieldDesc) -> FieldDesc {
    if let Err(error) = desc.check_mesh() {
        log::warn!("{error}. The field gets no mesh");
    }
    FieldDesc {
        mesh: desc.usable_mesh(),
        relative_error: None,
        lost: false,
        ..desc.clone()
    }
}

/// Checks that a field has the dimensions of `D`. A vector of one component is stored as a scalar,
/// so `D` may have an axis for components or not.
fn check_dimensions<D: Dimension>(desc: &FieldDesc) -> Result<(), DefineError> {
    let shape = desc.array_shape();
    let more = shape.len() + usize::from(desc.components == 1);
    match D::NDIM {
        Some(asked) if !(shape.len()..=more).contains(&asked) => Err(DefineError::Dimensions {
            name: desc.name.clone(),
            shape,
            asked,
        }),
        _ => Ok(()),
    }
}

fn check_raw<T>(desc: &FieldDesc) -> Result<(), DefineError> {
    let name = desc.name.clone();
    let Kind::Raw { align, .. } = desc.kind else {
        let dtype = desc.dtype;
        return Err(DefineError::NotRaw { name, dtype });
    };
    let stored = Structure {
        size: desc.components * desc.dtype.size(),
        align,
    };
    let asked = Structure {
        size: size_of::<T>(),
        align: align_of::<T>(),
    };
    match stored == asked && desc.dtype == DType::U8 {
        true => Ok(()),
        false => Err(DefineError::OtherStructure {
            name,
            stored,
            asked,
        }),
    }
}
