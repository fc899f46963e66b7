//! Shows the corners of an array, as numpy prints long arrays.

use crate::output;
use ndarray::{ArrayViewD, Axis};
use tcasm_analytics::Number;

/// Values shown at each end of the last two axes.
const EDGE: usize = 3;
/// Slabs shown at each end of the axes before them.
const OUTER_EDGE: usize = 1;

/// Formats the corners of an array. Above each plane, a line names the indices of the axes before
/// the last two. An array may also have no values.
pub fn corners<T: Number>(array: ArrayViewD<'_, T>) -> String {
    if array.is_empty() {
        return "  no values\n".to_owned();
    }
    let mut out = String::new();
    let cells = cells(array.view());
    let width = cells.iter().map(String::len).max().unwrap_or(0);
    let mut cells = cells.into_iter();
    planes(array, &mut Vec::new(), &mut cells, width, &mut out);
    out
}

/// Returns the indices of an axis that are shown. `None` stands for those that are left out.
fn shown(len: usize, edge: usize) -> Vec<Option<usize>> {
    if len <= 2 * edge + 1 {
        return (0..len).map(Some).collect();
    }
    let (first, last) = (0..edge, len - edge..len);
    first
        .map(Some)
        .chain([None])
        .chain(last.map(Some))
        .collect()
}

fn edge_of(dims: usize) -> usize {
    if dims > 2 { OUTER_EDGE } else { EDGE }
}

/// Returns all values that are shown, in the order in which they are printed.
fn cells<T: Number>(array: ArrayViewD<'_, T>) -> Vec<String> {
    if array.ndim() == 0 {
        return array.iter().map(|v| output::scalar(v.scalar())).collect();
    }
    let indices = shown(array.len_of(Axis(0)), edge_of(array.ndim()));
    let part = |i| cells(array.index_axis(Axis(0), i));
    indices.into_iter().flatten().flat_map(part).collect()
}

fn planes<T: Number>(
    array: ArrayViewD<'_, T>,
    at: &mut Vec<usize>,
    cells: &mut impl Iterator<Item = String>,
    width: usize,
    out: &mut String,
) {
    if array.ndim() <= 2 {
        if !at.is_empty() {
            let indices: Vec<String> = at.iter().map(usize::to_string).collect();
            *out += &format!("[{}]\n", indices.join(", "));
        }
        return rows(array, cells, width, out);
    }
    for index in shown(array.len_of(Axis(0)), OUTER_EDGE) {
        let Some(index) = index else {
            *out += "...\n";
            continue;
        };
        at.push(index);
        planes(array.index_axis(Axis(0), index), at, cells, width, out);
        at.pop();
    }
}

fn rows<T: Number>(
    array: ArrayViewD<'_, T>,
    cells: &mut impl Iterator<Item = String>,
    width: usize,
    out: &mut String,
) {
    let columns = array
        .shape()
        .last()
        .map_or(vec![Some(0)], |n| shown(*n, EDGE));
    let lines = match array.ndim() {
        2 => shown(array.len_of(Axis(0)), EDGE),
        _ => vec![Some(0)],
    };
    for line in lines {
        if line.is_none() {
            *out += "  ...\n";
            continue;
        }
        let words = columns.iter().map(|column| match column {
            Some(_) => format!("{:>width$}", cells.next().unwrap_or_default()),
            None => "...".to_owned(),
        });
        *out += &format!("  {}\n", words.collect::<Vec<_>>().join("  "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array3, arr0};

    #[test]
    fn middle_of_long_arrays_is_left_out() {
        let array = Array1::from_iter(0..100).into_dyn();
        assert_eq!(corners(array.view()), "   0   1   2  ...  97  98  99\n");
        assert_eq!(corners(arr0(7.5).into_dyn().view()), "  7.5\n");
    }

    #[test]
    fn array_without_values_says_so() {
        let array = Array3::<f32>::zeros((0, 2, 3)).into_dyn();
        assert_eq!(corners(array.view()), "  no values\n");
    }

    #[test]
    fn planes_are_preceded_by_their_indices() {
        let array = Array3::from_shape_fn((9, 2, 2), |(k, j, i)| (k * 4 + j * 2 + i) as i32);
        let text = "[0]\n   0   1\n   2   3\n...\n[8]\n  32  33\n  34  35\n";
        assert_eq!(corners(array.into_dyn().view()), text);
    }
}
