//! The places of fields in openPMD: mesh records, and records of particles, with their names. Some
//! fields have no place.

use super::geometry::Geometry;
use super::species::{self, RESERVED, Species};
use std::collections::{BTreeMap, BTreeSet};
use tcasm_core::field::{Centering, FieldDesc, FieldTable, Kind, MeshDesc, MeshKind};

const NO_CELLS: &str = "openPMD has no unstructured meshes";
const NOT_ON_MESH: &str = "it is stored as positions, but not on the mesh that it is on";

/// The places of all fields of a table.
#[derive(Debug, Default)]
pub struct Plan {
    /// The place of each field that has one.
    pub places: BTreeMap<String, Place>,
    /// The species.
    pub species: Vec<Species>,
    /// The names of the fields that lack a place, and the reasons.
    pub left_out: Vec<(String, &'static str)>,
}

/// The place of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A mesh record of this name.
    Mesh(String, Geometry),
    /// A record of a species.
    Particles {
        /// The name of the species.
        species: String,
        /// The name of the record.
        name: String,
    },
    /// The positions of these species.
    Positions(Vec<String>),
}

/// The mesh or the particles that a field belongs to.
enum Home<'t> {
    /// A structured mesh, or no named one.
    Mesh(Option<&'t MeshDesc>),
    /// Particles.
    Particles(&'t MeshDesc),
    /// The positions of some particles.
    Positions,
}

impl Plan {
    /// Returns the places of the fields of `table`.
    pub fn of(table: &FieldTable) -> Plan {
        let mut plan = Plan::default();
        let mut homes = Vec::new();
        for field in &table.fields {
            match home(table, field) {
                Ok(home) => {
                    if matches!(home, Home::Positions) && table.mesh_of(field).is_some() {
                        plan.left_out.push((field.name.clone(), NOT_ON_MESH));
                    }
                    homes.push((field, home));
                }
                Err(why) => plan.left_out.push((field.name.clone(), why)),
            }
        }
        plan.place_on_meshes(&homes);
        plan.place_particles(table, &homes);
        plan
    }

    fn place_on_meshes(&mut self, homes: &[(&FieldDesc, Home<'_>)]) {
        let all = homes.iter().filter_map(|(field, home)| match home {
            Home::Mesh(mesh) => Some((*field, *mesh)),
            _ => None,
        });
        let all: Vec<_> = all.collect();
        let names = records(all.iter().map(|(field, _)| *field), &[]);
        for (field, mesh) in all {
            let place = Place::Mesh(
                names[field.name.as_str()].clone(),
                Geometry::of(field, mesh, &names),
            );
            self.places.insert(field.name.clone(), place);
        }
    }

    fn place_particles(&mut self, table: &FieldTable, homes: &[(&FieldDesc, Home<'_>)]) {
        let particles = table.meshes.iter().filter_map(|mesh| match &mesh.kind {
            MeshKind::Particles { positions } => Some((mesh, table.get(positions)?)),
            _ => None,
        });
        let particles: Vec<_> = particles.collect();
        let names = particles.iter().map(|(mesh, _)| mesh.name.as_str());
        let names = unique(&names.collect::<Vec<_>>(), &[]);
        for ((mesh, positions), species) in particles.into_iter().zip(names) {
            let on_mesh = homes.iter().filter_map(|(field, home)| match home {
                Home::Particles(of) if of.name == mesh.name => Some(*field),
                _ => None,
            });
            for (field, name) in records(on_mesh, &RESERVED) {
                let species = species.clone();
                let place = Place::Particles { species, name };
                self.places.insert(field.to_owned(), place);
            }
            self.place_positions(mesh, positions, species);
        }
    }

    /// Adds the species called `name`, which is `mesh`.
    fn place_positions(&mut self, mesh: &MeshDesc, positions: &FieldDesc, name: String) {
        let place = self.places.entry(positions.name.clone());
        match place.or_insert_with(|| Place::Positions(Vec::new())) {
            Place::Positions(species) => species.push(name.clone()),
            _ => return, // positions have no other place
        }
        self.species.push(Species {
            name,
            count: positions.shape.first().copied().unwrap_or(0),
            dims: positions.components,
            unit: species::unit_of(positions),
            attrs: mesh.attrs.clone(),
        });
    }
}

/// Returns the mesh or the particles that `field` belongs to, or the reason why it has no place.
fn home<'t>(table: &'t FieldTable, field: &FieldDesc) -> Result<Home<'t>, &'static str> {
    if field.kind != Kind::Array {
        return Err("openPMD has no raw structures");
    }
    if field.dtype.is_complex() {
        return Err("most openPMD readers have no complex numbers");
    }
    let is_position = |mesh: &MeshDesc| match &mesh.kind {
        MeshKind::Particles { positions } => *positions == field.name,
        _ => false,
    };
    if table.meshes.iter().any(is_position) {
        return Ok(Home::Positions);
    }
    let is_of_cells = |mesh: &MeshDesc| matches!(mesh.kind, MeshKind::Unstructured { .. });
    if table.geometry_of(&field.name).is_some_and(is_of_cells) {
        return Err(NO_CELLS);
    }
    let mesh = table.mesh_of(field);
    match mesh.filter(|_| field.centering != Centering::None) {
        Some(mesh) => match (&mesh.kind, field.centering) {
            (MeshKind::Unstructured { .. }, _) => Err(NO_CELLS),
            (MeshKind::Particles { .. }, Centering::Cell) => Err("particles have no cells"),
            (MeshKind::Particles { .. }, _) => Ok(Home::Particles(mesh)),
            _ => Ok(Home::Mesh(Some(mesh))),
        },
        None => Ok(Home::Mesh(None)),
    }
}

/// Returns the names of the records of `fields`. A record is named after the quantity, or, if
/// several of them hold the same one, after the field.
fn records<'f>(
    fields: impl Iterator<Item = &'f FieldDesc>,
    reserved: &[&str],
) -> BTreeMap<&'f str, String> {
    let fields: Vec<_> = fields.collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for field in &fields {
        *holders.entry(field.quantity()).or_default() += 1;
    }
    let wanted = fields.iter().map(|field| match holders[field.quantity()] {
        1 => field.quantity(),
        _ => field.name.as_str(),
    });
    let names = unique(&wanted.collect::<Vec<_>>(), reserved);
    let fields = fields.iter().map(|field| field.name.as_str());
    fields.zip(names).collect()
}

/// Returns names like those that are `wanted`. They consist of letters, digits and underscores, no
/// two are the same, and none is `reserved`.
fn unique(wanted: &[&str], reserved: &[&str]) -> Vec<String> {
    let is_odd = |name: &str| name.contains(|c: char| !is_allowed(c));
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    // Names that are valid as they are stay so.
    order.sort_by_key(|i| is_odd(wanted[*i]));
    let mut taken: BTreeSet<String> = reserved.iter().map(|name| (*name).to_owned()).collect();
    let mut names = vec![String::new(); wanted.len()];
    for i in order {
        let mut name = wanted[i].replace(|c: char| !is_allowed(c), "_");
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        names[i] = name;
    }
    names
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests;
