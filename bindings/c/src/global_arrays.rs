//! Arrays of which the ranks of a group have blocks, or that consist of the fields of all ranks.

use crate::array::tcasm_array;
use crate::border::{Count, Fill, List, Sized, Text};
use crate::call::call;
use crate::constants::order;
use crate::groups::GroupVersion;
use crate::handles::Handle;
use crate::mapping::ranges;
use crate::status::Failure;
use std::ffi::c_int;
use std::ops::Range;
use tcasm_core::field::{DType, Element, Order};
use tcasm_core::num_complex::Complex;
use tcasm_observer::GlobalField;

/// Describes the global array `name`, of which the ranks have blocks: its dtype, shape, components
/// and order. There is no `data`. The strides are those that `tcasm_global_read` gives in this
/// order.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_global_of(
    version: Handle<GroupVersion>,
    name: Text,
    array: Sized<tcasm_array>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the array")?;
        describe(&version.get()?.inner.global(name)?, &array)
    })
}

/// Describes the array that consists of the fields `name` of all ranks, as `tcasm_global_of` does:
/// one behind the other along their first axis, in the order of ranks. They need no place in a
/// global array, and may have different lengths.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_concatenated_of(
    version: Handle<GroupVersion>,
    name: Text,
    array: Sized<tcasm_array>,
) -> c_int {
    call(|| {
        let name = name.get("the name of the fields")?;
        describe(&version.get()?.inner.concatenated(name)?, &array)
    })
}

fn describe(field: &GlobalField<'_>, array: &Sized<tcasm_array>) -> Result<(), Failure> {
    let told = tcasm_array::new(field.desc(), std::ptr::null_mut())?;
    array.set(&told, "tcasm_array")
}

/// Copies a part of the global array `name`, gathered from the blocks of the ranks: for each of its
/// dimensions without that of components, the first index and the number of indices. The values
/// come in the order `TCASM_ORDER_C` or `TCASM_ORDER_F`, whatever that of the blocks is, and the
/// components of a value side by side. `bytes` must be the size of the part. Fails if no rank on
/// this host has a block with some of the values.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_global_read(
    version: Handle<GroupVersion>,
    name: Text,
    rank: Count,
    first: List<usize>,
    count: List<usize>,
    order_number: c_int,
    to: Fill<u8>,
    bytes: Count,
) -> c_int {
    let mut to = to;
    call(|| {
        let version = version.get()?;
        let field = version.inner.global(name.get("the name of the array")?)?;
        let ranges = part(&rank, &first, &count)?;
        let to = to.cleared(&bytes, "the place for the values")?;
        read_any(&field, &ranges, order(order_number)?, to)
    })
}

/// Copies a part of the array that consists of the fields `name` of all ranks
/// (`tcasm_concatenated_of`), as `tcasm_global_read` does.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_concatenated_read(
    version: Handle<GroupVersion>,
    name: Text,
    rank: Count,
    first: List<usize>,
    count: List<usize>,
    order_number: c_int,
    to: Fill<u8>,
    bytes: Count,
) -> c_int {
    let mut to = to;
    call(|| {
        let version = version.get()?;
        let field = version
            .inner
            .concatenated(name.get("the name of the fields")?)?;
        let ranges = part(&rank, &first, &count)?;
        let to = to.cleared(&bytes, "the place for the values")?;
        read_any(&field, &ranges, order(order_number)?, to)
    })
}

/// Returns the ranges of indices of the part that C asks for.
fn part(
    rank: &Count,
    first: &List<usize>,
    count: &List<usize>,
) -> Result<Vec<Range<usize>>, Failure> {
    let first = first.get(rank, "the list of first indices")?;
    ranges(first, count.get(rank, "the list of counts")?)
}

fn read_any(
    field: &GlobalField<'_>,
    ranges: &[Range<usize>],
    order: Order,
    to: &mut [u8],
) -> Result<(), Failure> {
    let read = match field.desc().dtype {
        DType::I8 => read::<i8>,
        DType::I16 => read::<i16>,
        DType::I32 => read::<i32>,
        DType::I64 => read::<i64>,
        DType::U8 => read::<u8>,
        DType::U16 => read::<u16>,
        DType::U32 => read::<u32>,
        DType::U64 => read::<u64>,
        DType::F32 => read::<f32>,
        DType::F64 => read::<f64>,
        DType::C32 => read::<Complex<f32>>,
        DType::C64 => read::<Complex<f64>>,
    };
    read(field, ranges, order, to)
}

fn read<T: Element>(
    field: &GlobalField<'_>,
    ranges: &[Range<usize>],
    order: Order,
    to: &mut [u8],
) -> Result<(), Failure> {
    let mut part = field.read::<T>(ranges)?;
    if order == Order::F {
        // The axis of components stays the last one.
        let axes: Vec<usize> = (0..ranges.len())
            .rev()
            .chain(ranges.len()..part.ndim())
            .collect();
        part = part.permuted_axes(axes);
    }
    let bytes = part.len() * size_of::<T>();
    if bytes != to.len() {
        let text = format!("the part has {bytes} bytes, not {}", to.len());
        return Err(Failure::argument(text));
    }
    for (to, value) in to.chunks_exact_mut(size_of::<T>()).zip(&part) {
        to.copy_from_slice(bytemuck::bytes_of(value));
    }
    Ok(())
}
