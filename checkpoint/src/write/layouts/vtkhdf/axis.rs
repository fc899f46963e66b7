//! The axes of a grid whose points VTK gets one by one.

use crate::error::WriteError;
use crate::format::data::typed;
use crate::snapshot::Snapshot;
use tcasm_core::field::{DType, FieldDesc};

/// The coordinates along an axis of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis<'t> {
    /// The values of a field.
    Field(&'t FieldDesc),
    /// Points at equal distances.
    Even {
        /// The coordinate of the first point.
        origin: f64,
        /// The distance of neighbouring points.
        spacing: f64,
        /// The number of points.
        points: usize,
    },
}

impl<'t> Axis<'t> {
    /// An axis that the grid does not have: all points have the coordinate 0.
    pub const ABSENT: Self = Axis::Even {
        origin: 0.0,
        spacing: 1.0,
        points: 1,
    };

    /// Returns the number of points.
    pub fn points(self) -> usize {
        match self {
            Axis::Field(field) => field.shape.iter().product(),
            Axis::Even { points, .. } => points,
        }
    }

    /// Returns the largest number of points, over all versions.
    pub fn most(self) -> usize {
        match self {
            Axis::Field(field) => field.capacity_shape().iter().product(),
            Axis::Even { points, .. } => points,
        }
    }

    /// Returns the field with the coordinates, if there is one.
    pub fn field(self) -> Option<&'t FieldDesc> {
        match self {
            Axis::Field(field) => Some(field),
            Axis::Even { .. } => None,
        }
    }

    /// Returns a function that returns the coordinate of a point in `snapshot`. Points at equal
    /// distances are where VTK has those of an image, to the last bit.
    pub fn coordinates<'s>(
        self,
        snapshot: &Snapshot<'s>,
    ) -> Result<Box<dyn Fn(usize) -> f64 + 's>, WriteError> {
        Ok(match self {
            Axis::Field(field) if field.dtype == DType::F32 => {
                let values = typed::<f32>(snapshot.bytes(field)?);
                Box::new(move |point: usize| f64::from(values[point]))
            }
            Axis::Field(field) => {
                let values = typed::<f64>(snapshot.bytes(field)?);
                Box::new(move |point: usize| values[point])
            }
            Axis::Even {
                origin, spacing, ..
            } => Box::new(move |point: usize| origin + point as f64 * spacing),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::FieldTable;
    use tcasm_core::format::stamp::Stamp;

    /// Returns the coordinates of all points of `axis`, whose field has these bytes.
    fn coordinates(axis: Axis<'_>, bytes: &[u8]) -> Vec<f64> {
        let (table, stamp) = (FieldTable::default(), Stamp::default());
        let snapshot = Snapshot::new("test", stamp, &table, |_| bytes);
        let at = axis.coordinates(&snapshot).unwrap();
        (0..axis.points()).map(at).collect()
    }

    #[test]
    fn points_at_equal_distances_are_where_an_image_has_them() {
        let axis = Axis::Even {
            origin: 0.3,
            spacing: 0.1,
            points: 4,
        };
        let expected = [0.3, 0.3 + 0.1, 0.3 + 2.0 * 0.1, 0.3 + 3.0 * 0.1];
        assert_eq!(coordinates(axis, &[]), expected);
        // The sum of the distances is another number.
        assert_ne!(expected[3], 0.3 + 0.1 + 0.1 + 0.1);
        assert_eq!(coordinates(Axis::ABSENT, &[]), [0.0]);
        assert_eq!(axis.field(), None);
    }

    #[test]
    fn coordinates_of_a_field_are_its_values() {
        for dtype in [DType::F32, DType::F64] {
            let field = FieldDesc::new("x", dtype, &[3]);
            let bytes: Vec<u8> = match dtype {
                DType::F32 => [1.5_f32, 4.0, -2.0].map(f32::to_ne_bytes).concat(),
                _ => [1.5_f64, 4.0, -2.0].map(f64::to_ne_bytes).concat(),
            };
            let axis = Axis::Field(&field);
            assert_eq!(coordinates(axis, &bytes), [1.5, 4.0, -2.0]);
            assert_eq!(axis.field(), Some(&field));
        }
    }
}
