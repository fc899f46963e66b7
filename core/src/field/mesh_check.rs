//! The check that the meshes of a table agree with its fields. It looks up names in maps, because a
//! table may have hundreds of meshes and a thousand fields.

use super::desc::{Centering, FieldDesc, Kind};
use super::field_check::valid_name;
use super::mesh_desc::{Block, MeshDesc, MeshKind};
use super::mesh_error::MeshDescError;
use super::mesh_geometry::{check_geometry, geometry, points_error};
use super::mesh_size::{MeshSize, size, slowest_first};
use super::table::FieldTable;
use std::collections::HashMap;

/// The most points or cells of a mesh. Readers may take up to 128 bytes of memory for each, and can
/// still count the bytes.
const MOST: usize = isize::MAX as usize / 128;

/// The meshes that were found sound, by name, with their sizes.
type Sizes<'t> = HashMap<&'t str, (&'t MeshDesc, MeshSize)>;

impl FieldTable {
    /// Checks that each mesh has a name of its own and geometry that fits, and that the fields on
    /// meshes have their sizes, and are each a quantity of its own. The fields must have passed
    /// [`FieldDesc::check`].
    pub fn check_meshes(&self) -> Result<(), MeshDescError> {
        let sizes = self.checked_sizes()?;
        let mut fields = self.fields.iter();
        fields.try_for_each(|field| check_on_mesh(field, &sizes))?;
        self.check_quantities()
    }

    /// Checks the meshes without the fields on them. Returns the size of each.
    fn checked_sizes(&self) -> Result<Sizes<'_>, MeshDescError> {
        let fields = self.fields.iter().map(|f| (f.name.as_str(), f));
        let fields: HashMap<&str, &FieldDesc> = fields.collect();
        let mut sizes = Sizes::new();
        for mesh in &self.meshes {
            let name = mesh.name.as_str();
            if !valid_name(name) {
                return Err(MeshDescError::Name(name.to_owned()));
            }
            if fields.contains_key(name) || sizes.contains_key(name) {
                return Err(MeshDescError::Twice(name.to_owned()));
            }
            let find = |name: &str| fields.get(name).copied();
            check_geometry(mesh, &find)?;
            let size = size(mesh, &find)?;
            check_size(mesh, &size)?;
            if let Some(block) = &mesh.block {
                check_block(mesh, block)?;
            }
            sizes.insert(name, (mesh, size));
        }
        Ok(sizes)
    }

    /// Checks that no two fields at the same places of a mesh are the same quantity.
    fn check_quantities(&self) -> Result<(), MeshDescError> {
        let mut seen = HashMap::new();
        for field in &self.fields {
            let Some(mesh) = &field.on else {
                continue;
            };
            let place = (mesh, field.centering, field.quantity());
            if let Some(other) = seen.insert(place, &field.name) {
                return Err(MeshDescError::Quantity {
                    mesh: mesh.clone(),
                    quantity: field.quantity().to_owned(),
                    fields: [other.clone(), field.name.clone()],
                });
            }
        }
        Ok(())
    }
}

/// Checks that the bytes of all points and cells can be counted. Axes without points count as if
/// they had one, because readers may multiply the others first.
fn check_size(mesh: &MeshDesc, size: &MeshSize) -> Result<(), MeshDescError> {
    let fits = |extents: &[usize]| {
        let mut extents = extents.iter().map(|n| (*n).max(1));
        let all = extents.try_fold(1, usize::checked_mul);
        all.is_some_and(|all| all <= MOST)
    };
    match fits(&size.points) && fits(&size.cells) {
        true => Ok(()),
        false => {
            let why = format!(
                "it has {:?} points and {:?} cells (slowest axis first); give at most {MOST} of \
                 each in all",
                size.points, size.cells
            );
            Err(points_error(mesh, why))
        }
    }
}

/// Checks that the shape of `field` agrees with the size of the mesh that it is on.
fn check_on_mesh(field: &FieldDesc, sizes: &Sizes<'_>) -> Result<(), MeshDescError> {
    let Some(name) = &field.on else {
        return Ok(());
    };
    let found = sizes.get(name.as_str());
    let (mesh, size) = found.ok_or_else(|| MeshDescError::NoMesh {
        field: field.name.clone(),
        mesh: name.clone(),
    })?;
    if mesh.geometry().contains(&field.name.as_str()) {
        return Err(geometry(mesh, &field.name, "geometry", "put it on no mesh"));
    }
    let (need, at) = match field.centering {
        Centering::Point => (&size.points, "points"),
        Centering::Cell => (&size.cells, "cells"),
        Centering::None => return Ok(()),
    };
    let have = slowest_first(field);
    let fits = have == *need || (is_structured(mesh) && agree(&have, need));
    match fits && field.kind == Kind::Array {
        true => Ok(()),
        false => Err(MeshDescError::Shape {
            field: field.name.clone(),
            mesh: name.clone(),
            have,
            need: need.clone(),
            at,
        }),
    }
}

fn is_structured(mesh: &MeshDesc) -> bool {
    use MeshKind::{Curvilinear, Rectilinear, Uniform};
    matches!(
        mesh.kind,
        Uniform { .. } | Rectilinear { .. } | Curvilinear { .. }
    )
}

/// Returns true if extents, slowest first, are equal without the leading axes of one point or cell.
/// Programs in three dimensions have such axes where the mesh is a plane or a line. Where the mesh
/// has no points, the slowest axis of the field has none.
fn agree(have: &[usize], need: &[usize]) -> bool {
    let is_single = |n: &&usize| **n == 1;
    let needed = need.iter().skip_while(is_single);
    let are_equal = have.iter().skip_while(is_single).eq(needed);
    let has_more_axes = have.len() > need.len();
    let are_empty = has_more_axes && have.first() == Some(&0) && need.first() == Some(&0);
    have.len() <= 3 && (are_equal || are_empty)
}

fn check_block(mesh: &MeshDesc, block: &Block) -> Result<(), MeshDescError> {
    let why = if !valid_name(&block.of) {
        "use 1 to 128 characters out of A-Z a-z 0-9 _ - for its name".to_owned()
    } else if block.refinement.contains(&0) {
        let refinement = block.refinement;
        format!("its refinement along x, y and z is {refinement:?}; give at least 1 each")
    } else {
        return Ok(());
    };
    Err(MeshDescError::Block {
        mesh: mesh.name.clone(),
        of: block.of.clone(),
        why,
    })
}
