//! Virtual datasets over the files of the nodes.

use super::shared::{Counted, Shared};
use super::sources::Source;
use crate::file::Fault;
use crate::format::shape::{memory_shape, slowest_first};
use crate::job::node_file::name_of;
use crate::write::attributes;
use crate::write::virtual_dataset::{absent, block};
use hdf5::{Group, H5Type};
use std::ops::Range;
use tcasm_core::field::{DType, Element, FieldDesc};
use tcasm_core::with_dtype;

/// A virtual dataset to create.
pub struct Array<'s> {
    /// Its path in the group of the data set.
    pub path: String,
    /// The dtype of its values. HDF5 converts those of sources that have another one.
    pub dtype: DType,
    /// The unit of its values, which may be empty.
    pub unit: &'s str,
    pub shape: Vec<usize>,
    /// True if values without a source are 0, false if those of real numbers are NaN.
    pub is_zero: bool,
    pub pieces: Vec<Piece<'s>>,
}

/// A part of a virtual dataset that has one source.
pub struct Piece<'s> {
    pub origin: Origin<'s>,
    /// The part. It has as many values as its source.
    pub place: Vec<Range<usize>>,
}

/// The source of a part.
#[derive(Clone)]
pub enum Origin<'s> {
    /// The interior of a field of a rank.
    Field(&'s Source, &'s FieldDesc),
    /// An array that ranks share. The source is its first values, as many as the number says.
    Shared(Counted, usize),
}

impl Array<'_> {
    /// Returns the arrays of which this one takes the beginning, and how many values it takes.
    pub fn counted(&self) -> impl Iterator<Item = (Counted, usize)> {
        self.pieces.iter().filter_map(|piece| match piece.origin {
            Origin::Shared(counted, count) => Some((counted, count)),
            Origin::Field(..) => None,
        })
    }

    /// Creates the dataset in the group of a data set.
    pub fn create(&self, group: &Group, shared: &Shared) -> Result<(), Fault> {
        with_dtype!(self.dtype, T => { self.create_typed::<T>(group, shared) })
    }

    fn create_typed<T: H5Type + Element>(
        &self,
        group: &Group,
        shared: &Shared,
    ) -> Result<(), Fault> {
        let mut builder = group.new_dataset_builder();
        builder = builder.fill_value(match self.is_zero {
            true => T::zeroed(),
            false => absent::<T>(),
        });
        for piece in &self.pieces {
            if piece.place.iter().any(Range::is_empty) {
                continue; // a rank without values
            }
            let (file, path) = (piece.origin.file(), piece.origin.path());
            let (stored, part) = piece.origin.part(shared);
            let place = block(piece.place.iter().cloned());
            builder = builder.virtual_map(
                &file,
                &path,
                stored,
                block(part.into_iter()),
                &self.shape,
                place,
            );
        }
        let builder = builder.empty::<T>().shape(&self.shape);
        let dataset = builder.create(self.path.as_str())?;
        attributes::text(&dataset, "unit", self.unit)?;
        Ok(())
    }
}

impl Origin<'_> {
    /// Returns the name of the file. HDF5 treats a single '%' as a pattern, and a single point as
    /// the file with the virtual dataset.
    fn file(&self) -> String {
        match self {
            Origin::Field(source, _) => source.file.replace('%', "%%"),
            Origin::Shared(..) => ".".to_owned(),
        }
    }

    /// Returns the path in the file.
    fn path(&self) -> String {
        match self {
            Origin::Field(source, field) => {
                format!("/tcasm/fields/{}", name_of(&field.name, source.number))
            }
            Origin::Shared(counted, _) => counted.path(),
        }
    }

    /// Returns the shape of the dataset in the file, and the part that is taken.
    fn part(&self, shared: &Shared) -> (Vec<usize>, Vec<Range<usize>>) {
        match self {
            Origin::Field(_, field) => (memory_shape(field), interior(field)),
            Origin::Shared(counted, count) => {
                (vec![shared[counted]], std::iter::once(0..*count).collect())
            }
        }
    }
}

/// Returns the part of a field in memory without its ghost layers.
fn interior(field: &FieldDesc) -> Vec<Range<usize>> {
    let ghosts = slowest_first(field, &field.ghosts);
    let inner = slowest_first(field, &field.interior_shape());
    let along = ghosts.iter().zip(inner).map(|(g, n)| g[0]..g[0] + n);
    let components = (field.components > 1).then_some(0..field.components);
    along.chain(components).collect()
}
