//! The formats of a time series, and what they say of its fields and meshes.

use tcasm_core::field::{Block, FieldDesc, FieldTable};

/// The newest format of a time series that this program writes and reads.
pub(super) const FORMAT: u64 = 3;
/// The format of series without blocks, whose places may change. Format 3 has them for each
/// version.
pub(super) const WITHOUT_BLOCKS: u64 = 2;
/// The format of series whose fields are on no named mesh, have one length each, and exact values.
/// Earlier programs read it.
pub(super) const PLAIN: u64 = 1;

/// Returns the format of a series with the fields and meshes of `table`.
pub(super) fn format_of(table: &FieldTable) -> u64 {
    let is_plain = table.meshes.is_empty() && table.fields.iter().all(is_plain);
    let has_blocks = table.meshes.iter().any(|mesh| mesh.block.is_some());
    match (is_plain, has_blocks) {
        (true, _) => PLAIN,
        (_, true) => FORMAT,
        _ => WITHOUT_BLOCKS,
    }
}

/// Returns the places of the meshes of `table` that are blocks, without the names of their wholes,
/// which are the same in all versions.
pub fn blocks(table: &FieldTable) -> Vec<Block> {
    let blocks = table.meshes.iter().filter_map(|mesh| mesh.block.as_ref());
    let places = blocks.map(|block| Block {
        of: String::new(),
        ..block.clone()
    });
    places.collect()
}

/// Returns true if a description has no member that earlier programs do not know.
fn is_plain(field: &FieldDesc) -> bool {
    let has_one_length = field.capacity.is_none();
    let is_exact = field.relative_error.is_none();
    field.on.is_none() && field.quantity.is_none() && has_one_length && is_exact
}
