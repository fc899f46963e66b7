//! The global arrays of a group as the fields of one region.
//!
//! If ranks of other hosts have the rest of an array, its field is the part that is on this host:
//! the smallest one that has all of its blocks. Floats between the blocks are NaN. Integers have no
//! NaN, so arrays of integers with gaps are lacking.

use crate::failure::{Code, Failure};
use crate::ranks::Ranks;
use ndarray::ArrayD;
use std::collections::{BTreeMap, BTreeSet};
use tcasm_core::field::{Element, FieldDesc, FieldTable, GlobalPlace, Mesh, Order};
use tcasm_core::with_dtype;
use tcasm_observer::{GlobalArrayError, GroupVersion};

/// The description of a group as if one region had its global arrays.
#[derive(Default)]
pub struct Gathered {
    /// The fields. A part of an array has its place in it. Arrays that are lacking, and fields that
    /// are local to ranks, are in the list for that. A global array is lost if any rank has lost
    /// its block. Attributes are those of the lowest rank.
    pub table: FieldTable,
    /// Notes about arrays that are not all here: texts, each with the names of arrays.
    pub notes: BTreeMap<String, Vec<String>>,
    /// The arrays that are lacking because ranks of other hosts have values of them.
    pub refused: Vec<(String, GlobalArrayError)>,
}

/// Describes the global arrays of a step: the part of each that is on this host. With `whole`, it
/// is all of each, and what is on other hosts counts as gaps.
pub fn describe(version: &GroupVersion, whole: bool) -> Result<Gathered, Failure> {
    let mut gathered = Gathered::default();
    let mut names = BTreeSet::new();
    for (_, member) in version.members() {
        for field in &member.table().fields {
            if names.insert(field.name.as_str()) {
                gathered.add(version, field, whole)?;
            }
        }
    }
    if gathered.table.fields.is_empty() {
        return Err(gathered.nothing(version));
    }
    gathered.place();
    let first = version.members().next();
    let attrs = first.map(|(_, v)| v.table().attrs.clone());
    gathered.table.attrs = attrs.unwrap_or_default();
    // These are of one rank only.
    for name in ["rank", "local_ranks"] {
        gathered.table.attrs.remove(name);
    }
    Ok(gathered)
}

impl Gathered {
    /// Adds a field that a rank has.
    fn add(
        &mut self,
        version: &GroupVersion,
        field: &FieldDesc,
        whole: bool,
    ) -> Result<(), Failure> {
        if field.global.is_none() {
            self.table.lacking.push(FieldDesc {
                on: None,
                ..field.clone()
            });
            return Ok(());
        }
        let all = version.global(&field.name)?;
        let taken = if whole { all.clone() } else { all.here() }.or_nan();
        if let Err(error) = taken.check_complete() {
            self.note(&field.name, format!("left out: {error}"));
            self.refused.push((field.name.clone(), error));
            self.table.lacking.push(all.desc().clone());
            return Ok(());
        }
        if let Some(note) = Ranks::of(&all, None, false).note() {
            self.note(&field.name, note);
        }
        let mut blocks = version.members().filter_map(|(_, m)| m.field(&field.name));
        self.table.fields.push(FieldDesc {
            lost: blocks.any(|block| block.lost),
            ..taken.desc().clone()
        });
        Ok(())
    }

    fn note(&mut self, field: &str, text: String) {
        self.notes.entry(text).or_default().push(field.to_owned());
    }

    /// Returns the failure for a group of which there is nothing to gather.
    fn nothing(&mut self, version: &GroupVersion) -> Failure {
        if let Some((_, error)) = self.refused.pop() {
            return error.into();
        }
        let text = format!(
            "no field of group {:?} is a global array, so there is nothing to gather; export the \
             regions of its ranks",
            version.group()
        );
        Failure::new(Code::Usage, text)
    }

    /// Gives parts of arrays the mesh of their indices if no field has a mesh, so that they lie
    /// where they are in the arrays.
    fn place(&mut self) {
        let fields = &mut self.table.fields;
        if fields.iter().any(|field| field.usable_mesh().is_some()) {
            return;
        }
        for field in fields {
            if let Some(place) = &field.global {
                field.mesh = Some(mesh_at(place, field.order));
            }
        }
    }
}

/// Returns the mesh of the indices of a part of an array.
fn mesh_at(place: &GlobalPlace, order: Order) -> Mesh {
    let mut mesh = Mesh::default();
    let mut offset = place.offset.clone();
    if order == Order::C {
        // The last axis is x.
        offset.reverse();
    }
    for (x, offset) in mesh.origin.iter_mut().zip(offset) {
        *x = offset as f64;
    }
    mesh
}

/// Returns the bytes of the array, or the part of one, that `field` describes, gathered from the
/// ranks. Floats that no block has are NaN.
pub fn bytes_of(version: &GroupVersion, field: &FieldDesc) -> Result<Vec<u8>, Failure> {
    let all = version.global(&field.name)?.or_nan();
    let whole = || all.shape().iter().map(|n| 0..*n).collect();
    let part = field.block().unwrap_or_else(whole);
    Ok(with_dtype!(field.dtype, T => ordered(field, all.read::<T>(&part)?)))
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

    #[test]
    fn mesh_of_indices_has_x_along_the_axis_that_varies_fastest() {
        let place = GlobalPlace {
            shape: vec![4, 9],
            offset: vec![1, 5],
        };
        for (order, origin) in [(Order::C, [5.0, 1.0, 0.0]), (Order::F, [1.0, 5.0, 0.0])] {
            let mesh = mesh_at(&place, order);
            assert_eq!((mesh.origin, mesh.spacing), (origin, [1.0; 3]));
        }
    }
}
