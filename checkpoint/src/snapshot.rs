//! The version that a writer stores.

use crate::error::WriteError;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

type Bytes<'a> = Box<dyn Fn(&FieldDesc) -> &'a [u8] + 'a>;

/// A version to be stored: its stamp, its fields and their bytes. The bytes must not change while
/// it is written. Those of a pinned version do not change.
pub struct Snapshot<'a> {
    /// The name of the region.
    pub region: &'a str,
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// The fields of the version. The values of those with a
    /// [`relative_error`](FieldDesc::relative_error) are stored rounded.
    pub table: &'a FieldTable,
    /// The virtual addresses of the region, if they are to be stored. A region that is rebuilt from
    /// the file is mapped at the same addresses.
    pub extent: Option<Extent>,
    /// Returns the bytes of a field.
    bytes: Bytes<'a>,
}

impl<'a> Snapshot<'a> {
    /// Returns a snapshot of the version `stamp` of `region`. `bytes` returns the bytes of each
    /// field of `table`. No file can store [lost](FieldDesc::lost) fields: if there may be some,
    /// pass the table that [`FieldTable::without_lost`] returns.
    pub fn new(
        region: &'a str,
        stamp: Stamp,
        table: &'a FieldTable,
        bytes: impl Fn(&FieldDesc) -> &'a [u8] + 'a,
    ) -> Self {
        Snapshot {
            region,
            stamp,
            table,
            extent: None,
            bytes: Box::new(bytes),
        }
    }

    /// Returns the same snapshot with the virtual addresses of the region.
    pub fn at(self, extent: impl Into<Option<Extent>>) -> Self {
        Snapshot {
            extent: extent.into(),
            ..self
        }
    }

    /// Returns the same version with only the fields of `table`, which are some of its own. Fails
    /// if the bytes of one have the wrong length, so that no file is created then.
    pub(crate) fn part<'b>(&'b self, table: &'b FieldTable) -> Result<Snapshot<'b>, WriteError> {
        for field in &table.fields {
            self.bytes(field)?;
        }
        let part = Snapshot::new(self.region, self.stamp, table, |field| (self.bytes)(field));
        Ok(part.at(self.extent))
    }

    /// Returns the bytes of `field`, ghost layers included. Fails if their number is not that of
    /// its description.
    pub(crate) fn bytes(&self, field: &FieldDesc) -> Result<&'a [u8], WriteError> {
        if field.lost {
            let field = field.name.clone();
            return Err(WriteError::Lost { field });
        }
        let bytes = (self.bytes)(field);
        if bytes.len() as u64 == field.bytes() {
            return Ok(bytes);
        }
        Err(WriteError::Bytes {
            field: field.name.clone(),
            need: field.bytes(),
            have: bytes.len(),
        })
    }
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("region", &self.region)
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    #[test]
    fn lost_field_is_refused_by_name() {
        let mut field = FieldDesc::new("u", DType::U8, &[4]);
        let table = FieldTable {
            fields: vec![field.clone()],
            ..FieldTable::default()
        };
        let snapshot = Snapshot::new("run", Stamp::default(), &table, |_| &[1; 4]);
        assert_eq!(snapshot.bytes(&field).unwrap(), [1; 4]);
        field.lost = true;
        let error = snapshot.bytes(&field).unwrap_err().to_string();
        assert!(error.starts_with("field \"u\" is lost: "), "{error}");
    }
}
