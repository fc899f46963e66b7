//! The options of a field.

use crate::attrs::{Attrs, values};
use crate::border::{Count, List, Out, Text};
use crate::call::call;
use crate::constants::{centring, flag, order, unsigned};
use crate::handles::{Handle, give, object};
use crate::status::Failure;
use parking_lot::Mutex;
use std::ffi::c_int;
use tcasm_core::field::{DType, FieldDesc, GlobalPlace, Mesh};
use tcasm_producer::Captured;

/// The order in memory: `TCASM_ORDER_C` [the default] or `TCASM_ORDER_F`.
pub const TCASM_FIELD_ORDER: c_int = 1;
/// `TCASM_ON_POINTS` [the default], `TCASM_IN_CELLS` or `TCASM_NO_CENTRING`.
pub const TCASM_FIELD_CENTRING: c_int = 2;
/// 1: the last dimension of the shape is the components of a vector or tensor [0]. They lie side by
/// side in memory, whatever the order is.
pub const TCASM_FIELD_VECTOR: c_int = 3;
/// 1: the extent of the slowest dimension may change from version to version (`tcasm_set_len`), and
/// the shape has the most that there is room for [0].
pub const TCASM_FIELD_VARIABLE: c_int = 4;
/// 1: the field is rewritten whole before each publish, and published without a copy [0]. After
/// publish it can only be read, until `tcasm_rewrite`.
pub const TCASM_FIELD_HANDED_OVER: c_int = 5;
/// 0: checkpoints leave the field out [1].
pub const TCASM_FIELD_IN_CHECKPOINTS: c_int = 6;

/// The unit of the values, such as `"m/s"`.
pub const TCASM_FIELD_UNIT: c_int = 1;
/// The name of the mesh that the field is on.
pub const TCASM_FIELD_MESH: c_int = 2;
/// The name of the quantity, for fields of several meshes that hold the same one.
pub const TCASM_FIELD_QUANTITY: c_int = 3;

/// The options of fields, to be used for any number of fields.
pub struct FieldOptions(Mutex<Settings>);
object!(FieldOptions, "field options", 3);

#[derive(Clone)]
struct Settings {
    /// Everything but the name, dtype and shape.
    desc: FieldDesc,
    vector: bool,
    variable: bool,
    captured: Captured,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            desc: FieldDesc::new("", DType::U8, &[]),
            vector: false,
            variable: false,
            captured: Captured::InPlace,
        }
    }
}

/// Makes options that have their defaults. `tcasm_field_options_free` ends them.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_new(options: Out<Handle<FieldOptions>>) -> c_int {
    call(|| give(&options, || Ok(FieldOptions(Mutex::default()))))
}

/// Ends options. Fields that were added with them stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_free(options: Handle<FieldOptions>) -> c_int {
    call(|| options.remove().map(drop))
}

/// Sets an option that is a number: `TCASM_FIELD_ORDER` and the like.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_set(
    options: Handle<FieldOptions>,
    option: c_int,
    value: i64,
) -> c_int {
    call(|| {
        let options = options.get()?;
        let mut set = options.0.lock();
        match option {
            TCASM_FIELD_ORDER => set.desc.order = order(unsigned(value, "TCASM_FIELD_ORDER")?)?,
            TCASM_FIELD_CENTRING => {
                set.desc.centering = centring(unsigned(value, "TCASM_FIELD_CENTRING")?)?;
            }
            TCASM_FIELD_VECTOR => set.vector = flag(value, "TCASM_FIELD_VECTOR")?,
            TCASM_FIELD_VARIABLE => set.variable = flag(value, "TCASM_FIELD_VARIABLE")?,
            TCASM_FIELD_HANDED_OVER => {
                set.captured = match flag(value, "TCASM_FIELD_HANDED_OVER")? {
                    true => Captured::HandedOver,
                    false => Captured::InPlace,
                };
            }
            TCASM_FIELD_IN_CHECKPOINTS => {
                set.desc.not_in_checkpoints = !flag(value, "TCASM_FIELD_IN_CHECKPOINTS")?;
            }
            _ => return Err(unknown(option)),
        }
        Ok(())
    })
}

