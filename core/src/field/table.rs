//! The field table of a version: serialised with names (MessagePack), so that an older reader ignores what a
//! newer producer adds; checked whole before anything in it is used.

use super::{Attr, FieldDesc, FieldError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// The fields of one version, and the region's free attributes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldTable {
    /// The fields, in the order in which they were added.
    pub fields: Vec<FieldDesc>,
    /// Free attributes of the whole region (the simulation's name, its parameters).
    #[serde(default)]
    pub attrs: BTreeMap<String, Attr>,
}

/// Why a field table cannot be used.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum TableError {
    #[error("the field table does not decode: {0}; the index is damaged or from another program")]
    Decode(#[from] rmp_serde::decode::Error),
    #[error("the field table does not encode: {0}")]
    Encode(#[from] rmp_serde::encode::Error),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("field {0:?} stands twice in the field table")]
    Twice(String),
    #[error(
        "field {name:?} starts at offset {offset}, which is not a multiple of the page size {page_size}"
    )]
    Unaligned {
        name: String,
        offset: u64,
        page_size: u64,
    },
}

impl FieldTable {
    /// The bytes that go into the index.
    pub fn encode(&self) -> Result<Vec<u8>, TableError> {
        Ok(rmp_serde::to_vec_named(self)?)
    }

    /// Decode and check against a region of `region` bytes with pages of `page_size`.
    pub fn decode(bytes: &[u8], region: u64, page_size: u64) -> Result<Self, TableError> {
        let table: FieldTable = rmp_serde::from_slice(bytes)?;
        table.check(region, page_size)?;
        Ok(table)
    }

    fn check(&self, region: u64, page_size: u64) -> Result<(), TableError> {
        let mut names = std::collections::HashSet::new();
        for field in &self.fields {
            field.check_in(region)?;
            if field.offset % page_size != 0 {
                let (name, offset) = (field.name.clone(), field.offset);
                return Err(TableError::Unaligned {
                    name,
                    offset,
                    page_size,
                });
            }
            if !names.insert(&field.name) {
                return Err(TableError::Twice(field.name.clone()));
            }
        }
        Ok(())
    }

    /// The field called `name`.
    pub fn get(&self, name: &str) -> Option<&FieldDesc> {
        self.fields.iter().find(|f| f.name == name)
    }
}
