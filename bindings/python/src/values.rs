//! Names of Python for the enums of descriptions, and free attributes.

use crate::errors;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use tcasm_core::field::{Attr, Centering, DType, Order};

/// The value of a free attribute.
#[derive(FromPyObject, IntoPyObject)]
pub enum Value {
    Int(i64),
    Float(f64),
    Text(String),
    Floats(Vec<f64>),
}

/// Free attributes by their names.
pub type Values = BTreeMap<String, Value>;

impl From<Value> for Attr {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(v) => Attr::Int(v),
            Value::Float(v) => Attr::Float(v),
            Value::Text(v) => Attr::Text(v),
            Value::Floats(v) => Attr::Floats(v),
        }
    }
}

impl From<&Attr> for Value {
    fn from(attr: &Attr) -> Self {
        match attr {
            Attr::Int(v) => Value::Int(*v),
            Attr::Float(v) => Value::Float(*v),
            Attr::Text(v) => Value::Text(v.clone()),
            Attr::Floats(v) => Value::Floats(v.clone()),
        }
    }
}

/// Returns attributes as Python gets them.
pub fn values(attrs: &BTreeMap<String, Attr>) -> Values {
    let attrs = attrs.iter();
    attrs.map(|(k, v)| (k.clone(), v.into())).collect()
}

/// Returns attributes that Python has given.
pub fn attrs(values: Values) -> BTreeMap<String, Attr> {
    let values = values.into_iter();
    values.map(|(k, v)| (k, v.into())).collect()
}

/// Returns the dtype that numpy calls `name`.
pub fn dtype(name: &str) -> PyResult<DType> {
    let found = DType::ALL.into_iter().find(|d| d.name() == name);
    found.ok_or_else(|| errors::dtype(name))
}

/// Returns the order called `name`.
pub fn order(name: &str) -> PyResult<Order> {
    match name {
        "C" => Ok(Order::C),
        "F" => Ok(Order::F),
        _ => Err(errors::choice("order", name, "C, F")),
    }
}

/// Returns the name of an order.
pub fn order_name(order: Order) -> &'static str {
    match order {
        Order::C => "C",
        Order::F => "F",
    }
}

/// Returns the centring called `name`.
pub fn centring(name: &str) -> PyResult<Centering> {
    match name {
        "point" => Ok(Centering::Point),
        "cell" => Ok(Centering::Cell),
        "none" => Ok(Centering::None),
        _ => Err(errors::choice("centring", name, "point, cell, none")),
    }
}

/// Returns the name of a centring.
pub fn centring_name(centring: Centering) -> &'static str {
    match centring {
        Centering::Point => "point",
        Centering::Cell => "cell",
        Centering::None => "none",
    }
}

/// Returns a duration of so many seconds: none of a negative number, and the longest of one that is
/// too large.
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}
