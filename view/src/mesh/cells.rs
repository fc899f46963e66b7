//! The cells of an unstructured mesh, which are checked one by one as they are read.

use super::MeshError;
use super::points::{Places, Points, rows};
use ndarray::ArrayView2;
use std::cell::RefCell;
use tcasm_core::field::{CellType, DType, FieldDesc};

/// A field with its bytes.
pub type Given<'a> = (&'a FieldDesc, &'a [u8]);

/// The cells of a mesh.
pub struct CellList<'a> {
    mesh: &'a str,
    connectivity: Integers<'a>,
    layout: Layout<'a>,
    /// Number of points of the mesh.
    points: usize,
}

enum Layout<'a> {
    /// All cells have this type. Each has a row of the connectivity.
    Same(CellType),
    /// The offset and the type of each cell.
    Mixed(Integers<'a>, ArrayView2<'a, u8>),
}

/// The values of an integer field of one axis.
enum Integers<'a> {
    I32(ArrayView2<'a, i32>),
    I64(ArrayView2<'a, i64>),
    U32(ArrayView2<'a, u32>),
    U64(ArrayView2<'a, u64>),
}

impl<'a> Integers<'a> {
    fn of((desc, bytes): Given<'a>) -> Result<Self, MeshError> {
        Ok(match desc.dtype {
            DType::I32 => Integers::I32(rows(desc, bytes)?),
            DType::I64 => Integers::I64(rows(desc, bytes)?),
            DType::U32 => Integers::U32(rows(desc, bytes)?),
            DType::U64 => Integers::U64(rows(desc, bytes)?),
            other => {
                let name = &desc.name;
                let text = format!("field {name:?} has dtype {other}, not 32- or 64-bit integers");
                return Err(MeshError::Field(text));
            }
        })
    }

    fn count(&self) -> usize {
        match self {
            Integers::I32(rows) => rows.nrows(),
            Integers::I64(rows) => rows.nrows(),
            Integers::U32(rows) => rows.nrows(),
            Integers::U64(rows) => rows.nrows(),
        }
    }

    fn get(&self, row: usize, column: usize) -> Option<i128> {
        let at = [row, column];
        match self {
            Integers::I32(rows) => rows.get(at).map(|value| i128::from(*value)),
            Integers::I64(rows) => rows.get(at).map(|value| i128::from(*value)),
            Integers::U32(rows) => rows.get(at).map(|value| i128::from(*value)),
            Integers::U64(rows) => rows.get(at).map(|value| i128::from(*value)),
        }
    }
}

impl<'a> CellList<'a> {
    /// Returns the cells of type `cell_type` of mesh `mesh`, which has `points` points.
    pub fn same(
        mesh: &'a str,
        points: usize,
        cell_type: CellType,
        connectivity: Given<'a>,
    ) -> Result<Self, MeshError> {
        Ok(CellList {
            mesh,
            connectivity: Integers::of(connectivity)?,
            layout: Layout::Same(cell_type),
            points,
        })
    }

    /// Returns the cells of mesh `mesh`, each with a type of its own.
    pub fn mixed(
        mesh: &'a str,
        points: usize,
        connectivity: Given<'a>,
        offsets: Given<'a>,
        (types, bytes): Given<'a>,
    ) -> Result<Self, MeshError> {
        Ok(CellList {
            mesh,
            connectivity: Integers::of(connectivity)?,
            layout: Layout::Mixed(Integers::of(offsets)?, rows(types, bytes)?),
            points,
        })
    }

    pub fn mesh(&self) -> &'a str {
        self.mesh
    }

    /// Returns the number of points of the mesh.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of cells.
    pub fn count(&self) -> usize {
        match &self.layout {
            Layout::Same(_) => self.connectivity.count(),
            Layout::Mixed(_, types) => types.nrows(),
        }
    }

    /// Reads the points of a cell into `out`, and returns its type.
    pub fn read(&self, cell: usize, out: &mut Vec<u32>) -> Result<CellType, MeshError> {
        out.clear();
        match &self.layout {
            Layout::Same(cell_type) => {
                let size = self.size(cell, *cell_type)?;
                let place = |column| self.point(cell, self.connectivity.get(cell, column));
                fill(out, (0..size).map(place))?;
                Ok(*cell_type)
            }
            Layout::Mixed(offsets, types) => {
                let number = types.get([cell, 0]).copied().unwrap_or(0);
                let need = self.size(cell, CellType(number))?;
                let range = self.range(cell, offsets)?;
                if range.len() != need {
                    return Err(MeshError::CellSize {
                        mesh: self.mesh.to_owned(),
                        cell,
                        number,
                        have: range.len(),
                        need,
                    });
                }
                let place = |row| self.point(cell, self.connectivity.get(row, 0));
                fill(out, range.map(place))?;
                Ok(CellType(number))
            }
        }
    }

    /// Returns the number of points of a cell of this type.
    fn size(&self, cell: usize, cell_type: CellType) -> Result<usize, MeshError> {
        cell_type.points().ok_or_else(|| MeshError::Type {
            mesh: self.mesh.to_owned(),
            cell,
            number: cell_type.0,
        })
    }

    /// Returns the part of the connectivity that is the cell.
    fn range(
        &self,
        cell: usize,
        offsets: &Integers<'_>,
    ) -> Result<std::ops::Range<usize>, MeshError> {
        let length = self.connectivity.count();
        let [begin, end] = [cell, cell + 1].map(|at| offsets.get(at, 0).unwrap_or(-1));
        match (usize::try_from(begin), usize::try_from(end)) {
            (Ok(begin), Ok(end)) if begin <= end && end <= length => Ok(begin..end),
            _ => Err(MeshError::Offsets {
                mesh: self.mesh.to_owned(),
                cell,
                begin,
                end,
                length,
            }),
        }
    }

    /// Checks the number of a point of a cell.
    fn point(&self, cell: usize, point: Option<i128>) -> Result<u32, MeshError> {
        let point = point.unwrap_or(-1);
        let index = u32::try_from(point).ok();
        let inside = index.filter(|index| (*index as usize) < self.points);
        inside.ok_or_else(|| MeshError::Point {
            mesh: self.mesh.to_owned(),
            cell,
            point,
            points: self.points,
        })
    }
}

fn fill(
    out: &mut Vec<u32>,
    mut points: impl Iterator<Item = Result<u32, MeshError>>,
) -> Result<(), MeshError> {
    points.try_for_each(|point| {
        out.push(point?);
        Ok(())
    })
}

/// The middles of cells.
pub struct Middles<'a> {
    cells: CellList<'a>,
    points: Points<'a>,
    /// The points of the cell that is read.
    read: RefCell<Vec<u32>>,
}

impl<'a> Middles<'a> {
    pub fn new(cells: CellList<'a>, points: Points<'a>) -> Self {
        let read = RefCell::default();
        Middles {
            cells,
            points,
            read,
        }
    }
}

impl Places for Middles<'_> {
    fn count(&self) -> usize {
        self.cells.count()
    }

    /// Returns the mean of the points of a cell, or no usable place if the cell cannot be read.
    fn get(&self, number: usize) -> [f64; 3] {
        let mut points = self.read.borrow_mut();
        if self.cells.read(number, &mut points).is_err() {
            return [f64::NAN; 3];
        }
        let share = 1.0 / points.len() as f64;
        points.iter().fold([0.0; 3], |sum, point| {
            let point = self.points.get(*point as usize);
            [0, 1, 2].map(|axis| sum[axis] + share * point[axis])
        })
    }
}
