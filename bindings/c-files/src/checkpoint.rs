//! Checkpoints, with the functions of versions.

use std::ffi::c_int;
use std::ops::Range;
use tcasm_c::border::{Out, Text};
use tcasm_c::call::call;
use tcasm_c::handles::{Handle, give};
use tcasm_c::source::{Memory, Source};
use tcasm_c::status::{Failure, TCASM_INVALID_ARGUMENT};
use tcasm_c::version::Version;
use tcasm_checkpoint::Checkpoint;
use tcasm_core::field::{FieldDesc, FieldTable, Kind};
use tcasm_core::format::stamp::Stamp;

/// Opens a checkpoint: a file, or the newest in a folder or in a `NAME.vtkhdf.series` that can be
/// used. It is a version like those of observers, until `tcasm_release`. `tcasm_array_of` and
/// `tcasm_part_of` read a field whole, once. These need versions of live regions:
/// `tcasm_changes`, `tcasm_changed_ranges`, `tcasm_map_at_base` and `tcasm_declare_field`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_open_checkpoint(path: Text, version: Out<Handle<Version>>) -> c_int {
    call(|| {
        let path = path.get("the path of the checkpoint")?;
        give(&version, || {
            let opened = Checkpoint::open(path).map_err(Failure::other)?;
            Ok(Version::new(Stored(opened)))
        })
    })
}

/// A version in a file.
struct Stored(Checkpoint);

impl Source for Stored {
    fn stamp(&self) -> Stamp {
        self.0.stamp()
    }

    fn published(&self) -> u64 {
        0
    }

    fn table(&self) -> &FieldTable {
        self.0.table()
    }

    fn bring(&self, name: &str, ranges: Option<&[Range<usize>]>) -> Result<Memory, Failure> {
        let field = self.field(name)?;
        if let Some(ranges) = ranges {
            check_inside(field, ranges)?;
        }
        let (bytes, start) = self.read_aligned(field)?;
        // C gets the address as a number and reads there.
        let address = bytes.as_ptr().expose_provenance() + start;
        Ok(Memory::new(address, bytes))
    }

    fn copy(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), Failure> {
        let field = self.field(name)?;
        let (bytes, start) = self.read_aligned(field)?;
        let from = usize::try_from(offset).ok();
        let from = from.and_then(|from| bytes[start..].get(from..)?.get(..to.len()));
        let inside = offset.checked_add(to.len() as u64);
        match from.filter(|_| inside.is_some_and(|end| end <= field.bytes())) {
            Some(from) => {
                to.copy_from_slice(from);
                Ok(())
            }
            None => Err(Failure::argument(format!(
                "{} bytes from {offset} on are not in field {name:?}, which has {}",
                to.len(),
                field.bytes()
            ))),
        }
    }

    fn live(&self) -> Option<&tcasm_observer::Version> {
        None
    }
}

impl Stored {
    fn field(&self, name: &str) -> Result<&FieldDesc, Failure> {
        let absent = || Failure::argument(format!("there is no field {name:?}"));
        self.0.table().get(name).ok_or_else(absent)
    }

    /// Reads a field. Returns memory, and the index of its first byte there.
    fn read_aligned(&self, field: &FieldDesc) -> Result<(Vec<u8>, usize), Failure> {
        let align = match field.kind {
            Kind::Raw { align, .. } => align.max(CACHE_LINE),
            Kind::Array => CACHE_LINE,
        };
        let (len, align) = (
            usize::try_from(field.bytes()).map_err(Failure::other)?,
            align.next_power_of_two(),
        );
        let room = len.checked_add(align).ok_or_else(|| {
            Failure::other(format!("field {:?} does not fit into memory", field.name))
        })?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(Failure::other)?;
        bytes.resize(room, 0);
        let start = bytes.as_ptr().addr().wrapping_neg() & (align - 1);
        let read = self
            .0
            .read_bytes(&field.name, &mut bytes[start..start + len]);
        read.map_err(Failure::other)?;
        Ok((bytes, start))
    }
}

/// The alignment of fields, at least.
const CACHE_LINE: usize = 64;

/// Fails if a part is not inside of a field.
fn check_inside(field: &FieldDesc, ranges: &[Range<usize>]) -> Result<(), Failure> {
    let inside = ranges.len() == field.shape.len()
        && ranges
            .iter()
            .zip(&field.shape)
            .all(|(range, n)| !range.is_empty() && range.end <= *n);
    match inside {
        true => Ok(()),
        false => Err(Failure::new(
            TCASM_INVALID_ARGUMENT,
            format!(
                "field {:?} has the shape {:?}: {ranges:?} is no part of it",
                field.name, field.shape
            ),
        )),
    }
}
