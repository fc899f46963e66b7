//! The changes of a field table that a mirror region follows.

use tcasm_core::field::{FieldDesc, FieldTable};

/// Returns true if a region with the fields of `old` can show `new`: only lengths of variable
/// fields, places in the region and attributes of the region may differ.
pub(super) fn same_layout(old: &FieldTable, new: &FieldTable) -> bool {
    let shape = |field: &FieldDesc| FieldDesc {
        offset: 0,
        ..field.at_capacity()
    };
    let shapes = |table: &FieldTable| table.fields.iter().map(shape).collect::<Vec<_>>();
    shapes(old) == shapes(new) && old.meshes == new.meshes
}

/// Returns the number of the analysis node that mirrors a rank.
pub(super) fn analysis_node(rank: u32, ranks: u64, nodes: usize) -> usize {
    let at = u128::from(rank) * nodes as u128 / u128::from(ranks.max(1));
    usize::try_from(at).map_or(0, |at| at.min(nodes.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    #[test]
    fn each_analysis_node_has_ranks_that_follow_each_other() {
        let of = |ranks: u32, nodes| -> Vec<usize> {
            (0..ranks)
                .map(|r| analysis_node(r, ranks.into(), nodes))
                .collect()
        };
        assert_eq!(of(6, 1), [0; 6]);
        assert_eq!(of(6, 2), [0, 0, 0, 1, 1, 1]);
        assert_eq!(of(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(of(2, 4), [0, 2]);
    }

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
    }
}
