//! The differences between versions.

use crate::border::{Count, Fill, Out, Text};
use crate::call::call;
use crate::handles::Handle;
use crate::status::Failure;
use crate::version::Version;
use std::ffi::{c_char, c_int};

/// Stores how many pages differ between two versions of a region, and the names of the fields that
/// have them: as many as there is room for. `count` is the number of all such fields. If `older` is
/// null, it is the version before this one, which may be gone. The names are valid until `version`
/// is released.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_changes(
    version: Handle<Version>,
    older: Handle<Version>,
    pages: Out<u64>,
    names: Fill<*const c_char>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let (version, older) = (version.get()?, older.optional()?);
        let live = version.live()?;
        let changes = match &older {
            Some(older) => live.changes_since(older.live()?),
            None => live.changes(),
        };
        let changes = changes.map_err(Failure::other)?;
        let fields = changes.fields.iter().map(|name| version.pointer(name));
        let fields: Vec<_> = fields.collect();
        count.set(names.set(&room, &fields, "the place for the names")?);
        pages.set(changes.pages.len() as u64);
        Ok(())
    })
}

/// Stores the ranges of bytes of field `name` that may differ from those of an older version: where
/// each begins in the field, and its length, as many as there is room for. `count` is the number of
/// all. They are whole pages, cut to the field, ascending, and do not touch each other. No page is
/// read. If `older` is null, it is the version before this one, which may be gone. The whole field
/// is one range if it is new, lies elsewhere or has another shape.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_changed_ranges(
    version: Handle<Version>,
    older: Handle<Version>,
    name: Text,
    offsets: Fill<u64>,
    lengths: Fill<u64>,
    room: Count,
    count: Out<usize>,
) -> c_int {
    call(|| {
        let (version, older) = (version.get()?, older.optional()?);
        let name = name.get("the name of the field")?;
        let older = older.as_ref().map(|older| older.live()).transpose()?;
        let ranges = version.live()?.changed_ranges(name, older)?;
        let (first, bytes): (Vec<u64>, Vec<u64>) =
            ranges.iter().map(|r| (r.start, r.end - r.start)).unzip();
        offsets.set(&room, &first, "the place for the offsets")?;
        count.set(lengths.set(&room, &bytes, "the place for the lengths")?);
        Ok(())
    })
}
