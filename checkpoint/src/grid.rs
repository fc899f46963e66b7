//! Which fields are arrays on the file's VTK image, and with what shape they stand there.
//!
//! A file has one uniform grid. VTK reads an array of rank (z, y, x) or (z, y, x, component), x fastest, and an axis
//! with a single point must be absent: (1, ny, nx) does not read as a plane, (ny, nx) does.

use tcasm_core::field::{Centering, FieldDesc, FieldTable, Kind, Mesh, Order};

/// The dimensions of `field` from slowest to fastest, then the components when there are several: the shape under
/// which its bytes, as they lie, are a C-order array.
pub fn memory_shape(field: &FieldDesc) -> Vec<usize> {
    with_components(slowest_first(field, &field.shape), field)
}

/// Something given per dimension of `field`, brought to the order from slowest to fastest.
pub fn slowest_first<T: Clone>(field: &FieldDesc, per_dim: &[T]) -> Vec<T> {
    match field.order {
        Order::C => per_dim.to_vec(),
        Order::F => per_dim.iter().rev().cloned().collect(),
    }
}

fn with_components(mut shape: Vec<usize>, field: &FieldDesc) -> Vec<usize> {
    if field.components > 1 {
        shape.push(field.components);
    }
    shape
}

/// The image of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Points along z, y, x; 1 along an axis that there is not.
    pub points: [usize; 3],
    /// Where they are.
    pub mesh: Mesh,
}

impl Grid {
    /// The grid of the first field that can lie on one (the first with a mesh, if any has); a single point without.
    pub fn of(table: &FieldTable) -> Grid {
        let mut candidates = table.fields.iter().filter(|f| can_lie_on_a_grid(f));
        let first = candidates.clone().next();
        let field = candidates.find(|f| f.mesh.is_some()).or(first);
        Grid {
            points: field.map_or([1; 3], points),
            mesh: field.and_then(|f| f.mesh).unwrap_or_default(),
        }
    }

    /// The shape with which the interior of `field` stands in the file, when it lies on this grid.
    pub fn shape_of(&self, field: &FieldDesc) -> Option<Vec<usize>> {
        let fits = can_lie_on_a_grid(field) && field.mesh.is_none_or(|m| m == self.mesh);
        if !fits || self.points == [1; 3] {
            return None;
        }
        let extent = padded(&slowest_first(field, &field.interior_shape()));
        let needed = self.points.map(|n| match field.centering {
            Centering::Point => n,
            Centering::Cell => (n - 1).max(1),
        });
        let present = |(&n, &points): (&usize, &usize)| (points > 1).then_some(n);
        let shape = extent
            .iter()
            .zip(&self.points)
            .filter_map(present)
            .collect();
        (extent == needed).then(|| with_components(shape, field))
    }
}

fn can_lie_on_a_grid(field: &FieldDesc) -> bool {
    field.kind == Kind::Array && !field.dtype.is_complex() && (1..=3).contains(&field.shape.len())
}

/// The points of the grid that the interior of `field` makes: one more than cells, along each of its dimensions.
fn points(field: &FieldDesc) -> [usize; 3] {
    let extra = usize::from(field.centering == Centering::Cell);
    let extent = slowest_first(field, &field.interior_shape());
    padded(&extent.iter().map(|n| n + extra).collect::<Vec<_>>())
}

fn padded(extent: &[usize]) -> [usize; 3] {
    let mut all = [1; 3];
    all[3 - extent.len()..].copy_from_slice(extent);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    fn field(shape: &[usize], centering: Centering) -> FieldDesc {
        let mut field = FieldDesc::new("f", DType::F64, shape);
        field.centering = centering;
        field
    }

    fn grid(fields: &[FieldDesc]) -> Grid {
        Grid::of(&FieldTable {
            fields: fields.to_vec(),
            ..FieldTable::default()
        })
    }

    #[test]
    fn axes_with_one_point_are_absent() {
        let plane = field(&[1, 3, 5], Centering::Point);
        let grid = grid(std::slice::from_ref(&plane));
        assert_eq!(grid.points, [1, 3, 5]);
        assert_eq!(grid.shape_of(&plane), Some(vec![3, 5]));
        assert_eq!(
            grid.shape_of(&field(&[3, 5], Centering::Point)),
            Some(vec![3, 5])
        );
        assert_eq!(
            grid.shape_of(&field(&[2, 4], Centering::Cell)),
            Some(vec![2, 4])
        );
        assert_eq!(grid.shape_of(&field(&[5, 3], Centering::Point)), None);
    }

    #[test]
    fn cells_make_one_point_more_along_their_own_dimensions() {
        let cells = field(&[1, 4], Centering::Cell);
        let grid = grid(std::slice::from_ref(&cells));
        assert_eq!(grid.points, [1, 2, 5]);
        assert_eq!(grid.shape_of(&cells), Some(vec![1, 4]));
    }

    #[test]
    fn fortran_order_reads_x_first() {
        let mut f = field(&[5, 3, 2], Centering::Point);
        f.order = Order::F;
        f.components = 3;
        f.ghosts = vec![[1, 1], [0, 0], [0, 0]];
        assert_eq!(memory_shape(&f), [2, 3, 5, 3]);
        let grid = grid(std::slice::from_ref(&f));
        assert_eq!(grid.points, [2, 3, 3]);
        assert_eq!(grid.shape_of(&f), Some(vec![2, 3, 3, 3]));
    }

    #[test]
    fn a_field_with_a_mesh_decides_and_another_mesh_does_not_fit() {
        let plain = field(&[4], Centering::Point);
        let mesh = Mesh {
            origin: [1.0; 3],
            spacing: [0.5; 3],
        };
        let mut placed = field(&[6], Centering::Point);
        placed.mesh = Some(mesh);
        let grid = grid(&[plain.clone(), placed.clone()]);
        assert_eq!((grid.points, grid.mesh), ([1, 1, 6], mesh));
        assert_eq!(grid.shape_of(&plain), None);
        assert_eq!(grid.shape_of(&placed), Some(vec![6]));
        placed.mesh = Some(Mesh::default());
        assert_eq!(grid.shape_of(&placed), None);
    }

    #[test]
    fn what_vtk_does_not_know_lies_on_no_grid() {
        let complex = FieldDesc::new("c", DType::C64, &[4]);
        let four = field(&[2, 2, 2, 2], Centering::Point);
        let scalar = field(&[], Centering::Point);
        let grid = grid(&[complex.clone(), four.clone(), scalar.clone()]);
        assert_eq!(grid.points, [1; 3]);
        for f in [complex, four, scalar] {
            assert_eq!(grid.shape_of(&f), None);
        }
    }
}
