//! Writes increments. Their format is described in [`crate::format::increment`].

use super::attributes;
use super::data::Target;
use super::new_file::{self, Of};
use super::rounding::Rounding;
use super::unsealed::Unsealed;
use crate::error::WriteError;
use crate::file::{Fault, Output, Stream};
use crate::format::data::typed;
use crate::format::description::Base;
use crate::format::increment::checksum_of_runs;
use crate::options::Options;
use crate::snapshot::Snapshot;
use hdf5::{Dataset, Group, H5Type};
use std::ops::Range;
use std::path::Path;
use tcasm_core::field::FieldDesc;
use tcasm_core::with_dtype;
use xxhash_rust::xxh3::Xxh3Default;

/// The number of bytes that are gathered before a write.
const BLOCK: usize = 1 << 20;

/// Begins an increment with the changes of each field of `snapshot`. `changed` returns ranges of
/// bytes of a field, ascending and disjoint, each of which begins and ends between two values.
pub fn begin(
    path: &Path,
    snapshot: &Snapshot<'_>,
    id: &str,
    base: &Base,
    changed: impl Fn(&FieldDesc) -> Vec<Range<u64>>,
    options: &Options,
) -> Result<Unsealed, WriteError> {
    let runs = |field| (field, changed(field));
    let all = snapshot.table.fields.iter().map(runs);
    let changed: Vec<_> = all.filter(|(_, runs)| !runs.is_empty()).collect();
    let of = Of {
        snapshot,
        id,
        base: Some(base),
        fields: changed.iter().map(|(field, _)| &*field.name).collect(),
    };
    new_file::begin(path, &of, options, |_, own, output| {
        let fields = own.create_group("fields")?;
        let store = |(field, runs): &(&FieldDesc, Vec<Range<u64>>)| {
            let group = fields.create_group(&field.name)?;
            let bytes = snapshot.bytes(field)?;
            store(&group, field, (bytes, runs.as_slice()), options, output)
        };
        changed.iter().map(store).collect()
    })
}

/// Stores the `runs` of changed bytes of `field` in `group`.
fn store(
    group: &Group,
    field: &FieldDesc,
    (bytes, runs): (&[u8], &[Range<u64>]),
    options: &Options,
    output: &Output<'_>,
) -> Result<Dataset, Fault> {
    let size = field.dtype.size() as u64;
    let column = |of: fn(&Range<u64>) -> u64| runs.iter().map(|r| of(r) / size).collect::<Vec<_>>();
    let first = column(|run| run.start);
    let count = column(|run| run.end - run.start);
    for (name, values) in [("first", &first), ("count", &count)] {
        let column = group.new_dataset_builder().with_data(values);
        column.create(name)?;
    }
    attributes::number(group, "xxh3_runs", checksum_of_runs(&first, &count))?;
    let target = Target {
        group,
        name: "values",
        shape: &[count.iter().sum::<u64>() as usize],
        options,
        output,
    };
    let parts = runs.iter();
    let parts = parts.map(|run| &bytes[run.start as usize..run.end as usize]);
    let rounding = Rounding::of(field);
    let (stored, checksum) = with_dtype!(field.dtype, T => {
        write_values::<T>(&target, parts, rounding)?
    });
    attributes::number(group, "xxh3", checksum)?;
    attributes::rounded(&stored, rounding)?;
    Ok(stored)
}

/// Writes the values of `parts`, one after the other, rounded if `rounding` says so. Returns the
/// dataset and the checksum of what is stored.
fn write_values<'b, T: H5Type + bytemuck::Pod>(
    target: &Target<'_>,
    parts: impl Iterator<Item = &'b [u8]>,
    rounding: Option<Rounding>,
) -> Result<(Dataset, u64), Fault> {
    let dataset = target.create::<T>()?;
    let checksum = match target.stream::<T>(&dataset) {
        Some(stream) => write_direct::<T>(stream, parts, rounding)?,
        None => write_by_hdf5::<T>(target.output, &dataset, parts, rounding)?,
    };
    Ok((dataset, checksum))
}

/// Writes `parts` to `stream`. Returns the checksum of what is stored.
fn write_direct<'b, T: bytemuck::Pod>(
    mut stream: Stream<'_>,
    parts: impl Iterator<Item = &'b [u8]>,
    rounding: Option<Rounding>,
) -> Result<u64, Fault> {
    each_stored::<T>(parts, rounding, |part| Ok(stream.put(part)?))?;
    Ok(stream.finish()?)
}

/// Writes `parts` to `dataset`. Returns the checksum of what is stored.
fn write_by_hdf5<'b, T: H5Type + bytemuck::Pod>(
    output: &Output<'_>,
    dataset: &Dataset,
    parts: impl Iterator<Item = &'b [u8]>,
    rounding: Option<Rounding>,
) -> Result<u64, Fault> {
    let mut hasher = Xxh3Default::new();
    let mut out = Gather::<T> {
        dataset,
        at: 0,
        values: Vec::new(),
    };
    each_stored::<T>(parts, rounding, |part| {
        hasher.update(part);
        out.put(part)?;
        output.wrote(part.len());
        Ok(())
    })?;
    out.flush()?;
    Ok(hasher.digest())
}

/// Calls `take` with the bytes of `parts` as they are stored. Rounded ones come in blocks.
fn each_stored<'b, T: bytemuck::Pod>(
    mut parts: impl Iterator<Item = &'b [u8]>,
    rounding: Option<Rounding>,
    mut take: impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let Some(rounding) = rounding else {
        return parts.try_for_each(take);
    };
    for block in parts.flat_map(|part| part.chunks(BLOCK)) {
        let mut values = typed::<T>(block).into_owned();
        rounding.apply(&mut values);
        take(bytemuck::cast_slice(&values))?;
    }
    Ok(())
}

/// Gathers values into blocks before they are written, because runs may be short and many.
struct Gather<'d, T> {
    dataset: &'d Dataset,
    at: usize,
    values: Vec<T>,
}

impl<T: H5Type + bytemuck::Pod> Gather<'_, T> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), hdf5::Error> {
        let most = BLOCK / size_of::<T>();
        for part in bytes.chunks(BLOCK) {
            self.values.extend(typed::<T>(part).iter());
            while self.values.len() >= most {
                let rest = self.values.split_off(most);
                self.flush()?;
                self.values = rest;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), hdf5::Error> {
        let n = self.values.len();
        if n != 0 {
            self.dataset
                .write_slice(&self.values, self.at..self.at + n)?;
        }
        self.at += n;
        self.values.clear();
        Ok(())
    }
}
