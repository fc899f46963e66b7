//! The memory of versions: fields and parts of them, mapped or copied.

use crate::array::{padded, tcasm_array};
use crate::border::{Count, Fill, List, Out, Sized, Text};
use crate::call::call;
use crate::handles::Handle;
use crate::source::Memory;
use crate::status::Failure;
use crate::version::Version;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use tcasm_core::field::Kind;

/// The mapped parts of a version.
#[derive(Default)]
pub struct Views {
    /// The fields that are mapped whole.
    whole: BTreeMap<String, Memory>,
    parts: Vec<Memory>,
    /// The whole version, at the producer's address.
    at_base: Option<Memory>,
}

/// Maps a field whole, and stores its address and layout. The memory is read-only, and is valid
/// until the version is released. Mapping a field again costs nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_array_of(
    version: Handle<Version>,
    name: Text,
    array: Sized<tcasm_array>,
) -> c_int {
    call(|| {
        array.check("tcasm_array")?;
        let version = version.get()?;
        let name = name.get("the name of the field")?;
        let desc = version.field(name)?;
        let mut mapped = version.memory.lock();
        let whole = match mapped.whole.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(version.source.bring(name, None)?),
        };
        let told = tcasm_array::new(desc, address(whole.address))?;
        array.set(&told, "tcasm_array")
    })
}

/// Maps a part of a field: for each of its dimensions without that of components, the first index
/// and the number of indices, ghost layers included. The memory is read-only, and is valid until
/// the version is released. Use the strides of the array: rows of a part are not contiguous.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_part_of(
    version: Handle<Version>,
    name: Text,
    rank: Count,
    first: List<usize>,
    count: List<usize>,
    array: Sized<tcasm_array>,
) -> c_int {
    call(|| {
        array.check("tcasm_array")?;
        let version = version.get()?;
        let name = name.get("the name of the field")?;
        let first = first.get(&rank, "the list of first indices")?;
        let count = count.get(&rank, "the list of counts")?;
        let ranges = ranges(first, count)?;
        let part = part(&version, name, &ranges)?;
        array.set(&part, "tcasm_array")
    })
}

/// Returns the ranges of indices of a part.
pub fn ranges(first: &[usize], count: &[usize]) -> Result<Vec<Range<usize>>, Failure> {
    let range = |(first, count): (&usize, &usize)| match first.checked_add(*count) {
        Some(end) => Ok(*first..end),
        None => Err(Failure::argument(format!(
            "{count} indices from {first} on are no range"
        ))),
    };
    first.iter().zip(count).map(range).collect()
}

/// Maps a part of a field, and describes it.
fn part(version: &Version, name: &str, ranges: &[Range<usize>]) -> Result<tcasm_array, Failure> {
    let desc = version.field(name)?;
    if desc.kind != Kind::Array {
        let text = format!("field {name:?} has structures: map it whole");
        return Err(Failure::argument(text));
    }
    let memory = version.source.bring(name, Some(ranges))?;
    let whole = tcasm_array::new(desc, std::ptr::null_mut())?;
    let offset = ranges
        .iter()
        .zip(whole.strides)
        .map(|(r, stride)| r.start * stride);
    let at = memory.address + offset.sum::<usize>();
    version.memory.lock().parts.push(memory);
    Ok(cut(whole, ranges, at, desc.dtype.size()))
}

/// Returns the array of the part of `whole` that begins at address `at`. `item` is the size of an
/// element.
fn cut(whole: tcasm_array, ranges: &[Range<usize>], at: usize, item: usize) -> tcasm_array {
    let mut shape = whole.shape;
    for (extent, range) in shape.iter_mut().zip(ranges) {
        *extent = range.len();
    }
    let rank = whole.rank as usize;
    let empty = shape[..rank].contains(&0);
    let last = shape.iter().zip(whole.strides).take(rank);
    let last: usize = last.map(|(n, stride)| n.saturating_sub(1) * stride).sum();
    tcasm_array {
        data: match empty {
            true => std::ptr::null_mut(),
            false => address(at),
        },
        bytes: match empty {
            true => 0,
            false => last + item,
        },
        shape,
        ghosts: padded(&[]),
        global_shape: padded(&[]),
        global_offset: padded(&[]),
        capacity: 0,
        ..whole
    }
}

fn address(at: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(at)
}

/// Maps the whole version at the address that the region has in the producer, and stores that
/// address: pointers that structures contain are valid then. The memory is read-only, and is valid
/// until the version is released. One version of a region can be mapped like this at a time.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_map_at_base(version: Handle<Version>, base: Out<*const c_void>) -> c_int {
    call(|| {
        let version = version.get()?;
        let mut mapped = version.memory.lock();
        let whole = match &mut mapped.at_base {
            Some(known) => known,
            none => {
                let view = version.live()?.view_at_base()?;
                none.insert(Memory::new(view.address(), view))
            }
        };
        base.set(address(whole.address).cast_const());
        Ok(())
    })
}

/// Copies `bytes` bytes of a field, from byte `offset` on, without mapping anything.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_read(
    version: Handle<Version>,
    name: Text,
    offset: u64,
    to: Fill<u8>,
    bytes: Count,
) -> c_int {
    let mut to = to;
    call(|| {
        let version = version.get()?;
        let name = name.get("the name of the field")?;
        version.field(name)?;
        let to = to.cleared(&bytes, "the place for the bytes")?;
        version.source.copy(name, offset, to)
    })
}
