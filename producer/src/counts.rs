//! The fields whose lengths follow from one count of a mesh, and therefore change together.

use std::collections::{BTreeMap, HashMap};
use tcasm_core::field::{
    Cells, Centering, FieldDesc, FieldTable, MeshDesc, MeshKind, MeshSize, cells_between,
};

/// The relation of the length of a field, without ghost layers, to a count of its mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    /// The length is the count.
    Same,
    /// The length is one more: the offsets of cells.
    OneMore,
    /// The count is that of the points along an axis, the length that of the cells. One point and
    /// two make one cell, so such a length does not always give the count.
    Cells,
}

impl Relation {
    /// Returns the length of the field for a count.
    fn len(self, count: usize) -> usize {
        match self {
            Relation::Same => count,
            Relation::OneMore => count.saturating_add(1),
            Relation::Cells => cells_between(count),
        }
    }

    /// Returns the count for a length of the field.
    fn count(self, len: usize) -> usize {
        match self {
            Relation::Same => len,
            Relation::OneMore => len.saturating_sub(1),
            Relation::Cells => len.saturating_add(len.min(1)),
        }
    }
}

/// The numbers of the fields that share a count.
type Group = Vec<(usize, Relation)>;

/// Returns the lengths of all variable fields that change if fields, known by their numbers, get
/// the lengths `given`: these, and those of fields that share a count with them, directly or
/// through other fields.
pub(crate) fn following(
    table: &FieldTable,
    given: &BTreeMap<usize, usize>,
) -> BTreeMap<usize, usize> {
    let names = Names::of(table);
    // The groups of the meshes that were reached, without those whose lengths are known.
    let mut groups: HashMap<&str, Vec<Group>> = HashMap::new();
    let mut lens = given.clone();
    let mut reached: Vec<usize> = given.keys().copied().collect();
    while let Some(field) = reached.pop() {
        for mesh in names.meshes_of(field) {
            let left = groups.entry(&mesh.name);
            let left = left.or_insert_with(|| names.groups(mesh));
            let Some(group) = take(left, field) else {
                continue;
            };
            let count = count_of(table, &group, &lens);
            for (member, relation) in group {
                let field = &table.fields[member];
                if field.capacity.is_some() && !lens.contains_key(&member) {
                    lens.insert(member, field.length_around(relation.len(count)));
                    reached.push(member);
                }
            }
        }
    }
    lens
}

/// Removes the group with the field number `field` from `groups`.
fn take(groups: &mut Vec<Group>, field: usize) -> Option<Group> {
    let has = |group: &Group| group.iter().any(|(member, _)| *member == field);
    let found = groups.iter().position(has)?;
    Some(groups.swap_remove(found))
}

/// Returns the count that follows from the lengths of members of a group. Those that give it
/// exactly come first.
fn count_of(
    table: &FieldTable,
    group: &[(usize, Relation)],
    lens: &BTreeMap<usize, usize>,
) -> usize {
    let known = group.iter().filter_map(|(member, relation)| {
        let mut field = table.fields[*member].clone();
        field.set_length(*lens.get(member)?);
        Some((*relation, field.interior_length()))
    });
    let best = known.min_by_key(|(relation, _)| *relation);
    best.map_or(0, |(relation, len)| relation.count(len))
}

/// Maps of the fields and meshes of a table, because it may have hundreds of both.
struct Names<'t> {
    table: &'t FieldTable,
    numbers: HashMap<&'t str, usize>,
    /// The numbers of the fields on each mesh.
    on: HashMap<&'t str, Vec<usize>>,
    /// The meshes that a field is on or is geometry of, by the number of the field.
    meshes: HashMap<usize, Vec<&'t MeshDesc>>,
}

