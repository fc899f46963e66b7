//! Hands a view of a version to the writer of files.

use tcasm_checkpoint::Snapshot;
use tcasm_observer::View;

/// Returns what the file writer needs to know of a view.
pub fn snapshot<'v>(name: &'v str, view: &'v View) -> Snapshot<'v> {
    Snapshot::new(name, view.stamp(), view.table(), |field| {
        // If the bytes cannot be read, the writer gets an empty slice and refuses the field.
        view.bytes_of(field).unwrap_or_default()
    })
    .at(view.version().extent())
}
