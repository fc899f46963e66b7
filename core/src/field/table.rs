//! The field table of a version. It is serialised with names (MessagePack), so that an older reader
//! ignores what a newer producer adds. The whole table is checked before anything in it is used.

use super::desc::{Attr, FieldDesc};
use super::field_error::FieldError;
use super::mesh_desc::MeshDesc;
use super::mesh_error::MeshDescError;
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
    /// The named meshes, in the order in which they were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meshes: Vec<MeshDesc>,
    /// In a file: the fields of the version that the file does not hold as they were. It leaves
    /// them out, or `fields` describes a part of them. Always empty in the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<FieldDesc>,
}

/// The reason why a field table cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes of the table do not decode.
    #[error("the field table does not decode: {0}; the index is damaged or from another program")]
    Decode(#[from] rmp_serde::decode::Error),
    /// The table does not encode.
    #[error("the field table does not encode: {0}")]
    Encode(#[from] rmp_serde::encode::Error),
    /// A field of the table cannot be used.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A mesh of the table, or a field on it, cannot be used.
    #[error(transparent)]
    Mesh(#[from] MeshDescError),
    /// Two fields have the same name.
    #[error("field {0:?} is twice in the field table")]
    Twice(String),
    /// The values of a field are not aligned.
    #[error("field {name:?} starts at offset {offset}, which is not a multiple of {align}")]
    Unaligned {
        /// The name of the field.
        name: String,
        /// The offset of the field in the region.
        offset: u64,
        /// The alignment that its values need.
        align: u64,
    },
}

impl FieldTable {
    /// Returns the bytes of the table that go into the index.
    pub fn encode(&self) -> Result<Vec<u8>, TableError> {
        Ok(rmp_serde::to_vec_named(self)?)
    }

    /// Decodes a table, and checks it against a region of `region` bytes with pages of `page_size`
    /// bytes.
    pub fn decode(bytes: &[u8], region: u64, page_size: u64) -> Result<Self, TableError> {
        let table: FieldTable = rmp_serde::from_slice(bytes)?;
        table.check(region, page_size)?;
        Ok(table)
    }

    fn check(&self, region: u64, page_size: u64) -> Result<(), TableError> {
        check(&self.fields, region, page_size)?;
        self.check_meshes()?;
        check(&self.lacking, region, page_size)
    }

    /// Returns the fields that are missing for a restart: those that are lacking, except for the
    /// ones that are not in checkpoints.
    pub fn missing(&self) -> impl Iterator<Item = &FieldDesc> {
        let lacking = self.lacking.iter();
        lacking.filter(|field| !field.not_in_checkpoints)
    }

    /// Returns the field called `name`.
    pub fn get(&self, name: &str) -> Option<&FieldDesc> {
        self.fields.iter().find(|f| f.name == name)
    }
}

/// Checks that all of `fields` can be in a region of `region` bytes, and that no two have the same
/// name.
fn check(fields: &[FieldDesc], region: u64, page_size: u64) -> Result<(), TableError> {
    let mut names = std::collections::HashSet::new();
    for field in fields {
        field.check_in(region)?;
        let (align, offset) = (field.align(page_size), field.offset);
        if !offset.is_multiple_of(align) {
            let name = field.name.clone();
            return Err(TableError::Unaligned {
                name,
                offset,
                align,
            });
        }
        if !names.insert(&field.name) {
            return Err(TableError::Twice(field.name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{DType, GlobalPlace};

    fn table() -> FieldTable {
        FieldTable {
            fields: vec![FieldDesc::new("t", DType::F64, &[4])],
            ..FieldTable::default()
        }
    }

    /// The members that an earlier release knows.
    #[derive(Debug, PartialEq, Deserialize)]
    struct OldTable {
        fields: Vec<OldField>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct OldField {
        name: String,
        shape: Vec<usize>,
    }

    #[test]
    fn earlier_reader_ignores_fields_that_a_file_lacks() {
        let mut table = table();
        let plain = table.encode().unwrap();
        let has = |bytes: &[u8]| bytes.windows(7).any(|w| w == b"lacking");
        assert!(!has(&plain), "tables of the index are as before");
        table.lacking = vec![FieldDesc::new("u", DType::F32, &[2])];
        let bytes = table.encode().unwrap();
        assert!(has(&bytes));
        assert_eq!(FieldTable::decode(&bytes, 1 << 20, 4096).unwrap(), table);
        let old = |bytes: &[u8]| rmp_serde::from_slice::<OldTable>(bytes).unwrap();
        assert_eq!(old(&bytes), old(&plain));
    }

    #[test]
    fn earlier_reader_ignores_that_a_field_is_not_in_checkpoints() {
        let mut table = table();
        let plain = table.encode().unwrap();
        table.fields[0].not_in_checkpoints = true;
        let bytes = table.encode().unwrap();
        assert!(
            plain.len() < bytes.len(),
            "tables of other fields are as before"
        );
        assert_eq!(FieldTable::decode(&bytes, 1 << 20, 4096).unwrap(), table);
        let old = |bytes: &[u8]| rmp_serde::from_slice::<OldTable>(bytes).unwrap();
        assert_eq!(old(&bytes), old(&plain));
        let read = FieldTable::decode(&plain, 1 << 20, 4096).unwrap();
        assert!(!read.fields[0].not_in_checkpoints);
    }

    #[test]
    fn earlier_reader_ignores_the_place_in_a_global_array() {
        let mut table = table();
        let plain = table.encode().unwrap();
        let has = |bytes: &[u8]| bytes.windows(6).any(|w| w == b"global");
        assert!(!has(&plain), "tables of other fields are as before");
        table.fields[0].global = Some(GlobalPlace {
            shape: vec![8],
            offset: vec![4],
        });
        let bytes = table.encode().unwrap();
        assert!(has(&bytes));
        assert_eq!(FieldTable::decode(&bytes, 1 << 20, 4096).unwrap(), table);
        let old = |bytes: &[u8]| rmp_serde::from_slice::<OldTable>(bytes).unwrap();
        assert_eq!(old(&bytes), old(&plain));
        table.fields[0].global.as_mut().unwrap().offset = vec![5];
        let read = FieldTable::decode(&table.encode().unwrap(), 1 << 20, 4096);
        assert!(matches!(
            read,
            Err(TableError::Field(FieldError::Global { .. }))
        ));
    }

    #[test]
    fn bound_of_rounded_values_is_read_back_and_tables_of_others_are_as_before() {
        let mut table = table();
        let has = |bytes: &[u8]| bytes.windows(14).any(|w| w == b"relative_error");
        assert!(!has(&table.encode().unwrap()));
        table.fields[0].relative_error = Some(1e-3);
        let bytes = table.encode().unwrap();
        assert!(has(&bytes));
        assert_eq!(FieldTable::decode(&bytes, 1 << 20, 4096).unwrap(), table);
    }

    #[test]
    fn fields_that_a_file_lacks_are_checked_too() {
        let mut table = table();
        let lacking = |name: &str| FieldDesc::new(name, DType::F64, &[4]);
        // A part of it may be among the fields.
        table.lacking = vec![lacking("t"), lacking("u")];
        let decoded =
            |table: &FieldTable| FieldTable::decode(&table.encode().unwrap(), 4096, 4096).map(drop);
        assert!(decoded(&table).is_ok());
        table.lacking.push(lacking("u"));
        assert!(matches!(decoded(&table), Err(TableError::Twice(name)) if name == "u"));
        table.lacking = vec![lacking("../u")];
        assert!(matches!(decoded(&table), Err(TableError::Field(_))));
        table.lacking = vec![FieldDesc::new("u", DType::F64, &[4096])];
        assert!(matches!(decoded(&table), Err(TableError::Field(_))));
    }

    #[test]
    fn fields_whose_names_a_terminal_or_a_file_could_interpret_are_refused() {
        let long = "x".repeat(129);
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a.b",
            "a b",
            "a\n",
            "a\0",
            "\x1b[31m",
            "\u{9b}2J",
            "\u{202e}a",
            "\u{e9}",
            "$(x)",
            "a;b",
            "a'b",
            "*",
            "<b>",
            "&lt;",
            "%2e",
            &long,
        ] {
            let table = FieldTable {
                fields: vec![FieldDesc::new(bad, DType::U8, &[1])],
                ..FieldTable::default()
            };
            let read = FieldTable::decode(&table.encode().unwrap(), 4096, 4096);
            let error = read.unwrap_err();
            let is_name = matches!(error, TableError::Field(FieldError::Name(_)));
            assert!(is_name, "{bad:?}: {error}");
            let text = error.to_string();
            assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
        }
    }
}
