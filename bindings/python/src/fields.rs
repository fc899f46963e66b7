//! Adds fields to a producer.

use crate::arrays::with_type;
use crate::errors;
use crate::values::{Values, attrs, centring, dtype, order};
use pyo3::prelude::*;
use tcasm_core::field::{Centering, DType, Element, Order};
use tcasm_core::num_complex::Complex;
use tcasm_producer::ndarray::IxDyn;
use tcasm_producer::{FieldBuilder, Producer};

/// A field as Python declares it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Declared {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    vector: bool,
    variable: bool,
    order: String,
    ghosts: Option<Vec<[usize; 2]>>,
    unit: String,
    centring: String,
    on: Option<String>,
    quantity: Option<String>,
    origin: Option<[f64; 3]>,
    spacing: Option<[f64; 3]>,
    attrs: Values,
    in_checkpoints: bool,
}

/// Adds the field that is declared.
pub fn add(producer: &mut Producer, field: Declared) -> PyResult<()> {
    let dtype = dtype(&field.dtype)?;
    with_type!(dtype, add_typed(producer, field))
}

fn add_typed<T: Element>(producer: &mut Producer, field: Declared) -> PyResult<()> {
    let mesh = field.on.as_deref().map(|name| producer.mesh_handle(name));
    let mesh = mesh.transpose().map_err(errors::define)?;
    let mut builder = producer.field::<T, _>(&field.name, IxDyn(&field.shape));
    builder = shaped(builder.unit(&field.unit), &field)?;
    if let Some(mesh) = &mesh {
        builder = builder.on(mesh);
    }
    if let Some(quantity) = &field.quantity {
        builder = builder.quantity(quantity);
    }
    if field.origin.is_some() || field.spacing.is_some() {
        builder = builder.mesh(
            field.origin.unwrap_or_default(),
            field.spacing.unwrap_or([1.0; 3]),
        );
    }
    if !field.in_checkpoints {
        builder = builder.not_in_checkpoints();
    }
    for (name, value) in attrs(field.attrs) {
        builder = builder.attr(&name, value);
    }
    builder.add().map_err(errors::define)?;
    Ok(())
}

/// Sets the layout of a field, and the place of its values.
fn shaped<'p, T: Element>(
    mut builder: FieldBuilder<'p, T, IxDyn>,
    field: &Declared,
) -> PyResult<FieldBuilder<'p, T, IxDyn>> {
    if field.vector {
        builder = builder.vector();
    }
    if field.variable {
        builder = builder.variable();
    }
    if let Some(ghosts) = &field.ghosts {
        builder = builder.ghosts(ghosts);
    }
    if order(&field.order)? == Order::F {
        builder = builder.fortran_order();
    }
    Ok(match centring(&field.centring)? {
        Centering::Point => builder,
        Centering::Cell => builder.cell_centred(),
        Centering::None => builder.no_centring(),
    })
}
