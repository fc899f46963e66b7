//! The file of a checkpoint for ParaView: a small VTKHDF file whose arrays are virtual datasets
//! over the files of the nodes, which lie in the same folder.
//!
//! ```text
//! global arrays on one grid     /VTKHDF is an ImageData of all of it
//! else                          /VTKHDF is a PartitionedDataSetCollection: an ImageData for each
//!                               rank whose fields are on a uniform grid, rank_<rank>
//! ```
//!
//! VTK reads NaN where a file is missing, without any error. So this file is renamed into place
//! only after the checkpoint is complete in the folder.

use super::error::JobError;
use super::names;
use super::node_file::{self, Rank, name_of};
use super::record::Commit;
use crate::file::{Fault, Mode, atomic};
use crate::format::shape::{memory_shape, slowest_first};
use crate::read::Checkpoint;
use crate::write::attributes;
use crate::write::layouts::grid::Grid;
use crate::write::layouts::vtkhdf::{VERSION, describe_image, describe_version};
use crate::write::new_file;
use hdf5::plist::group_create::LinkCreationOrder;
use hdf5::{Group, H5Type, Hyperslab, Selection, SliceOrIndex};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tcasm_core::field::{Centering, DType, Element, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::testing::fault;
use tcasm_core::with_dtype;

/// A rank, and the name of the file that has its blocks.
struct Source {
    number: u32,
    file: String,
    rank: Rank,
}

/// A source of a virtual dataset: a block, and its place in the dataset.
struct Mapped<'s> {
    file: &'s str,
    rank: u32,
    block: &'s FieldDesc,
    place: Vec<Range<usize>>,
}

/// Writes the file of a checkpoint whose files are all in `dir`. Returns false if it has
/// increments, or nothing that ParaView could show: then there is no such file.
pub fn write(dir: &Path, group: &str, of: &Commit, mode: Mode) -> Result<bool, JobError> {
    if of.parts.iter().any(|part| part.base.is_some()) {
        return Ok(false);
    }
    let mut sources = Vec::new();
    for part in &of.parts {
        let file = Checkpoint::open(dir.join(&part.file.file))?;
        for number in &part.ranks {
            sources.push(Source {
                number: *number,
                file: part.file.file.clone(),
                rank: node_file::rank(&file, *number)?,
            });
        }
    }
    sources.sort_by_key(|source| source.number);
    let stamp = Stamp {
        step: of.step,
        time: of.time,
        ..sources.first().map(|s| s.rank.stamp).unwrap_or_default()
    };
    let whole = global_table(&sources);
    let grid = Grid::of(&whole);
    let path = dir.join(names::vtkhdf(group, of.step));
    let mut shown = true;
    atomic::write(&path, mode, |pending| {
        let file = new_file::create(pending.file())?;
        let root = ordered(&file, "VTKHDF")?;
        match grid.is_point() {
            false => image(&root, &grid, stamp, &globals(&sources, &whole, &grid))?,
            true => shown = collection(&root, stamp, &sources)?,
        }
        drop(root);
        file.flush()?;
        file.close()?;
        fault::pass("job-showing");
        match shown {
            true => Ok(()),
            false => Err(Fault::Io(std::io::ErrorKind::Unsupported.into())),
        }
    })
    .map(|_| true)
    .or_else(|error| if shown { Err(error.into()) } else { Ok(false) })
}

/// Returns the global arrays of the job.
fn global_table(sources: &[Source]) -> FieldTable {
    let mut arrays: BTreeMap<String, FieldDesc> = BTreeMap::new();
    for source in sources {
        let table = &source.rank.table;
        for field in &table.fields {
            if let Some(whole) = field.whole(table) {
                arrays.entry(whole.name.clone()).or_insert(whole);
            }
        }
    }
    FieldTable {
        fields: arrays.into_values().collect(),
        ..FieldTable::default()
    }
}

/// An array of an image: its description, its shape there, and its sources.
type Array<'s> = (FieldDesc, Vec<usize>, Vec<Mapped<'s>>);

/// Returns the global arrays that lie on the grid.
fn globals<'s>(sources: &'s [Source], whole: &FieldTable, grid: &Grid) -> Vec<Array<'s>> {
    let shown = whole.fields.iter().filter_map(|array| {
        let shape = grid.shape_of(array)?;
        let blocks = sources.iter().rev().filter_map(|source| {
            let block = source.rank.table.get(&array.name)?;
            let place = block.block()?;
            let fits = block.dtype == array.dtype && block.components == array.components;
            fits.then(|| Mapped {
                file: &source.file,
                rank: source.number,
                block,
                place: slowest_first(block, &place),
            })
        });
        Some((array.clone(), shape, blocks.collect()))
    });
    shown.collect()
}

