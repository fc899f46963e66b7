//! Changes uniform meshes, and the places of blocks, from the next version on.
//!
//! A program that refines its mesh anew (AMR) cannot remove meshes. It has a fixed number of
//! blocks, and uses as many of them as it needs.

use crate::error::DefineError;
use crate::handles::MeshHandle;
use crate::producer::Producer;
use std::collections::BTreeMap;
use tcasm_core::field::{Block, Centering, MeshDesc, MeshKind};

impl Producer {
    /// Gives a uniform mesh other points, another origin and another spacing, which are in the
    /// order x, y, z as in [`Producer::uniform_mesh`]. Versions that exist keep theirs.
    ///
    /// The variable fields on points and in cells of the mesh get the lengths that follow: only
    /// the number of points along the slowest axis can change, within the capacity of these
    /// fields. If it is 0, the mesh is [unused](Producer::set_unused). If all fields on the mesh
    /// are of a fixed size, it can only move.
    ///
    /// After an error all is as it was.
    ///
    /// ```
    /// # use tcasm_producer::{Block, Producer};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut p = Producer::builder("placing").capacity(1 << 20).create()?;
    /// let block = Block { of: "gas".to_owned(), level: 0, refinement: [2; 3], offset: [0; 3] };
    /// let mesh = p.uniform_mesh("b7", [9; 3], [0.0; 3], [1.0; 3]).block(block.clone()).add()?;
    /// let rho = p.field::<f64, _>("rho7", [10, 10, 10]).ghosts(&[[1, 1]; 3]);
    /// let rho = rho.cell_centred().variable().on(&mesh).quantity("rho").add()?;
    /// p.set_unused(&mesh)?; // no version has values of the block until it is used
    /// p.publish(0, 0.0)?;
    /// p.set_uniform_mesh(&mesh, [9; 3], [4.0, 0.0, 0.0], [0.5; 3])?;
    /// p.set_block(&mesh, Block { level: 1, offset: [8, 0, 0], ..block })?;
    /// p.view_mut(rho)?.fill(1.0);
    /// p.publish(1, 0.1)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_uniform_mesh(
        &mut self,
        mesh: &MeshHandle,
        points: [usize; 3],
        origin: [f64; 3],
        spacing: [f64; 3],
    ) -> Result<(), DefineError> {
        let kind = MeshKind::Uniform {
            points,
            origin,
            spacing,
        };
        let mesh = self.described_mesh(mesh)?;
        self.redefine_meshes(&[MeshDesc { kind, ..mesh }])
    }

    /// Makes a uniform mesh unused: from the next version on it has no points, and the fields on
    /// it, which must be variable, have no values. Their live memory stays as it is.
    /// [`Producer::set_uniform_mesh`] uses the mesh again. (A mesh of another kind is empty if the
    /// [lengths](Producer::set_len) of its fields are 0.)
    pub fn set_unused(&mut self, mesh: &MeshHandle) -> Result<(), DefineError> {
        let mut mesh = self.described_mesh(mesh)?;
        let slowest = self.slowest_axis(&mesh);
        let MeshKind::Uniform { points, .. } = &mut mesh.kind else {
            let why = "it is not uniform; set the lengths of its fields with set_len()";
            return Err(other(&mesh, why));
        };
        let last = points.iter().rposition(|n| *n != 1);
        let slowest = slowest.or(last).unwrap_or(0);
        points[slowest] = 0;
        // Fields of fewer axes may lie in the single layer of cells along the others.
        points[slowest + 1..].fill(1);
        self.redefine_meshes(&[mesh])
    }

    /// Gives a block another level, refinement and offset. It stays a block of the same mesh.
    pub fn set_block(&mut self, mesh: &MeshHandle, block: Block) -> Result<(), DefineError> {
        let mesh = self.described_mesh(mesh)?;
        let block = Some(block);
        self.redefine_meshes(&[MeshDesc { block, ..mesh }])
    }

    /// Changes several meshes at once, as [`Producer::set_uniform_mesh`] and
    /// [`Producer::set_block`] change one: each mesh gets the points, the origin, the spacing and
    /// the place among blocks of the description that has its name. Attributes stay. For many
    /// meshes this takes much less time than single calls, because each call checks the table of
    /// all fields and meshes.
    ///
    /// After an error all is as it was.
    pub fn redefine_meshes(&mut self, meshes: &[MeshDesc]) -> Result<(), DefineError> {
        self.check_usable()?;
        let mut changed = BTreeMap::new();
        for mesh in meshes {
            let number = self.mesh_handle(&mesh.name)?.mesh;
            let own = &self.table.meshes[number];
            let placed = own.placed_as(mesh);
            check_rest(&placed, mesh)?;
            changed.insert(number, placed);
        }
        self.table.redefine(changed)
    }

    /// Returns the description of a mesh, as the next version will have it.
    pub fn mesh_description(&self, name: &str) -> Option<&MeshDesc> {
        self.table.meshes.iter().find(|mesh| mesh.name == name)
    }

    /// Returns the slowest axis of a uniform mesh, counted from x, as the variable fields on it
    /// have it. A mesh that has a single layer of points in this version has one axis less.
    fn slowest_axis(&self, mesh: &MeshDesc) -> Option<usize> {
        let fields = self.table.fields.iter().map(|field| &field.desc);
        let on = fields.filter(|field| field.on.as_ref() == Some(&mesh.name));
        let variable =
            on.filter(|field| field.capacity.is_some() && field.centering != Centering::None);
        let axes = variable.filter_map(|field| field.shape.len().checked_sub(1));
        axes.filter(|axis| *axis < 3).min()
    }

    fn described_mesh(&self, mesh: &MeshHandle) -> Result<MeshDesc, DefineError> {
        self.check_handle(mesh.region)?;
        Ok(self.table.meshes[mesh.mesh].clone())
    }
}

/// Checks that all that is asked for is in `placed`, except for attributes. (A uniform mesh is not
/// compared: it may have a NaN, which is refused later.)
fn check_rest(placed: &MeshDesc, asked: &MeshDesc) -> Result<(), DefineError> {
    let is_uniform = |mesh: &MeshDesc| matches!(mesh.kind, MeshKind::Uniform { .. });
    let are_uniform = is_uniform(placed) && is_uniform(asked);
    if !are_uniform && placed.kind != asked.kind {
        let why = "its kind stays, and the fields that are its geometry; add another mesh";
        return Err(other(placed, why));
    }
    let why = "it stays a block of the same mesh, or of none";
    match placed.block == asked.block {
        true => Ok(()),
        false => Err(other(placed, why)),
    }
}

fn other(mesh: &MeshDesc, why: &'static str) -> DefineError {
    DefineError::OtherMesh {
        mesh: mesh.name.clone(),
        why,
    }
}
