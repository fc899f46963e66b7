//! The surface of an unstructured mesh: the faces that belong to one cell only.
//!
//! Two cells share a face if they have the same corners there. Faces with the same lowest corner
//! are listed together, by counting, so that each face is compared with a few others only. The list
//! has four bytes for each face, and corners are read from the cells again when they are compared:
//! millions of cells have tens of millions of faces.
//!
//! A cell may name a point several times: a hexahedron whose corners coincide is a wedge. So a face
//! is the polygon of its different corners, and a face with fewer than three of them is none.

use super::MeshError;
use super::cells::CellList;
use super::triangles::Surface;
use tcasm_core::field::CellType;

/// Maximum number of cells whose surface is looked for: the memory that this takes grows with it.
pub const MAX_CELLS: usize = 1 << 23;
/// Maximum number of points for each cell of that many. A mesh with more has points that no cell
/// has, and the memory for a coarser surface grows with their number.
pub const POINTS_PER_CELL: usize = 8;
/// Maximum number of faces with the same lowest corner. They are sorted.
const MOST_AT_A_POINT: usize = if cfg!(test) { 128 } else { 1 << 22 };

/// The corners of a face, as places in the list of a cell's points.
type Corners = &'static [usize];

const TRIANGLE: &[Corners] = &[&[0, 1, 2]];
const QUAD: &[Corners] = &[&[0, 1, 2, 3]];
const TETRA: &[Corners] = &[&[0, 1, 3], &[1, 2, 3], &[2, 0, 3], &[0, 2, 1]];
const HEXAHEDRON: &[Corners] = &[
    &[0, 4, 7, 3],
    &[1, 2, 6, 5],
    &[0, 1, 5, 4],
    &[3, 7, 6, 2],
    &[0, 3, 2, 1],
    &[4, 5, 6, 7],
];
const WEDGE: &[Corners] = &[
    &[0, 1, 2],
    &[3, 5, 4],
    &[0, 3, 4, 1],
    &[1, 4, 5, 2],
    &[2, 5, 3, 0],
];
const PYRAMID: &[Corners] = &[
    &[0, 3, 2, 1],
    &[0, 1, 4],
    &[1, 2, 4],
    &[2, 3, 4],
    &[3, 0, 4],
];
/// The largest number of faces of a cell.
const MOST_FACES: usize = 6;

/// Returns the faces of a cell. Of cells of second order only the corners count, which come first
/// in VTK's order.
fn faces_of(cell: CellType) -> &'static [Corners] {
    match cell {
        CellType::TRIANGLE | CellType::QUADRATIC_TRIANGLE => TRIANGLE,
        CellType::QUAD | CellType::QUADRATIC_QUAD => QUAD,
        CellType::TETRA | CellType::QUADRATIC_TETRA => TETRA,
        CellType::HEXAHEDRON | CellType::QUADRATIC_HEXAHEDRON => HEXAHEDRON,
        CellType::WEDGE => WEDGE,
        CellType::PYRAMID => PYRAMID,
        _ => &[],
    }
}

/// The different corners of a face: their points, and then [`NO_POINT`] for each that it lacks.
pub type Polygon = [u32; 4];

/// The number that no point has: a mesh with so many points has no surface.
pub const NO_POINT: u32 = u32::MAX;

/// Returns the polygon of a face of the cell with these points, in the order around the face.
fn polygon(face: &[usize], points: &[u32]) -> Polygon {
    let mut corners = [NO_POINT; 4];
    for (corner, place) in corners.iter_mut().zip(face) {
        *corner = points.get(*place).copied().unwrap_or(NO_POINT);
    }
    let [a, b, c, d] = corners;
    // Few faces have corners that coincide.
    match a != b && a != c && a != d && b != c && b != d && c != d {
        true => corners,
        false => distinct(corners.into_iter()),
    }
}

