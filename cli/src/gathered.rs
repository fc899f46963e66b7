//! The global arrays of a group as the fields of one region.

use crate::failure::{Code, Failure};
use ndarray::ArrayD;
use std::collections::BTreeSet;
use tcasm_core::field::{Element, FieldDesc, FieldTable, Order};
use tcasm_core::with_dtype;
use tcasm_observer::GroupVersion;

/// Returns the description of a group as if one region had its global arrays. The fields that are
/// local to ranks are lacking. A global array is lost if any rank has lost its block. Attributes
/// are those of the lowest rank.
pub fn table_of(version: &GroupVersion) -> Result<FieldTable, Failure> {
    let mut table = FieldTable::default();
    let mut names = BTreeSet::new();
    for (_, member) in version.members() {
        for field in &member.table().fields {
            if !names.insert(field.name.as_str()) {
                continue;
            }
            let mut blocks = version.members().filter_map(|(_, m)| m.field(&field.name));
            match field.global {
                Some(_) => table.fields.push(FieldDesc {
                    lost: blocks.any(|block| block.lost),
                    ..version.global(&field.name)?.desc().clone()
                }),
                None => table.lacking.push(FieldDesc {
                    on: None,
                    ..field.clone()
                }),
            }
        }
    }
    if table.fields.is_empty() {
        let text = format!(
            "no field of group {:?} is a global array, so there is nothing to gather; export the \
             regions of its ranks",
            version.group()
        );
        return Err(Failure::new(Code::Usage, text));
    }
    let first = version.members().next();
    table.attrs = first
        .map(|(_, v)| v.table().attrs.clone())
        .unwrap_or_default();
    // These are of one rank only.
    for name in ["rank", "local_ranks"] {
        table.attrs.remove(name);
    }
    Ok(table)
}

/// Returns the bytes of the global array that `field` describes, gathered from the ranks.
pub fn bytes_of(version: &GroupVersion, field: &FieldDesc) -> Result<Vec<u8>, Failure> {
    let global = version.global(&field.name)?;
    Ok(with_dtype!(field.dtype, T => ordered(field, global.array::<T>()?)))
}

/// Returns the bytes of an array in the order of `field`. The components of a point lie side by
/// side in both orders.
fn ordered<T: Element>(field: &FieldDesc, array: ArrayD<T>) -> Vec<u8> {
    let axes = field.shape.len();
    let array = match field.order {
        Order::C => array,
        Order::F => {
            let components = axes..array.ndim();
            array.permuted_axes((0..axes).rev().chain(components).collect::<Vec<_>>())
        }
    };
    let mut bytes = Vec::with_capacity(array.len() * size_of::<T>());
    for value in &array {
        bytes.extend_from_slice(bytemuck::bytes_of(value));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;
    use tcasm_core::field::{self, DType};

    #[test]
    fn gathered_bytes_are_in_the_order_of_the_field() {
        let array = Array3::from_shape_fn((4, 5, 2), |(i, j, c)| (100 * i + 10 * j + c) as u16);
        for order in [Order::C, Order::F] {
            let mut desc = FieldDesc::new("u", DType::U16, &[4, 5]);
            (desc.order, desc.components) = (order, 2);
            let bytes = ordered(&desc, array.clone().into_dyn());
            assert_eq!(
                field::view::<u16>(&desc, &bytes).unwrap(),
                array.view().into_dyn()
            );
        }
    }
}
