//! Copies arrays to and from HDF5 datasets, one block of the slowest dimension at a time.

use crate::error::Fault;
use crate::grid::{memory_shape, slowest_first};
use crate::writeback::Writeback;
use crate::{Compression, Options, attributes, memory, seal};
use hdf5::dataset::{DatasetBuilder, FillTime};
use hdf5::types::TypeDescriptor;
use hdf5::{Dataset, Group, H5Type, Hyperslab, Selection, SliceOrIndex};
use ndarray::{ArrayBase, ArrayViewD, Axis, IxDyn, RawData, Slice};
use std::borrow::Cow;
use std::ops::Range;
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;
use xxhash_rust::xxh3::Xxh3Default;

/// The approximate size of blocks and chunks in bytes. They are larger if a dataset would get too
/// many chunks.
const BLOCK: usize = 1 << 20;
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
    /// The writeback of the file, which counts the bytes that are written.
    pub writeback: &'a Writeback,
}

impl Target<'_> {
    /// Creates the dataset.
    fn create<T: H5Type>(&self) -> Result<Dataset, hdf5::Error> {
        create::<T>(self.group, self.name, self.shape, self.options)
    }
}

/// Stores all of `field` as it lies in memory. The shape of `target` must be [`memory_shape`],
/// except that it may have other axes of extent 1.
pub fn write_whole(target: &Target<'_>, field: &FieldDesc, bytes: &[u8]) -> Result<Dataset, Fault> {
    with_dtype!(field.dtype, T => {
        let values = typed::<T>(bytes);
        let values = view(target.shape, &values)?;
        let dataset = target.create::<T>()?;
        match values.ndim() {
            0 => dataset.write(values)?,
            _ => write_blocks(&dataset, values, |block| target.writeback.wrote(block.len()))?,
        }
        Ok(dataset)
    })
}

/// Stores the interior of `field`, without its ghost layers, and its checksum.
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
            let end = part.shape()[axis] - g[1];
            part.slice_axis_inplace(Axis(axis), Slice::from(g[0]..end));
        }
        if let Some(component) = component {
            part = part.index_axis_move(Axis(field.shape.len()), component);
        }
        let dataset = target.create::<T>()?;
        let part = reshape_units(part, target.shape).ok_or_else(|| misfit(field, target.shape))?;
        let mut hasher = Xxh3Default::new();
        write_blocks(&dataset, part, |block| {
            hasher.update(block);
            target.writeback.wrote(block.len());
        })?;
        attributes::number(&dataset, "xxh3", hasher.digest())?;
        Ok(dataset)
    })
}

/// Reads a dataset with the values of `field` block by block. Calls `take` with the rows of the
/// slowest dimension and their bytes. Returns the checksum of all bytes.
pub fn read(
    dataset: &Dataset,
    field: &FieldDesc,
    take: impl FnMut(Range<usize>, &[u8]),
) -> Result<u64, hdf5::Error> {
    with_dtype!(field.dtype, T => {
        expect::<T>(dataset, field)?;
        read_values::<T>(dataset, take)
    })
}

/// Returns the checksum of a dataset with values of the dtype of `field`. Its shape does not
/// matter.
pub fn checksum(dataset: &Dataset, field: &FieldDesc) -> Result<u64, hdf5::Error> {
    with_dtype!(field.dtype, T => { read_values::<T>(dataset, |_, _| ()) })
}

/// Does the work of [`read`] and [`checksum`].
fn read_values<T: H5Type + bytemuck::Pod>(
    dataset: &Dataset,
    mut take: impl FnMut(Range<usize>, &[u8]),
) -> Result<u64, hdf5::Error> {
    let mut hasher = Xxh3Default::new();
    let mut take = |rows: Range<usize>, bytes: &[u8]| {
        hasher.update(bytes);
        take(rows, bytes);
    };
    let shape = dataset.shape();
    if shape.is_empty() {
        take(0..1, bytemuck::cast_slice(&dataset.read_raw::<T>()?));
        return Ok(hasher.digest());
    }
    if shape.contains(&0) {
        return Ok(hasher.digest());
    }
    for rows in blocks(&shape, chunk_rows(dataset), size_of::<T>()) {
        let row = shape[1..].iter().product::<usize>() * size_of::<T>();
        let bytes = rows.len() as u64 * row as u64;
        memory::check(bytes).map_err(|why| hdf5::Error::from(why.to_string()))?;
        let block = dataset.read_slice::<T, _, IxDyn>(rows_of(&shape, rows.clone()))?;
        let (values, _) = block.into_raw_vec_and_offset();
        take(rows, bytemuck::cast_slice(&values));
    }
    Ok(hasher.digest())
}

/// Returns where the values of `dataset` are stored in its file, which must have been flushed.
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

/// Returns `array` with the shape `shape`, which may have other axes of extent 1. Returns `None` if
/// the shapes differ in more.
pub fn reshape_units<S: RawData>(
    mut array: ArrayBase<S, IxDyn>,
    shape: &[usize],
) -> Option<ArrayBase<S, IxDyn>> {
    while let Some(axis) = array.shape().iter().position(|&n| n == 1) {
        array = array.index_axis_move(Axis(axis), 0);
    }
    for axis in (0..shape.len()).filter(|&axis| shape[axis] == 1) {
        if axis > array.ndim() {
            return None;
        }
        array = array.insert_axis(Axis(axis));
    }
    (array.shape() == shape).then_some(array)
}

