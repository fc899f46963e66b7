//! Pinned versions.

use crate::array::tcasm_array;
use crate::attrs::{Attrs, Texts};
use crate::border::{Growing, Out, Plain, Sized, Text};
use crate::call::call;
use crate::handles::{Handle, give, object};
use crate::mapping::Views;
use crate::source::Source;
use crate::status::{Failure, TCASM_LOST, TCASM_NOT_FOUND};
use parking_lot::Mutex;
use std::ffi::{c_char, c_int};
use tcasm_core::field::{FieldDesc, FieldTable};

/// A pinned version, and what is mapped of it. Threads may share it.
pub struct Version {
    pub(crate) source: Box<dyn Source>,
    pub(crate) memory: Mutex<Views>,
    texts: Texts,
}
object!(Version, "version", 7);

impl Version {
    /// Returns the object of C for a version.
    pub fn new(source: impl Source) -> Self {
        Version {
            source: Box::new(source),
            memory: Mutex::default(),
            texts: Texts::default(),
        }
    }

    /// Returns the version of a live region. Fails if this is another one.
    pub fn live(&self) -> Result<&tcasm_observer::Version, Failure> {
        let stored = || Failure::argument("the version is stored: this needs one of a live region");
        self.source.live().ok_or_else(stored)
    }

    /// Returns the descriptions of fields and meshes.
    pub fn table(&self) -> &FieldTable {
        self.source.table()
    }

    /// Returns a pointer to the text, which stays valid as long as this.
    pub fn pointer(&self, text: &str) -> *const c_char {
        self.texts.pointer(text)
    }

    /// Returns the description of a field that the version has values of.
    pub(crate) fn field(&self, name: &str) -> Result<&FieldDesc, Failure> {
        let fields = &self.table().fields;
        let found = fields.iter().find(|field| field.name == name);
        found.ok_or_else(|| {
            if self.table().is_lost(name) {
                let text = format!("field {name:?} is lost, so the file has no values of it");
                return Failure::new(TCASM_LOST, text);
            }
            let names = fields.iter().map(|f| f.name.as_str());
            let all = names.collect::<Vec<_>>().join(", ");
            let text = format!("there is no field {name:?}, only {all}");
            Failure::new(TCASM_NOT_FOUND, text)
        })
    }
}

/// The numbers of a version. Set `size` to `sizeof(tcasm_stamp)` before the call
/// (`tcasm_stamp s = TCASM_INIT(tcasm_stamp);`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tcasm_stamp {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The number of the version.
    pub version: u64,
    /// The step of the simulation.
    pub step: u64,
    /// The time of the simulation.
    pub time: f64,
    /// When it was published, in nanoseconds since 1970-01-01 UTC.
    pub published: u64,
}

impl Plain for tcasm_stamp {}
impl Growing for tcasm_stamp {
    const FIRST: usize = 40;
}

/// Lets go of a version. What was mapped of it is unmapped: pointers to it must not be used any
/// more.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_release(version: Handle<Version>) -> c_int {
    call(|| version.remove().map(drop))
}

/// Stores the number, step and time of a version.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_version_stamp(
    version: Handle<Version>,
    stamp: Sized<tcasm_stamp>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let found = version.source.stamp();
        let told = tcasm_stamp {
            size: size_of::<tcasm_stamp>(),
            version: found.version,
            step: found.step,
            time: found.time,
            published: version.source.published(),
        };
        stamp.set(&told, "tcasm_stamp")
    })
}

/// Stores the number of fields.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_count(version: Handle<Version>, count: Out<usize>) -> c_int {
    call(|| {
        count.set(version.get()?.table().fields.len());
        Ok(())
    })
}

/// Stores the name of field `index`, from 0. It is valid until the version is released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_name(
    version: Handle<Version>,
    index: usize,
    name: Out<*const c_char>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let fields = &version.table().fields;
        let absent = || {
            let text = format!("there is no field {index}: there are {}", fields.len());
            Failure::new(TCASM_NOT_FOUND, text)
        };
        let field = fields.get(index).ok_or_else(absent)?;
        name.set(version.texts.pointer(&field.name));
        Ok(())
    })
}

/// Describes a field without mapping anything: `data` is null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_layout_of(
    version: Handle<Version>,
    name: Text,
    array: Sized<tcasm_array>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let desc = version.field(name.get("the name of the field")?)?;
        let told = tcasm_array::new(desc, std::ptr::null_mut())?;
        array.set(&told, "tcasm_array")
    })
}

/// Makes a list of the attributes of field `name`, or of the region if `name` is null.
/// `tcasm_attrs_free` ends it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_attrs_of(
    version: Handle<Version>,
    name: Text,
    attrs: Out<Handle<Attrs>>,
) -> c_int {
    call(|| {
        let version = version.get()?;
        let found = match name.optional("the name of the field")? {
            Some(name) => &version.field(name)?.attrs,
            None => &version.table().attrs,
        };
        give(&attrs, || Ok(Attrs::new(found.clone())))
    })
}

/// Stores a text of a field: `TCASM_FIELD_UNIT`, `TCASM_FIELD_MESH` or `TCASM_FIELD_QUANTITY`. If
/// the field has none, the quantity is its name, and the others are empty. The text is valid until
/// the version is released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_text(
    version: Handle<Version>,
    name: Text,
    option: c_int,
    text: Out<*const c_char>,
) -> c_int {
    use crate::field_options::{TCASM_FIELD_MESH, TCASM_FIELD_QUANTITY, TCASM_FIELD_UNIT};
    call(|| {
        let version = version.get()?;
        let field = version.field(name.get("the name of the field")?)?;
        let found = match option {
            TCASM_FIELD_UNIT => &field.unit,
            TCASM_FIELD_MESH => field.on.as_deref().unwrap_or(""),
            TCASM_FIELD_QUANTITY => field.quantity(),
            _ => return Err(Failure::argument(format!("{option} is no text of a field"))),
        };
        text.set(version.texts.pointer(found));
        Ok(())
    })
}