/// Sets an option that is a text: `TCASM_FIELD_UNIT` and the like. Null removes it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_set_text(
    options: Handle<FieldOptions>,
    option: c_int,
    value: Text,
) -> c_int {
    call(|| {
        let options = options.get()?;
        let value = value.optional("the text")?.map(str::to_owned);
        let mut set = options.0.lock();
        match option {
            TCASM_FIELD_UNIT => set.desc.unit = value.unwrap_or_default(),
            TCASM_FIELD_MESH => set.desc.on = value,
            TCASM_FIELD_QUANTITY => set.desc.quantity = value,
            _ => return Err(unknown(option)),
        }
        Ok(())
    })
}

fn unknown(option: c_int) -> Failure {
    Failure::argument(format!("{option} is no option of a field of this type"))
}

/// Sets the ghost layers: for each of `rank` dimensions those before and those after the interior.
/// The shape includes them.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_set_ghosts(
    options: Handle<FieldOptions>,
    rank: Count,
    before: List<usize>,
    after: List<usize>,
) -> c_int {
    call(|| {
        let before = before.get(&rank, "the ghost layers before")?;
        let after = after.get(&rank, "the ghost layers after")?;
        let pairs = before.iter().zip(after).map(|(b, a)| [*b, *a]);
        options.get()?.0.lock().desc.ghosts = pairs.collect();
        Ok(())
    })
}

/// Makes the field a block of a global array, of which other ranks have other blocks: the extents
/// of that array, and the index there of the first value of the block that is no ghost, for each of
/// `rank` dimensions without that of components.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_set_global(
    options: Handle<FieldOptions>,
    rank: Count,
    shape: List<usize>,
    offset: List<usize>,
) -> c_int {
    call(|| {
        let place = GlobalPlace {
            shape: shape.get(&rank, "the global shape")?.to_vec(),
            offset: offset.get(&rank, "the offset")?.to_vec(),
        };
        options.get()?.0.lock().desc.global = Some(place);
        Ok(())
    })
}

/// Sets a uniform mesh of the field itself: the coordinates x, y, z of the first interior point,
/// and the distance of neighbours along x, y and z. Each has three values. Null stands for zeros,
/// and for distances of 1.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_set_uniform(
    options: Handle<FieldOptions>,
    origin: List<f64>,
    spacing: List<f64>,
) -> c_int {
    call(|| {
        let mesh = Mesh {
            origin: origin.optional("the origin")?.unwrap_or([0.0; 3]),
            spacing: spacing.optional("the spacing")?.unwrap_or([1.0; 3]),
        };
        options.get()?.0.lock().desc.mesh = Some(mesh);
        Ok(())
    })
}

/// Sets the attributes of the field: a copy of those that the list has now.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_field_options_set_attrs(
    options: Handle<FieldOptions>,
    attrs: Handle<Attrs>,
) -> c_int {
    call(|| {
        options.get()?.0.lock().desc.attrs = values(attrs)?;
        Ok(())
    })
}

/// Returns the description of a field with the options, or with the defaults if C passed null.
pub fn described(
    name: &str,
    dtype: DType,
    shape: &[usize],
    options: Handle<FieldOptions>,
) -> Result<(FieldDesc, Captured), Failure> {
    let set = options.optional()?.map(|o| o.0.lock().clone());
    let set = set.unwrap_or_default();
    let (shape, components) = match (set.vector, shape.split_last()) {
        (false, _) => (shape, 1),
        (true, Some((components, shape))) => (shape, *components),
        (true, None) => {
            return Err(Failure::argument(format!(
                "field {name:?} is a vector, and its shape has no dimension for the components"
            )));
        }
    };
    let plain = FieldDesc::new(name, dtype, shape);
    let desc = FieldDesc {
        name: plain.name,
        dtype,
        shape: plain.shape,
        components,
        ghosts: match set.desc.ghosts.is_empty() {
            true => plain.ghosts,
            false => set.desc.ghosts,
        },
        ..set.desc
    };
    let capacity = set.variable.then(|| desc.length());
    Ok((FieldDesc { capacity, ..desc }, set.captured))
}
