//! Collections: the data sets of several meshes, and the tree that names them.
//!
//! VTK reads the groups in the order in which they were created, so HDF5 has to keep it. The tree
//! consists of soft links, by which VTK tells data sets from nodes. The blocks of one whole are
//! under one node, which has its name.

use super::common::VERSION;
use super::geometry::Geometry;
use super::image::describe_image;
use super::names::node_name;
use super::plan::{Plan, Shown};
use crate::file::Fault;
use crate::write::attributes;
use crate::write::layouts::grid::Grid;
use hdf5::plist::group_create::LinkCreationOrder;
use hdf5::{File, Group};
use tcasm_core::field::{Block, Mesh};

/// Creates `/VTKHDF` with the groups of all meshes of `plan`, which have a type and attributes, but
/// no arrays yet. Returns these groups.
pub fn root(file: &File, plan: &Plan<'_>) -> Result<Vec<Group>, Fault> {
    let root = ordered(file, "VTKHDF")?;
    match &plan.meshes[..] {
        [] => {
            describe_image(&root, &Grid::of_mesh([1; 3], Mesh::default()))?;
            Ok(Vec::new())
        }
        [only] if plan.count() == 1 => {
            only.describe(&root)?;
            Ok(vec![root])
        }
        several => collection(&root, several),
    }
}

/// Creates the groups of `meshes`, and the tree.
fn collection(root: &Group, meshes: &[Shown<'_>]) -> Result<Vec<Group>, Fault> {
    let names = meshes.iter().map(|shown| (shown.whole(), &*shown.name));
    let groups = create(root, &names.collect::<Vec<_>>())?;
    for (group, shown) in groups.iter().zip(meshes) {
        shown.describe(group)?;
    }
    Ok(groups)
}

/// Makes `root` a collection. Returns the groups of its data sets, which are still empty. `names`
/// has for each data set the name of its node in the tree, and the name of its group.
pub fn create(root: &Group, names: &[(&str, &str)]) -> Result<Vec<Group>, Fault> {
    attributes::numbers(root, "Version", &[VERSION[0], 1])?;
    attributes::ascii::<28>(root, "Type", "PartitionedDataSetCollection")?;
    let mut groups = Vec::new();
    for (index, (_, name)) in (0_i64..).zip(names) {
        let group = root.create_group(name)?;
        attributes::number(&group, "Index", index)?;
        groups.push(group);
    }
    let assembly = ordered(root, "Assembly")?;
    for (node, name) in names {
        let node = node_name(node);
        let node = match assembly.link_exists(&node) {
            true => assembly.group(&node)?,
            false => ordered(&assembly, &node)?,
        };
        node.link_soft(&format!("/VTKHDF/{name}"), name)?;
    }
    Ok(groups)
}

/// Creates a group that keeps the order in which its members are created.
pub fn ordered(parent: &Group, name: &str) -> hdf5::Result<Group> {
    let builder = parent.create_group_builder();
    let builder = builder.with_gcpl(|p| p.link_creation_order(LinkCreationOrder::Indexed));
    builder.create(name)
}

impl Shown<'_> {
    /// Writes the type and the attributes of the group of the mesh.
    pub fn describe(&self, group: &Group) -> Result<(), Fault> {
        match &self.geometry {
            Geometry::Image(grid) => describe_image(group, grid)?,
            Geometry::Explicit(explicit) => {
                attributes::numbers(group, "Version", &VERSION)?;
                match explicit.types {
                    Some(_) => attributes::ascii::<16>(group, "Type", "UnstructuredGrid")?,
                    None => attributes::ascii::<8>(group, "Type", "PolyData")?,
                }
            }
        }
        if let Some(mesh) = self.mesh {
            attributes::text(group, "name", &mesh.name)?;
            attributes::text(group, "kind", mesh.kind_name())?;
            attributes::free(group, &mesh.attrs)?;
        }
        Ok(())
    }

    /// Returns the place of the mesh among blocks, if it is one.
    pub fn block(&self) -> Option<&Block> {
        self.mesh.and_then(|mesh| mesh.block.as_ref())
    }

    /// Returns the name of the whole that the mesh is a block of, or its own.
    pub fn whole(&self) -> &str {
        self.block().map_or(&self.name, |block| &block.of)
    }
}
