//! Fields that are blocks of a global array: the check of their place, and the whole array.

use super::desc::{FieldDesc, Order};
use super::field_error::FieldError;
use super::global::{GlobalError, GlobalPlace};
use super::mesh::Mesh;
use super::mesh_desc::MeshKind;
use super::table::FieldTable;
use std::ops::Range;

impl FieldDesc {
    /// Returns the global indices that the field covers without its ghost layers, a range for each
    /// axis, if it is a block of a global array. The description must have been checked.
    pub fn block(&self) -> Option<Vec<Range<usize>>> {
        let place = self.global.as_ref()?;
        let axes = place.offset.iter().zip(self.interior_shape());
        Some(axes.map(|(start, n)| *start..start + n).collect())
    }

    /// Checks the place in a global array, if there is one.
    pub(super) fn check_global(&self) -> Result<(), FieldError> {
        let checked = match &self.global {
            Some(place) => self.check_place(place),
            None => Ok(()),
        };
        checked.map_err(|source| FieldError::Global {
            name: self.name.clone(),
            source,
        })
    }

    fn check_place(&self, place: &GlobalPlace) -> Result<(), GlobalError> {
        let (shape, dims) = (&place.shape, self.shape.len());
        for (what, given) in [("global shape", shape), ("offset", &place.offset)] {
            if given.len() != dims {
                let given = given.clone();
                return Err(GlobalError::Dims { what, given, dims });
            }
        }
        if self.capacity.is_some() {
            return Err(GlobalError::Variable);
        }
        let mut sizes = shape.iter().chain([&self.components]).map(|&n| n as u64);
        let bytes = sizes.try_fold(self.dtype.size() as u64, u64::checked_mul);
        if bytes.is_none_or(|bytes| bytes > isize::MAX as u64) {
            return Err(GlobalError::TooLarge(shape.clone()));
        }
        self.check_inside(place)
    }

    fn check_inside(&self, place: &GlobalPlace) -> Result<(), GlobalError> {
        let interior = self.interior_shape();
        let ends = place.offset.iter().zip(&interior);
        let mut ends = ends
            .map(|(start, n)| start.checked_add(*n))
            .zip(&place.shape);
        match ends.all(|(end, extent)| end.is_some_and(|end| end <= *extent)) {
            true => Ok(()),
            false => Err(GlobalError::Outside {
                interior,
                offset: place.offset.clone(),
                shape: place.shape.clone(),
            }),
        }
    }

    /// Returns the description of the global array of which the field is a block: without ghost
    /// layers, on the uniform mesh that the block is a part of. `table` has the field.
    pub fn whole(&self, table: &FieldTable) -> Option<FieldDesc> {
        let place = self.global.as_ref()?;
        Some(FieldDesc {
            shape: place.shape.clone(),
            ghosts: vec![[0, 0]; place.shape.len()],
            mesh: self
                .uniform_mesh(table)
                .map(|mesh| self.moved(mesh, &place.offset, -1.0)),
            on: None,
            global: None,
            offset: 0,
            ..self.clone()
        })
    }

    /// Returns the description of the block of this global array that has the indices `ranges`, a
    /// range for each axis, and no ghost layers. Its mesh begins where the block does.
    #[must_use]
    pub fn block_at(&self, ranges: &[Range<usize>]) -> FieldDesc {
        let offset: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        FieldDesc {
            shape: ranges.iter().map(ExactSizeIterator::len).collect(),
            ghosts: vec![[0, 0]; ranges.len()],
            mesh: self
                .usable_mesh()
                .map(|mesh| self.moved(mesh, &offset, 1.0)),
            global: Some(GlobalPlace {
                shape: self.shape.clone(),
                offset,
            }),
            ..self.clone()
        }
    }

    /// Returns the uniform mesh that the field has itself, or is on.
    fn uniform_mesh(&self, table: &FieldTable) -> Option<Mesh> {
        match table.mesh_of(self).map(|mesh| &mesh.kind) {
            Some(&MeshKind::Uniform {
                origin, spacing, ..
            }) => Some(Mesh { origin, spacing }),
            Some(_) => None,
            None => self.usable_mesh(),
        }
    }

