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
//! An image is the only mesh of its series, see [`Plan::of_series`].
//!
//! A version whose geometry, or whose field, has not changed refers to the slot of the version
//! before. Readers count the cells of the versions before one to find its offsets, so each slot of
//! offsets has one value more than one of cells.

use super::arrays::{self, flat, slot};
use super::contents::Row;
use super::index::{Index, numbers};
use super::mapping::{Array, Virtual, interior, made_array};
use super::place::{Rows, all};
use super::rows;
use crate::file::Fault;
use crate::write::layouts::vtkhdf::{
    self, Counts, Data, Explicit, Geometry, Plan, Shown, Source, TOPOLOGIES,
};
use hdf5::{File, Group};
use ndarray::Array2;
use tcasm_core::field::{FieldDesc, FieldTable, MeshDesc};

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

/// Returns the result of `of` for each of `versions`. Calls it once for versions that follow each
/// other if the fields `fields` have the same lengths in them. A series may have many versions, and
/// its file is written again with each.
fn of_lengths<T: Clone>(
    versions: &[Row],
    fields: &[usize],
    mut of: impl FnMut(&Row) -> T,
) -> Vec<T> {
    let same = |a: &Row, b: &Row| fields.iter().all(|at| a.lens.get(*at) == b.lens.get(*at));
    let mut all = Vec::with_capacity(versions.len());
    for alike in versions.chunk_by(same) {
        all.extend(std::iter::repeat_n(of(&alike[0]), alike.len()));
    }
    all
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
    /// Writes the place of the mesh among blocks, if it is one.
    fn block(&self) -> Result<(), Fault> {
        if let Some(block) = self.shown.block() {
            let global = self.group.group("FieldData")?;
            for (name, values) in vtkhdf::describe_block(&global, block)? {
                self.index.global(&self.steps, name, values as i64, |_| 0)?;
            }
        }
        Ok(())
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

    /// Returns the sizes of the mesh in each version.
    fn counts(&self, explicit: &Explicit<'_>) -> Vec<Counts> {
        let geometry = self.geometry();
        of_lengths(&self.index.contents.versions, &geometry, |row| {
            let fields = geometry.iter().map(|at| {
                let mut field = self.index.table.fields[*at].clone();
                if let Some(len) = row.lens.get(*at) {
                    field.set_length(*len as usize);
                }
                field
            });
            let table = FieldTable {
                fields: fields.collect(),
                ..FieldTable::default()
            };
            match self.shown.mesh.map(|mesh| Geometry::of(&table, mesh)) {
                Some(Ok(Geometry::Explicit(now))) => now.counts,
                // The size of a uniform mesh stays.
                _ => explicit.counts,
            }
        })
    }

    /// Returns the indices of the fields that are the geometry of the mesh.
    fn geometry(&self) -> Vec<usize> {
        let names = self.shown.mesh.map(MeshDesc::geometry).unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| self.find(name))
            .collect()
    }

    /// Writes the sizes of the mesh in each version, and the groups of cells that have none.
    fn sizes(&self, explicit: &Explicit<'_>, counts: &[Counts]) -> Result<(), Fault> {
        let of = |of: fn(&Counts) -> usize| counts.iter().map(of).collect::<Vec<usize>>();
        let (cells, ids) = (of(|n| n.cells), of(|n| n.ids));
        vtkhdf::numbers(self.group, "NumberOfPoints", &of(|n| n.points))?;
        if explicit.types.is_some() {
            vtkhdf::numbers(self.group, "NumberOfCells", &cells)?;
            vtkhdf::numbers(self.group, "NumberOfConnectivityIds", &ids)?;
            return Ok(());
        }
        let none = vec![0; counts.len()];
        for (number, name) in TOPOLOGIES.into_iter().enumerate() {
            let topology = self.group.create_group(name)?;
            let [cells, ids] = [&cells, &ids].map(|n| if number == 0 { n } else { &none });
            vtkhdf::numbers(&topology, "NumberOfCells", cells)?;
            vtkhdf::numbers(&topology, "NumberOfConnectivityIds", ids)?;
            if number > 0 {
                vtkhdf::numbers(&topology, "Offsets", &none)?;
                vtkhdf::no_ids(&topology)?;
            }
        }
        Ok(())
    }

    /// Writes where each version has its geometry.
    fn offsets(&self, explicit: &Explicit<'_>) -> Result<(), Fault> {
        let slots = self.slots(&self.geometry());
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
                let slots = self.slots(&[self.at(data.field)]);
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
    /// since which none of the fields `fields` has changed.
    fn slots(&self, fields: &[usize]) -> Vec<usize> {
        let versions = &self.index.contents.versions;
        let is_same = |a: &Row, b: &Row| {
            let same =
                |at: &usize| a.files[*at] == b.files[*at] && a.lens.get(*at) == b.lens.get(*at);
            fields.iter().all(same)
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

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::format::stamp::Stamp;

    fn row(lens: [u64; 2]) -> Row {
        Row {
            stamp: Stamp::default(),
            files: vec![1, 1],
            chapter: None,
            lens: lens.to_vec(),
            made: Vec::new(),
        }
    }

    #[test]
    fn sizes_are_counted_once_as_long_as_the_lengths_stay() {
        let rows = [[3, 1], [3, 2], [3, 3], [0, 3], [3, 3], [3, 3]].map(row);
        let mut calls = 0;
        let lens = of_lengths(&rows, &[0], |row| {
            calls += 1;
            row.lens[0]
        });
        assert_eq!((lens, calls), (vec![3, 3, 3, 0, 3, 3], 3));
        let none = of_lengths(&rows, &[], |row| row.lens[1]);
        assert_eq!(none, [1; 6], "no field can change");
    }
}
