//! The parts of named meshes that a file has if it stores only a part of each field.
//!
//! The first field on a mesh says which points are taken, and the geometry is cut like that. A
//! value at a point needs that point. A value in a cell needs the points around the cell, so cells
//! have a mesh only if they are taken without steps. A field stays on the mesh if its part needs
//! just the points that are taken.
//!
//! A uniform mesh has no fields as its geometry. Its part has an origin and a spacing of its own,
//! so cells may have steps there. Of the fields on one that is unused in a version nothing is
//! taken.
//!
//! Unstructured meshes have no parts: their cells would need other numbers.

mod axes;
mod uniform;

use axes::{Points, along_axes, along_xyz, moved};
use std::collections::{BTreeMap, BTreeSet};
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_analytics::{Extract, Taken};
use tcasm_core::field::{Centering, FieldDesc, FieldTable, MeshDesc, MeshKind};
use uniform::UniformPart;

/// The parts of the meshes of a table.
#[derive(Debug, Default)]
pub struct Cut<'t> {
    /// The indices that are taken of each mesh of which the file has a part, by its name.
    meshes: BTreeMap<&'t str, Points>,
    /// The indices that are taken along the axes of each field that is their geometry, by its name.
    geometry: BTreeMap<&'t str, Vec<Taken>>,
    /// The parts of uniform meshes, by their names.
    uniform: BTreeMap<&'t str, UniformPart>,
    /// The parts of the axes of each field on a uniform mesh without points.
    nothing: BTreeMap<&'t str, Vec<Taken>>,
    /// The names of the fields that are on them.
    on: BTreeSet<&'t str>,
}

