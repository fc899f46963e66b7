//! The data sets of named meshes in a file with one version.

use super::collection;
use super::common::describe_version;
use super::explicit::Source;
use super::geometry::Geometry;
use super::made::Made;
use super::plan::{Plan, Shown};
use crate::file::Fault;
use crate::options::Purpose;
use crate::snapshot::Snapshot;
use crate::write::data;
use crate::write::store::{FileLayout, Store};
use hdf5::{Dataset, Group};
use std::collections::BTreeMap;
use tcasm_core::field::{Block, FieldDesc};

/// The data sets of the meshes of a version.
pub struct Meshes<'s> {
    /// The places of each field that is shown, by its name.
    places: BTreeMap<&'s str, Vec<Place>>,
    /// The arrays that are made, and their places.
    made: Vec<(Made<'s>, Place)>,
}

/// The place of an array.
struct Place {
    group: Group,
    /// The path in the group.
    name: String,
    shape: Vec<usize>,
}

impl<'s> Meshes<'s> {
    /// Creates the data sets of `snapshot`, still without arrays.
    pub fn create(
        file: &hdf5::File,
        snapshot: &'s Snapshot<'_>,
        purpose: Purpose,
    ) -> Result<Self, Fault> {
        let plan = Plan::checked(snapshot, purpose)?;
        let groups = collection::root(file, &plan)?;
        let mut meshes = Meshes {
            places: BTreeMap::new(),
            made: Vec::new(),
        };
        for (shown, group) in plan.meshes.iter().zip(&groups) {
            meshes.add(shown, group)?;
            let global = group.create_group("FieldData")?;
            describe_version(&global, snapshot.stamp)?;
            if let Some(block) = shown.block() {
                describe_blocks(&global, std::slice::from_ref(block))?;
            }
        }
        for (field, why) in plan.hidden {
            tracing::debug!("{field} is not shown: {why}");
        }
        Ok(meshes)
    }

    /// Adds the arrays of `shown`, whose group is `group`.
    fn add(&mut self, shown: &Shown<'s>, group: &Group) -> Result<(), Fault> {
        if let Geometry::Explicit(explicit) = &shown.geometry {
            explicit.describe(group, &[explicit.counts])?;
            for (path, source) in explicit.arrays() {
                self.add_array(group, path, source);
            }
        }
        for name in ["PointData", "CellData"] {
            let group = group.create_group(name)?;
            for data in shown.data.iter().filter(|data| data.group == name) {
                let place = Place {
                    group: group.clone(),
                    name: data.name.clone(),
                    shape: data.shape.clone(),
                };
                self.places.entry(&data.field.name).or_default().push(place);
            }
        }
        Ok(())
    }

    /// Adds the array at `path` in the group of a mesh.
    fn add_array(&mut self, group: &Group, path: &str, source: &Source<'s>) {
        let place = Place {
            group: group.clone(),
            name: path.to_owned(),
            shape: source.shape(),
        };
        match source {
            Source::Made(made) => self.made.push((made.clone(), place)),
            Source::Field(field) => self.places.entry(&field.name).or_default().push(place),
        }
    }
}

impl FileLayout for Meshes<'_> {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        let places = self.places.get(field.name.as_str());
        let Some((first, others)) = places.and_then(|places| places.split_first()) else {
            return Ok(vec![to.own(field, bytes)?]);
        };
        let target = to.target(&first.group, &first.name, &first.shape);
        let mut stored = to.both(&target, field, bytes)?;
        let shown = stored[stored.len() - 1].name();
        for other in others {
            match other.shape == first.shape {
                true => other.group.link_hard(&shown, &other.name)?,
                false => {
                    let target = to.target(&other.group, &other.name, &other.shape);
                    stored.push(data::write_whole(&target, field, bytes)?);
                }
            }
        }
        Ok(stored)
    }

    fn finish(&self, to: &Store<'_>, snapshot: &Snapshot<'_>) -> Result<Vec<Dataset>, Fault> {
        let write = |(made, place): &(Made<'_>, Place)| {
            let target = to.target(&place.group, &place.name, &place.shape);
            made.write(&target, snapshot)
        };
        self.made.iter().map(write).collect()
    }
}

/// Writes the places of a block, one after the other. Returns the names of the arrays, and the
/// number of values that each place has in them.
pub fn describe_blocks(
    global: &Group,
    places: &[Block],
) -> Result<[(&'static str, usize); 3], hdf5::Error> {
    let level = places.iter().map(|block| i64::from(block.level));
    let refinement = places.iter().flat_map(|block| block.refinement);
    let offset = places.iter().flat_map(|block| block.offset);
    let arrays: [(&'static str, Vec<i64>, usize); 3] = [
        ("level", level.collect(), 1),
        ("refinement", refinement.map(i64::from).collect(), 3),
        ("offset", offset.collect(), 3),
    ];
    for (name, values, _) in &arrays {
        let numbers = global.new_dataset_builder();
        numbers.with_data(values).create(*name)?;
    }
    Ok(arrays.map(|(name, _, count)| (name, count)))
}