    /// Returns `mesh` moved by `offset` indices along each axis, forwards (1.0) or back (-1.0).
    fn moved(&self, mesh: Mesh, offset: &[usize], sign: f64) -> Mesh {
        let mut origin = mesh.origin;
        for (axis, offset) in offset.iter().enumerate() {
            let along = match self.order {
                Order::C => self.shape.len() - 1 - axis,
                Order::F => axis,
            };
            if let Some(x) = origin.get_mut(along) {
                *x += sign * *offset as f64 * mesh.spacing[along];
            }
        }
        Mesh { origin, ..mesh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::DType;

    fn block(shape: &[usize], global: &[usize], offset: &[usize]) -> FieldDesc {
        FieldDesc {
            global: Some(GlobalPlace {
                shape: global.to_vec(),
                offset: offset.to_vec(),
            }),
            ..FieldDesc::new("u", DType::F64, shape)
        }
    }

    fn refusal(desc: &FieldDesc) -> GlobalError {
        match desc.check() {
            Err(FieldError::Global { name, source }) if name == "u" => source,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn block_without_its_ghost_layers_must_be_inside_the_global_array() {
        let mut desc = block(&[6, 5], &[8, 10], &[4, 5]);
        assert!(
            matches!(refusal(&desc), GlobalError::Outside { interior, .. } if interior == [6, 5])
        );
        desc.ghosts = vec![[1, 1], [0, 0]];
        assert!(desc.check().is_ok());
        assert_eq!(desc.block(), Some(vec![4..8, 5..10]));
        for offset in [[5, 5], [4, 6], [usize::MAX, 0]] {
            desc.global.as_mut().unwrap().offset = offset.to_vec();
            assert!(
                matches!(refusal(&desc), GlobalError::Outside { .. }),
                "{offset:?}"
            );
        }
        assert_eq!(FieldDesc::new("u", DType::F64, &[2]).block(), None);
    }

    #[test]
    fn shape_and_offset_have_a_number_for_each_dimension() {
        for (global, offset, what) in [
            (&[8, 8, 3][..], &[0, 0][..], "global shape"),
            (&[8], &[0, 0], "global shape"),
            (&[8, 8], &[], "offset"),
            (&[], &[0, 0], "global shape"),
        ] {
            let error = refusal(&block(&[4, 4], global, offset));
            assert!(
                error.to_string().contains(&format!("the {what} [")),
                "{error}"
            );
        }
        let mut variable = block(&[4], &[8], &[0]);
        variable.capacity = Some(4);
        assert_eq!(refusal(&variable), GlobalError::Variable);
        let huge = block(&[4, 4], &[usize::MAX / 2, 4], &[0, 0]);
        assert!(matches!(refusal(&huge), GlobalError::TooLarge(_)));
    }

    #[test]
    fn whole_array_begins_where_the_first_block_would() {
        let mut desc = block(&[4, 6], &[8, 20], &[4, 10]);
        desc.ghosts = vec![[1, 1], [0, 0]];
        let mesh = |origin| Mesh {
            origin,
            spacing: [0.5, 2.0, 1.0],
        };
        desc.mesh = Some(mesh([7.0, 9.0, 3.0]));
        for (order, origin) in [(Order::C, [2.0, 1.0, 3.0]), (Order::F, [5.0, -11.0, 3.0])] {
            desc.order = order;
            let whole = desc.whole(&FieldTable::default()).unwrap();
            assert_eq!(
                (whole.shape.as_slice(), whole.global.as_ref()),
                (&[8, 20][..], None)
            );
            assert_eq!(
                (whole.mesh, whole.has_ghosts()),
                (Some(mesh(origin)), false)
            );
            assert!(whole.check().is_ok());
            // The block is that of the whole array, without its ghost layers.
            let part = whole.block_at(&desc.block().unwrap());
            assert_eq!((part.mesh, &part.global), (desc.mesh, &desc.global));
            assert_eq!((part.has_ghosts(), part.shape), (false, vec![2, 6]));
        }
    }
}
