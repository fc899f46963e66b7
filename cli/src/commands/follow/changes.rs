//! Which fields have changed since the last version that was appended, as page tracking tells it: without a pin on that version.

use std::collections::BTreeSet;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_observer::Version;

/// Adds up what each version says that it has changed against the one before it.
#[derive(Debug, Default)]
pub struct Changes {
    /// The last version that was seen.
    seen: Option<u64>,
    table: FieldTable,
    /// None: any may have changed, because a version was not seen.
    fields: Option<BTreeSet<String>>,
}

impl Changes {
    /// The next version comes by. Returns how many were not seen.
    pub fn see(&mut self, version: &Version) -> u64 {
        let number = version.number();
        if self.seen == Some(number) {
            return 0;
        }
        let missed = self.seen.map_or(0, |seen| number.saturating_sub(seen + 1));
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
        missed
    }

    /// What was seen last is in the series.
    pub fn appended(&mut self) {
        self.fields = Some(BTreeSet::new());
    }

    /// Whether the bytes of `field` may be others than in the last version that was appended.
    pub fn may_have_changed(&self, field: &FieldDesc) -> bool {
        let fields = self.fields.as_ref();
        fields.is_none_or(|fields| fields.contains(&field.name))
    }
}

/// Fields that lie elsewhere than before, as those do that are bound to another buffer.
fn moved<'t>(before: &'t FieldTable, now: &'t FieldTable) -> impl Iterator<Item = String> + 't {
    let elsewhere = |field: &&FieldDesc| {
        let old = before.get(&field.name);
        old.is_none_or(|old| old.offset != field.offset)
    };
    let fields = now.fields.iter().filter(elsewhere);
    fields.map(|field| field.name.clone())
}
