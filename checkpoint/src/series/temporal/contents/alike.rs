//! The differences that versions of one series may have, and those that begin another part of it.

use super::{Contents, FORMAT, PLAIN, WITHOUT_BLOCKS};
use crate::series::temporal::arrays;
use crate::write::layouts::vtkhdf::{Geometry, Plan};
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

    /// Returns true if a single uniform mesh has points with coordinates, because it moves. The
    /// versions then have arrays that were made for it.
    pub fn moves(&self) -> bool {
        self.moved || self.versions.iter().any(|row| !row.made.is_empty())
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
        let plan = Plan::of_series(table, self.moves());
        let count = arrays::made(&plan).len();
        let newest = self.versions.last();
        newest.is_none_or(|row| row.made.len() == count)
    }

    /// Returns the meshes of `table` without all that may differ from version to version.
    fn steady(&self, table: &FieldTable) -> Vec<MeshDesc> {
        let mut largest = arrays::at_capacity(table);
        let has_image = has_image(&largest, self.moves());
        for mesh in &mut largest.meshes {
            mesh.attrs.clear();
            if let Some(block) = &mut mesh.block {
                let of = std::mem::take(&mut block.of);
                *block = Block { of, ..NOWHERE };
            }
            match &mut mesh.kind {
                MeshKind::Uniform {
                    origin, spacing, ..
                } if !has_image => (*origin, *spacing) = ([0.0; 3], [1.0; 3]),
                _ => {}
            }
        }
        largest.meshes
    }
}

/// Returns true if a mesh of a series is an image, which is then the only one.
fn has_image(table: &FieldTable, moves: bool) -> bool {
    let plan = Plan::of_series(table, moves);
    let mut meshes = plan.meshes.iter();
    meshes.any(|shown| matches!(shown.geometry, Geometry::Image(_)))
}

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
