//! Adds named meshes, whose geometry is fields of the region.

use crate::error::DefineError;
use crate::handles::{Field, MeshHandle};
use crate::producer::Producer;
use ndarray::{Dimension, Ix1};
use std::collections::BTreeMap;
use tcasm_core::field::{Attr, Block, CellType, Cells, Element, MeshDesc, MeshKind};

/// A mesh that is not added yet: see [`Producer::uniform_mesh`] and the functions beside it.
#[must_use = "a mesh exists after add()"]
pub struct MeshBuilder<'p> {
    producer: &'p mut Producer,
    name: String,
    /// The kind, or why the geometry cannot be used.
    kind: Result<MeshKind, DefineError>,
    block: Option<Block>,
    attrs: BTreeMap<String, Attr>,
}

impl MeshBuilder<'_> {
    /// Makes the mesh one of the blocks of a block-structured mesh (AMR). [`Producer::set_block`]
    /// changes its place.
    pub fn block(mut self, block: Block) -> Self {
        self.block = Some(block);
        self
    }

    /// Sets an attribute of the mesh, under any name.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the mesh.
    pub fn add(self) -> Result<MeshHandle, DefineError> {
        self.producer.add_mesh(MeshDesc {
            name: self.name,
            kind: self.kind?,
            block: self.block,
            attrs: self.attrs,
        })
    }
}

impl Producer {
    /// Begins a mesh of points at equal distances. `points` are the numbers of points along x, y
    /// and z (1 for an axis that the mesh does not have), `origin` are the coordinates of the first
    /// point, and `spacing` the distances between points. [`Producer::set_uniform_mesh`] changes
    /// them.
    pub fn uniform_mesh(
        &mut self,
        name: &str,
        points: [usize; 3],
        origin: [f64; 3],
        spacing: [f64; 3],
    ) -> MeshBuilder<'_> {
        let kind = MeshKind::Uniform {
            points,
            origin,
            spacing,
        };
        self.begin_mesh(name, Ok(kind))
    }

    /// Begins a grid whose axes have coordinates of their own: one to three fields of floats, along
    /// x, y and z.
    pub fn rectilinear_mesh<T: Element, M>(
        &mut self,
        name: &str,
        coordinates: &[Field<T, Ix1, M>],
    ) -> MeshBuilder<'_> {
        let names = coordinates.iter().map(|axis| self.name_of(axis));
        let names = names.collect::<Result<Vec<_>, _>>();
        let kind = names.map(|coordinates| MeshKind::Rectilinear { coordinates });
        self.begin_mesh(name, kind)
    }

    /// Begins a structured grid of one to three dimensions. `coordinates` is a field of floats with
    /// three components: x, y and z of each point.
    pub fn curvilinear_mesh<T: Element, D: Dimension, M>(
        &mut self,
        name: &str,
        coordinates: &Field<T, D, M>,
    ) -> MeshBuilder<'_> {
        let coordinates = self.name_of(coordinates);
        let kind = coordinates.map(|coordinates| MeshKind::Curvilinear { coordinates });
        self.begin_mesh(name, kind)
    }

    /// Begins an unstructured mesh of cells of one type. `points` is a field of floats with three
    /// components, and `connectivity` one of integers. Its components are the points of a cell, in
    /// VTK's order, counted from 0.
    pub fn unstructured_mesh<T: Element, D: Dimension, M, I: Element, E: Dimension, N>(
        &mut self,
        name: &str,
        points: &Field<T, D, M>,
        cell_type: CellType,
        connectivity: &Field<I, E, N>,
    ) -> MeshBuilder<'_> {
        let cells = self.name_of(connectivity);
        let cells = cells.map(|connectivity| Cells::Same {
            cell_type,
            connectivity,
        });
        let kind = self.unstructured(points, cells);
        self.begin_mesh(name, kind)
    }

    /// Begins an unstructured mesh of cells of several types. The fields of integers have one
    /// dimension: `connectivity` has the points of all cells, one cell after the other, counted
    /// from 0. `offsets` has the place in it at which each cell begins, and after the last cell its
    /// end. `types` has VTK's number of the type of each cell.
    pub fn mixed_mesh<T: Element, D: Dimension, M, I: Element, J: Element, N, O, P>(
        &mut self,
        name: &str,
        points: &Field<T, D, M>,
        connectivity: &Field<I, Ix1, N>,
        offsets: &Field<J, Ix1, O>,
        types: &Field<u8, Ix1, P>,
    ) -> MeshBuilder<'_> {
        let cells = self.name_of(connectivity).and_then(|connectivity| {
            Ok(Cells::Mixed {
                connectivity,
                offsets: self.name_of(offsets)?,
                types: self.name_of(types)?,
            })
        });
        let kind = self.unstructured(points, cells);
        self.begin_mesh(name, kind)
    }

    /// Begins a mesh of particles: points without cells. `positions` is a field of floats, with one
    /// to three components.
    pub fn particles<T: Element, D: Dimension, M>(
        &mut self,
        name: &str,
        positions: &Field<T, D, M>,
    ) -> MeshBuilder<'_> {
        let positions = self.name_of(positions);
        let kind = positions.map(|positions| MeshKind::Particles { positions });
        self.begin_mesh(name, kind)
    }

    fn unstructured<T, D, M>(
        &self,
        points: &Field<T, D, M>,
        cells: Result<Cells, DefineError>,
    ) -> Result<MeshKind, DefineError> {
        Ok(MeshKind::Unstructured {
            points: self.name_of(points)?,
            cells: cells?,
        })
    }

    fn begin_mesh(&mut self, name: &str, kind: Result<MeshKind, DefineError>) -> MeshBuilder<'_> {
        MeshBuilder {
            producer: self,
            name: name.to_owned(),
            kind,
            block: None,
            attrs: BTreeMap::new(),
        }
    }

    /// Adds a mesh.
    pub(super) fn add_mesh(&mut self, mesh: MeshDesc) -> Result<MeshHandle, DefineError> {
        self.check_usable()?;
        let mesh = self.table.add_mesh(mesh)?;
        let region = self.id;
        Ok(MeshHandle { region, mesh })
    }

    /// Returns the name of a field of this producer.
    fn name_of<T, D, M>(&self, field: &Field<T, D, M>) -> Result<String, DefineError> {
        self.check_handle(field.region)?;
        Ok(self.table.fields[field.field].desc.name.clone())
    }
}
