//! Virtual datasets of a time series: which part of which file makes up which rows.
//!
//! The file of a series is written again with each version. A virtual dataset lists a source for
//! each of its rows, so thousands of rows would cost writers and readers much. When enough rows are
//! in no chapter (256 by default), they go into a new one: a file of virtual datasets that never
//! changes. The series refers to all of it as one source.

use super::contents::{Contents, Row};
use super::rows;
use crate::error::WriteError;
use crate::file::atomic::{self, Pending};
use crate::file::{Fault, Mode};
use crate::format::shape::slowest_first;
use crate::write::rounding::Rounding;
use crate::write::{attributes, new_file};
use hdf5::{Group, H5Type, Hyperslab, Selection, SliceOrIndex};
use std::ops::Range;
use std::path::Path;
use tcasm_core::field::{DType, Element, FieldDesc};
use tcasm_core::with_dtype;

/// The sources of the rows of a series.
pub struct Mapping<'a> {
    /// The folder of the source files, relative to the file that refers to them. It is empty, or
    /// ends with a slash.
    folder: String,
    /// The number of rows.
    count: usize,
    pieces: Vec<Piece<'a>>,
}

/// A virtual dataset to create.
pub struct Virtual<'a> {
    /// The field.
    pub field: &'a FieldDesc,
    /// The index of the field in the table.
    pub at: usize,
    /// The shape of one row.
    pub shape: Vec<usize>,
    /// The part of the stored array of a version that makes up the row.
    pub part: Vec<Range<usize>>,
    /// True if the dataset has a dimension for versions. It is false only under `/VTKHDF` of a
    /// series with one version.
    pub temporal: bool,
}

/// Rows of the series with one source: a single row in the files of its version, or several rows of
/// a chapter.
struct Piece<'a> {
    rows: Range<usize>,
    first: &'a Row,
}

impl<'a> Mapping<'a> {
    /// Returns the sources of the rows of `versions`, whose files are in `folder`.
    pub fn new(folder: &str, versions: &'a [Row]) -> Self {
        let mut start = 0;
        let pieces = versions.chunk_by(follows).map(|piece| {
            let rows = start..start + piece.len();
            start = rows.end;
            let first = &piece[0];
            Piece { rows, first }
        });
        Mapping {
            // HDF5 treats a single '%' in a source name as a pattern.
            folder: folder.replace('%', "%%"),
            pieces: pieces.collect(),
            count: versions.len(),
        }
    }

    /// Creates the dataset `to` in `group`.
    pub fn create(&self, group: &Group, to: &Virtual<'_>) -> Result<(), Fault> {
        with_dtype!(to.field.dtype, T => { self.create_typed::<T>(group, to) })
    }

    fn create_typed<T: H5Type + Element>(
        &self,
        group: &Group,
        to: &Virtual<'_>,
    ) -> Result<(), Fault> {
        let mut extents = to.shape.clone();
        if to.temporal {
            extents.insert(0, self.count);
        }
        let mut builder = group.new_dataset_builder().fill_value(absent::<T>());
        let source = format!("/tcasm/fields/{}", to.field.name);
        let stored = rows::shape(to.field);
        for piece in &self.pieces {
            let file = format!("{}{}", self.folder, rows::file_name(piece.file(to.at)));
            let (from, part) = piece.source(&stored, &to.part);
            let place = match to.temporal {
                true => block(with_rows(
                    piece.rows.clone(),
                    to.shape.iter().map(|&n| 0..n),
                )),
                false => Selection::All,
            };
            builder = builder.virtual_map(&file, &source, from, part, &extents, place);
        }
        let builder = builder.empty::<T>().shape(&extents);
        let dataset = builder.create(to.field.name.as_str())?;
        attributes::describe(&dataset, to.field)?;
        Ok(attributes::rounded(&dataset, Rounding::of(to.field))?)
    }
}

