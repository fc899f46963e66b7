//! Fields whose memory the program had already.

use crate::attrs::Texts;
use crate::border::{Count, List, Out, Text, adopt};
use crate::call::call;
use crate::constants::dtype;
use crate::field_options::{FieldOptions, described};
use crate::handles::Handle;
use crate::producer::Producer;
use crate::status::{Failure, TCASM_NOT_FOUND};
use std::ffi::{c_char, c_int, c_void};
use tcasm_producer::Captured;

/// The names of lost fields that C has asked for.
#[derive(Default)]
pub struct LostNames(Texts);

/// Makes an array that exists a field: `data` is its first element. It stays where it is, and the
/// program goes on computing there. `shape` has `rank` extents, ghost layers included, and the
/// array has all of these elements without gaps. `options` may be null; the field cannot be handed
/// over. The region needs room for the array in its capacity, and up to 2 MiB more, but no memory.
///
/// Until `tcasm_release_adopted`, no other thread may store to the array during calls with this
/// producer, and it must not be freed, unmapped or moved. A program that forgets this loses the
/// field: see `tcasm_lost_count`. Memory that was freed and stays mapped, as small blocks of
/// `malloc` do, cannot be noticed.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_adopt(
    producer: Handle<Producer>,
    name: Text,
    dtype_number: c_int,
    rank: Count,
    shape: List<usize>,
    data: *mut c_void,
    options: Handle<FieldOptions>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        let shape = shape.get(&rank, "the shape")?;
        let (desc, captured) = described(name, dtype(dtype_number)?, shape, options)?;
        if captured == Captured::HandedOver {
            let text = format!("field {name:?} is adopted, so it cannot be handed over");
            return Err(Failure::argument(text));
        }
        producer.with(|p| adopt(p, &desc, data))
    })
}

/// Ends the adoption of an array, which can then be freed. The next version has no such field. A
/// lost field is removed as well. A field that is the geometry of a mesh stays, and is lost until
/// an array is adopted under its name.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_release_adopted(producer: Handle<Producer>, name: Text) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        producer.with(|p| p.release(name))
    })
}

/// Stores the number of fields that are lost: their memory was unmapped, moved or replaced before
/// `tcasm_release_adopted`, and publish has noticed. Versions have no values of them, and observers
/// get `TCASM_LOST`. They are lost until they are released, or an array is adopted under their
/// name.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_lost_count(producer: Handle<Producer>, count: Out<usize>) -> c_int {
    call(|| {
        count.set(producer.with(|p| Ok::<_, Failure>(p.lost().count()))?);
        Ok(())
    })
}

/// Stores the name of lost field `index`, from 0. It is valid until the region is closed.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_lost_name(
    producer: Handle<Producer>,
    index: usize,
    name: Out<*const c_char>,
) -> c_int {
    call(|| {
        let found = producer.with(|p| {
            let found = p.lost().nth(index).map(str::to_owned);
            found.ok_or_else(|| {
                let text = format!("there is no lost field {index}");
                Failure::new(TCASM_NOT_FOUND, text)
            })
        })?;
        name.set(producer.get()?.lost.0.pointer(&found));
        Ok(())
    })
}
