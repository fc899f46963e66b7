//! The fields whose lengths follow from one count of a mesh, and therefore change together.

use std::collections::BTreeMap;
use tcasm_core::field::{Cells, Centering, FieldTable, MeshDesc, MeshKind, cells_between};

/// How the length of a field follows from a count of its mesh.
#[derive(Clone, Copy, Debug)]
enum Tie {
    /// The length is the count.
    Count,
    /// The length is one more: the offsets of cells.
    OneMore,
    /// The length is the number of cells between so many points.
    Between,
}

impl Tie {
    /// Returns the length of the field for a count.
    fn len(self, count: usize) -> usize {
        match self {
            Tie::Count => count,
            Tie::OneMore => count.saturating_add(1),
            Tie::Between => cells_between(count),
        }
    }

    /// Returns the count for a length of the field.
    fn count(self, len: usize) -> usize {
        match self {
            Tie::Count => len,
            Tie::OneMore => len.saturating_sub(1),
            Tie::Between => len.saturating_add(len.min(1)),
        }
    }
}

/// The numbers of the fields that share a count.
type Group = Vec<(usize, Tie)>;

/// Returns the lengths of all variable fields that change if field number `field` gets the length
/// `len`: its own, and of those that meshes tie to it, directly or through other fields.
pub(crate) fn following(table: &FieldTable, field: usize, len: usize) -> BTreeMap<usize, usize> {
    let groups = table.meshes.iter().flat_map(|mesh| groups(table, mesh));
    let groups: Vec<Group> = groups.collect();
    let mut lens = BTreeMap::from([(field, len)]);
    let mut open = vec![(field, len)];
    while let Some((at, len)) = open.pop() {
        for group in &groups {
            let Some((_, tie)) = group.iter().find(|(member, _)| *member == at) else {
                continue;
            };
            let count = tie.count(len);
            for (member, tie) in group {
                if table.fields[*member].capacity.is_some() && !lens.contains_key(member) {
                    lens.insert(*member, tie.len(count));
                    open.push((*member, tie.len(count)));
                }
            }
        }
    }
    lens
}

/// Returns the field whose length is the number of points of `mesh` (of a structured mesh: along
/// its slowest axis), or `None` if the mesh itself has that number.
pub(crate) fn points_field(mesh: &MeshDesc) -> Option<&str> {
    match &mesh.kind {
        MeshKind::Uniform { .. } => None,
        MeshKind::Rectilinear { coordinates } => coordinates.last().map(String::as_str),
        MeshKind::Curvilinear { coordinates } => Some(coordinates),
        MeshKind::Unstructured { points, .. } => Some(points),
        MeshKind::Particles { positions } => Some(positions),
    }
}

/// Returns the number of the offsets of `mesh` if they are variable and there are no cells and no
/// offsets yet. They then need their first value.
pub(crate) fn first_offset(table: &FieldTable, mesh: &MeshDesc) -> Option<usize> {
    let MeshKind::Unstructured { cells, .. } = &mesh.kind else {
        return None;
    };
    let Cells::Mixed { offsets, types, .. } = cells else {
        return None;
    };
    let number = number(table, offsets)?;
    let offsets = &table.fields[number];
    let none = offsets.length() == 0 && table.get(types)?.length() == 0;
    (none && offsets.capacity.is_some()).then_some(number)
}

fn groups(table: &FieldTable, mesh: &MeshDesc) -> Vec<Group> {
    let geometry = |name: &str, tie| number(table, name).map(|number| (number, tie));
    let on = |centering, tie| fields_on(table, mesh, centering, tie);
    let mut points: Group = on(Centering::Point, Tie::Count);
    points.extend(points_field(mesh).and_then(|name| geometry(name, Tie::Count)));
    match &mesh.kind {
        MeshKind::Rectilinear { .. } | MeshKind::Curvilinear { .. } => {
            points.extend(on(Centering::Cell, Tie::Between));
            vec![points]
        }
        MeshKind::Unstructured { cells, .. } => {
            let mut own = on(Centering::Cell, Tie::Count);
            match cells {
                Cells::Same { connectivity, .. } => own.extend(geometry(connectivity, Tie::Count)),
                Cells::Mixed { offsets, types, .. } => {
                    own.extend(geometry(types, Tie::Count));
                    own.extend(geometry(offsets, Tie::OneMore));
                }
            }
            vec![points, own]
        }
        MeshKind::Particles { .. } => vec![points],
        // Its size does not change.
        MeshKind::Uniform { .. } => Vec::new(),
    }
}

/// Returns the fields with `centering` on `mesh`.
fn fields_on(table: &FieldTable, mesh: &MeshDesc, centering: Centering, tie: Tie) -> Group {
    let fields = table.fields.iter().enumerate();
    let on = fields
        .filter(|(_, f)| f.on.as_deref() == Some(mesh.name.as_str()) && f.centering == centering);
    on.map(|(number, _)| (number, tie)).collect()
}

fn number(table: &FieldTable, name: &str) -> Option<usize> {
    table.fields.iter().position(|f| f.name == name)
}
