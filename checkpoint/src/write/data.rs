//! Writes arrays to HDF5 datasets. HDF5 gets one block of the slowest dimension at a time. Large
//! datasets are written past the page cache instead, to the place that HDF5 has given them. Values
//! that are to be rounded are copied one block at a time.

use super::attributes;
use super::rounding::Rounding;
use crate::file::{Fault, Output, Stream, seal};
use crate::format::blocks::{BLOCK, blocks, chunk_rows, rows_of};
use crate::format::data::{misfit, reshape_units, typed};
use crate::format::shape::{interior_place, memory_shape, slowest_first, with_components};
use crate::options::{Compression, Options};
use hdf5::dataset::{AllocTime, DatasetBuilder, FillTime};
use hdf5::{Dataset, Group, H5Type};
use ndarray::{ArrayViewD, Axis, CowArray, IxDyn, Slice};
use std::ops::Range;
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;
use xxhash_rust::xxh3::Xxh3Default;

/// The approximate largest number of chunks of a dataset. To find a chunk, HDF5 walks over those
/// before it.
const MAX_CHUNKS: usize = 1024;

/// A dataset to create.
pub struct Target<'a> {
    /// The group that it is created in.
    pub group: &'a Group,
    /// Its name.
    pub name: &'a str,
    /// Its shape.
    pub shape: &'a [usize],
    /// How it is stored.
    pub options: &'a Options,
    /// The output of the file.
    pub output: &'a Output<'a>,
}

impl<'a> Target<'a> {
    /// Creates the dataset, still without values.
    pub fn create<T: H5Type>(&self) -> Result<Dataset, hdf5::Error> {
        let (item, compression) = (size_of::<T>(), self.options.compression);
        let builder = self.group.new_dataset_builder();
        let builder = builder.fill_time(FillTime::Never);
        let builder = compressed(builder, self.shape, item, compression);
        let builder = match self.is_direct(item) {
            // The dataset needs its place in the file before its values are written.
            true => builder.alloc_time(Some(AllocTime::Early)),
            false => builder,
        };
        builder.empty::<T>().shape(self.shape).create(self.name)
    }

    /// Returns a stream for the values of `dataset`, which [`Target::create`] has returned, or
    /// `None` if HDF5 must write them.
    pub fn stream<T>(&self, dataset: &Dataset) -> Option<Stream<'a>> {
        match self.is_direct(size_of::<T>()) {
            true => self.output.stream(dataset.offset()?),
            false => None,
        }
    }

    /// Returns true if values of `item` bytes are to be written past the page cache.
    fn is_direct(&self, item: usize) -> bool {
        let bytes = self.shape.iter().product::<usize>() * item;
        self.output.is_direct(bytes)
    }
}

/// Stores all of `field` as it lies in memory, and its checksum. The shape of `target` must be
/// [`memory_shape`], except that it may have other axes of extent 1, or one axis in place of the
/// slowest ones.
pub fn write_whole(target: &Target<'_>, field: &FieldDesc, bytes: &[u8]) -> Result<Dataset, Fault> {
    with_dtype!(field.dtype, T => {
        let values = typed::<T>(bytes);
        write_values(target, view(target.shape, &values)?, Rounding::of(field))
    })
}

/// Stores the interior of `field`, without its ghost layers, and its checksum. `target` may have
/// one axis in place of all of the field.
pub fn write_interior(
    target: &Target<'_>,
    field: &FieldDesc,
    bytes: &[u8],
) -> Result<Dataset, Fault> {
    write_part(target, field, bytes, None)
}

/// Stores one component of the interior of `field`, which has several, and its checksum.
pub fn write_component(
    target: &Target<'_>,
    field: &FieldDesc,
    bytes: &[u8],
    component: usize,
) -> Result<Dataset, Fault> {
    write_part(target, field, bytes, Some(component))
}

/// Stores the interior of `field` or one component of it.
fn write_part(
    target: &Target<'_>,
    field: &FieldDesc,
    bytes: &[u8],
    component: Option<usize>,
) -> Result<Dataset, Fault> {
    with_dtype!(field.dtype, T => {
        let values = typed::<T>(bytes);
        let mut part = view(&memory_shape(field), &values)?;
        for (axis, g) in slowest_first(field, &field.ghosts).iter().enumerate() {
            let len = part.shape()[axis];
            // An empty axis has no ghost layers.
            let inner = g[0].min(len)..len.saturating_sub(g[1]);
            part.slice_axis_inplace(Axis(axis), Slice::from(inner));
        }
        if let Some(component) = component {
            part = part.index_axis_move(Axis(field.shape.len()), component);
        }
        match reshape_units(part, target.shape) {
            Some(part) => write_values(target, part, Rounding::of(field)),
            None => write_points(target, field, &values),
        }
    })
}

