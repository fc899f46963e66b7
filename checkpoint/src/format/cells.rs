//! The check of cells, and the integers that they consist of. Producers do not check the values of
//! connectivities, offsets and types, so readers have to do so before they use them.
//!
//! This depends on the description of fields only, so other readers can have it.

use super::data::typed;
use std::borrow::Cow;
use tcasm_core::field::{CellType, DType, FieldDesc};

/// Returns the defect of cells that have `corners` points each, in a mesh with `points` points.
pub fn same(points: usize, corners: usize, ids: &Integers<'_>) -> Option<String> {
    (0..ids.len()).find_map(|at| outside(points, at / corners, ids.get(at)))
}

/// Returns the defect of cells that have types of their own, in a mesh with `points` points.
pub fn mixed(
    points: usize,
    ids: &Integers<'_>,
    offsets: &Integers<'_>,
    types: &Integers<'_>,
) -> Option<String> {
    let first = offsets.get(0);
    if first != 0 {
        return Some(format!("the first offset is {first}, not 0"));
    }
    (0..types.len()).find_map(|cell| {
        let (from, to) = (offsets.get(cell), offsets.get(cell + 1));
        bounds(cell, from, to, ids.len())
            .or_else(|| corner_count(cell, types.get(cell), to - from))
            .or_else(|| {
                let mut places = from as usize..to as usize;
                places.find_map(|at| outside(points, cell, ids.get(at)))
            })
    })
}

/// Checks the range of a cell in a connectivity of `len` values.
fn bounds(cell: usize, from: i128, to: i128, len: usize) -> Option<String> {
    if to < from {
        return Some(format!(
            "cell {cell} begins at {from} and ends at {to} of the connectivity; offsets must not \
             decrease"
        ));
    }
    (to > len as i128)
        .then(|| format!("cell {cell} ends at {to} of the connectivity, which has {len} values"))
}

/// Checks the type of a cell, and its number of points.
fn corner_count(cell: usize, cell_type: i128, have: i128) -> Option<String> {
    let known = u8::try_from(cell_type).ok();
    match known.and_then(|known| CellType(known).points()) {
        None => Some(format!(
            "cell {cell} has VTK's type {cell_type}, which is not supported"
        )),
        Some(need) if need as i128 != have => Some(format!(
            "cell {cell} of VTK's type {cell_type} has {have} points, not {need}"
        )),
        Some(_) => None,
    }
}

/// Checks a point of a cell.
fn outside(points: usize, cell: usize, id: i128) -> Option<String> {
    (!(0..points as i128).contains(&id)).then(|| {
        format!("cell {cell} has the point {id}, but the mesh has {points} points, counted from 0")
    })
}

/// The values of a field of integers.
#[derive(Clone, Debug)]
pub enum Integers<'a> {
    /// Of 32 bits, with a sign.
    I32(Cow<'a, [i32]>),
    /// Of 64 bits, with a sign.
    I64(Cow<'a, [i64]>),
    /// Of 32 bits.
    U32(Cow<'a, [u32]>),
    /// Of 64 bits.
    U64(Cow<'a, [u64]>),
    /// Of 8 bits.
    U8(Cow<'a, [u8]>),
}

impl Default for Integers<'_> {
    fn default() -> Self {
        Integers::U8(Cow::Borrowed(&[]))
    }
}

impl<'a> Integers<'a> {
    /// Returns the values of `field`, whose bytes are `bytes`. A field of another type has none.
    pub fn of(field: &FieldDesc, bytes: &'a [u8]) -> Self {
        match field.dtype {
            DType::I32 => Integers::I32(typed(bytes)),
            DType::I64 => Integers::I64(typed(bytes)),
            DType::U32 => Integers::U32(typed(bytes)),
            DType::U64 => Integers::U64(typed(bytes)),
            DType::U8 => Integers::U8(typed(bytes)),
            _ => Integers::default(),
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Integers::I32(values) => values.len(),
            Integers::I64(values) => values.len(),
            Integers::U32(values) => values.len(),
            Integers::U64(values) => values.len(),
            Integers::U8(values) => values.len(),
        }
    }

    /// Returns the value at `at`, or 0 beyond the last one.
    pub fn get(&self, at: usize) -> i128 {
        let value = match self {
            Integers::I32(values) => values.get(at).map(|v| i128::from(*v)),
            Integers::I64(values) => values.get(at).map(|v| i128::from(*v)),
            Integers::U32(values) => values.get(at).map(|v| i128::from(*v)),
            Integers::U64(values) => values.get(at).map(|v| i128::from(*v)),
            Integers::U8(values) => values.get(at).map(|v| i128::from(*v)),
        };
        value.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(values: &[i64]) -> Integers<'_> {
        Integers::I64(Cow::Borrowed(values))
    }

    fn types(values: &[u8]) -> Integers<'_> {
        Integers::U8(Cow::Borrowed(values))
    }

    #[test]
    fn defect_of_cells_of_one_type_names_the_cell_the_point_and_the_limit() {
        assert_eq!(same(4, 3, &ids(&[0, 1, 2, 1, 2, 3])), None);
        assert_eq!(same(0, 3, &ids(&[])), None);
        for (values, cell, point) in [([0, 1, 2, 1, 2, 4], 1, "4"), ([0, -1, 2, 1, 2, 3], 0, "-1")]
        {
            let why = same(4, 3, &ids(&values)).unwrap();
            let text = format!("cell {cell} has the point {point}, but the mesh has 4 points");
            assert!(why.starts_with(&text), "{why}");
        }
        let large = Integers::U64(Cow::Owned(vec![0, 1, u64::MAX]));
        assert!(same(4, 3, &large).unwrap().contains("18446744073709551615"));
    }

    #[test]
    fn defect_of_cells_of_several_types_names_the_value() {
        let good = (ids(&[0, 1, 2, 0, 1, 2, 3]), ids(&[0, 3, 7]), types(&[5, 9]));
        assert_eq!(mixed(4, &good.0, &good.1, &good.2), None);
        assert_eq!(mixed(0, &ids(&[]), &ids(&[0]), &types(&[])), None);
        // Values beyond the last cell are not used.
        assert_eq!(
            mixed(4, &ids(&[0, 1, 2, 99]), &ids(&[0, 3]), &types(&[5])),
            None
        );
        for (offsets, types, text) in [
            (ids(&[1, 3, 7]), types(&[5, 9]), "the first offset is 1"),
            (
                ids(&[0, 3, 2]),
                types(&[5, 9]),
                "cell 1 begins at 3 and ends at 2",
            ),
            (ids(&[0, 3, 8]), types(&[5, 9]), "cell 1 ends at 8"),
            (ids(&[0, 3, 7]), types(&[5, 42]), "cell 1 has VTK's type 42"),
            (
                ids(&[0, 3, 7]),
                types(&[5, 5]),
                "cell 1 of VTK's type 5 has 4 points, not 3",
            ),
            (
                ids(&[0, -3, 7]),
                types(&[5, 9]),
                "cell 0 begins at 0 and ends at -3",
            ),
        ] {
            let why = mixed(4, &good.0, &offsets, &types).unwrap();
            assert!(why.starts_with(text), "{why}");
        }
        let why = mixed(3, &good.0, &good.1, &good.2).unwrap();
        assert!(
            why.starts_with("cell 1 has the point 3, but the mesh has 3 points"),
            "{why}"
        );
    }
}
