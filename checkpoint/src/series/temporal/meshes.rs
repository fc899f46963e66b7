//! The data sets of named meshes in the file of a series.
//!
//! ```text
//! NumberOfPoints ...       (version): the sizes of the mesh
//! Points ...               a slot for each version, see [`super::arrays`]
//! PointData/ CellData/     the same; of an image (version, z, y, x[, component])
//! Steps/                   NSteps, Values; where each version has its slots: PartOffsets,
//!                          PointOffsets, CellOffsets, ConnectivityIdOffsets, PointDataOffsets,
//!                          CellDataOffsets
//! ```
//!
//! A uniform mesh is an image, unless it moves or its size may change: see [`Plan::of_series`].
//!
//! A version whose geometry, or whose field, has not changed refers to the slot of the version
//! before. Readers count the cells of the versions before one to find its offsets, so each slot of
//! offsets has one value more than one of cells. A uniform mesh has no fields as its geometry: its
//! arrays, which are made, tell whether it has changed, and how many points it has.

mod sizes;

use super::arrays::{self, flat, slot};
use super::contents::Row;
use super::mapping::{Array, Virtual, interior, made_array};
use super::place::{Rows, all};
use super::rows;
use super::versions::{Index, numbers};
use crate::file::Fault;
use crate::write::layouts::vtkhdf::{
    self, Data, Explicit, Geometry, Plan, Shown, Source, TOPOLOGIES,
};
use hdf5::{File, Group};
use ndarray::Array2;
use tcasm_core::field::{Block, FieldDesc, MeshDesc};

/// Returns true if `field` is in `/VTKHDF` of a file with the meshes of `plan`.
pub fn shows(plan: &Plan<'_>, field: &FieldDesc) -> bool {
    let is_data = |shown: &Shown<'_>| shown.data.iter().any(|data| data.field.name == field.name);
    flat(plan, &field.name).is_some() || plan.meshes.iter().any(is_data)
}

/// Writes `/VTKHDF` with the meshes of `plan`, which have their largest lengths.
pub fn write(index: &Index<'_>, file: &File, plan: &Plan<'_>) -> Result<(), Fault> {
    let groups = vtkhdf::root(file, plan)?;
    for (shown, group) in plan.meshes.iter().zip(&groups) {
        let set = DataSet {
            index,
            plan,
            shown,
            group,
            steps: index.steps(group)?,
        };
        set.block()?;
        match &shown.geometry {
            Geometry::Image(_) => set.image()?,
            Geometry::Explicit(explicit) => {
                set.sizes(explicit, &set.counts(explicit))?;
                set.offsets(explicit)?;
                set.arrays(explicit)?;
                set.data(explicit)?;
            }
        }
    }
    Ok(())
}

/// The data set of one mesh.
struct DataSet<'a> {
    index: &'a Index<'a>,
    plan: &'a Plan<'a>,
    shown: &'a Shown<'a>,
    group: &'a Group,
    steps: Group,
}

