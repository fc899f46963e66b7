//! The names of groups and nodes.

/// The groups that VTK looks for in `/VTKHDF`, also of a collection.
pub const RESERVED: [&str; 5] = ["Assembly", "Steps", "PointData", "CellData", "FieldData"];

/// Returns `name`, or a name like it if it `is_taken` by another group in `/VTKHDF`, or means
/// something there.
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = name.to_owned();
    while RESERVED.contains(&&*name) || is_taken(&name) {
        name.push('_');
    }
    name
}

/// Returns `name` as the name of a node of the tree. VTK requires one that begins with a letter or
/// an underscore, and has a use for "dataset".
pub fn node_name(name: &str) -> String {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match begins_well && name != "dataset" {
        true => name.to_owned(),
        false => format!("_{name}"),
    }
}
