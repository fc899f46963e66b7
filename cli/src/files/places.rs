//! The places of fields in a file, as `tcasm export` and `tcasm restore` print them.

use crate::files::stored::Stored;
use crate::output::Table;
use tcasm_checkpoint::{Layout, Place};
use tcasm_core::field::FieldTable;

/// Returns lines about the fields of a file with `table`. Of a VTKHDF file with named meshes, they
/// say where each field is. Without named meshes the fields have their own names, so the lines only
/// say which fields ParaView does not show, and why. Of an openPMD file, they say which fields it
/// has no place for.
pub fn of(table: &FieldTable, layout: Layout) -> String {
    lines(table, layout, tcasm_checkpoint::places).render()
}

/// Does the same for what is stored of a version. The lines name the meshes that are not stored,
/// the fields that are lost, and the arrays of a group of which other hosts have a part, too.
pub fn of_stored(stored: &Stored, layout: Layout) -> String {
    of_parts(
        stored,
        lines(stored.table(), layout, tcasm_checkpoint::places),
    )
}

/// Does the same for a version of a series. The lines stay when meshes become unused and used.
pub fn in_series(stored: &Stored, layout: Layout) -> String {
    let places = tcasm_checkpoint::places_in_series;
    of_parts(stored, lines(stored.table(), layout, places))
}

/// Returns `lines`, and lines that name the meshes and the fields that are not stored, or not all.
fn of_parts(stored: &Stored, mut lines: Table) -> String {
    for field in stored.table().lost() {
        let why = "not stored, because it is lost: the simulation has unmapped or moved its memory";
        lines.row([field.name.clone(), why.to_owned()]);
    }
    for (fields, what) in stored.notes() {
        lines.row([fields.clone(), what.clone()]);
    }
    for (mesh, why) in stored.cut_meshes() {
        let why = format!("not stored, because {why}");
        lines.row([format!("mesh {mesh}"), why]);
    }
    lines.render()
}

/// Returns the lines about the fields of `table`, whose places in VTKHDF `places` returns.
fn lines(table: &FieldTable, layout: Layout, places: fn(&FieldTable) -> Vec<Place>) -> Table {
    let mut lines = Table::indented(2);
    if layout == Layout::VtkHdf {
        for place in places(table) {
            match place.shown {
                Ok(paths) if !table.meshes.is_empty() => {
                    lines.row([place.field, paths.join(", ")]);
                }
                Ok(_) => {}
                Err(why) => {
                    let why = off_mesh(table, &place.field).unwrap_or(why);
                    lines.row([place.field, format!("not shown in ParaView: {why}")]);
                }
            }
        }
    }
    if layout == Layout::OpenPmd {
        for field in &table.fields {
            if let Some(why) = off_mesh(table, &field.name) {
                let why = format!("stored without its mesh: {why}");
                lines.row([field.name.clone(), why]);
            }
        }
    }
    for (field, why) in layout.left_out(table) {
        lines.row([field, format!("not stored for openPMD: {why}")]);
    }
    lines
}

/// Returns why the part of the field called `name` is not on the mesh that the field is on in the
/// region, if the file has a part of that mesh.
fn off_mesh(table: &FieldTable, name: &str) -> Option<String> {
    let whole = table.lacking.iter().find(|field| field.name == name)?;
    let mesh = table.mesh_of(whole)?;
    table.get(name)?.on.is_none().then(|| {
        format!(
            "its part is not on the points of the part of mesh {}; export it to a file of its own",
            mesh.name
        )
    })
}
