//! Named meshes: the description of a mesh, whose geometry is fields of the region.

use super::cell::CellType;
use super::desc::Attr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A named mesh, as it is in one version. Its geometry is itself fields of the region, so it is
/// published, versioned and checkpointed as they are. A mesh that moves or is adapted is a mesh
/// whose fields change, or a uniform one whose points, origin or spacing change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshDesc {
    /// The name. It follows the rules of field names, and no field or other mesh has it.
    pub name: String,
    /// The kind, with the geometry.
    pub kind: MeshKind,
    /// The place of the mesh among the blocks of a block-structured mesh, if it is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// The free attributes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attrs: BTreeMap<String, Attr>,
}

/// The kind of a mesh. Coordinates are in the order x, y, z. Fields are given by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeshKind {
    /// Points at equal distances along each axis.
    Uniform {
        /// The number of points along x, y and z: 1 for an axis that the mesh does not have. It is
        /// 0 along the slowest of the other axes if the mesh is unused in this version.
        points: [usize; 3],
        /// The coordinates of the first point.
        origin: [f64; 3],
        /// The distance of neighbouring points on each axis, positive and finite.
        spacing: [f64; 3],
    },
    /// A grid whose axes have coordinates of their own.
    Rectilinear {
        /// One to three fields of one dimension: the coordinates along x, y and z.
        coordinates: Vec<String>,
    },
    /// A structured grid of points with coordinates of their own.
    Curvilinear {
        /// A field of one to three dimensions, with three components at each point.
        coordinates: String,
    },
    /// Points, and cells between them.
    Unstructured {
        /// A field of one dimension, with three components: the coordinates of the points.
        points: String,
        /// The cells.
        cells: Cells,
    },
    /// Particles: points without cells.
    Particles {
        /// A field of one dimension, with one to three components: the position of each particle.
        positions: String,
    },
}

/// The cells of an unstructured mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// All cells have one type.
    Same {
        /// The type.
        cell_type: CellType,
        /// An integer field of one dimension. Its components are the points of a cell, in VTK's
        /// order.
        connectivity: String,
    },
    /// Each cell has a type of its own.
    Mixed {
        /// An integer field of one dimension: the points of all cells, one cell after the other.
        connectivity: String,
        /// An integer field of one dimension: the place in `connectivity` at which each cell
        /// begins, and after the last cell the end. It has one value more than there are cells.
        offsets: String,
        /// A field of `u8` of one dimension: the type of each cell, as VTK numbers it.
        types: String,
    },
}

/// The place of a mesh among the blocks of a block-structured mesh (AMR).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The name of the block-structured mesh, which all of its blocks give here.
    pub of: String,
    /// The refinement level: 0 is the coarsest.
    pub level: u32,
    /// How many cells of this level one cell of the next coarser level has along x, y and z.
    pub refinement: [u32; 3],
    /// The index of the first cell of the block along x, y and z, counted in cells of its level.
    pub offset: [i64; 3],
}

impl MeshDesc {
    /// Returns the names of the fields that are the geometry of the mesh.
    pub fn geometry(&self) -> Vec<&str> {
        match &self.kind {
            MeshKind::Uniform { .. } => Vec::new(),
            MeshKind::Rectilinear { coordinates } => {
                coordinates.iter().map(String::as_str).collect()
            }
            MeshKind::Curvilinear { coordinates } => vec![coordinates],
            MeshKind::Unstructured { points, cells } => {
                let mut names = vec![points.as_str()];
                names.extend(cells.fields());
                names
            }
            MeshKind::Particles { positions } => vec![positions],
        }
    }

    /// Returns this mesh with all that may change from version to version as `other` has it: the
    /// points, the origin and the spacing of a uniform mesh, and the place of a block.
    #[must_use]
    pub fn placed_as(&self, other: &MeshDesc) -> MeshDesc {
        let is_uniform = |mesh: &MeshDesc| matches!(mesh.kind, MeshKind::Uniform { .. });
        let kind = match is_uniform(self) && is_uniform(other) {
            true => &other.kind,
            false => &self.kind,
        };
        let block = match (&self.block, &other.block) {
            (Some(own), Some(block)) if own.of == block.of => Some(block),
            (own, _) => own.as_ref(),
        };
        MeshDesc {
            kind: kind.clone(),
            block: block.cloned(),
            ..self.clone()
        }
    }

    /// Returns the kind as users read it.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            MeshKind::Uniform { .. } => "uniform",
            MeshKind::Rectilinear { .. } => "rectilinear",
            MeshKind::Curvilinear { .. } => "curvilinear",
            MeshKind::Unstructured { .. } => "unstructured",
            MeshKind::Particles { .. } => "particles",
        }
    }
}

impl Cells {
    /// Returns the names of the fields that describe the cells.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Cells::Same { connectivity, .. } => vec![connectivity],
            Cells::Mixed {
                connectivity,
                offsets,
                types,
            } => vec![connectivity, offsets, types],
        }
    }
}
