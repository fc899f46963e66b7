//! The uniform mesh of a field, and the check that it must pass.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A uniform mesh. All coordinates are in the order x, y, z, whatever the order of the field is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    /// The coordinates of the first interior point. Ghost layers lie outside it.
    pub origin: [f64; 3],
    /// The distance of neighbouring points on each axis.
    pub spacing: [f64; 3],
}

/// The reason why a mesh cannot be used.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum MeshError {
    /// A coordinate of the origin is not finite.
    #[error("the origin (x, y, z) of its mesh is {0:?}; give three finite numbers")]
    Origin([f64; 3]),
    /// A spacing is not positive, or not finite.
    #[error(
        "the spacing (x, y, z) of its mesh is {0:?}; give three positive finite numbers, 1.0 for \
         an axis that the field does not have"
    )]
    Spacing([f64; 3]),
}

impl Default for Mesh {
    fn default() -> Self {
        Mesh {
            origin: [0.0; 3],
            spacing: [1.0; 3],
        }
    }
}

impl Mesh {
    /// Checks that each point has coordinates of its own: the origin is finite, and each spacing is
    /// positive and finite.
    pub fn check(&self) -> Result<(), MeshError> {
        if !self.origin.iter().all(|x| x.is_finite()) {
            return Err(MeshError::Origin(self.origin));
        }
        let positive = |x: &f64| x.is_finite() && *x > 0.0;
        match self.spacing.iter().all(positive) {
            true => Ok(()),
            false => Err(MeshError::Spacing(self.spacing)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{DType, FieldDesc, FieldError, FieldTable};

    /// Numbers that no spacing can have.
    const BAD: [f64; 5] = [-0.5, 0.0, -0.0, f64::NAN, f64::INFINITY];

    fn field(origin: [f64; 3], spacing: [f64; 3]) -> FieldDesc {
        let mut field = FieldDesc::new("t", DType::F64, &[4]);
        field.mesh = Some(Mesh { origin, spacing });
        field
    }

    #[test]
    fn spacing_is_positive_and_finite_and_the_origin_finite() {
        for axis in 0..3 {
            for bad in BAD {
                let mut spacing = [0.5; 3];
                spacing[axis] = bad;
                let error = field([0.0; 3], spacing).check_mesh().unwrap_err();
                let text = error.to_string();
                assert!(matches!(error, FieldError::Mesh { .. }), "{text}");
                assert!(text.contains(&format!("{spacing:?}")), "{text}");
                assert!(
                    text.contains("\"t\"") && text.contains("positive"),
                    "{text}"
                );
            }
            for bad in [f64::NAN, f64::NEG_INFINITY] {
                let mut origin = [0.0; 3];
                origin[axis] = bad;
                let text = field(origin, [0.5; 3])
                    .check_mesh()
                    .unwrap_err()
                    .to_string();
                assert!(text.contains(&format!("{origin:?}")), "{text}");
            }
        }
        assert_eq!(field([-1e300; 3], [5e-324; 3]).check_mesh(), Ok(()));
        assert_eq!(FieldDesc::new("t", DType::F64, &[4]).check_mesh(), Ok(()));
    }

    #[test]
    fn mesh_that_cannot_be_used_counts_as_none_for_readers() {
        for bad in BAD {
            let table = FieldTable {
                fields: vec![field([0.0; 3], [1.0, bad, 1.0])],
                ..FieldTable::default()
            };
            let read = FieldTable::decode(&table.encode().unwrap(), 4096, 4096).unwrap();
            assert_eq!(read.fields[0].usable_mesh(), None, "{bad}");
            assert!(read.fields[0].check_mesh().is_err(), "{bad}");
        }
        let good = field([1.0; 3], [0.5; 3]);
        assert_eq!(good.usable_mesh(), good.mesh);
    }
}