/// Writes one image.
fn image(at: &Group, grid: &Grid, stamp: Stamp, arrays: &[Array<'_>]) -> Result<(), Fault> {
    describe_image(at, grid)?;
    describe_version(&at.create_group("FieldData")?, stamp)?;
    let [points, cells] = [at.create_group("PointData")?, at.create_group("CellData")?];
    for (array, shape, sources) in arrays {
        let group = match array.centering {
            Centering::Cell => &cells,
            _ => &points,
        };
        with_dtype!(array.dtype, T => { virtual_array::<T>(group, grid, array, shape, sources)? });
    }
    Ok(())
}

/// Writes an image for each rank whose fields are on a uniform grid. Returns false if there is
/// none.
fn collection(root: &Group, stamp: Stamp, sources: &[Source]) -> Result<bool, Fault> {
    attributes::numbers(root, "Version", &[VERSION[0], 1])?;
    attributes::ascii::<28>(root, "Type", "PartitionedDataSetCollection")?;
    let mut names = Vec::new();
    for source in sources {
        let grid = Grid::of(&source.rank.table);
        if grid.is_point() {
            continue;
        }
        let name = format!("rank_{}", source.number);
        let group = root.create_group(&name)?;
        attributes::number(&group, "Index", names.len() as i64)?;
        image(&group, &grid, stamp, &locals(source, &grid))?;
        names.push(name);
    }
    let assembly = ordered(root, "Assembly")?;
    for name in &names {
        let node = ordered(&assembly, name)?;
        node.link_soft(&format!("/VTKHDF/{name}"), name)?;
    }
    Ok(!names.is_empty())
}

/// Returns the fields of a rank that lie on its grid.
fn locals<'s>(source: &'s Source, grid: &Grid) -> Vec<Array<'s>> {
    let fields = source.rank.table.fields.iter();
    let shown = fields.filter_map(|block| {
        let shape = grid.shape_of(block)?;
        let inner = slowest_first(block, &block.interior_shape());
        let mapped = Mapped {
            file: &source.file,
            rank: source.number,
            block,
            place: inner.into_iter().map(|n| 0..n).collect(),
        };
        Some((block.clone(), shape, vec![mapped]))
    });
    shown.collect()
}

/// Creates an array of an image. Axes of extent 1 are absent in `shape`.
fn virtual_array<T: H5Type + Element>(
    group: &Group,
    grid: &Grid,
    array: &FieldDesc,
    shape: &[usize],
    sources: &[Mapped<'_>],
) -> Result<(), Fault> {
    let points = &grid.points[grid.points.len().saturating_sub(array.shape.len())..];
    let mut builder = group.new_dataset_builder().fill_value(absent::<T>());
    for source in sources
        .iter()
        .filter(|source| !source.place.iter().any(Range::is_empty))
    {
        // HDF5 treats a single '%' in a source name as a pattern.
        let file = source.file.replace('%', "%%");
        let path = format!("/tcasm/fields/{}", name_of(&source.block.name, source.rank));
        let ghosts = slowest_first(source.block, &source.block.ghosts);
        let part = ghosts
            .iter()
            .zip(&source.place)
            .map(|(g, place)| g[0]..g[0] + place.len());
        let mut part: Vec<Range<usize>> = part.collect();
        let present = source
            .place
            .iter()
            .zip(points)
            .filter(|(_, points)| **points > 1);
        let mut place: Vec<Range<usize>> = present.map(|(place, _)| place.clone()).collect();
        if array.components > 1 {
            part.push(0..array.components);
            place.push(0..array.components);
        }
        let stored = memory_shape(source.block);
        builder = builder.virtual_map(&file, &path, stored, block(part), shape, block(place));
    }
    let dataset = builder
        .empty::<T>()
        .shape(shape)
        .create(array.name.as_str())?;
    attributes::text(&dataset, "unit", &array.unit)?;
    Ok(())
}

/// Returns the selection of these ranges.
fn block(ranges: Vec<Range<usize>>) -> Selection {
    let slices: Vec<SliceOrIndex> = ranges.into_iter().map(SliceOrIndex::from).collect();
    Selection::from(Hyperslab::from(slices))
}

/// Returns the value that readers get where a file is missing: NaN for real numbers, zero for all
/// other types.
fn absent<T: Element>() -> T {
    let mut value = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut value);
    match T::DTYPE {
        DType::F32 => bytes.copy_from_slice(&f32::NAN.to_ne_bytes()),
        DType::F64 => bytes.copy_from_slice(&f64::NAN.to_ne_bytes()),
        _ => {}
    }
    value
}

fn ordered(parent: &Group, name: &str) -> hdf5::Result<Group> {
    let builder = parent.create_group_builder();
    let builder = builder.with_gcpl(|p| p.link_creation_order(LinkCreationOrder::Indexed));
    builder.create(name)
}
