//! All global arrays of a checkpoint in memory, so that they can be written to one file.

use super::error::JobError;
use super::job_checkpoint::JobCheckpoint;
use crate::read::Loaded;
use std::collections::BTreeMap;
use std::ops::Range;
use tcasm_core::field::{self, Element, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::with_dtype;

impl JobCheckpoint {
    /// Reads all global arrays, as if one process had all of them. Fields that are local to their
    /// ranks are listed as lacking.
    pub fn load(&self) -> Result<Loaded, JobError> {
        let (mut table, mut bytes) = (FieldTable::default(), BTreeMap::new());
        let mut stamp = Stamp {
            step: self.step(),
            time: self.time(),
            ..Stamp::default()
        };
        for name in self.fields() {
            if !self.is_global(name)? {
                table.lacking.extend(self.local(name)?);
                continue;
            }
            let desc = self.global(name)?;
            let values = with_dtype!(desc.dtype, T => self.whole_array::<T>(&desc)?);
            bytes.insert(name.to_owned(), values);
            table.fields.push(desc);
        }
        if let Some(block) = self.blocks().next() {
            let first = self.rank(block.rank)?;
            stamp.version = first.stamp.version;
        }
        Ok(Loaded {
            region: self.group().to_owned(),
            stamp,
            table,
            extent: None,
            bytes,
        })
    }

    /// Returns the bytes of a global array as they would lie in memory.
    fn whole_array<T: Element>(&self, desc: &FieldDesc) -> Result<Vec<u8>, JobError> {
        let all: Vec<Range<usize>> = desc.shape.iter().map(|n| 0..*n).collect();
        let values = self.read::<T>(&desc.name, &all)?;
        let mut memory = vec![T::zeroed(); values.len()];
        let mut view = field::view_mut::<T>(desc, bytemuck::cast_slice_mut(&mut memory))?;
        view.assign(&values);
        Ok(bytemuck::cast_slice(&memory).to_vec())
    }

    /// Returns the description of a local field in the first rank that has it.
    fn local(&self, name: &str) -> Result<Option<FieldDesc>, JobError> {
        let block = self.blocks().find(|block| block.field == name);
        let table = block.map(|block| self.rank(block.rank)).transpose()?;
        let found = table.and_then(|rank| rank.table.get(name).cloned());
        Ok(found.map(|field| FieldDesc {
            on: None,
            offset: 0,
            ..field
        }))
    }
}
