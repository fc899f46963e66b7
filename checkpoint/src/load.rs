//! All fields of a checkpoint in memory, to be written anew.

use crate::error::ReadError;
use crate::{Checkpoint, Snapshot, memory};
use std::collections::BTreeMap;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::place::Extent;
use tcasm_core::stamp::Stamp;

/// What a checkpoint holds, whatever files it is read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Name of the region.
    pub region: String,
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// Its fields.
    pub table: FieldTable,
    /// Where the region lay, if that is known.
    pub extent: Option<Extent>,
    bytes: BTreeMap<String, Vec<u8>>,
}

impl Loaded {
    /// The bytes of the field `name`, ghost layers included.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.bytes.get(name).map(Vec::as_slice)
    }

    /// What a writer needs.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(&self.region, self.stamp, &self.table, |field| {
            self.bytes(&field.name).unwrap_or_default()
        })
        .at(self.extent)
    }
}

impl Checkpoint {
    /// Read all fields, and check them. It is an error if they do not fit into memory.
    pub fn load(&self) -> Result<Loaded, ReadError> {
        let sizes = self.table().fields.iter().map(FieldDesc::bytes);
        let all = sizes.fold(0, u64::saturating_add);
        memory::check(all).map_err(|why| self.too_large(why))?;
        let mut bytes = BTreeMap::new();
        for field in &self.table().fields {
            let mut buffer = vec![0; field.bytes() as usize];
            self.read_bytes(&field.name, &mut buffer)?;
            bytes.insert(field.name.clone(), buffer);
        }
        Ok(Loaded {
            region: self.region().to_owned(),
            stamp: self.stamp(),
            table: self.table().clone(),
            extent: self.extent(),
            bytes,
        })
    }
}
