//! The data sets of a job.

use super::arrays::Array;
use super::images::{self, free_grid};
use super::meshes::{self, Part};
use super::shared::{Counted, Shared};
use super::sources::Source;
use crate::file::Fault;
use crate::write::layouts::vtkhdf::{
    Counts, Geometry, Plan, Shown, create_collection, describe_blocks, describe_version, free_name,
};
use hdf5::Group;
use std::collections::BTreeSet;
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;

/// A data set of the file.
pub struct DataSet<'s> {
    /// The name of its group, if there are several data sets.
    name: String,
    /// The name of its node in the tree of the collection.
    node: String,
    /// The mesh with its fields. A data set of several parts has the one of the first part here.
    shown: Shown<'s>,
    /// The sizes of its parts. An image has none.
    parts: Vec<Counts>,
    arrays: Vec<Array<'s>>,
}

/// Returns the data sets of all ranks. `whole` has the global arrays.
pub fn of<'s>(sources: &'s [Source], whole: &'s FieldTable) -> Vec<DataSet<'s>> {
    let mut sets: Vec<DataSet<'s>> = Vec::new();
    let grid = free_grid(whole);
    sets.extend(grid.clone().map(|shown| of_all(sources, shown)));
    let mut parts: Vec<Vec<Part<'s>>> = Vec::new();
    for source in sources {
        for shown in shown_of(source, grid.as_ref()) {
            match Part::new(source, shown) {
                Ok(part) => add(&mut parts, part),
                Err(image) => sets.push(of_rank(source, *image)),
            }
        }
    }
    sets.extend(parts.into_iter().map(of_parts));
    let mut names = BTreeSet::new();
    for set in &mut sets {
        set.name = free_name(&set.name, |name| names.contains(name));
        names.insert(set.name.clone());
    }
    sets
}

/// Returns what VTK shows of a rank, without what the image of all ranks, `whole`, shows.
fn shown_of<'s>(source: &'s Source, whole: Option<&Shown<'s>>) -> Vec<Shown<'s>> {
    let (table, defects) = (&source.rank.table, &source.rank.defects);
    let mut shown = match table.meshes.is_empty() {
        true => Vec::from_iter(free_grid(table)),
        false => Plan::of_checkpoint(table, defects).meshes,
    };
    let whole = whole.map_or(&[][..], |whole| &whole.data);
    for each in &mut shown {
        let is_in_whole = |name: &str| whole.iter().any(|data| data.field.name == name);
        each.data
            .retain(|data| data.field.global.is_none() || !is_in_whole(&data.field.name));
    }
    // An image without fields shows nothing, but points and cells can be seen.
    shown.retain(|each| !each.data.is_empty() || matches!(each.geometry, Geometry::Explicit(_)));
    shown
}

/// Adds a mesh of a rank to those that other ranks have under the same name.
fn add<'s>(all: &mut Vec<Vec<Part<'s>>>, part: Part<'s>) {
    let is_like = |parts: &&mut Vec<Part<'s>>| {
        let alike = |other: &Part<'s>| {
            other.shown.name == part.shown.name
                && other.explicit.types.is_some() == part.explicit.types.is_some()
        };
        parts.first().is_some_and(alike)
    };
    match all.iter_mut().find(is_like) {
        Some(parts) => parts.push(part),
        None => all.push(vec![part]),
    }
}

/// Returns the image of the global arrays.
fn of_all<'s>(sources: &'s [Source], shown: Shown<'s>) -> DataSet<'s> {
    let arrays = match &shown.geometry {
        Geometry::Image(grid) => {
            let data = shown.data.iter();
            data.map(|data| images::of_all(sources, data, grid))
                .collect()
        }
        Geometry::Explicit(_) => Vec::new(),
    };
    DataSet {
        name: shown.name.clone(),
        node: shown.name.clone(),
        parts: Vec::new(),
        arrays,
        shown,
    }
}

/// Returns an image of a rank.
fn of_rank<'s>(source: &'s Source, shown: Shown<'s>) -> DataSet<'s> {
    let rank = format!("rank_{}", source.number);
    let (name, node) = match shown.mesh {
        None => (rank.clone(), rank),
        Some(_) => (format!("{rank}_{}", shown.name), shown.whole().to_owned()),
    };
    let data = shown.data.iter();
    DataSet {
        name,
        node,
        parts: Vec::new(),
        arrays: data.map(|data| images::of_rank(source, data)).collect(),
        shown,
    }
}

/// Returns the mesh that consists of these parts of ranks, at least one.
fn of_parts(mut parts: Vec<Part<'_>>) -> DataSet<'_> {
    let (arrays, counts) = (meshes::arrays(&parts), meshes::counts(&parts));
    let shown = parts.swap_remove(0).shown;
    DataSet {
        name: shown.name.clone(),
        node: shown.whole().to_owned(),
        parts: counts,
        arrays,
        shown,
    }
}

/// Returns a group for each data set.
pub fn groups(root: Group, sets: &[DataSet<'_>]) -> Result<Vec<Group>, Fault> {
    match sets {
        [_] => Ok(vec![root]),
        several => {
            let names = several.iter().map(|set| (&*set.node, &*set.name));
            create_collection(&root, &names.collect::<Vec<_>>())
        }
    }
}

impl DataSet<'_> {
    /// Returns the shared arrays that its arrays take values of, and how many each takes.
    pub fn counted(&self) -> impl Iterator<Item = (Counted, usize)> {
        self.arrays.iter().flat_map(Array::counted)
    }

    /// Writes the data set to its group, which is empty.
    pub fn write(&self, group: &Group, stamp: Stamp, shared: &Shared) -> Result<(), Fault> {
        self.shown.describe(group)?;
        if let Geometry::Explicit(explicit) = &self.shown.geometry {
            explicit.describe(group, &self.parts)?;
        }
        let global = group.create_group("FieldData")?;
        describe_version(&global, stamp)?;
        if let Some(block) = self.shown.block() {
            describe_blocks(&global, std::slice::from_ref(block))?;
        }
        for name in ["PointData", "CellData"] {
            group.create_group(name)?;
        }
        self.arrays
            .iter()
            .try_for_each(|array| array.create(group, shared))
    }
}
