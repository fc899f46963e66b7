//! The table of a region: its buffers, its fields, its meshes and its attributes, and the encoded
//! field table that its versions get.

pub(crate) mod sizes;

use crate::counts::first_offset;
use crate::error::DefineError;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use tcasm_core::field::{Attr, FieldDesc, FieldTable, MeshDesc};
use tcasm_core::format::layout::TABLE_BYTES;

/// A part of the region's memory that was handed out.
#[derive(Debug)]
pub(crate) struct BufferInfo {
    pub(crate) pages: Range<usize>,
    /// The array that the buffer holds: all that there is room for. Buffers have no length.
    pub(crate) desc: FieldDesc,
    pub(crate) memory: Memory,
}

impl BufferInfo {
    /// Returns the buffer of a field like `desc`, at the offset of `desc`, which `pages` agree
    /// with.
    pub(crate) fn new(pages: Range<usize>, desc: &FieldDesc, memory: Memory) -> Self {
        let desc = FieldDesc {
            shape: desc.capacity_shape(),
            capacity: None,
            ..desc.clone()
        };
        BufferInfo {
            pages,
            desc,
            memory,
        }
    }

    /// Returns its pages if writes to them are tracked, or none.
    pub(crate) fn tracked(&self) -> Range<usize> {
        match self.memory {
            Memory::Tracked | Memory::Adopted(_) => self.pages.clone(),
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
    /// An array that the program had already, at this address.
    Adopted(usize),
    /// None: the buffer was an adopted array that was released or lost.
    Gone,
}

/// A field of the table, and the buffer that it is bound to. A field that was released keeps its
/// number, and has no name.
#[derive(Debug)]
pub(crate) struct FieldInfo {
    pub(crate) desc: FieldDesc,
    pub(crate) buffer: usize,
}

/// The buffers, fields, meshes and attributes of a region. Buffers, fields and meshes are known by
/// their numbers.
#[derive(Debug)]
pub(crate) struct Table {
    attrs: BTreeMap<String, Attr>,
    pub(crate) buffers: Vec<BufferInfo>,
    pub(crate) fields: Vec<FieldInfo>,
    pub(crate) meshes: Vec<MeshDesc>,
    /// The encoded field table, or `None` if it must be encoded again.
    encoded: Option<Vec<u8>>,
}

impl Table {
    /// Returns the table of a region that has only attributes so far.
    pub(crate) fn new(attrs: BTreeMap<String, Attr>) -> Self {
        Table {
            attrs,
            buffers: Vec::new(),
            fields: Vec::new(),
            meshes: Vec::new(),
            encoded: None,
        }
    }

    /// Returns the field called `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&FieldInfo> {
        self.named().find(|f| f.desc.name == name)
    }

    /// Returns how many pages the handed-over buffers have whose numbers of the store are in
    /// `numbers`.
    pub(crate) fn pages_handed(&self, numbers: &[usize]) -> u64 {
        let pages = |b: &BufferInfo| match b.memory {
            Memory::HandedOver(number) if numbers.contains(&number) => b.pages.len() as u64,
            _ => 0,
        };
        self.buffers.iter().map(pages).sum()
    }

    /// Returns the fields that were not released.
    pub(crate) fn named(&self) -> impl Iterator<Item = &FieldInfo> {
        self.fields.iter().filter(|f| !f.desc.name.is_empty())
    }

    /// Returns the field that is bound to the adopted array with `pages`.
    pub(crate) fn adopted(&self, pages: &Range<usize>) -> Option<usize> {
        let is_adopted = |f: &FieldInfo| {
            let buffer = &self.buffers[f.buffer];
            matches!(buffer.memory, Memory::Adopted(_)) && buffer.pages == *pages
        };
        self.fields.iter().position(is_adopted)
    }

    /// Marks a field as lost in the next versions.
    pub(crate) fn lose(&mut self, field: usize) {
        let FieldInfo { desc, buffer } = &mut self.fields[field];
        desc.lost = true;
        self.buffers[*buffer].memory = Memory::Gone;
        self.encoded = None;
    }

    /// Removes an adopted field, or makes it a lost one if it is the geometry of a mesh.
    pub(crate) fn release(&mut self, field: usize) -> Result<(), DefineError> {
        let before = self.fields[field].desc.clone();
        if self.described().geometry_of(&before.name).is_some() {
            self.lose(field);
            return Ok(());
        }
        self.retire(field);
        if let Err(error) = self.renew() {
            self.fields[field].desc = before;
            return Err(error);
        }
        self.buffers[self.fields[field].buffer].memory = Memory::Gone;
        Ok(())
    }

    /// Takes the name of a field away, so that no version has it.
    fn retire(&mut self, field: usize) {
        let desc = &mut self.fields[field].desc;
        (desc.name, desc.on) = (String::new(), None);
        self.encoded = None;
    }

    /// Sets an attribute.
    pub(crate) fn set_attr(&mut self, name: &str, value: Attr) {
        self.attrs.insert(name.to_owned(), value);
        self.encoded = None;
    }

    /// Adds a buffer. Returns its number.
    pub(crate) fn add_buffer(&mut self, buffer: BufferInfo) -> usize {
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    /// Checks that a field can be added, before it gets memory. [`FieldDesc::check`] has passed it.
    pub(crate) fn check_field(&self, desc: &FieldDesc) -> Result<(), DefineError> {
        let others = self.descriptions().filter(|f| f.name != desc.name);
        let fields = others.chain([desc.clone()]);
        Ok(self.with_fields(fields).check_meshes()?)
    }

    /// Adds a field that is bound to buffer number `buffer`. Returns its number. It takes the place
    /// of a lost field of its name.
    pub(crate) fn add_field(
        &mut self,
        mut desc: FieldDesc,
        buffer: usize,
    ) -> Result<usize, DefineError> {
        desc.offset = self.buffers[buffer].desc.offset;
        let mut fields = self.fields.iter();
        let lost = fields.position(|f| f.desc.lost && f.desc.name == desc.name);
        let before = lost.map(|field| (field, self.fields[field].desc.clone()));
        lost.into_iter().for_each(|field| self.retire(field));
        self.fields.push(FieldInfo { desc, buffer });
        if let Err(error) = self.renew() {
            self.fields.pop();
            if let Some((field, desc)) = before {
                self.fields[field].desc = desc;
            }
            return Err(error);
        }
        Ok(self.fields.len() - 1)
    }

    /// Adds a mesh. Fields that were defined on a mesh of this name are on it from now on. Variable
    /// offsets of cells begin with a single value. Returns the number of the mesh.
    pub(crate) fn add_mesh(&mut self, mesh: MeshDesc) -> Result<usize, DefineError> {
        let begun = first_offset(&self.described(), &mesh);
        self.meshes.push(mesh);
        if let Some(offsets) = begun {
            self.fields[offsets].desc.set_length(1);
        }
        if let Err(error) = self.renew() {
            self.meshes.pop();
            if let Some(offsets) = begun {
                self.fields[offsets].desc.set_length(0);
            }
            return Err(error);
        }
        Ok(self.meshes.len() - 1)
    }

    /// Binds a field to another buffer, which [`Table::check_binding`] has found fit.
    pub(crate) fn bind(&mut self, field: usize, buffer: usize) {
        self.fields[field].buffer = buffer;
        self.fields[field].desc.offset = self.buffers[buffer].desc.offset;
        self.encoded = None;
    }

    /// Checks that a field may be bound to a buffer.
    pub(crate) fn check_binding(&self, field: usize, buffer: usize) -> Result<(), DefineError> {
        let (f, b) = (&self.fields[field], &self.buffers[buffer]);
        let name = || f.desc.name.clone();
        let stays = |memory| matches!(memory, Memory::Adopted(_) | Memory::Gone);
        let bound = self.buffers[f.buffer].memory;
        if f.buffer != buffer && (stays(b.memory) || stays(bound)) {
            let (name, what) = (name(), "bound to another buffer");
            return Err(DefineError::IsAdopted { name, what });
        }
        if b.memory == Memory::Scratch {
            return Err(DefineError::Scratch { field: name() });
        }
        let differences = [
            ("dtype", f.desc.dtype != b.desc.dtype),
            ("shape", f.desc.capacity_shape() != b.desc.shape),
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

    /// Encodes the field table if it has changed since it was last encoded.
    pub(crate) fn update(&mut self) -> Result<(), DefineError> {
        if self.encoded.is_none() {
            self.encoded = Some(encoded(&self.visible())?);
        }
        Ok(())
    }

    /// Returns the field table as it was last encoded.
    pub(crate) fn encoded(&self) -> &[u8] {
        self.encoded.as_deref().unwrap_or_default()
    }

    /// Checks the meshes, and encodes the field table. It must also fit with the largest lengths
    /// that fields can have, so that no later version fails for its size.
    fn renew(&mut self) -> Result<(), DefineError> {
        self.described().check_meshes()?;
        let mut largest = self.described();
        for (field, info) in largest.fields.iter_mut().zip(&self.fields) {
            field.shape = field.capacity_shape();
            field.lost |= matches!(self.buffers[info.buffer].memory, Memory::Adopted(_));
        }
        encoded(&named(largest))?;
        self.encoded = Some(encoded(&self.visible())?);
        Ok(())
    }

    /// Returns the field table of the next version.
    fn visible(&self) -> FieldTable {
        named(self.described())
    }

    /// Returns the field table with all fields by their numbers, also those that were released.
    pub(crate) fn described(&self) -> FieldTable {
        self.with_fields(self.descriptions())
    }

    fn descriptions(&self) -> impl Iterator<Item = FieldDesc> + '_ {
        self.fields.iter().map(|f| f.desc.clone())
    }

    /// Returns the field table with `fields`. A field whose mesh is not defined (yet) is on none.
    fn with_fields(&self, fields: impl Iterator<Item = FieldDesc>) -> FieldTable {
        let meshes: HashSet<&str> = self.meshes.iter().map(|m| m.name.as_str()).collect();
        let on_known = |field: FieldDesc| FieldDesc {
            on: field.on.filter(|name| meshes.contains(name.as_str())),
            ..field
        };
        FieldTable {
            fields: fields.map(on_known).collect(),
            attrs: self.attrs.clone(),
            meshes: self.meshes.clone(),
            ..FieldTable::default()
        }
    }
}

/// Returns the table without fields that were released.
fn named(mut table: FieldTable) -> FieldTable {
    table.fields.retain(|field| !field.name.is_empty());
    table
}

/// Returns the bytes of a table, if it has room in the index.
fn encoded(table: &FieldTable) -> Result<Vec<u8>, DefineError> {
    let bytes = table.encode()?;
    match bytes.len() <= TABLE_BYTES {
        true => Ok(bytes),
        false => Err(DefineError::TableSize {
            bytes: bytes.len(),
            limit: TABLE_BYTES,
        }),
    }
}
