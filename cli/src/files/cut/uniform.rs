//! The parts of uniform meshes. They have no fields as their geometry, so a part of one has an
//! origin and a spacing of its own.

use super::axes::{along_xyz, moved};
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_analytics::{Extract, Taken};
use tcasm_core::field::{Block, Centering, FieldDesc, MeshDesc, MeshKind};

/// The part of a uniform mesh that the part of a field needs.
#[derive(Clone, Debug, PartialEq)]
pub struct UniformPart {
    /// Its points, its origin and its spacing.
    pub kind: MeshKind,
    /// Its place among the blocks of its level, if it has no steps.
    pub block: Option<Block>,
}

impl UniformPart {
    /// Returns the part of `mesh` that `field` needs if `extract` is taken of it. Returns `None`
    /// for other meshes and for tables.
    pub fn of(
        mesh: &MeshDesc,
        field: &FieldDesc,
        extract: &Extract,
    ) -> Result<Option<Self>, AnalyticsError> {
        let MeshKind::Uniform {
            mut points,
            mut origin,
            mut spacing,
        } = mesh.kind
        else {
            return Ok(None);
        };
        if field.centering == Centering::None {
            return Ok(None);
        }
        let along = along_xyz(field, taken(field, extract)?);
        for (axis, along) in along.iter().enumerate() {
            let first = first(field.centering, along);
            origin[axis] += first * spacing[axis];
            spacing[axis] *= along.step as f64;
            let is_between = field.centering == Centering::Cell && points[axis] > 1;
            points[axis] = along.count + usize::from(is_between);
        }
        let block = mesh.block.as_ref().filter(|_| !has_steps(field, extract));
        Ok(Some(UniformPart {
            kind: MeshKind::Uniform {
                points,
                origin,
                spacing,
            },
            block: block.and_then(|block| moved(block, &along)),
        }))
    }
}

/// Returns the index of the first point of the part along an axis, as a fraction. The value of a
/// cell lies in its middle, so with a step the first cell begins before that of the mesh.
fn first(centering: Centering, along: &Taken) -> f64 {
    let (start, step) = (along.start as f64, along.step as f64);
    match centering {
        Centering::Cell => start + 0.5 - 0.5 * step,
        _ => start,
    }
}

/// Returns what is taken along the axes of `field`. Nothing is taken of an axis of length 0, and of
/// the others as much as if the field had its largest length.
pub fn taken(field: &FieldDesc, extract: &Extract) -> Result<Vec<Taken>, AnalyticsError> {
    let extents = field.interior_shape();
    if !extents.contains(&0) {
        return extract.taken(field);
    }
    let mut taken = extract.taken(&field.at_capacity())?;
    for (taken, _) in taken.iter_mut().zip(extents).filter(|(_, n)| *n == 0) {
        *taken = Taken {
            start: 0,
            count: 0,
            step: 1,
        };
    }
    Ok(taken)
}

/// Returns true if the part of `field` has steps where the field has its largest length. So the
/// answer is the same for all versions.
fn has_steps(field: &FieldDesc, extract: &Extract) -> bool {
    let taken = extract.taken(&field.at_capacity());
    taken.is_ok_and(|taken| taken.iter().any(|along| along.step > 1))
}
