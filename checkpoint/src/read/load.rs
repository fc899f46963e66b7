//! Loads all fields of a checkpoint into memory, so that they can be written again.

use super::checkpoint::Checkpoint;
use crate::error::ReadError;
use crate::file::memory;
use crate::snapshot::Snapshot;
use std::collections::BTreeMap;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

/// The contents of a checkpoint in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The name of the region.
    pub region: String,
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// The fields of the version.
    pub table: FieldTable,
    /// Where the region lay, if that is known.
    pub extent: Option<Extent>,
    pub(crate) bytes: BTreeMap<String, Vec<u8>>,
}

impl Loaded {
    /// Returns the bytes of the field `name`, ghost layers included.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.bytes.get(name).map(Vec::as_slice)
    }

    /// Returns a snapshot that a writer can store.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(&self.region, self.stamp, &self.table, |field| {
            self.bytes(&field.name).unwrap_or_default()
        })
        .at(self.extent)
    }
}

impl Checkpoint {
    /// Reads and checks all fields. Fails if they do not fit into memory.
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
