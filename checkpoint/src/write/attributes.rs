//! Writes attributes of groups and datasets in the forms that h5py and VTK expect.

use super::rounding::Rounding;
use hdf5::types::{FixedAscii, VarLenUnicode};
use hdf5::{H5Type, Location, Result};
use tcasm_core::field::{Attr, Centering, FieldDesc, Kind, Order};

/// The longest text in bytes that is stored as an attribute. Attributes of 64 KiB and more need
/// another form of storage.
const MAX_TEXT: usize = 32 << 10;
/// The attribute in which netCDF records how many bits of the mantissa BitRound has left.
const BITS: &str = "_QuantizeBitRoundNumberOfSignificantBits";

/// Writes a single number.
pub fn number<T: H5Type>(at: &Location, name: &str, value: T) -> Result<()> {
    at.new_attr::<T>().create(name)?.write_scalar(&value)
}

/// Writes several numbers.
pub fn numbers<T: H5Type>(at: &Location, name: &str, values: &[T]) -> Result<()> {
    at.new_attr_builder().with_data(values).create(name)?;
    Ok(())
}

/// Writes a text (variable length, UTF-8). A text that HDF5 cannot hold is left out.
pub fn text(at: &Location, name: &str, value: &str) -> Result<()> {
    match value.parse::<VarLenUnicode>() {
        Ok(text) if value.len() <= MAX_TEXT => number(at, name, text),
        _ => Ok(()),
    }
}

/// Writes several short texts.
pub fn texts(at: &Location, name: &str, values: &[String]) -> Result<()> {
    let parsed: std::result::Result<Vec<VarLenUnicode>, _> =
        values.iter().map(|value| value.parse()).collect();
    numbers(at, name, &parsed.map_err(|_| "a text holds a zero byte")?)
}

/// Writes a short ASCII text of fixed length, the form that VTK itself writes.
pub fn ascii<const N: usize>(at: &Location, name: &str, value: &str) -> Result<()> {
    let value = FixedAscii::<N>::from_ascii(value).map_err(|e| hdf5::Error::from(e.to_string()))?;
    number(at, name, value)
}

/// Writes the description of a field for people and scripts. This crate reads the field table
/// instead.
pub fn describe(at: &Location, field: &FieldDesc) -> Result<()> {
    let whole = |n: &usize| *n as u64;
    text(at, "dtype", field.dtype.name())?;
    text(at, "order", if field.order == Order::C { "C" } else { "F" })?;
    numbers(
        at,
        "shape",
        &field.shape.iter().map(whole).collect::<Vec<_>>(),
    )?;
    let ghosts: Vec<u64> = field.ghosts.as_flattened().iter().map(whole).collect();
    numbers(at, "ghosts", &ghosts)?;
    number(at, "components", whole(&field.components))?;
    text(at, "unit", &field.unit)?;
    describe_place(at, field)?;
    if let Some(capacity) = &field.capacity {
        number(at, "capacity", whole(capacity))?;
    }
    if let Kind::Raw { type_name, .. } = &field.kind {
        text(at, "type_name", type_name)?;
    }
    free(at, &field.attrs)
}

/// Writes the place of the values of a field on its mesh, and the quantity that they are.
fn describe_place(at: &Location, field: &FieldDesc) -> Result<()> {
    let centering = match field.centering {
        Centering::Point => "point",
        Centering::Cell => "cell",
        Centering::None => "none",
    };
    text(at, "centering", centering)?;
    if let Some(mesh) = field.usable_mesh() {
        numbers(at, "origin", &mesh.origin)?;
        numbers(at, "spacing", &mesh.spacing)?;
    }
    if let Some(mesh) = &field.on {
        text(at, "mesh", mesh)?;
    }
    if let Some(quantity) = &field.quantity {
        text(at, "quantity", quantity)?;
    }
    Ok(())
}

/// Writes the rounding of the values of a dataset, if they are rounded.
pub fn rounded(at: &Location, rounding: Option<Rounding>) -> Result<()> {
    let Some(rounding) = rounding else {
        return Ok(());
    };
    number(at, BITS, rounding.bits as i32)?;
    number(at, "relative_error", rounding.relative_error)
}

/// Writes free attributes. The prefix of their names keeps them apart from all others.
pub fn free<'a>(
    at: &Location,
    attrs: impl IntoIterator<Item = (&'a String, &'a Attr)>,
) -> Result<()> {
    for (name, value) in attrs {
        one(at, &format!("attr_{name}"), value)?;
    }
    Ok(())
}

/// Writes a free attribute called `name`. One that HDF5 cannot hold is left out.
pub fn one(at: &Location, name: &str, value: &Attr) -> Result<()> {
    if name.contains('\0') || name.len() > MAX_TEXT {
        return Ok(());
    }
    match value {
        Attr::Int(v) => number(at, name, *v),
        Attr::Float(v) => number(at, name, *v),
        Attr::Text(v) => text(at, name, v),
        Attr::Floats(v) if v.len() * size_of::<f64>() <= MAX_TEXT => numbers(at, name, v),
        Attr::Floats(_) => Ok(()),
    }
}