/// Returns the polygon of at most four corners, which may be equal.
pub fn distinct(corners: impl Iterator<Item = u32>) -> Polygon {
    let mut polygon = [NO_POINT; 4];
    let mut count = 0;
    for corner in corners {
        if !polygon.contains(&corner) {
            polygon[count] = corner;
            count += 1;
        }
    }
    polygon
}

/// Returns the number of triangles that make up a polygon.
fn triangles_of(polygon: Polygon) -> usize {
    let corners = polygon.iter().filter(|point| **point != NO_POINT).count();
    corners.saturating_sub(2)
}

/// Returns the triangles that make up a polygon.
pub fn fan(polygon: Polygon) -> impl Iterator<Item = [u32; 3]> {
    let [first, others @ ..] = polygon;
    (0..triangles_of(polygon)).map(move |at| [first, others[at], others[at + 1]])
}

/// The faces of all cells of three dimensions, listed by their lowest corners.
struct ByLowest {
    /// For each point, the place in `faces` after the last face whose lowest corner it is.
    ends: Vec<u32>,
    faces: Vec<FaceNumber>,
}

/// The number of a cell times [`FACES`], plus that of a face of the cell.
type FaceNumber = u32;

/// A number that is larger than that of any face of a cell.
const FACES: u32 = u8::BITS;
const _: () = assert!(MOST_FACES <= FACES as usize && MAX_CELLS <= (u32::MAX / FACES) as usize);
const _: () = assert!(MAX_CELLS * POINTS_PER_CELL < u32::MAX as usize / 2);

impl ByLowest {
    /// Lists the faces of the cells. Those of cells of two dimensions belong to the surface in any
    /// case: they go to `outer`.
    fn new(cells: &CellList<'_>, outer: &mut Outer) -> Result<Self, MeshError> {
        let mut ends = vec![0; cells.points() + 1];
        each_face(cells, |flat, number, polygon| {
            if flat {
                outer.add(number, polygon);
            } else if let Some(count) = ends.get_mut(lowest(polygon) + 1) {
                *count += 1;
            }
        })?;
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut faces = vec![0; sum as usize];
        each_face(cells, |flat, number, polygon| {
            if !flat
                && let Some(end) = ends.get_mut(lowest(polygon))
                && let Some(face) = faces.get_mut(*end as usize)
            {
                *face = number;
                *end += 1;
            }
        })?;
        Ok(ByLowest { ends, faces })
    }

    /// Adds the faces to `outer` that have no equal one.
    fn compare(&self, cells: &CellList<'_>, outer: &mut Outer) -> Result<(), MeshError> {
        let (mut same, mut begin, mut reader) = (Vec::new(), 0, Reader::default());
        for (point, end) in self.ends.iter().enumerate() {
            let faces = self.faces.get(begin..*end as usize).unwrap_or_default();
            begin = *end as usize;
            if faces.len() > MOST_AT_A_POINT {
                return Err(MeshError::FacesAtPoint {
                    mesh: cells.mesh().to_owned(),
                    point,
                    faces: faces.len(),
                    most: MOST_AT_A_POINT,
                });
            }
            same.clear();
            for face in faces {
                same.push((ascending(reader.polygon(cells, *face)?), *face));
            }
            same.sort_unstable();
            for equal in same.chunk_by(|(a, _), (b, _)| a == b) {
                if let [(key, face)] = equal {
                    outer.add(*face, *key);
                }
            }
        }
        Ok(())
    }
}

/// Calls `with` for each face of each cell, and says whether the cell is flat.
fn each_face(
    cells: &CellList<'_>,
    mut with: impl FnMut(bool, FaceNumber, Polygon),
) -> Result<(), MeshError> {
    let mut points = Vec::new();
    for cell in 0..cells.count() {
        let cell_type = cells.read(cell, &mut points)?;
        let flat = cell_type.dimensions() == Some(2);
        for (number, face) in (0..).zip(faces_of(cell_type)) {
            let polygon = polygon(face, &points);
            if triangles_of(polygon) > 0 {
                with(flat, cell as u32 * FACES + number, polygon);
            }
        }
    }
    Ok(())
}

