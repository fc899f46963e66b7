//! The changes of a field table that a mirror region follows.

use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::group::Member;

/// Returns true if a mirror that was made for `old` can show `new`: only lengths of variable
/// fields, places in the region, and attributes besides those of the place in a group may differ.
pub fn same_layout(old: &FieldTable, new: &FieldTable) -> bool {
    let shape = |field: &FieldDesc| FieldDesc {
        offset: 0,
        ..field.at_capacity()
    };
    let shapes = |table: &FieldTable| table.fields.iter().map(shape).collect::<Vec<_>>();
    shapes(old) == shapes(new) && old.meshes == new.meshes && member(old) == member(new)
}

/// Returns the place of a region in its group.
pub fn member(table: &FieldTable) -> Option<Member> {
    Member::from_attrs(&table.attrs).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    #[test]
    fn only_lengths_and_places_may_change() {
        let variable = |len: usize, offset: u64| FieldDesc {
            capacity: Some(100),
            offset,
            ..FieldDesc::new("x", DType::F64, &[len])
        };
        let table = |field: FieldDesc| FieldTable {
            fields: vec![field],
            ..FieldTable::default()
        };
        let old = table(variable(10, 0));
        assert!(same_layout(&old, &table(variable(20, 4096))));
        let fixed = table(FieldDesc::new("x", DType::F64, &[10]));
        assert!(!same_layout(&old, &fixed));
        assert!(!same_layout(&old, &FieldTable::default()));
        let of_run = |run: &str| {
            let mut table = table(variable(10, 0));
            let member = Member {
                group: "heat".to_owned(),
                rank: 0,
                ranks: 1,
                local_ranks: 1,
                run: run.to_owned(),
            };
            table.attrs.extend(member.attrs());
            table
        };
        assert!(same_layout(&of_run("a"), &of_run("a")));
        assert!(!same_layout(&of_run("a"), &of_run("b")));
        assert!(!same_layout(&old, &of_run("a")));
    }
}
