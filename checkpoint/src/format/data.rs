//! Reads arrays from HDF5 datasets, one block of the slowest dimension at a time.

use super::blocks::{blocks, chunk_rows, rows_of};
use super::shape::memory_shape;
use crate::file::memory;
use hdf5::types::TypeDescriptor;
use hdf5::{Dataset, H5Type};
use ndarray::{ArrayBase, Axis, IxDyn, RawData};
use std::borrow::Cow;
use std::ops::Range;
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;
use xxhash_rust::xxh3::Xxh3Default;

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
    if stored != T::type_descriptor() || !holds(&dataset.shape(), &memory_shape(field)) {
        let (shape, dtype) = (dataset.shape(), field.dtype);
        return Err(
            format!("its dataset is {stored} {shape:?}, but the field table says {dtype}").into(),
        );
    }
    Ok(())
}

/// Returns true if an array of shape `stored` holds the values of one of shape `whole` in the same
/// order. It may have other axes of extent 1, or one axis in place of the slowest ones.
fn holds(stored: &[usize], whole: &[usize]) -> bool {
    let extent = |shape: &[usize]| {
        shape
            .iter()
            .copied()
            .filter(|&n| n != 1)
            .collect::<Vec<_>>()
    };
    let is_merged = stored.split_first().is_some_and(|(&first, rest)| {
        let slow = whole.len().checked_sub(rest.len());
        slow.is_some_and(|slow| {
            whole[slow..] == *rest && whole[..slow].iter().product::<usize>() == first
        })
    });
    is_merged || extent(stored) == extent(whole)
}

/// Returns `bytes` as values, which are copied if they are not aligned.
pub fn typed<T: bytemuck::Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(bytemuck::allocation::pod_collect_to_vec(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowest_axes_can_be_one_and_axes_of_extent_1_do_not_count() {
        let fit: [(&[usize], &[usize]); 7] = [
            (&[24], &[2, 3, 4]),
            (&[6, 4], &[2, 3, 4]),
            (&[2, 3, 4], &[2, 3, 4]),
            (&[0], &[0, 4]),
            (&[3], &[1, 3]),
            (&[1], &[]),
            (&[], &[]),
        ];
        for (stored, whole) in fit {
            assert!(holds(stored, whole), "{stored:?} {whole:?}");
        }
        let misfits: [(&[usize], &[usize]); 5] = [
            (&[2, 12], &[2, 3, 4]),
            (&[4, 6], &[2, 3, 4]),
            (&[23], &[2, 3, 4]),
            (&[2, 3, 4], &[24]),
            (&[4], &[0, 4]),
        ];
        for (stored, whole) in misfits {
            assert!(!holds(stored, whole), "{stored:?} {whole:?}");
        }
    }

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
}
