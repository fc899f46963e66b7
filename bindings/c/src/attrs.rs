//! Free attributes of regions, fields and meshes.

use crate::border::{Count, List, Out, Text, c_text};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::status::{Failure, TCASM_NOT_FOUND};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use tcasm_core::field::Attr;

/// An attribute is an integer.
pub const TCASM_ATTR_INT: c_int = 1;
/// An attribute is a `double`.
pub const TCASM_ATTR_FLOAT: c_int = 2;
/// An attribute is a text.
pub const TCASM_ATTR_TEXT: c_int = 3;
/// An attribute is a list of `double`.
pub const TCASM_ATTR_FLOATS: c_int = 4;

/// Free attributes by their names. A list can be used for several fields. Several threads may use
/// it.
pub struct Attrs {
    values: Mutex<BTreeMap<String, Attr>>,
    /// Texts that C has pointers to.
    texts: Texts,
}
object!(Attrs, "list of attributes", 1);

/// Texts that C has pointers to. They stay where they are until this is dropped.
#[derive(Default)]
pub struct Texts(Mutex<BTreeMap<String, CString>>);

impl Texts {
    /// Returns a pointer to the text.
    pub fn pointer(&self, text: &str) -> *const c_char {
        let mut texts = self.0.lock();
        let known = texts.entry(text.to_owned()).or_insert_with(|| c_text(text));
        known.as_ptr()
    }
}

impl Attrs {
    pub fn new(values: BTreeMap<String, Attr>) -> Self {
        Attrs {
            values: Mutex::new(values),
            texts: Texts::default(),
        }
    }

    /// Returns the attributes.
    pub fn values(&self) -> BTreeMap<String, Attr> {
        self.values.lock().clone()
    }
}

/// Returns the attributes of a list, or none if C passed null.
pub fn values(attrs: Handle<Attrs>) -> Result<BTreeMap<String, Attr>, Failure> {
    Ok(attrs.optional()?.map_or_else(BTreeMap::new, |a| a.values()))
}

/// Makes an empty list of attributes. `tcasm_attrs_free` ends it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_new(attrs: Out<Handle<Attrs>>) -> c_int {
    call(|| give(&attrs, || Ok(Attrs::new(BTreeMap::new()))))
}

/// Ends a list of attributes, and the texts that it has returned.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_free(attrs: Handle<Attrs>) -> c_int {
    call(|| attrs.remove().map(drop))
}

fn set(attrs: Handle<Attrs>, name: &Text, value: impl Into<Attr>) -> Result<(), Failure> {
    let name = name.get("the name of the attribute")?.to_owned();
    attrs.get()?.values.lock().insert(name, value.into());
    Ok(())
}

/// Sets an integer attribute.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_set_int(attrs: Handle<Attrs>, name: Text, value: i64) -> c_int {
    call(|| set(attrs, &name, value))
}

/// Sets an attribute that is a `double`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_set_float(attrs: Handle<Attrs>, name: Text, value: f64) -> c_int {
    call(|| set(attrs, &name, value))
}

/// Sets an attribute that is a text in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_set_text(attrs: Handle<Attrs>, name: Text, value: Text) -> c_int {
    call(|| set(attrs, &name, value.get("the text")?))
}

/// Sets an attribute that is a list of `count` numbers.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_set_floats(
    attrs: Handle<Attrs>,
    name: Text,
    values: List<f64>,
    count: Count,
) -> c_int {
    call(|| {
        set(
            attrs,
            &name,
            values.get(&count, "the list of values")?.to_vec(),
        )
    })
}

/// Stores the number of attributes.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_count(attrs: Handle<Attrs>, count: Out<usize>) -> c_int {
    call(|| {
        count.set(attrs.get()?.values.lock().len());
        Ok(())
    })
}

/// Stores the name of attribute `index` (from 0, sorted by name), and its type: `TCASM_ATTR_INT`
/// and the like. The name is valid until the list ends.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_at(
    attrs: Handle<Attrs>,
    index: usize,
    name: Out<*const c_char>,
    kind: Out<c_int>,
) -> c_int {
    call(|| {
        let attrs = attrs.get()?;
        let values = attrs.values.lock();
        let absent = || not_found(&format!("attribute {index} of {}", values.len()));
        let (key, value) = values.iter().nth(index).ok_or_else(absent)?;
        name.set(attrs.texts.pointer(key));
        kind.set(match value {
            Attr::Int(_) => TCASM_ATTR_INT,
            Attr::Float(_) => TCASM_ATTR_FLOAT,
            Attr::Text(_) => TCASM_ATTR_TEXT,
            Attr::Floats(_) => TCASM_ATTR_FLOATS,
        });
        Ok(())
    })
}

/// Calls `take` with the attribute. Fails if it has another type.
fn get(
    attrs: Handle<Attrs>,
    name: &Text,
    wanted: &str,
    take: impl FnOnce(&Attrs, &Attr) -> bool,
) -> Result<(), Failure> {
    let attrs = attrs.get()?;
    let name = name.get("the name of the attribute")?;
    let value = attrs.values.lock().get(name).cloned();
    let value = value.ok_or_else(|| not_found(&format!("attribute {name:?}")))?;
    match take(&attrs, &value) {
        true => Ok(()),
        false => Err(Failure::argument(format!(
            "attribute {name:?} is not {wanted}"
        ))),
    }
}

fn not_found(what: &str) -> Failure {
    Failure::new(TCASM_NOT_FOUND, format!("there is no {what}"))
}

/// Stores the value of an integer attribute.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_get_int(attrs: Handle<Attrs>, name: Text, value: Out<i64>) -> c_int {
    call(|| {
        get(attrs, &name, "an integer", |_, attr| match attr {
            Attr::Int(v) => {
                value.set(*v);
                true
            }
            _ => false,
        })
    })
}

/// Stores the value of an attribute that is a number.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_get_float(
    attrs: Handle<Attrs>,
    name: Text,
    value: Out<f64>,
) -> c_int {
    call(|| {
        get(attrs, &name, "a number", |_, attr| {
            value.set(match attr {
                Attr::Int(v) => *v as f64,
                Attr::Float(v) => *v,
                _ => return false,
            });
            true
        })
    })
}

/// Stores an attribute that is a text. It is valid until the list ends.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_get_text(
    attrs: Handle<Attrs>,
    name: Text,
    value: Out<*const c_char>,
) -> c_int {
    call(|| {
        get(attrs, &name, "a text", |all, attr| match attr {
            Attr::Text(v) => {
                value.set(all.texts.pointer(v));
                true
            }
            _ => false,
        })
    })
}

/// Stores an attribute that is a list of numbers: as many as there is room for. `count` is the
/// number of all.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_get_floats(
    attrs: Handle<Attrs>,
    name: Text,
    values: crate::border::Fill<f64>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let mut stored = Ok(0);
        get(attrs, &name, "a list of numbers", |_, attr| match attr {
            Attr::Floats(v) => {
                stored = values.set(&room, v, "the place for the values");
                true
            }
            _ => false,
        })?;
        count.set(stored?);
        Ok(())
    })
}