/// Returns the lowest corner of a polygon.
fn lowest(polygon: Polygon) -> usize {
    polygon.into_iter().min().unwrap_or(NO_POINT) as usize
}

/// Returns a polygon with its corners in ascending order.
fn ascending([a, b, c, d]: Polygon) -> Polygon {
    let (low, high) = ([a.min(b), c.min(d)], [a.max(b), c.max(d)]);
    let middle = [low[0].max(low[1]), high[0].min(high[1])];
    [
        low[0].min(low[1]),
        middle[0].min(middle[1]),
        middle[0].max(middle[1]),
        high[0].max(high[1]),
    ]
}

/// Reads faces by their numbers, and a cell only once for faces that follow each other.
#[derive(Default)]
struct Reader {
    cell: Option<(u32, CellType)>,
    points: Vec<u32>,
}

impl Reader {
    fn polygon(&mut self, cells: &CellList<'_>, face: FaceNumber) -> Result<Polygon, MeshError> {
        let (cell, number) = (face / FACES, (face % FACES) as usize);
        let cell_type = match self.cell {
            Some((known, cell_type)) if known == cell => cell_type,
            _ => cells.read(cell as usize, &mut self.points)?,
        };
        self.cell = Some((cell, cell_type));
        let corners = faces_of(cell_type).get(number).copied();
        Ok(polygon(corners.unwrap_or_default(), &self.points))
    }
}

/// Returns the faces on the surface.
pub fn outer(cells: &CellList<'_>) -> Result<Outer, MeshError> {
    let mut outer = Outer {
        faces: vec![0; cells.count()],
        triangles: 0,
    };
    let by_lowest = ByLowest::new(cells, &mut outer)?;
    by_lowest.compare(cells, &mut outer)?;
    Ok(outer)
}

/// The faces on the surface.
pub struct Outer {
    /// For each cell, a bit for each of its faces.
    faces: Vec<u8>,
    /// Number of triangles that make up the faces.
    pub triangles: usize,
}

impl Outer {
    /// Adds a face, whose polygon may be in any order.
    fn add(&mut self, face: FaceNumber, polygon: Polygon) {
        if let Some(faces) = self.faces.get_mut((face / FACES) as usize) {
            *faces |= 1 << (face % FACES);
            self.triangles += triangles_of(polygon);
        }
    }

    /// Calls `with` for each face, with its cell and its polygon.
    pub fn each(
        &self,
        cells: &CellList<'_>,
        mut with: impl FnMut(u32, Polygon),
    ) -> Result<(), MeshError> {
        let mut reader = Reader::default();
        for (cell, faces) in (0..).zip(&self.faces).filter(|(_, faces)| **faces != 0) {
            for number in (0..FACES).filter(|number| faces & (1 << number) != 0) {
                with(cell, reader.polygon(cells, cell * FACES + number)?);
            }
        }
        Ok(())
    }

    /// Returns the triangles of all faces.
    pub fn surface(&self, cells: &CellList<'_>) -> Result<Surface, MeshError> {
        let mut surface = Surface {
            all: self.triangles,
            ..Surface::default()
        };
        self.each(cells, |cell, polygon| {
            for triangle in fan(polygon) {
                surface.corners.push(triangle);
                surface.cells.push(cell);
            }
        })?;
        surface.number_points();
        Ok(surface)
    }
}

impl Surface {
    /// Lists the points of the surface, and makes the corners places in that list.
    fn number_points(&mut self) {
        self.points = self.corners.as_flattened().to_vec();
        self.points.sort_unstable();
        self.points.dedup();
        for corner in self.corners.as_flattened_mut() {
            let number = *corner;
            *corner = self.points.partition_point(|point| *point < number) as u32;
        }
    }
}

#[cfg(test)]
mod tests;