/// Stores the interior of `field`, whose values are `values`, along a single axis.
fn write_points<T: H5Type + bytemuck::Pod>(
    target: &Target<'_>,
    field: &FieldDesc,
    values: &[T],
) -> Result<Dataset, Fault> {
    let points = field.interior_shape().iter().product();
    if target.shape != with_components(vec![points], field) {
        return Err(misfit(field, target.shape).into());
    }
    let (place, rounding) = (interior_place(field), Rounding::of(field));
    let dataset = write_made(target, |rows| {
        let places = rows.map(&place);
        let points = places.flat_map(|at| &values[at..at + field.components]);
        let mut points: Vec<T> = points.copied().collect();
        if let Some(rounding) = rounding {
            rounding.apply(&mut points);
        }
        points
    })?;
    attributes::rounded(&dataset, rounding)?;
    Ok(dataset)
}

/// Stores values that are no field, and their checksum. `make` returns the values of a range of
/// rows of the slowest dimension.
pub fn write_made<T: H5Type + bytemuck::Pod>(
    target: &Target<'_>,
    make: impl Fn(Range<usize>) -> Vec<T>,
) -> Result<Dataset, Fault> {
    let dataset = target.create::<T>()?;
    let mut hasher = Xxh3Default::new();
    if !target.shape.contains(&0) {
        for rows in blocks(target.shape, chunk_rows(&dataset), size_of::<T>()) {
            let values = make(rows.clone());
            hasher.update(bytemuck::cast_slice(&values));
            let shape = [&[rows.len()][..], &target.shape[1..]].concat();
            dataset.write_slice(view(&shape, &values)?, rows_of(target.shape, rows))?;
            target.output.wrote(size_of_val(values.as_slice()));
        }
    }
    attributes::number(&dataset, "xxh3", hasher.digest())?;
    Ok(dataset)
}

/// Creates a dataset, and writes `values` to it, rounded if `rounding` says so, and the checksum of
/// what is stored.
fn write_values<T: H5Type + bytemuck::Pod>(
    target: &Target<'_>,
    values: ArrayViewD<'_, T>,
    rounding: Option<Rounding>,
) -> Result<Dataset, Fault> {
    let dataset = target.create::<T>()?;
    let checksum = match target.stream::<T>(&dataset) {
        Some(stream) => write_direct(stream, &values, rounding)?,
        None => write_by_hdf5(target.output, &dataset, &values, rounding)?,
    };
    attributes::number(&dataset, "xxh3", checksum)?;
    attributes::rounded(&dataset, rounding)?;
    Ok(dataset)
}

/// Sets the filters and the chunks of a dataset.
fn compressed(
    builder: DatasetBuilder,
    shape: &[usize],
    item: usize,
    compression: Compression,
) -> DatasetBuilder {
    // A scalar, or an array without values, cannot have chunks.
    let has_chunks = !shape.is_empty() && !shape.contains(&0);
    match compression {
        Compression::Deflate(level) if has_chunks => builder
            .chunk(chunk(shape, item))
            .shuffle()
            .deflate(level.clamp(1, 9)),
        Compression::Zstd(level) if has_chunks => builder
            .chunk(chunk(shape, item))
            .blosc_zstd(level.clamp(1, 9), true),
        _ => builder.no_chunk(),
    }
}

/// Returns the shape of a chunk of about [`BLOCK`] bytes. It consists of whole rows of the fastest
/// dimensions. No extent of `shape` may be 0.
fn chunk(shape: &[usize], item: usize) -> Vec<usize> {
    let mut chunk = shape.to_vec();
    let target = (shape.iter().product::<usize>() * item / MAX_CHUNKS).max(BLOCK);
    for axis in 0..chunk.len() {
        let row = chunk[axis + 1..].iter().product::<usize>() * item;
        chunk[axis] = (target / row).clamp(1, shape[axis]);
        if chunk[axis] > 1 {
            break;
        }
    }
    chunk
}

/// Writes `values` to `stream`. Returns their checksum.
fn write_direct<T: bytemuck::Pod>(
    mut stream: Stream<'_>,
    values: &ArrayViewD<'_, T>,
    rounding: Option<Rounding>,
) -> Result<u64, Fault> {
    match values.as_slice().filter(|_| rounding.is_none()) {
        Some(values) => stream.put(bytemuck::cast_slice(values))?,
        None => each_block(values, rounding, 1, |_, block| {
            Ok(stream.put(bytes_of(&block)?)?)
        })?,
    }
    Ok(stream.finish()?)
}