/// Creates a dataset of `shape` without values.
pub fn create<T: H5Type>(
    group: &Group,
    name: &str,
    shape: &[usize],
    options: &Options,
) -> Result<Dataset, hdf5::Error> {
    let builder = group.new_dataset_builder().fill_time(FillTime::Never);
    let builder = compressed(builder, shape, size_of::<T>(), options.compression);
    builder.empty::<T>().shape(shape).create(name)
}

/// Sets the filters and the chunks of a dataset.
fn compressed(
    builder: DatasetBuilder,
    shape: &[usize],
    item: usize,
    compression: Compression,
) -> DatasetBuilder {
    match compression {
        Compression::Deflate(level) if !shape.is_empty() => builder
            .chunk(chunk(shape, item))
            .shuffle()
            .deflate(level.clamp(1, 9)),
        Compression::Zstd(level) if !shape.is_empty() => builder
            .chunk(chunk(shape, item))
            .blosc_zstd(level.clamp(1, 9), true),
        _ => builder.no_chunk(),
    }
}

/// Returns the shape of a chunk of about [`BLOCK`] bytes. It consists of whole rows of the fastest
/// dimensions.
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

/// Writes `array` to `dataset` block by block, and calls `wrote` with the bytes of each block.
fn write_blocks<T: H5Type + bytemuck::Pod>(
    dataset: &Dataset,
    array: ArrayViewD<'_, T>,
    mut wrote: impl FnMut(&[u8]),
) -> Result<(), hdf5::Error> {
    let shape = array.shape();
    for rows in blocks(shape, chunk_rows(dataset), size_of::<T>()) {
        let block = array.slice_axis(Axis(0), Slice::from(rows.clone()));
        let block = block.as_standard_layout();
        let values = block.as_slice().ok_or("a block is not in one piece")?;
        dataset.write_slice(block.view(), rows_of(shape, rows))?;
        wrote(bytemuck::cast_slice(values));
    }
    Ok(())
}

/// Returns ranges of rows that make blocks of at least [`BLOCK`] bytes and never cut a chunk.
fn blocks(shape: &[usize], chunk_rows: usize, item: usize) -> impl Iterator<Item = Range<usize>> {
    let rows = shape[0];
    let row = shape[1..].iter().product::<usize>() * item;
    let step = (BLOCK / row).max(1).next_multiple_of(chunk_rows);
    (0..rows)
        .step_by(step)
        .map(move |from| from..rows.min(from + step))
}

/// Returns the number of rows of a chunk, or 1 if there are no chunks.
fn chunk_rows(dataset: &Dataset) -> usize {
    dataset.chunk().map_or(1, |chunk| chunk[0].max(1))
}

/// Returns the selection of `rows` of an array of `shape`.
fn rows_of(shape: &[usize], rows: Range<usize>) -> Selection {
    let all = shape[1..].iter().map(|&n| SliceOrIndex::from(0..n));
    let slices: Vec<SliceOrIndex> = std::iter::once(SliceOrIndex::from(rows))
        .chain(all)
        .collect();
    Selection::from(Hyperslab::from(slices))
}

/// Returns the error for a field that does not fit the shape of its dataset.
pub fn misfit(field: &FieldDesc, shape: &[usize]) -> hdf5::Error {
    hdf5::Error::from(format!(
        "field {:?} does not fit a dataset of {shape:?}",
        field.name
    ))
}

/// Checks that the dataset has the dtype and the extent of the field table. HDF5 must never convert
/// values.
fn expect<T: H5Type>(dataset: &Dataset, field: &FieldDesc) -> Result<(), hdf5::Error> {
    let stored: TypeDescriptor = dataset.dtype()?.to_descriptor()?;
    let extent = |shape: Vec<usize>| shape.into_iter().filter(|&n| n != 1).collect::<Vec<_>>();
    if stored != T::type_descriptor() || extent(dataset.shape()) != extent(memory_shape(field)) {
        let (shape, dtype) = (dataset.shape(), field.dtype);
        return Err(
            format!("its dataset is {stored} {shape:?}, but the field table says {dtype}").into(),
        );
    }
    Ok(())
}

/// Returns `bytes` as values, which are copied if they are not aligned.
pub fn typed<T: bytemuck::Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(bytemuck::allocation::pod_collect_to_vec(bytes)),
    }
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
    fn only_axes_of_extent_1_are_added_and_removed() {
        let fits = |from: &[usize], to: &[usize]| {
            reshape_units(ndarray::ArrayD::<u8>::zeros(from), to).is_some()
        };
        assert!(fits(&[1, 4, 1], &[1, 4]));
        assert!(fits(&[1, 4, 1], &[4, 1]));
        assert!(fits(&[1, 4, 1], &[4]));
        assert!(fits(&[1, 1, 1], &[]));
        assert!(fits(&[2, 3], &[2, 3]));
        assert!(fits(&[3], &[1, 3]));
        assert!(fits(&[5, 3], &[1, 5, 1, 3, 1]));
        assert!(fits(&[], &[1, 1]));
        assert!(!fits(&[2, 3], &[3]));
        assert!(!fits(&[2, 3], &[3, 2]));
        assert!(!fits(&[3], &[3, 3, 1]));
    }

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

    #[test]
    fn blocks_cover_all_rows_once_along_chunks() {
        for (shape, rows) in [(vec![10, 3], 4), (vec![1000, 1 << 18], 3), (vec![1], 1)] {
            let blocks: Vec<_> = blocks(&shape, rows, 8).collect();
            let covered: Vec<usize> = blocks.iter().cloned().flatten().collect();
            assert_eq!(covered, (0..shape[0]).collect::<Vec<_>>());
            assert!(blocks.iter().all(|b| b.start % rows == 0));
        }
    }
}
