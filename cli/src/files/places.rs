//! The places of fields in a file, as `tcasm export` prints them.

use crate::files::stored::Stored;
use crate::output::Table;
use tcasm_checkpoint::Layout;

/// Returns lines that say where each field of a version with named meshes is in a VTKHDF file, and
/// why ParaView does not show others. Of an openPMD file, the lines say which fields it has no
/// place for. Other versions need no lines: their fields have their own names.
pub fn of(stored: &Stored, layout: Layout) -> String {
    let table = stored.table();
    let mut lines = Table::indented(2);
    if layout == Layout::VtkHdf && !table.meshes.is_empty() {
        for place in tcasm_checkpoint::places(table) {
            let shown = match place.shown {
                Ok(paths) => paths.join(", "),
                Err(why) => format!("not shown in ParaView: {why}"),
            };
            lines.row([place.field, shown]);
        }
    }
    for (field, why) in layout.left_out(table) {
        lines.row([field, format!("not stored for openPMD: {why}")]);
    }
    for mesh in stored.cut_meshes() {
        let why = "not stored, because its points are cut";
        lines.row([format!("mesh {mesh}"), why.to_owned()]);
    }
    lines.render()
}
