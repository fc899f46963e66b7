//! The parts that are taken along x, y and z, and along the axes of a field.

use tcasm_analytics::Taken;
use tcasm_core::field::{Block, FieldDesc, Order};

/// The indices that are taken of the points of a mesh along x, y and z.
pub type Points = [Taken; 3];

/// Returns what is taken of `field` along x, y and z, if `taken` is along its axes. A field may
/// lack slow axes of one point, and have some that the mesh lacks.
pub fn along_xyz(field: &FieldDesc, mut taken: Vec<Taken>) -> Points {
    if field.order == Order::C {
        taken.reverse();
    }
    let mut along = [Taken::ONLY; 3];
    for (to, from) in along.iter_mut().zip(taken) {
        *to = from;
    }
    along
}

/// Returns what is taken along the axes of `field`, if `points` are taken along x, y and z.
pub fn along_axes(field: &FieldDesc, points: Points) -> Vec<Taken> {
    let mut taken: Vec<Taken> = points.into_iter().take(field.shape.len()).collect();
    if field.order == Order::C {
        taken.reverse();
    }
    taken
}

/// Returns the place of a part of `block`, or `None` if it has steps: its cells are larger than
/// those of the level.
pub fn moved(block: &Block, points: &Points) -> Option<Block> {
    let has_steps = points.iter().any(|taken| taken.step > 1);
    let mut moved = block.clone();
    for (offset, taken) in moved.offset.iter_mut().zip(points) {
        *offset = offset.saturating_add_unsigned(taken.start as u64);
    }
    (!has_steps).then_some(moved)
}