impl<'t> Cut<'t> {
    /// Returns the parts of the meshes of `table` that are stored with the fields `chosen`, if
    /// `extract` is taken of each field.
    pub fn of(
        table: &'t FieldTable,
        chosen: &[&'t FieldDesc],
        extract: &Extract,
    ) -> Result<Self, AnalyticsError> {
        let mut cut = Cut::default();
        for mesh in &table.meshes {
            cut.add_uniform(mesh, chosen, extract)?;
            if let Some(points) = points(table, mesh, chosen, extract)? {
                cut.add(table, mesh, points);
            }
        }
        for field in chosen {
            if cut.has_points_of(table, field, extract)? {
                cut.on.insert(&field.name);
            }
        }
        Ok(cut)
    }

    /// Adds the part of `mesh` that the first field on it needs, if it is a uniform one.
    fn add_uniform(
        &mut self,
        mesh: &'t MeshDesc,
        chosen: &[&'t FieldDesc],
        extract: &Extract,
    ) -> Result<(), AnalyticsError> {
        let is_on = |field: &&FieldDesc| field.on.as_ref() == Some(&mesh.name);
        for field in chosen.iter().copied().filter(is_on) {
            let Some(part) = UniformPart::of(mesh, field, extract)? else {
                continue;
            };
            if field.interior_shape().contains(&0) {
                let taken = uniform::taken(field, extract)?;
                self.nothing.insert(&field.name, taken);
            }
            self.uniform.entry(&mesh.name).or_insert(part);
        }
        Ok(())
    }

    /// Adds a part of `mesh`, unless a field would have to be cut in two ways.
    fn add(&mut self, table: &'t FieldTable, mesh: &'t MeshDesc, points: Points) {
        let parts = geometry(table, mesh, points);
        let is_cut_once = |(name, taken): &(&str, Vec<Taken>)| {
            let before = self.geometry.get(*name);
            let others = parts.iter().filter(|(other, _)| other == name);
            let mut others = others.map(|(_, taken)| taken).chain(before);
            others.all(|other| other == taken)
        };
        if parts.iter().all(is_cut_once) {
            self.geometry.extend(parts);
            self.meshes.insert(&mesh.name, points);
        }
    }

    /// Returns true if `field` is on a mesh of which the file has a part, and its own part has a
    /// place there. A table is on neither points nor cells, so it has.
    fn has_points_of(
        &self,
        table: &FieldTable,
        field: &FieldDesc,
        extract: &Extract,
    ) -> Result<bool, AnalyticsError> {
        let Some(mesh) = table.mesh_of(field) else {
            return Ok(false);
        };
        if let Some(part) = self.uniform.get(mesh.name.as_str()) {
            let own = UniformPart::of(mesh, field, extract)?;
            return Ok(own.is_none_or(|own| own.kind == part.kind));
        }
        let (taken, along) = (self.meshes.get(mesh.name.as_str()), extents(table, mesh));
        let (Some(taken), Some(along)) = (taken, along) else {
            return Ok(false);
        };
        let needed = needed(field, along, &self.extract(field, extract))?;
        Ok(field.centering == Centering::None || needed == Some(*taken))
    }

    /// Returns what is taken of `field`: the geometry of a mesh is cut as the mesh is, nothing is
    /// taken on a mesh without points, and `extract` of all other fields.
    pub fn extract(&self, field: &FieldDesc, extract: &Extract) -> Extract {
        let name = field.name.as_str();
        match self.geometry.get(name).or_else(|| self.nothing.get(name)) {
            Some(taken) => extract.with_indices(taken),
            None => extract.clone(),
        }
    }

    /// Returns the names of the fields that are the geometry of the meshes.
    pub fn geometry(&self) -> BTreeSet<&'t str> {
        self.geometry.keys().copied().collect()
    }

    /// Returns true if the part of `field` is on the part of a mesh.
    pub fn is_on_mesh(&self, field: &FieldDesc) -> bool {
        self.on.contains(field.name.as_str())
    }

    /// Returns true if the file has a part of `mesh`.
    pub fn has(&self, mesh: &MeshDesc) -> bool {
        let name = mesh.name.as_str();
        self.meshes.contains_key(name) || self.uniform.contains_key(name)
    }

    /// Returns true if the file has a part of no mesh.
    pub fn is_empty(&self) -> bool {
        self.meshes.is_empty() && self.uniform.is_empty()
    }

    /// Returns the descriptions of the parts of the meshes of `table`, in its order.
    pub fn meshes(&self, table: &FieldTable) -> Vec<MeshDesc> {
        let part = |mesh: &MeshDesc| {
            if let Some(UniformPart { kind, block }) = self.uniform.get(mesh.name.as_str()) {
                return Some(MeshDesc {
                    kind: kind.clone(),
                    block: block.clone(),
                    ..mesh.clone()
                });
            }
            let points = self.meshes.get(mesh.name.as_str())?;
            let block = mesh.block.as_ref();
            Some(MeshDesc {
                block: block.and_then(|block| moved(block, points)),
                ..mesh.clone()
            })
        };
        table.meshes.iter().filter_map(part).collect()
    }
}

/// Returns the points of `mesh` that the part of the first field on it needs. Coordinates of all
/// points count as such a field if there is no other. Returns `None` if no part is stored.
fn points(
    table: &FieldTable,
    mesh: &MeshDesc,
    chosen: &[&FieldDesc],
    extract: &Extract,
) -> Result<Option<Points>, AnalyticsError> {
    let Some(along) = extents(table, mesh) else {
        return Ok(None);
    };
    let is_on = |field: &&&FieldDesc| {
        field.on.as_ref() == Some(&mesh.name) && field.centering != Centering::None
    };
    for field in chosen.iter().filter(is_on) {
        if let Some(points) = needed(field, along, extract)? {
            return Ok(Some(points));
        }
    }
    let own = coordinates(mesh);
    let own = chosen.iter().find(|field| own == Some(&field.name));
    match own.filter(|_| !chosen.iter().any(|field| is_on(&field))) {
        Some(field) => Ok(Some(along_xyz(field, extract.taken(field)?))),
        None => Ok(None),
    }
}

/// Returns the points that the part of `field` needs of a mesh with `along` points along x, y and
/// z. Returns `None` for a table, and for cells that are taken with steps.
fn needed(
    field: &FieldDesc,
    along: [usize; 3],
    extract: &Extract,
) -> Result<Option<Points>, AnalyticsError> {
    Ok(match field.centering {
        Centering::None => None,
        Centering::Point => Some(along_xyz(field, extract.taken(field)?)),
        Centering::Cell => around(along_xyz(field, extract.taken(field)?), along),
    })
}

/// Returns the points around `cells` of a mesh with `along` points along x, y and z. An axis of one
/// point counts as one cell.
fn around(cells: Points, along: [usize; 3]) -> Option<Points> {
    let mut points = cells;
    for (taken, along) in points.iter_mut().zip(along) {
        if taken.step > 1 || (taken.count == 0 && along > 0) {
            return None;
        }
        if along > 1 {
            taken.count += 1;
        }
    }
    Some(points)
}

/// Returns the number of points of `mesh` along x, y and z, or `None` if it is a uniform mesh, or
/// if no part of a mesh of its kind is stored.
fn extents(table: &FieldTable, mesh: &MeshDesc) -> Option<[usize; 3]> {
    use MeshKind::{Uniform, Unstructured};
    if matches!(mesh.kind, Uniform { .. } | Unstructured { .. }) {
        return None;
    }
    let size = table.size_of(mesh).ok()?;
    let mut extents = [1; 3];
    for (extent, points) in extents.iter_mut().zip(size.points.iter().rev()) {
        *extent = *points;
    }
    Some(extents)
}

/// Returns the name of the field that has the coordinates of each point of `mesh`.
fn coordinates(mesh: &MeshDesc) -> Option<&String> {
    match &mesh.kind {
        MeshKind::Curvilinear { coordinates: name } | MeshKind::Particles { positions: name } => {
            Some(name)
        }
        _ => None,
    }
}

/// Returns what is taken along the axes of each field that is the geometry of `mesh`, if `points`
/// are taken.
fn geometry<'t>(
    table: &'t FieldTable,
    mesh: &'t MeshDesc,
    points: Points,
) -> Vec<(&'t str, Vec<Taken>)> {
    if let MeshKind::Rectilinear { coordinates } = &mesh.kind {
        let names = coordinates.iter().map(String::as_str);
        return names.zip(points.map(|taken| vec![taken])).collect();
    }
    let field = coordinates(mesh).and_then(|name| table.get(name));
    let part = field.map(|field| (field.name.as_str(), along_axes(field, points)));
    part.into_iter().collect()
}

#[cfg(test)]
mod tests;
