//! The cells of an unstructured mesh, which are checked one by one as they are read.

use super::MeshError;
use super::points::{Places, Points, rows};
use ndarray::ArrayView2;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
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
struct Integers<'a> {
    values: Values<'a>,
    /// The number of values in a row.
    columns: usize,
}

/// Values in the order of rows.
enum Values<'a> {
    I32(Cow<'a, [i32]>),
    I64(Cow<'a, [i64]>),
    U32(Cow<'a, [u32]>),
    U64(Cow<'a, [u64]>),
}

impl<'a> Integers<'a> {
    fn of((desc, bytes): Given<'a>) -> Result<Self, MeshError> {
        let values = match desc.dtype {
            DType::I32 => Values::I32(flat(rows(desc, bytes)?)),
            DType::I64 => Values::I64(flat(rows(desc, bytes)?)),
            DType::U32 => Values::U32(flat(rows(desc, bytes)?)),
            DType::U64 => Values::U64(flat(rows(desc, bytes)?)),
            other => {
                let name = &desc.name;
                let text = format!("field {name:?} has dtype {other}, not 32- or 64-bit integers");
                return Err(MeshError::Field(text));
            }
        };
        let columns = desc.components;
        Ok(Integers { values, columns })
    }

    /// Does the same for a field whose rows have one value.
    fn single(given: Given<'a>) -> Result<Self, MeshError> {
        let integers = Self::of(given)?;
        match integers.columns {
            1 => Ok(integers),
            columns => {
                let name = &given.0.name;
                let text = format!("field {name:?} has {columns} components, not 1");
                Err(MeshError::Field(text))
            }
        }
    }

    /// Returns the number of rows.
    fn count(&self) -> usize {
        let values = match &self.values {
            Values::I32(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::U64(values) => values.len(),
        };
        values / self.columns.max(1)
    }

    fn get(&self, at: usize) -> Option<i128> {
        match &self.values {
            Values::I32(values) => values.get(at).map(|value| i128::from(*value)),
            Values::I64(values) => values.get(at).map(|value| i128::from(*value)),
            Values::U32(values) => values.get(at).map(|value| i128::from(*value)),
            Values::U64(values) => values.get(at).map(|value| i128::from(*value)),
        }
    }

    /// Makes `out` the values in `range`, which must be below `limit`: returns the first that is
    /// not, and -1 for one that there is not.
    fn read(&self, range: Range<usize>, limit: usize, out: &mut Vec<u32>) -> Result<(), i128> {
        let start = range.start;
        let known = match &self.values {
            Values::I32(values) => convert(values.get(range), out),
            Values::I64(values) => convert(values.get(range), out),
            Values::U32(values) => convert(values.get(range), out),
            Values::U64(values) => convert(values.get(range), out),
        };
        let limit = limit.min(NO_NUMBER as usize);
        let wrong = out.iter().position(|number| *number as usize >= limit);
        match wrong {
            None if known => Ok(()),
            None => Err(-1),
            Some(at) => Err(self.get(start + at).unwrap_or(-1)),
        }
    }
}

/// Stands in for a value that is no 32-bit number.
const NO_NUMBER: u32 = u32::MAX;

/// Returns the values of rows that follow each other, in order.
fn flat<'a, T: Copy>(rows: ArrayView2<'a, T>) -> Cow<'a, [T]> {
    let copy = || rows.iter().copied().collect();
    rows.to_slice()
        .map_or_else(|| Cow::Owned(copy()), Cow::Borrowed)
}

/// Makes `out` the values. Returns false if there are none.
fn convert<T: Copy + TryInto<u32>>(values: Option<&[T]>, out: &mut Vec<u32>) -> bool {
    let numbers = values.unwrap_or_default().iter();
    out.clear();
    out.extend(numbers.map(|value| (*value).try_into().unwrap_or(NO_NUMBER)));
    values.is_some()
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
            connectivity: Integers::single(connectivity)?,
            layout: Layout::Mixed(Integers::single(offsets)?, rows(types, bytes)?),
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
        let (cell_type, range) = self.place(cell)?;
        let read = self.connectivity.read(range, self.points, out);
        read.map_err(|point| MeshError::Point {
            mesh: self.mesh.to_owned(),
            cell,
            point,
            points: self.points,
        })?;
        Ok(cell_type)
    }

    /// Returns the type of a cell, and the part of the connectivity that has its points.
    fn place(&self, cell: usize) -> Result<(CellType, Range<usize>), MeshError> {
        let (offsets, types) = match &self.layout {
            Layout::Same(cell_type) => {
                let (columns, size) = (self.connectivity.columns, self.size(cell, *cell_type)?);
                // A row that is too short has no such place.
                let row = cell * columns..cell * columns + size;
                let row = Some(row).filter(|_| size <= columns);
                return Ok((*cell_type, row.unwrap_or(usize::MAX..usize::MAX)));
            }
            Layout::Mixed(offsets, types) => (offsets, types),
        };
        let number = types.get([cell, 0]).copied().unwrap_or(0);
        let need = self.size(cell, CellType(number))?;
        let range = self.range(cell, offsets)?;
        match range.len() == need {
            true => Ok((CellType(number), range)),
            false => Err(MeshError::CellSize {
                mesh: self.mesh.to_owned(),
                cell,
                number,
                have: range.len(),
                need,
            }),
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
    fn range(&self, cell: usize, offsets: &Integers<'_>) -> Result<Range<usize>, MeshError> {
        let length = self.connectivity.count();
        let [begin, end] = [cell, cell + 1].map(|at| offsets.get(at).unwrap_or(-1));
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
