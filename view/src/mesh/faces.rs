//! The surface of an unstructured mesh: the faces that belong to one cell only.
//!
//! Two cells share a face if they have the same corners there. The faces of all cells are sorted by
//! their corners, and those without an equal one are the surface. Millions of cells have tens of
//! millions of faces, so the faces are sorted in parts that take little memory. Equal faces are in
//! the same part, for which all cells are read once.
//!
//! A cell may name a point several times: a hexahedron whose corners coincide is a wedge. So a face
//! is the polygon of its different corners, and a face with fewer than three of them is none.

use super::MeshError;
use super::cells::CellList;
use super::triangles::Surface;
use tcasm_core::field::CellType;

/// Maximum number of cells whose surface is looked for. With more cells there would be more parts,
/// for each of which all cells are read.
pub const MAX_CELLS: usize = 1 << 23;
/// Maximum number of points for each cell of that many. A mesh with more has points that no cell
/// has, and the memory for a coarser surface grows with their number.
pub const POINTS_PER_CELL: usize = 8;
/// Number of faces that are sorted at once, if faces are spread evenly.
const AT_ONCE: usize = if cfg!(test) { 64 } else { 1 << 22 };
/// Maximum number of faces that are sorted at once. There are more only if very many are equal.
const MOST_AT_ONCE: usize = 2 * AT_ONCE;

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
    let corners = face.iter().map(|corner| points.get(*corner).copied());
    distinct(corners.map(|point| point.unwrap_or(NO_POINT)))
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

/// A face that may have an equal one.
struct Face {
    /// Its polygon, in ascending order.
    key: Polygon,
    cell: u32,
    number: u8,
}

/// Returns the faces on the surface.
pub fn outer(cells: &CellList<'_>) -> Result<Outer, MeshError> {
    let parts = (cells.count() * MOST_FACES).div_ceil(AT_ONCE).max(1) as u64;
    let mut outer = Outer::default();
    for part in 0..parts {
        let mut faces = inner_or_outer(cells, part, parts, &mut outer)?;
        faces.sort_unstable_by_key(|face| face.key);
        for same in faces.chunk_by(|a, b| a.key == b.key) {
            if let [face] = same {
                outer.add(face.cell, face.number, triangles_of(face.key));
            }
        }
    }
    outer.faces.sort_unstable();
    Ok(outer)
}

/// Reads the faces of one part. Cells of two dimensions belong to the surface in any case: they go
/// to `outer` with the first part.
fn inner_or_outer(
    cells: &CellList<'_>,
    part: u64,
    parts: u64,
    outer: &mut Outer,
) -> Result<Vec<Face>, MeshError> {
    let (mut faces, mut points) = (Vec::new(), Vec::new());
    for cell in 0..cells.count() {
        let cell_type = cells.read(cell, &mut points)?;
        let flat = cell_type.dimensions() == Some(2);
        for (number, face) in faces_of(cell_type).iter().enumerate() {
            let (cell, number, mut key) = (cell as u32, number as u8, polygon(face, &points));
            let triangles = triangles_of(key);
            if flat && part == 0 {
                outer.add(cell, number, triangles);
            }
            key.sort_unstable();
            if !flat && triangles > 0 && spread(key) % parts == part {
                faces.push(Face { key, cell, number });
            }
        }
        if faces.len() > MOST_AT_ONCE {
            return Err(equal_faces(cells));
        }
    }
    Ok(faces)
}

fn equal_faces(cells: &CellList<'_>) -> MeshError {
    MeshError::EqualFaces {
        mesh: cells.mesh().to_owned(),
        cells: cells.count(),
    }
}

/// Returns a number that is different for most keys.
fn spread(key: Polygon) -> u64 {
    let mixed = key.into_iter().fold(0_u64, |sum, corner| {
        (sum ^ u64::from(corner)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    mixed >> 32
}

/// The faces on the surface.
#[derive(Default)]
pub struct Outer {
    /// The number of the cell of each, times [`FACES`], plus its number there. In ascending order.
    faces: Vec<u32>,
    /// Number of triangles that make up the faces.
    pub triangles: usize,
}

/// A number that is larger than that of any face of a cell.
const FACES: u32 = 8;
const _: () = assert!(MOST_FACES <= FACES as usize && MAX_CELLS <= (u32::MAX / FACES) as usize);
const _: () = assert!(MAX_CELLS * POINTS_PER_CELL < u32::MAX as usize / 2);

impl Outer {
    /// Adds a face of so many triangles.
    fn add(&mut self, cell: u32, number: u8, triangles: usize) {
        self.triangles += triangles;
        if triangles > 0 {
            self.faces.push(cell * FACES + u32::from(number));
        }
    }

    /// Calls `with` for each face, with its cell and its polygon.
    pub fn each(
        &self,
        cells: &CellList<'_>,
        mut with: impl FnMut(u32, Polygon),
    ) -> Result<(), MeshError> {
        let mut points = Vec::new();
        for face in &self.faces {
            let (cell, number) = (face / FACES, (face % FACES) as usize);
            let cell_type = cells.read(cell as usize, &mut points)?;
            let corners = faces_of(cell_type).get(number).copied();
            with(cell, polygon(corners.unwrap_or_default(), &points));
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
