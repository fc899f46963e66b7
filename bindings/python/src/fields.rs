//! Fields that Python declares.

use crate::errors;
use crate::values::{Values, attrs, centring, dtype, order};
use pyo3::prelude::*;
use tcasm_core::field::{DType, FieldDesc, GlobalPlace, Kind, Mesh};
use tcasm_producer::Captured;

/// A field as Python declares it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Declared {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    vector: bool,
    variable: bool,
    handed_over: bool,
    order: String,
    ghosts: Option<Vec<[usize; 2]>>,
    unit: String,
    centring: String,
    on: Option<String>,
    quantity: Option<String>,
    origin: Option<[f64; 3]>,
    spacing: Option<[f64; 3]>,
    global_shape: Option<Vec<usize>>,
    global_offset: Option<Vec<usize>>,
    attrs: Values,
    in_checkpoints: bool,
}

/// Returns the description of the field, and how it gets into versions.
pub fn described(field: Declared) -> PyResult<(FieldDesc, Captured)> {
    let mut desc = FieldDesc::new(&field.name, dtype(&field.dtype)?, &field.shape);
    if field.vector {
        split_components(&mut desc)?;
    }
    if let Some(ghosts) = field.ghosts {
        desc.ghosts = ghosts;
    }
    if field.origin.is_some() || field.spacing.is_some() {
        desc.mesh = Some(Mesh {
            origin: field.origin.unwrap_or_default(),
            spacing: field.spacing.unwrap_or([1.0; 3]),
        });
    }
    desc.global = match (field.global_shape, field.global_offset) {
        (Some(shape), Some(offset)) => Some(GlobalPlace { shape, offset }),
        (None, None) => None,
        _ => return Err(errors::half_a_place(&desc.name)),
    };
    desc.order = order(&field.order)?;
    desc.unit = field.unit;
    desc.centering = centring(&field.centring)?;
    desc.on = field.on;
    desc.quantity = field.quantity;
    desc.attrs = attrs(field.attrs);
    desc.not_in_checkpoints = !field.in_checkpoints;
    if field.variable {
        desc.capacity = Some(desc.length());
    }
    let captured = match field.handed_over {
        true => Captured::HandedOver,
        false => Captured::InPlace,
    };
    Ok((desc, captured))
}

/// Returns the description of `count` structures of `bytes` bytes.
pub fn structures(
    name: &str,
    count: usize,
    bytes: usize,
    align: usize,
    type_name: String,
) -> FieldDesc {
    let mut desc = FieldDesc::new(name, DType::U8, &[count]);
    desc.components = bytes;
    desc.kind = Kind::Raw { type_name, align };
    desc
}

/// Makes the last axis of the shape the components.
fn split_components(desc: &mut FieldDesc) -> PyResult<()> {
    let last = desc.shape.pop();
    desc.components = last.ok_or_else(|| errors::no_components(&desc.name))?;
    desc.ghosts.truncate(desc.shape.len());
    Ok(())
}
