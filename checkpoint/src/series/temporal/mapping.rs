//! Virtual datasets of a time series: each row is a part of an array in a file.
//!
//! The file of a series is written again with each version. A virtual dataset lists a source for
//! each of its rows, so thousands of rows would cost writers and readers much. When enough rows are
//! in no chapter (256 by default), they go into a new one: a file of virtual datasets that never
//! changes. The series refers to all of it as one source.

use super::arrays;
use super::contents::Row;
use super::place::{Rows, all};
use super::rows;
use crate::file::Fault;
use crate::format::shape::slowest_first;
use crate::write::attributes;
use crate::write::layouts::vtkhdf::{Explicit, Made};
use crate::write::rounding::Rounding;
use crate::write::virtual_dataset::{absent, block};
use hdf5::{Group, H5Type};
use std::ops::Range;
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
    /// Its name.
    pub name: String,
    /// The array that it shows.
    pub array: Array<'a>,
    /// The shape of the array as files of rows hold it. If its length varies, this is that of the
    /// largest one.
    pub stored: Vec<usize>,
    /// The part of the stored array of a version that makes up the row.
    pub part: Vec<Range<usize>>,
    /// The shape of one row.
    pub shape: Vec<usize>,
    /// The place of the rows.
    pub rows: Rows,
    /// The place of the rows in a chapter.
    pub in_chapters: Rows,
}

/// An array of a series.
#[derive(Clone, Copy)]
pub enum Array<'a> {
    /// A field, with its index in the table.
    Field(&'a FieldDesc, usize),
    /// An array that was made for VTK, with its number and its dtype.
    Made(usize, DType),
}

/// Rows of the series with one source: a single row in the files of its version, or several rows of
/// a chapter.
struct Piece<'a> {
    rows: Range<usize>,
    /// A version of the chapter, or the version of the row.
    first: &'a Row,
    /// The first row in the chapter, if there is one.
    in_chapter: usize,
}

/// The source of a piece.
struct Source {
    /// The number of the file.
    file: u64,
    /// The shape of the dataset there.
    shape: Vec<usize>,
    /// The part of the dataset that is taken.
    part: Vec<Range<usize>>,
    /// The part of each row that it makes up.
    row: Vec<Range<usize>>,
}

impl<'a> Mapping<'a> {
    /// Returns the sources of the rows of `versions`, whose files are in `folder`.
    pub fn new(folder: &str, versions: &'a [Row]) -> Self {
        let mut start = 0;
        let pieces = versions.chunk_by(follows).map(|piece| {
            let rows = start..start + piece.len();
            start = rows.end;
            let first = &piece[0];
            let in_chapter = first.chapter.map_or(0, |chapter| chapter.at as usize);
            Piece {
                rows,
                first,
                in_chapter,
            }
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
        let dtype = match to.array {
            Array::Field(field, _) => field.dtype,
            Array::Made(_, dtype) => dtype,
        };
        with_dtype!(dtype, T => { self.create_typed::<T>(group, to) })
    }

    fn create_typed<T: H5Type + Element>(
        &self,
        group: &Group,
        to: &Virtual<'_>,
    ) -> Result<(), Fault> {
        let extents = to.rows.extents(self.count, &to.shape);
        let mut builder = group.new_dataset_builder().fill_value(absent::<T>());
        let path = to.array.path();
        let pieces = self.pieces.iter().flat_map(|piece| piece.split(to));
        for piece in pieces {
            let source = piece.source(to);
            if source.part.iter().any(Range::is_empty) {
                continue; // a version without values
            }
            let file = format!("{}{}", self.folder, rows::file_name(source.file));
            let place = to.rows.select(piece.rows, &source.row);
            let part = block(source.part.into_iter());
            builder = builder.virtual_map(&file, &path, source.shape, part, &extents, place);
        }
        let builder = builder.empty::<T>().shape(&extents);
        let dataset = builder.create(to.name.as_str())?;
        if let Array::Field(field, _) = to.array {
            attributes::describe(&dataset, field)?;
            attributes::rounded(&dataset, Rounding::of(field))?;
        }
        Ok(())
    }
}

impl Array<'_> {
    /// Returns the path of the array in files of rows and chapters.
    fn path(self) -> String {
        match self {
            Array::Field(field, _) => format!("/tcasm/fields/{}", field.name),
            Array::Made(number, _) => format!("/tcasm/made/{number}"),
        }
    }

    /// Returns the number of the file that holds the array of the version `row`, the number of rows
    /// along its slowest axis there, and how many of them belong to the version. `most` is the
    /// largest such number.
    fn stored(self, row: &Row, most: usize) -> (u64, usize, usize) {
        match self {
            Array::Made(number, _) => {
                // A series of another build may lack the array. The row is then without values.
                row.made.get(number).map_or((0, 0, 0), |made| {
                    (made.file, made.stored as usize, made.count as usize)
                })
            }
            Array::Field(field, at) => {
                let largest = arrays::capacity(field);
                let len = row.lens.get(at).map_or(largest, |len| *len as usize);
                // Along one axis, a row of the slowest axis may be several.
                let rows = most / largest.max(1) * len;
                (row.files[at], rows, rows)
            }
        }
    }
}

/// Returns true if `row` comes directly after `before` in the same chapter.
fn follows(before: &Row, row: &Row) -> bool {
    match (before.chapter, row.chapter) {
        (Some(a), Some(b)) => a.file == b.file && a.at + 1 == b.at,
        _ => false,
    }
}

impl Virtual<'_> {
    /// Returns the part of a version that is taken from a chapter, and the part of the row that it
    /// makes up. A chapter has all that a version can have, and the series has whole slots. An
    /// array with ghost layers has its own capacity in a chapter, which may be more or less than
    /// what a slot has room for.
    fn of_chapter(&self) -> [Vec<Range<usize>>; 2] {
        let mut part = self.in_chapters.whole(&self.part);
        let mut row = self.rows.whole(&all(&self.shape));
        if let (Rows::Slots(slot), Rows::Stacked) = (self.rows, self.in_chapters) {
            let each = (self.shape[0] / part[0].len().max(1)).max(1);
            let count = part[0].len().min(slot / each);
            part[0].end = part[0].start + count;
            row[0] = 0..count * each;
        }
        [part, row]
    }
}

