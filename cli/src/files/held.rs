//! The values that files are written from: those of a mapped version, or those that were gathered
//! from the ranks of a group.

use crate::failure::{Code, Failure};
use crate::gathered::bytes_of;
use std::collections::BTreeMap;
use tcasm_core::field::FieldDesc;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;
use tcasm_observer::{GroupVersion, Version, View};

/// The values of some fields.
pub enum Held {
    /// They are mapped, and the version is pinned.
    Mapped(View),
    /// The values of global arrays, by their names.
    Gathered {
        stamp: Stamp,
        fields: BTreeMap<String, Vec<u8>>,
    },
}

impl Held {
    /// Returns the bytes of a field.
    pub fn bytes_of(&self, field: &FieldDesc) -> Result<&[u8], Failure> {
        match self {
            Held::Mapped(view) => Ok(view.bytes_of(field)?),
            Held::Gathered { fields, .. } => {
                let bytes = fields.get(&field.name).map(Vec::as_slice);
                let text = || format!("field {:?} was not gathered", field.name);
                bytes.ok_or_else(|| Failure::new(Code::Other, text()))
            }
        }
    }

    /// Returns number, step and time: of a group those of its lowest rank.
    pub fn stamp(&self) -> Stamp {
        match self {
            Held::Mapped(view) => view.stamp(),
            Held::Gathered { stamp, .. } => *stamp,
        }
    }

    /// Returns the addresses of the region. A group has none.
    pub fn extent(&self) -> Option<Extent> {
        self.version().map(Version::extent)
    }

    /// Returns the version, if all values are of one.
    pub fn version(&self) -> Option<&Version> {
        match self {
            Held::Mapped(view) => Some(view.version()),
            Held::Gathered { .. } => None,
        }
    }

    /// Gathers the global arrays that `fields` describe.
    pub fn gather(version: &GroupVersion, fields: &[&FieldDesc]) -> Result<Held, Failure> {
        let gathered = fields
            .iter()
            .map(|field| Ok((field.name.clone(), bytes_of(version, field)?)));
        let lowest = version.members().next().map(|(_, version)| version.stamp());
        Ok(Held::Gathered {
            fields: gathered.collect::<Result<_, Failure>>()?,
            stamp: lowest.unwrap_or(Stamp {
                version: 0,
                step: version.step(),
                time: version.time(),
            }),
        })
    }
}
