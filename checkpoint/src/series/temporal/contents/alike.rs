//! The differences that versions of one series may have, and those that begin another part of it.

use super::formats::format_of;
use super::{Contents, Row};
use crate::series::temporal::arrays;
use crate::write::layouts::vtkhdf::{Geometry, Plan};
use std::collections::BTreeSet;
use tcasm_core::field::{Block, FieldDesc, FieldTable, MeshDesc, MeshKind};

/// A place of a block that stands for any.
const NOWHERE: Block = Block {
    of: String::new(),
    level: 0,
    refinement: [1; 3],
    offset: [0; 3],
};

impl Contents {
    /// Returns the contents of the next part, which begins with a version that this one does not
    /// [take](Contents::takes).
    pub fn next_part(&self, table: &FieldTable) -> Self {
        let without_image = Contents {
            moved: true,
            versions: Vec::new(),
            ..self.clone()
        };
        Contents {
            moved: without_image.takes(table),
            ..Contents::new(&self.region, table)
        }
    }

    /// Takes over the lengths and the meshes of a version that was appended.
    pub fn renew(&mut self, table: &FieldTable) {
        for (own, field) in self.table.fields.iter_mut().zip(&table.fields) {
            own.set_length(field.length());
        }
        for (own, mesh) in self.table.meshes.iter_mut().zip(&table.meshes) {
            *own = own.placed_as(mesh);
        }
    }

    /// Returns true if uniform meshes have points with coordinates, because one of them moves. The
    /// versions then have arrays that were made for all of them.
    pub fn moves(&self) -> bool {
        let has_all = |row: &Row| row.made.len() == made(&self.table, true);
        self.moved || self.versions.last().is_some_and(has_all)
    }

    /// Returns true if versions with the fields and meshes of `table` can be appended to this
    /// series. Offsets in the region and attributes may differ, lengths within the capacity, and
    /// the places of blocks and of uniform meshes. But an image has one place. Bounds of errors may
    /// not differ, because all rows of a field have the same.
    pub fn takes(&self, table: &FieldTable) -> bool {
        let plain = |field: &FieldDesc| FieldDesc {
            offset: 0,
            shape: field.capacity_shape(),
            attrs: Default::default(),
            mesh: field.usable_mesh(), // a mesh with a NaN would differ from itself
            not_in_checkpoints: false,
            ..field.clone()
        };
        let (own, other) = (self.table.fields.iter(), table.fields.iter());
        let has_format = self.format == format_of(table);
        let has_fields = has_format && own.map(plain).eq(other.map(plain));
        let has_meshes = || self.steady(&self.table) == self.steady(table);
        has_fields && has_meshes() && self.has_made(table)
    }

    /// Returns true if the newest version has as many arrays that were made for VTK as one with
    /// `table` gets. Series of other builds may have others.
    fn has_made(&self, table: &FieldTable) -> bool {
        let count = made(table, self.moves());
        let newest = self.versions.last();
        newest.is_none_or(|row| row.made.len() == count)
    }

    /// Returns the meshes of `table` without all that may differ from version to version.
    fn steady(&self, table: &FieldTable) -> Vec<MeshDesc> {
        let mut largest = arrays::at_capacity(table);
        let images = images(&largest, self.moves());
        for mesh in &mut largest.meshes {
            mesh.attrs.clear();
            if let Some(block) = &mut mesh.block {
                let of = std::mem::take(&mut block.of);
                *block = Block { of, ..NOWHERE };
            }
            match &mut mesh.kind {
                MeshKind::Uniform {
                    origin, spacing, ..
                } if !images.contains(&mesh.name) => {
                    (*origin, *spacing) = ([0.0; 3], [1.0; 3]);
                }
                _ => {}
            }
        }
        largest.meshes
    }
}

/// Returns the names of the meshes of `table` that are images in a series.
fn images(table: &FieldTable, moves: bool) -> BTreeSet<String> {
    let plan = Plan::of_series(table, moves);
    let meshes = plan.meshes.iter();
    let images = meshes.filter(|shown| matches!(shown.geometry, Geometry::Image(_)));
    images
        .filter_map(|shown| Some(shown.mesh?.name.clone()))
        .collect()
}

/// Returns how many arrays are made for VTK of a version with `table`.
fn made(table: &FieldTable, moves: bool) -> usize {
    arrays::made(&Plan::of_series(table, moves)).len()
}
