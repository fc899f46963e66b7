//! The table of a region: its buffers, its fields and its attributes, and the encoded field table
//! that its versions get.

use crate::error::DefineError;
use std::collections::BTreeMap;
use std::ops::Range;
use tcasm_core::field::{Attr, FieldDesc, FieldTable};
use tcasm_core::format::layout::TABLE_BYTES;

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

/// A field of the table, and the buffer that it is bound to.
#[derive(Debug)]
pub(crate) struct FieldInfo {
    pub(crate) desc: FieldDesc,
    pub(crate) buffer: usize,
}

/// The buffers, fields and attributes of a region. Buffers and fields are known by their numbers.
#[derive(Debug)]
pub(crate) struct Table {
    attrs: BTreeMap<String, Attr>,
    pub(crate) buffers: Vec<BufferInfo>,
    pub(crate) fields: Vec<FieldInfo>,
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
            encoded: None,
        }
    }

    /// Returns the field called `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&FieldInfo> {
        self.fields.iter().find(|f| f.desc.name == name)
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

    /// Adds a field that is bound to buffer number `buffer`. Returns its number.
    pub(crate) fn add_field(
        &mut self,
        mut desc: FieldDesc,
        buffer: usize,
    ) -> Result<usize, DefineError> {
        desc.offset = self.buffers[buffer].desc.offset;
        self.fields.push(FieldInfo { desc, buffer });
        if let Err(error) = self.encode() {
            self.fields.pop();
            return Err(error);
        }
        Ok(self.fields.len() - 1)
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

    /// Encodes the field table if it has changed since it was last encoded.
    pub(crate) fn update(&mut self) -> Result<(), DefineError> {
        match self.encoded {
            Some(_) => Ok(()),
            None => self.encode(),
        }
    }

    /// Returns the field table as it was last encoded.
    pub(crate) fn encoded(&self) -> &[u8] {
        self.encoded.as_deref().unwrap_or_default()
    }

    fn encode(&mut self) -> Result<(), DefineError> {
        let fields = self.fields.iter().map(|f| f.desc.clone()).collect();
        let bytes = FieldTable {
            fields,
            attrs: self.attrs.clone(),
            ..FieldTable::default()
        }
        .encode()?;
        if bytes.len() > TABLE_BYTES {
            return Err(DefineError::TableSize {
                bytes: bytes.len(),
                limit: TABLE_BYTES,
            });
        }
        self.encoded = Some(bytes);
        Ok(())
    }
}
