//! The grid of a file's VTK image, and the shapes of the fields on it.
//!
//! An image has one uniform grid: that of a named mesh, or the one on which the fields that are on
//! no named mesh lie. VTK reads an array of rank (z, y, x) or (z, y, x, component), x fastest. An
//! axis with a single point must be absent: VTK does not read (1, ny, nx) as a plane, but it does
//! read (ny, nx).

use crate::format::shape::{slowest_first, with_components};
use tcasm_core::field::{Centering, FieldDesc, FieldTable, Kind, Mesh, cells_between};

/// The grid of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The number of points along z, y and x. It is 1 along an axis that is absent.
    pub points: [usize; 3],
    /// The place of the points.
    pub mesh: Mesh,
}

impl Grid {
    /// Returns the grid of a named mesh with `points` points along x, y and z.
    pub fn of_mesh(points: [usize; 3], mesh: Mesh) -> Grid {
        let [x, y, z] = points;
        let points = [z, y, x];
        Grid { points, mesh }
    }

    /// Returns the grid of the fields that are on no named mesh: that of the first one with a mesh
    /// that can lie on a grid. If there is none, returns the grid of the first field that can lie
    /// on one, or a single point.
    pub fn of(table: &FieldTable) -> Grid {
        let field = Grid::source(table);
        Grid {
            points: field.map_or([1; 3], points),
            mesh: field.and_then(FieldDesc::usable_mesh).unwrap_or_default(),
        }
    }

    /// Returns the field of `table` whose grid [`Grid::of`] returns, if there is one.
    pub fn source(table: &FieldTable) -> Option<&FieldDesc> {
        let is_free =
            |f: &&FieldDesc| is_on_no_mesh(table, f) && can_lie_on_a_grid(f) && has_one_length(f);
        let mut candidates = table.fields.iter().filter(is_free);
        let first = candidates.clone().next();
        candidates.find(|f| f.usable_mesh().is_some()).or(first)
    }

    /// Returns true if the grid is a single point, which is no image.
    pub fn is_point(&self) -> bool {
        self.points == [1; 3]
    }

    /// Returns the shape of the interior of `field`, which is on no named mesh, in the file.
    /// Returns `None` if it does not lie on this grid.
    pub fn shape_of(&self, field: &FieldDesc) -> Option<Vec<usize>> {
        let same = field.usable_mesh().is_none_or(|mesh| mesh == self.mesh);
        let fits = same && has_one_length(field);
        self.shape_on(field).filter(|_| fits)
    }

    /// Does the same for a field that is on the named mesh of this grid. Its length is that of the
    /// version.
    pub fn shape_on(&self, field: &FieldDesc) -> Option<Vec<usize>> {
        if !can_lie_on_a_grid(field) || self.is_point() {
            return None;
        }
        let extent = padded(&slowest_first(field, &field.interior_shape()));
        let present = |(&n, &points): (&usize, &usize)| (points > 1).then_some(n);
        let shape = extent
            .iter()
            .zip(&self.points)
            .filter_map(present)
            .collect();
        (extent == self.extents_for(field.centering)).then(|| with_components(shape, field))
    }

    /// Returns the extents along z, y and x of the interiors of fields on this grid.
    pub fn extents_for(&self, centering: Centering) -> [usize; 3] {
        self.points.map(|n| match centering {
            Centering::Cell => cells_between(n),
            _ => n,
        })
    }
}

/// Returns true if `field` is neither on a named mesh nor the geometry of one.
pub fn is_on_no_mesh(table: &FieldTable, field: &FieldDesc) -> bool {
    field.on.is_none() && table.geometry_of(&field.name).is_none()
}

/// Returns true if VTK can show `field` on a grid.
fn can_lie_on_a_grid(field: &FieldDesc) -> bool {
    let is_numbers = field.kind == Kind::Array && !field.dtype.is_complex();
    let is_placed = field.centering != Centering::None;
    is_numbers && is_placed && (1..=3).contains(&field.shape.len())
}

/// Returns true if the length of `field` is the same in all versions. The grid of the fields that
/// are on no named mesh cannot change its size.
fn has_one_length(field: &FieldDesc) -> bool {
    field.capacity.is_none()
}

/// Returns the largest numbers of points along x, y and z of the uniform mesh called `name`, which
/// has `points` in this version: as many as there is room for in the fields on it. A single layer
/// of cells counts as one between two layers of points, because an unused mesh does not tell
/// whether it had one or two.
pub fn most_points(table: &FieldTable, name: &str, points: [usize; 3]) -> [usize; 3] {
    let mut most = points;
    for field in table.fields_on(name).filter(|f| !has_one_length(f)) {
        let axis = field.shape.len().checked_sub(1);
        let Some(points) = axis.and_then(|axis| most.get_mut(axis)) else {
            continue;
        };
        *points = match (field.centering, field.at_capacity().interior_length()) {
            (Centering::None, _) => *points,
            (Centering::Cell, cells) => (*points).max(cells + 1),
            (Centering::Point, points_of_field) => (*points).max(points_of_field),
        };
    }
    most
}

/// Returns the number of points of the grid of the interior of `field`. For cells, it is the number
/// of cells plus one along each dimension of the field.
fn points(field: &FieldDesc) -> [usize; 3] {
    let extra = usize::from(field.centering == Centering::Cell);
    let extent = slowest_first(field, &field.interior_shape());
    padded(&extent.iter().map(|n| n + extra).collect::<Vec<_>>())
}

/// Returns `extent` with leading dimensions of 1, up to three dimensions.
fn padded(extent: &[usize]) -> [usize; 3] {
    let mut all = [1; 3];
    all[3 - extent.len()..].copy_from_slice(extent);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shape::memory_shape;
    use tcasm_core::field::{DType, Order};

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
    fn cells_need_one_more_point_along_their_own_dimensions() {
        let cells = field(&[1, 4], Centering::Cell);
        let grid = grid(std::slice::from_ref(&cells));
        assert_eq!(grid.points, [1, 2, 5]);
        assert_eq!(grid.shape_of(&cells), Some(vec![1, 4]));
    }

    #[test]
    fn shape_of_fortran_order_has_x_last() {
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
    fn grid_is_that_of_the_first_field_with_a_mesh() {
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
    fn mesh_that_cannot_be_used_is_no_mesh() {
        let mut bad = field(&[6], Centering::Point);
        bad.mesh = Some(Mesh {
            origin: [0.0; 3],
            spacing: [0.5, 0.0, f64::NAN],
        });
        let grid = grid(std::slice::from_ref(&bad));
        assert_eq!((grid.points, grid.mesh), ([1, 1, 6], Mesh::default()));
        assert_eq!(grid.shape_of(&bad), Some(vec![6]));
    }

    #[test]
    fn fields_that_vtk_cannot_show_lie_on_no_grid() {
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
