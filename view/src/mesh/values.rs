//! Values of a field on a mesh: those of single points as numbers relative to a base, the range of
//! all, and those that are not finite.

use super::MeshError;
use super::points::rows;
use crate::image::{base_of, relative};
use ndarray::ArrayView2;
use tcasm_analytics::number::{Key, modulus};
use tcasm_analytics::{Moments, Number};
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;

/// The range of all values of a field, and the number of values that have no place in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// The least and the greatest finite value.
    pub range: Option<[f64; 2]>,
    /// Number of values that are not finite.
    pub not_finite: u64,
}

impl From<&Moments> for Extent {
    fn from(moments: &Moments) -> Self {
        let ends = moments.min.zip(moments.max);
        Extent {
            range: ends.map(|(low, high)| [low.to_f64(), high.to_f64()]),
            not_finite: moments.nans + moments.infinities,
        }
    }
}

/// Values, each relative to `base`, which makes 32 bits per value sufficient.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relative {
    pub base: f64,
    pub values: Vec<f32>,
}

impl Relative {
    /// Returns some of the values of a field whose values have this range.
    pub fn new(values: &[f64], range: Option<[f64; 2]>) -> Self {
        let base = range.map_or(0.0, base_of);
        Relative {
            base,
            values: values.iter().map(|value| relative(*value, base)).collect(),
        }
    }
}

/// Reads the points `numbers` of a field of one axis: one component, or the magnitude (`None`).
pub fn gather(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    numbers: &[u32],
) -> Result<Vec<f64>, MeshError> {
    if let Some(component) = component.filter(|c| *c >= desc.components) {
        return Err(MeshError::Component {
            field: desc.name.clone(),
            component,
            components: desc.components,
        });
    }
    with_dtype!(desc.dtype, T => gather_of::<T>(desc, bytes, component, numbers))
}

fn gather_of<T: Number>(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    numbers: &[u32],
) -> Result<Vec<f64>, MeshError> {
    let rows = rows::<T>(desc, bytes)?;
    let value = |row: &u32| value_of(&rows, *row as usize, component);
    let values: Option<Vec<f64>> = numbers.iter().map(value).collect();
    values.ok_or_else(|| MeshError::Count {
        field: desc.name.clone(),
        have: rows.nrows(),
        need: numbers.iter().max().map_or(0, |most| *most as usize + 1),
    })
}

/// Calls `found` with the number of each point whose value is not finite. Points beyond the first
/// 2^32 are not looked at.
pub fn not_finite(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    found: &mut dyn FnMut(u32),
) -> Result<(), MeshError> {
    with_dtype!(desc.dtype, T => not_finite_of::<T>(desc, bytes, component, found))
}

fn not_finite_of<T: Number>(
    desc: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
    found: &mut dyn FnMut(u32),
) -> Result<(), MeshError> {
    let rows = rows::<T>(desc, bytes)?;
    let value = |row: u32| value_of(&rows, row as usize, component);
    let count = rows.nrows().min(u32::MAX as usize) as u32;
    let is_bad = |row: &u32| value(*row).is_some_and(|value| !value.is_finite());
    (0..count).filter(is_bad).for_each(found);
    Ok(())
}

/// Returns the value of a point: one component, or the magnitude (`None`).
fn value_of<T: Number>(
    rows: &ArrayView2<'_, T>,
    row: usize,
    component: Option<usize>,
) -> Option<f64> {
    let at = |column| rows.get([row, column]).map(|value| number(*value));
    match component {
        Some(component) => at(component),
        None if rows.ncols() == 1 => at(0),
        None => (0..rows.ncols()).try_fold(0.0, |sum, c| Some(modulus(sum, at(c)?))),
    }
}

/// Returns a value as a double, a complex number as its modulus.
fn number<T: Number>(value: T) -> f64 {
    match value.is_nan() {
        true => f64::NAN,
        false => Key::to_f64(value.key()),
    }
}