/// Returns true if `row` comes directly after `before` in the same chapter.
fn follows(before: &Row, row: &Row) -> bool {
    match (before.chapter, row.chapter) {
        (Some(a), Some(b)) => a.file == b.file && a.at + 1 == b.at,
        _ => false,
    }
}

impl Piece<'_> {
    /// Returns the number of the file that holds this piece of the field with index `at`.
    fn file(&self, at: usize) -> u64 {
        let chapter = self.first.chapter.map(|chapter| chapter.file);
        chapter.unwrap_or(self.first.files[at])
    }

    /// Returns the shape of the source dataset, and the selection of `part` of each version in it.
    /// The array of one version has the shape `shape`.
    fn source(&self, shape: &[usize], part: &[Range<usize>]) -> (Vec<usize>, Selection) {
        let part = part.iter().cloned();
        let Some(chapter) = self.first.chapter else {
            return (shape.to_vec(), block(part));
        };
        let mut from = shape.to_vec();
        from.insert(0, chapter.rows as usize);
        let start = chapter.at as usize;
        (from, block(with_rows(start..start + self.rows.len(), part)))
    }
}

/// Writes a chapter of `versions` of the series to `path`, which is in the folder of the rows.
/// Returns its size.
pub fn write_chapter(
    path: &Path,
    mode: Mode,
    contents: &Contents,
    versions: &[Row],
) -> Result<u64, WriteError> {
    let (pending, ()) = atomic::begin(path, mode, |pending| {
        let file = new_file::create(pending.file())?;
        let fields = file.create_group("tcasm")?.create_group("fields")?;
        let mapping = Mapping::new("", versions);
        for (at, field) in contents.table.fields.iter().enumerate() {
            mapping.create(&fields, &whole(field, at))?;
        }
        file.flush()?;
        Ok(file.close()?)
    })?;
    check_chapter(&pending, contents).map_err(|error| WriteError::NotWritten {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    pending.commit()
}

/// Opens the datasets of a chapter again, because HDF5 loses errors of writes that happen when a
/// file is closed.
fn check_chapter(pending: &Pending, contents: &Contents) -> hdf5::Result<()> {
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.file_locking(false))
        .open(pending.here())?;
    let fields = file.group("tcasm/fields")?;
    let mut all = contents.table.fields.iter();
    all.try_for_each(|field| fields.dataset(&field.name).map(drop))
}

/// Returns a dataset for all of `field`, with its ghost layers. `at` is the index of the field in
/// the table.
pub fn whole(field: &FieldDesc, at: usize) -> Virtual<'_> {
    let shape = rows::shape(field);
    Virtual {
        field,
        at,
        part: shape.iter().map(|&n| 0..n).collect(),
        shape,
        temporal: true,
    }
}

/// Returns the interior of `field`, without ghost layers, as a part of its stored array.
pub fn interior(field: &FieldDesc) -> Vec<Range<usize>> {
    let ghosts = slowest_first(field, &field.ghosts);
    let cut = |(axis, n): (usize, usize)| {
        let [before, after] = ghosts.get(axis).copied().unwrap_or_default();
        before..n - after
    };
    let shape = rows::shape(field);
    shape.into_iter().enumerate().map(cut).collect()
}

/// Returns the value that readers get where a file of rows is missing: NaN for real numbers, zero
/// for all other types.
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

/// Returns `part` with a leading dimension that selects `rows`.
fn with_rows(
    rows: Range<usize>,
    part: impl Iterator<Item = Range<usize>>,
) -> impl Iterator<Item = Range<usize>> {
    std::iter::once(rows).chain(part)
}

/// Returns the selection of a block, one range for each dimension.
fn block(ranges: impl Iterator<Item = Range<usize>>) -> Selection {
    let slices: Vec<SliceOrIndex> = ranges.map(SliceOrIndex::from).collect();
    Selection::from(Hyperslab::from(slices))
}