impl<'a> Piece<'a> {
    /// Returns the pieces of `to` with one source each: this one, or one for each row if the rows
    /// do not fill their slots.
    fn split(&self, to: &Virtual<'_>) -> Vec<Piece<'a>> {
        let [_, row] = to.of_chapter();
        let is_full = match to.rows {
            Rows::Slots(slot) => row[0].end == slot,
            Rows::Single | Rows::Stacked => true,
        };
        let piece = |rows: Range<usize>| Piece {
            in_chapter: self.in_chapter + rows.start - self.rows.start,
            rows,
            first: self.first,
        };
        match is_full {
            true => vec![piece(self.rows.clone())],
            false => self.rows.clone().map(|row| piece(row..row + 1)).collect(),
        }
    }

    /// Returns the source of this piece of `to`.
    fn source(&self, to: &Virtual<'_>) -> Source {
        match self.first.chapter {
            Some(chapter) => {
                let rows = self.in_chapter..self.in_chapter + self.rows.len();
                let [part, row] = to.of_chapter();
                Source {
                    file: chapter.file,
                    shape: to.in_chapters.extents(chapter.rows as usize, &to.stored),
                    part: to.in_chapters.ranges(rows, &part),
                    row,
                }
            }
            None => self.row(to),
        }
    }

    /// Returns the source of a single row in the files of its version.
    fn row(&self, to: &Virtual<'_>) -> Source {
        let most = to.stored[0];
        let (file, stored, count) = to.array.stored(self.first, most);
        let (mut shape, mut part, mut row) = (to.stored.clone(), to.part.clone(), all(&to.shape));
        shape[0] = stored;
        if count != most {
            let after = most.saturating_sub(to.part[0].end);
            // Without values there are no ghost layers.
            part[0] = to.part[0].start.min(count)..count.saturating_sub(after);
            let in_all: usize = to.part.iter().map(Range::len).product();
            let in_row: usize = part.iter().map(Range::len).product();
            row[0] = 0..to.shape[0] * in_row / in_all.max(1);
        }
        Source {
            file,
            shape,
            part,
            row,
        }
    }
}

/// Returns the dataset of the array with this number that is made for `explicit`, at `path`.
pub fn made_array<'a>(
    explicit: &Explicit<'_>,
    path: &str,
    number: usize,
    made: &Made<'_>,
) -> Virtual<'a> {
    let (shape, slot) = (made.shape(), arrays::slot(explicit, path));
    Virtual {
        name: path.to_owned(),
        array: Array::Made(number, made.dtype()),
        part: all(&shape),
        stored: shape.clone(),
        shape,
        rows: Rows::Slots(slot),
        in_chapters: Rows::Slots(slot),
    }
}

/// Returns a dataset for all of `field`, with its ghost layers. `at` is the index of the field in
/// the table. The field must have its largest length.
pub fn whole(field: &FieldDesc, at: usize) -> Virtual<'_> {
    let shape = rows::shape(field);
    Virtual {
        name: field.name.clone(),
        array: Array::Field(field, at),
        part: all(&shape),
        stored: shape.clone(),
        shape,
        rows: Rows::Stacked,
        in_chapters: Rows::Stacked,
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
