//! Regions that C publishes, and their fields.

use crate::adopted::LostNames;
use crate::array::tcasm_array;
use crate::attrs::{Attrs, values};
use crate::border::{Count, List, Out, Sized, Text};
use crate::buffer::Buffer;
use crate::call::call;
use crate::constants::dtype;
use crate::field_options::{FieldOptions, described};
use crate::handles::{Handle, give, object};
use crate::options::{Options, builder};
use crate::publish::Last;
use crate::status::{Failure, TCASM_NOT_FOUND};
use crate::waiting::Turns;
use std::ffi::{c_char, c_int, c_void};
use tcasm_core::field::{DType, FieldDesc, Kind};
use tcasm_producer::{AnyBuffer, Captured};

/// A region. Threads may share it: each call takes it for itself.
pub struct Producer {
    pub(crate) inner: Turns<tcasm_producer::Producer>,
    pub(crate) last: Last,
    pub(crate) lost: LostNames,
}
object!(Producer, "producer", 4);

impl Producer {
    /// Returns the object of C for a producer.
    pub fn new(inner: tcasm_producer::Producer) -> Self {
        Producer {
            inner: Turns::new(inner),
            last: Last::default(),
            lost: LostNames::default(),
        }
    }
}

impl Handle<Producer> {
    /// Calls `body` with the producer.
    pub(crate) fn with<T, E: Into<Failure>>(
        self,
        body: impl FnOnce(&mut tcasm_producer::Producer) -> Result<T, E>,
    ) -> Result<T, Failure> {
        self.get()?.inner.with(body)?.map_err(Into::into)
    }
}

/// Creates the region `name` with room for `capacity` bytes of fields. `options` may be null.
/// `tcasm_close` ends it.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_create(
    name: Text,
    capacity: usize,
    options: Handle<Options>,
    producer: Out<Handle<Producer>>,
) -> c_int {
    call(|| {
        let builder = builder(name.get("the name of the region")?, capacity, options)?;
        give(&producer, || Ok(Producer::new(builder.create()?)))
    })
}

/// Ends the stream of versions, and unmaps the region. Pointers to its fields must not be used any
/// more. Observers keep the versions that they hold.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_close(producer: Handle<Producer>) -> c_int {
    call(|| {
        producer.remove()?.inner.close();
        Buffer::end_all(producer.number());
        Ok(())
    })
}

/// Adds a field, and stores the address of its memory, which is filled with zeros. Compute there in
/// place. The address stays the same until the region is closed. `shape` has `rank` extents, ghost
/// layers included. `options` and `data` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_add_field(
    producer: Handle<Producer>,
    name: Text,
    dtype_number: c_int,
    rank: Count,
    shape: List<usize>,
    options: Handle<FieldOptions>,
    data: Out<*mut c_void>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the field")?;
        let shape = shape.get(&rank, "the shape")?;
        let (desc, captured) = described(name, dtype(dtype_number)?, shape, options)?;
        add(producer, &desc, captured, &data)
    })
}

/// Adds `count` structures of `bytes` bytes each, and stores the address of the first. Their
/// alignment is a power of two. `type_name` appears in messages only. `data` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_add_structures(
    producer: Handle<Producer>,
    name: Text,
    count: usize,
    bytes: usize,
    alignment: usize,
    type_name: Text,
    data: Out<*mut c_void>,
) -> c_int {
    call(|| {
        let mut desc = FieldDesc::new(name.get("the name of the field")?, DType::U8, &[count]);
        desc.components = bytes;
        desc.kind = Kind::Raw {
            type_name: type_name.get("the name of the type")?.to_owned(),
            align: alignment,
        };
        add(producer, &desc, Captured::InPlace, &data)
    })
}

fn add(
    producer: Handle<Producer>,
    desc: &FieldDesc,
    captured: Captured,
    data: &Out<*mut c_void>,
) -> Result<(), Failure> {
    producer.with(|p| p.add_described(desc, captured))?;
    let buffer = producer.with(|p| p.bound(&desc.name))?;
    data.set(address(producer, buffer)?);
    Ok(())
}

/// Returns the address of the live memory of a buffer.
pub(crate) fn address(
    producer: Handle<Producer>,
    buffer: AnyBuffer,
) -> Result<*mut c_void, Failure> {
    let address = producer.with(|p| p.buffer_address(buffer))?;
    Ok(std::ptr::with_exposed_provenance_mut(address))
}

/// Describes the live memory of a field, as the next version will have it. There is an address also
/// if a variable field has no elements now.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_live(
    producer: Handle<Producer>,
    name: Text,
    array: Sized<tcasm_array>,
) -> c_int {
    call(|| {
        array.check("tcasm_array")?;
        let name = name.get("the name of the field")?;
        let desc = producer.with(|p| {
            let found = p.description(name).cloned();
            found.ok_or_else(|| no_field(name))
        })?;
        let buffer = producer.with(|p| p.bound(name))?;
        let data = address(producer, buffer)?;
        let told = tcasm_array::new(&desc, data)?;
        // There is memory also where the field has no elements now.
        array.set(&tcasm_array { data, ..told }, "tcasm_array")
    })
}

fn no_field(name: &str) -> Failure {
    Failure::new(
        TCASM_NOT_FOUND,
        format!("there is no field {name:?}; add it first"),
    )
}

/// Sets the length that a variable field, or a mesh of variable fields, has from the next version
/// on: the extent of the slowest dimension.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_len(producer: Handle<Producer>, name: Text, len: usize) -> c_int {
    call(|| {
        let name = name.get("the name of the field or mesh")?;
        producer.with(|p| p.set_len(name, len))
    })
}

/// Sets several lengths at once, of fields or meshes. Each is exactly the given one, so they must
/// fit each other where they belong to one mesh. After an error all lengths are as they were.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_lens(
    producer: Handle<Producer>,
    names: List<*const c_char>,
    lens: List<usize>,
    count: Count,
) -> c_int {
    call(|| {
        let names = names.texts(&count, "the list of names")?;
        let lens = lens.get(&count, "the list of lengths")?;
        let lens: Vec<(&str, usize)> = names.into_iter().zip(lens.iter().copied()).collect();
        producer.with(|p| p.set_lens(&lens))
    })
}

/// Stores the length that a field or a mesh has in the next version.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_len(producer: Handle<Producer>, name: Text, len: Out<usize>) -> c_int {
    call(|| {
        let name = name.get("the name of the field or mesh")?;
        len.set(producer.with(|p| p.len(name))?);
        Ok(())
    })
}

/// Sets attributes of the region from the next version on. Attributes of other names stay.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_set_attrs(producer: Handle<Producer>, attrs: Handle<Attrs>) -> c_int {
    call(|| {
        let values = values(attrs)?;
        producer.with(|p| {
            for (name, value) in values {
                p.set_attr(&name, value);
            }
            Ok::<(), Failure>(())
        })
    })
}

/// Stores the address at which the region begins in this process.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_base(producer: Handle<Producer>, address: Out<usize>) -> c_int {
    call(|| {
        address.set(producer.with(|p| Ok::<_, Failure>(p.base()))?);
        Ok(())
    })
}