impl DataSet<'_> {
    /// Writes the places of the mesh among blocks, if it is one. A version in which it is where it
    /// was before refers to the same place.
    fn block(&self) -> Result<(), Fault> {
        let Some(block) = self.shown.block() else {
            return Ok(());
        };
        let (mut places, mut which): (Vec<Block>, Vec<i64>) = Default::default();
        let number = self.number_of_block();
        for row in &self.index.contents.versions {
            let place = number.and_then(|number| row.blocks.get(number));
            let place = place.unwrap_or(block);
            if places.last() != Some(place) {
                places.push(place.clone());
            }
            which.push(places.len() as i64 - 1);
        }
        let global = self.group.group("FieldData")?;
        for (name, values) in vtkhdf::describe_blocks(&global, &places)? {
            let values = values as i64;
            let offset = |row: i64| which[row as usize] * values;
            self.index.global(&self.steps, name, values, offset)?;
        }
        Ok(())
    }

    /// Returns the number of the mesh among those that are blocks.
    fn number_of_block(&self) -> Option<usize> {
        let meshes = self.index.table.meshes.iter();
        let mut blocks = meshes.filter(|mesh| mesh.block.is_some());
        let own = self.shown.mesh.map(|mesh| &mesh.name);
        blocks.position(|mesh| Some(&mesh.name) == own)
    }

    /// Writes the fields of an image.
    fn image(&self) -> Result<(), Fault> {
        for name in ["PointData", "CellData"] {
            let group = self.group.create_group(name)?;
            for data in self.shown.data.iter().filter(|data| data.group == name) {
                let at = self.at(data.field);
                let array = self.index.on_grid(data.field, at, data.shape.clone());
                let name = data.name.clone();
                self.index
                    .mapping
                    .create(&group, &Virtual { name, ..array })?;
            }
        }
        Ok(())
    }

    /// Returns the indices of the fields that are the geometry of the mesh.
    fn geometry(&self) -> Vec<usize> {
        let names = self.shown.mesh.map(MeshDesc::geometry).unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| self.find(name))
            .collect()
    }

    /// Writes where each version has its geometry.
    fn offsets(&self, explicit: &Explicit<'_>) -> Result<(), Fault> {
        let slots = self.slots(&self.geometry(), &self.made());
        let at = |size: usize| slots.iter().map(|slot| slot * size).collect::<Vec<usize>>();
        let counts = explicit.counts;
        vtkhdf::numbers(&self.steps, "PartOffsets", &slots)?;
        vtkhdf::numbers(&self.steps, "PointOffsets", &at(counts.points))?;
        for (name, offsets) in [
            ("CellOffsets", at(counts.cells)),
            ("ConnectivityIdOffsets", at(counts.ids)),
        ] {
            match explicit.types {
                Some(_) => vtkhdf::numbers(&self.steps, name, &offsets)?,
                None => self.of_topologies(name, &offsets)?,
            }
        }
        Ok(())
    }

    /// Writes the offsets of vertices, and those of the other groups of cells, which are 0.
    fn of_topologies(&self, name: &str, offsets: &[usize]) -> hdf5::Result<()> {
        let mut all = Array2::<i64>::zeros((offsets.len(), TOPOLOGIES.len()));
        for (of_all, offset) in all.column_mut(0).iter_mut().zip(offsets) {
            *of_all = *offset as i64;
        }
        let builder = self.steps.new_dataset_builder();
        builder.with_data(&all).create(name)?;
        Ok(())
    }

    /// Writes the arrays of the geometry.
    fn arrays(&self, explicit: &Explicit<'_>) -> Result<(), Fault> {
        let made = arrays::made(self.plan);
        for (path, source) in explicit.arrays() {
            let array = match source {
                Source::Field(field) => self.flat(field, path, source.shape()),
                Source::Made(array) => {
                    let is_it = |m: &arrays::MadeArray<'_, '_>| std::ptr::eq(m.made, array);
                    let number = made.iter().position(is_it);
                    number.map(|number| made_array(explicit, path, number, array))
                }
            };
            if let Some(array) = array {
                self.index.mapping.create(self.group, &array)?;
            }
        }
        Ok(())
    }

    /// Writes the fields on a mesh whose points have coordinates, and where each version has them.
    fn data(&self, explicit: &Explicit<'_>) -> Result<(), Fault> {
        for name in ["PointData", "CellData"] {
            let group = self.group.create_group(name)?;
            let offsets = self.steps.create_group(&format!("{name}Offsets"))?;
            for data in self.shown.data.iter().filter(|data| data.group == name) {
                let Some(array) = self.datum(explicit, data) else {
                    continue;
                };
                self.index.mapping.create(&group, &array)?;
                let slots = self.slots(&[self.at(data.field)], &[]);
                let size = slot(explicit, name);
                let at: Vec<i64> = slots.iter().map(|slot| (slot * size) as i64).collect();
                numbers(&offsets, &data.name, &at)?;
            }
        }
        Ok(())
    }

    /// Returns the array of a field on the mesh, or `None` if its values are stored in a form that
    /// it cannot have here, because they are the geometry of a mesh too.
    fn datum<'f>(&self, explicit: &Explicit<'_>, data: &Data<'f>) -> Option<Virtual<'f>> {
        let field = data.field;
        if !field.has_ghosts() {
            return self.flat(field, &data.name, data.shape.clone());
        }
        Some(Virtual {
            name: data.name.clone(),
            array: Array::Field(field, self.at(field)),
            stored: rows::shape(field),
            part: interior(field),
            shape: data.shape.clone(),
            rows: Rows::Slots(slot(explicit, data.group)),
            in_chapters: Rows::Stacked,
        })
    }

    /// Returns the array of a field that files of rows hold in the shape `shape`, along one axis.
    fn flat<'f>(&self, field: &'f FieldDesc, name: &str, shape: Vec<usize>) -> Option<Virtual<'f>> {
        let (stored, slot) = flat(self.plan, &field.name)?;
        (stored == shape).then(|| Virtual {
            name: name.to_owned(),
            array: Array::Field(field, self.at(field)),
            part: all(&stored),
            stored,
            shape,
            rows: Rows::Slots(slot),
            in_chapters: Rows::Slots(slot),
        })
    }

    /// Returns the slot of each version: its own, or that of the first of the versions before it
    /// since which neither the fields `fields` nor the arrays `made` have changed.
    fn slots(&self, fields: &[usize], made: &[(usize, &str)]) -> Vec<usize> {
        let versions = &self.index.contents.versions;
        let is_same = |a: &Row, b: &Row| {
            let same =
                |at: &usize| a.files[*at] == b.files[*at] && a.lens.get(*at) == b.lens.get(*at);
            let same_made = |(at, _): &(usize, &str)| a.made.get(*at) == b.made.get(*at);
            fields.iter().all(same) && made.iter().all(same_made)
        };
        let mut slots: Vec<usize> = Vec::with_capacity(versions.len());
        for (number, row) in versions.iter().enumerate() {
            let before = slots.last().copied();
            let same = before.filter(|_| is_same(&versions[number - 1], row));
            slots.push(same.unwrap_or(number));
        }
        slots
    }

    /// Returns the index of `field` in the table.
    fn at(&self, field: &FieldDesc) -> usize {
        self.find(&field.name).unwrap_or_default()
    }

    fn find(&self, name: &str) -> Option<usize> {
        let mut fields = self.index.table.fields.iter();
        fields.position(|field| field.name == name)
    }
}
