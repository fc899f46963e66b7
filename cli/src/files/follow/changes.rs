//! Tracks which fields changed since the last version that was appended. It uses the changed pages
//! of each version, so the appended version need not stay pinned.

use std::collections::BTreeSet;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_observer::Version;

/// Accumulates the fields that each version changed relative to the one before it.
#[derive(Debug, Default)]
pub struct Changes {
    /// The number of the last version that was seen.
    seen: Option<u64>,
    /// The field table of that version.
    table: FieldTable,
    /// The fields that changed. `None` if any field may have changed, because a version was missed.
    fields: Option<BTreeSet<String>>,
}

impl Changes {
    /// Adds the changes of the next version.
    pub fn see(&mut self, version: &Version) {
        let number = version.number();
        if self.seen == Some(number) {
            return;
        }
        let follows = self.seen.is_some_and(|seen| seen + 1 == number);
        let known = self.fields.take().filter(|_| follows);
        self.fields = known
            .zip(version.changes().ok())
            .map(|(mut fields, changes)| {
                fields.extend(changes.fields);
                fields.extend(moved(&self.table, version.table()));
                fields
            });
        (self.seen, self.table) = (Some(number), version.table().clone());
    }

    /// Forgets the changes, because the version that was seen last has been appended.
    pub fn appended(&mut self) {
        self.fields = Some(BTreeSet::new());
    }

    /// Returns true if the bytes of `field` may differ from those in the last version that was
    /// appended.
    pub fn may_have_changed(&self, field: &FieldDesc) -> bool {
        let fields = self.fields.as_ref();
        fields.is_none_or(|fields| fields.contains(&field.name))
    }
}

/// Returns the fields that are at another place than before, or have another shape. A field moves
/// when it is bound to another buffer. Stores beyond its length are seen when the length changes.
fn moved<'t>(before: &'t FieldTable, now: &'t FieldTable) -> impl Iterator<Item = String> + 't {
    let elsewhere = |field: &&FieldDesc| {
        let old = before.get(&field.name);
        old.is_none_or(|old| old.offset != field.offset || old.shape != field.shape)
    };
    let fields = now.fields.iter().filter(elsewhere);
    fields.map(|field| field.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    /// Returns a table with a field of this length and offset, and one that stays.
    fn table(len: usize, offset: u64) -> FieldTable {
        let mut x = FieldDesc::new("x", DType::F64, &[len]);
        (x.capacity, x.offset) = (Some(9), offset);
        FieldTable {
            fields: vec![x, FieldDesc::new("t", DType::F64, &[3])],
            ..FieldTable::default()
        }
    }

    #[test]
    fn fields_of_another_length_or_at_another_place_may_have_other_bytes() {
        let since =
            |before: &FieldTable, now: &FieldTable| -> Vec<String> { moved(before, now).collect() };
        let before = table(5, 0);
        assert!(since(&before, &table(5, 0)).is_empty());
        // Values beyond the shorter length may have been stored meanwhile.
        assert_eq!(since(&before, &table(7, 0)), ["x"]);
        assert_eq!(since(&before, &table(3, 0)), ["x"]);
        assert_eq!(since(&before, &table(5, 4096)), ["x"]);
        assert_eq!(since(&FieldTable::default(), &before), ["x", "t"]);
    }
}