/// Writes `values` to `dataset`. Returns their checksum.
fn write_by_hdf5<T: H5Type + bytemuck::Pod>(
    output: &Output<'_>,
    dataset: &Dataset,
    values: &ArrayViewD<'_, T>,
    rounding: Option<Rounding>,
) -> Result<u64, Fault> {
    let mut hasher = Xxh3Default::new();
    if values.ndim() == 0 {
        let value = stored(values, rounding)?;
        dataset.write(value.view())?;
        hasher.update(bytes_of(&value.view())?);
        return Ok(hasher.digest());
    }
    each_block(values, rounding, chunk_rows(dataset), |rows, block| {
        let bytes = bytes_of(&block)?;
        hasher.update(bytes);
        dataset.write_slice(block.view(), rows_of(values.shape(), rows))?;
        output.wrote(bytes.len());
        Ok(())
    })?;
    Ok(hasher.digest())
}

/// Calls `take` with the rows of each block of `values`, and with the block as it is stored. No
/// block cuts a chunk of `chunk_rows` rows.
fn each_block<T: bytemuck::Pod>(
    values: &ArrayViewD<'_, T>,
    rounding: Option<Rounding>,
    chunk_rows: usize,
    mut take: impl FnMut(Range<usize>, ArrayViewD<'_, T>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if values.is_empty() {
        return Ok(());
    }
    for rows in blocks(values.shape(), chunk_rows, size_of::<T>()) {
        let block = values.slice_axis(Axis(0), Slice::from(rows.clone()));
        take(rows, stored(&block, rounding)?.view())?;
    }
    Ok(())
}

/// Returns `values` as they are stored: in one piece, and rounded if `rounding` says so.
fn stored<'v, T: bytemuck::Pod>(
    values: &'v ArrayViewD<'_, T>,
    rounding: Option<Rounding>,
) -> Result<CowArray<'v, T, IxDyn>, hdf5::Error> {
    let piece = values.as_standard_layout();
    let Some(rounding) = rounding else {
        return Ok(piece);
    };
    let mut rounded = piece.into_owned();
    let values = rounded.as_slice_mut();
    rounding.apply(values.ok_or("a block is not in one piece")?);
    Ok(rounded.into())
}

/// Returns the bytes of `block`, which must be in one piece.
fn bytes_of<'b, T: bytemuck::Pod>(block: &'b ArrayViewD<'_, T>) -> Result<&'b [u8], hdf5::Error> {
    let values = block.as_slice().ok_or("a block is not in one piece")?;
    Ok(bytemuck::cast_slice(values))
}

/// Returns where the values of `dataset` are stored in its file, which must have been flushed. A
/// dataset without values is stored nowhere.
pub fn stored_at(dataset: &Dataset) -> Result<Vec<seal::Range>, hdf5::Error> {
    if !dataset.is_chunked() {
        let range = dataset
            .offset()
            .map(|offset| (offset, dataset.storage_size()));
        return Ok(range.into_iter().collect());
    }
    let chunk = |i| {
        let info = dataset.chunk_info(i).ok_or("a chunk has no address")?;
        Ok((info.addr, info.size))
    };
    (0..dataset.num_chunks().unwrap_or(0)).map(chunk).collect()
}

/// Returns `values` as an array of `shape`.
fn view<'a, T>(shape: &[usize], values: &'a [T]) -> Result<ArrayViewD<'a, T>, Fault> {
    ArrayViewD::from_shape(IxDyn(shape), values)
        .map_err(|e| Fault::Hdf5(hdf5::Error::from(e.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_whole_rows_of_about_a_block() {
        assert_eq!(chunk(&[10, 10], 8), [10, 10]);
        assert_eq!(chunk(&[512, 512, 512], 8), [1, 256, 512]);
        assert_eq!(chunk(&[512, 128, 128], 8), [8, 128, 128]);
        assert_eq!(chunk(&[1, 1 << 22], 8), [1, 1 << 17]);
    }

    #[test]
    fn there_are_never_many_more_chunks_than_the_limit() {
        for shape in [
            vec![1 << 33],
            vec![4096, 4096, 4096, 3],
            vec![1025, 1 << 21],
        ] {
            let chunk = chunk(&shape, 8);
            let count: usize = shape
                .iter()
                .zip(&chunk)
                .map(|(n, c)| n.div_ceil(*c))
                .product();
            assert!(
                count <= 4 * MAX_CHUNKS,
                "{shape:?}: {count} chunks of {chunk:?}"
            );
        }
    }
}
