//! Writes arrays to HDF5 datasets, one block of the slowest dimension at a time.

use super::attributes;
use crate::file::{Fault, Writeback, seal};
use crate::format::blocks::{BLOCK, blocks, chunk_rows, rows_of};
use crate::format::data::{misfit, reshape_units, typed};
use crate::format::shape::{memory_shape, slowest_first};
use crate::options::{Compression, Options};
use hdf5::dataset::{DatasetBuilder, FillTime};
use hdf5::{Dataset, Group, H5Type};
use ndarray::{ArrayViewD, Axis, IxDyn, Slice};
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