impl<'t> Names<'t> {
    fn of(table: &'t FieldTable) -> Self {
        let fields = || table.fields.iter().enumerate();
        let mut on: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, field) in fields() {
            if let Some(mesh) = &field.on {
                on.entry(mesh).or_default().push(number);
            }
        }
        let numbers: HashMap<&str, usize> = fields().map(|(n, f)| (f.name.as_str(), n)).collect();
        let mut meshes: HashMap<usize, Vec<&MeshDesc>> = HashMap::new();
        for mesh in &table.meshes {
            let on = on.get(mesh.name.as_str()).into_iter().flatten();
            let geometry = mesh.geometry().into_iter();
            let geometry = geometry.filter_map(|name| numbers.get(name));
            for number in on.chain(geometry) {
                meshes.entry(*number).or_default().push(mesh);
            }
        }
        Names {
            table,
            numbers,
            on,
            meshes,
        }
    }

    fn meshes_of(&self, field: usize) -> &[&'t MeshDesc] {
        let meshes = self.meshes.get(&field);
        meshes.map(Vec::as_slice).unwrap_or_default()
    }

    fn fields_on(&self, mesh: &MeshDesc) -> &[usize] {
        let on = self.on.get(mesh.name.as_str());
        on.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the groups of the fields of `mesh`.
    fn groups(&self, mesh: &MeshDesc) -> Vec<Group> {
        let mut points = self.centred(mesh, Centering::Point, Relation::Same);
        points.extend(points_field(mesh).and_then(|name| self.member(name, Relation::Same)));
        match &mesh.kind {
            MeshKind::Rectilinear { .. } | MeshKind::Curvilinear { .. } => {
                points.extend(self.centred(mesh, Centering::Cell, Relation::Cells));
                vec![points]
            }
            MeshKind::Unstructured { cells, .. } => {
                let mut own = self.centred(mesh, Centering::Cell, Relation::Same);
                own.extend(self.members(cells));
                vec![points, own]
            }
            MeshKind::Particles { .. } => vec![points],
            // No field gives its size: see [`on_uniform`].
            MeshKind::Uniform { .. } => Vec::new(),
        }
    }

    /// Returns the fields with `centering` on `mesh`.
    fn centred(&self, mesh: &MeshDesc, centering: Centering, relation: Relation) -> Group {
        let on = self.fields_on(mesh).iter();
        let on = on.filter(|number| self.table.fields[**number].centering == centering);
        on.map(|number| (*number, relation)).collect()
    }

    /// Returns the fields that describe cells and share the count of the cells.
    fn members(&self, cells: &Cells) -> Group {
        let found = match cells {
            Cells::Same { connectivity, .. } => [self.member(connectivity, Relation::Same), None],
            Cells::Mixed { offsets, types, .. } => [
                self.member(types, Relation::Same),
                self.member(offsets, Relation::OneMore),
            ],
        };
        found.into_iter().flatten().collect()
    }

    fn member(&self, name: &str, relation: Relation) -> Option<(usize, Relation)> {
        let number = self.numbers.get(name)?;
        Some((*number, relation))
    }
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

/// Returns the lengths of the variable fields on the uniform meshes among those with the numbers
/// `meshes`.
pub(crate) fn on_uniform(table: &FieldTable, meshes: &[usize]) -> BTreeMap<usize, usize> {
    let meshes = meshes.iter().map(|number| &table.meshes[*number]);
    let uniform = meshes.filter(|mesh| matches!(mesh.kind, MeshKind::Uniform { .. }));
    let sizes = uniform.filter_map(|mesh| Some((mesh.name.as_str(), table.size_of(mesh).ok()?)));
    let sizes: HashMap<&str, MeshSize> = sizes.collect();
    let fields = table.fields.iter().enumerate();
    let variable = fields.filter(|(_, field)| field.capacity.is_some());
    let lens = variable.filter_map(|(number, field)| {
        let size = sizes.get(field.on.as_deref()?)?;
        Some((number, len_on(size, field)?))
    });
    lens.collect()
}

/// Returns the length that `field` has on a mesh of this size, or `None` if it has one of its own.
pub(crate) fn len_on(size: &MeshSize, field: &FieldDesc) -> Option<usize> {
    let extents = match field.centering {
        Centering::Point => &size.points,
        Centering::Cell => &size.cells,
        Centering::None => return None,
    };
    Some(field.length_around(first_extent(extents, field.shape.len())))
}

/// Returns the extent of the slowest axis of a field with `dims` axes on a mesh with these extents.
/// Slowest axes that the mesh does not have are those of one point, or of none if it has none.
fn first_extent(extents: &[usize], dims: usize) -> usize {
    let first = extents.len().checked_sub(dims);
    let extent = first.and_then(|first| extents.get(first));
    let extent = extent.copied();
    extent.unwrap_or_else(|| usize::from(!extents.contains(&0)))
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
    let number = table.fields.iter().position(|f| f.name == *offsets)?;
    let offsets = &table.fields[number];
    let none = offsets.length() == 0 && table.get(types)?.length() == 0;
    (none && offsets.capacity.is_some()).then_some(number)
}
