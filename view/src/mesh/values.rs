//! Values of single points of a field, as numbers relative to a base.

use super::MeshError;
use super::points::rows;
use crate::image::{base_of, range_of, relative};
use tcasm_analytics::Number;
use tcasm_analytics::number::{Key, modulus};
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;

/// Values, each relative to `base`, which makes 32 bits per value sufficient.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relative {
    pub base: f64,
    /// The least and the greatest finite value.
    pub range: Option<[f64; 2]>,
    /// Number of values that are not finite.
    pub not_finite: u64,
    pub values: Vec<f32>,
}

impl Relative {
    pub fn new(values: &[f64]) -> Self {
        let range = range_of(values.iter());
        let base = range.map_or(0.0, base_of);
        Relative {
            base,
            range,
            not_finite: values.iter().filter(|value| !value.is_finite()).count() as u64,
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
    let value = |row: &u32| {
        let row = *row as usize;
        let at = |column| rows.get([row, column]).map(|value| number(*value));
        match component {
            Some(component) => at(component),
            None if desc.components == 1 => at(0),
            None => (0..desc.components).try_fold(0.0, |sum, c| Some(modulus(sum, at(c)?))),
        }
    };
    let values: Option<Vec<f64>> = numbers.iter().map(value).collect();
    values.ok_or_else(|| MeshError::Count {
        field: desc.name.clone(),
        have: rows.nrows(),
        need: numbers.iter().max().map_or(0, |most| *most as usize + 1),
    })
}

/// Returns a value as a double, a complex number as its modulus.
fn number<T: Number>(value: T) -> f64 {
    match value.is_nan() {
        true => f64::NAN,
        false => Key::to_f64(value.key()),
    }
}
