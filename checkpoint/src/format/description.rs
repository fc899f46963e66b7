//! The description in `/tcasm`, which all checkpoint files have.

use tcasm_core::field::{Centering, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;
use xxhash_rust::xxh3::Xxh3Default;

/// The newest layout of `/tcasm` that this program writes and reads.
pub const FORMAT: u64 = 2;
/// The layout of files that every earlier program reads.
const FIRST: u64 = 1;

/// Returns the layout of a file with the fields of `table`. Both have the same members. But
/// programs that know only the first one take all values for exact and all lengths for fixed, so
/// they must not restart from others. They would call fields without values, and tables of a mesh,
/// damaged.
pub fn format_of(table: &FieldTable) -> u64 {
    let mut fields = table.fields.iter().chain(&table.lacking);
    let is_new = |field: &FieldDesc| {
        let is_table = field.centering == Centering::None;
        field.relative_error.is_some() || field.capacity.is_some() || is_table
    };
    match fields.any(is_new) {
        false => FIRST,
        true => FORMAT,
    }
}

/// The state that an increment builds on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its step.
    pub step: u64,
    /// Its identity, which no other state has.
    pub id: String,
}

/// All that a file holds besides the values of its fields.
pub struct Description<'a> {
    /// The name of the region.
    pub region: &'a str,
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// Where the region lay, if the writer knows that.
    pub extent: Option<Extent>,
    /// The identity of the state.
    pub id: &'a str,
    /// The state that it builds on, if it is an increment.
    pub base: Option<&'a Base>,
    /// The encoded table.
    pub table: &'a [u8],
    /// The names of the fields whose values the file holds, in any order.
    pub fields: Vec<&'a str>,
}

impl Description<'_> {
    /// Returns the checksum of the whole description.
    pub fn checksum(&self) -> u64 {
        let base = self.base.map_or("", |base| &base.id);
        let mut fields = self.fields.clone();
        fields.sort_unstable();
        let mut hasher = Xxh3Default::new();
        for text in [self.region, self.id, base].into_iter().chain(fields) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let Stamp {
            version,
            step,
            time,
        } = self.stamp;
        let extent = self.extent.map_or([0; 3], |e| [1, e.base, e.bytes]);
        let base = self.base.map_or([0; 2], |base| [1, base.step]);
        let numbers = [version, step, time.to_bits()];
        for number in numbers.into_iter().chain(extent).chain(base) {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(self.table);
        hasher.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    #[test]
    fn files_that_earlier_programs_would_misread_have_another_format() {
        let format = |change: fn(&mut FieldDesc)| {
            let mut field = FieldDesc::new("t", DType::F64, &[4]);
            change(&mut field);
            let has = format_of(&FieldTable {
                fields: vec![field.clone()],
                ..FieldTable::default()
            });
            let lacks = format_of(&FieldTable {
                lacking: vec![field],
                ..FieldTable::default()
            });
            assert_eq!(has, lacks);
            has
        };
        assert_eq!(format(|_| ()), 1);
        assert_eq!(format(|field| field.on = Some("mesh".to_owned())), 1);
        assert_eq!(format(|field| field.relative_error = Some(1e-3)), 2);
        assert_eq!(format(|field| field.capacity = Some(4)), 2);
        assert_eq!(format(|field| field.centering = Centering::None), 2);
    }
}
