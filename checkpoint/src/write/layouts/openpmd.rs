//! The part of an openPMD 1.1.0 file for other programs, beside `/tcasm`: one iteration of a
//! series.
//!
//! ```text
//! /                      openPMD, basePath, meshesPath, iterationEncoding, iterationFormat,
//!                        software, ...
//! /data/<step>           time, dt (0: not known), timeUnitSI
//!   meshes/<record>      a field of one component: a dataset
//!   meshes/<record>/<c>  a field of several: a dataset for each, x, y (, z), or 0, 1, ...
//! ```
//!
//! Datasets are stored without ghost layers. Their dimensions, labels and spacings go from slowest
//! to fastest, which is what `dataOrder` "C" means. This holds for fields of either order, because
//! the dimensions of an F-order field are reversed here. openPMD does not allow hyphens in names,
//! so a hyphen in the name of a field becomes an underscore in that of the record. Raw structures
//! and complex numbers are not stored as meshes.

use crate::file::Fault;
use crate::format::names::{Form, Found};
use crate::format::shape::slowest_first;
use crate::options::Layout;
use crate::snapshot::Snapshot;
use crate::write::store::{FileLayout, Store};
use crate::write::{attributes, data};
use hdf5::{Dataset, File, Group, Location};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tcasm_core::field::{Attr, Centering, FieldDesc, FieldTable, Kind};
use tcasm_core::format::stamp::Stamp;

/// One iteration of a series.
pub struct Iteration {
    meshes: Group,
    /// The name of the record of each field that is a mesh.
    records: BTreeMap<String, String>,
}

impl Iteration {
    /// Creates the iteration of `snapshot`, still without fields. `path` is the final path of the
    /// file.
    pub fn create(file: &File, path: &Path, snapshot: &Snapshot<'_>) -> Result<Self, Fault> {
        let stamp = snapshot.stamp;
        describe_series(file, path, stamp)?;
        let iteration = file.create_group(&format!("data/{}", stamp.step))?;
        attributes::number(&iteration, "time", stamp.time)?;
        attributes::number(&iteration, "dt", 0.0_f64)?;
        attributes::number(&iteration, "timeUnitSI", 1.0_f64)?;
        Ok(Iteration {
            meshes: iteration.create_group("meshes")?,
            records: records(snapshot.table),
        })
    }

    /// Stores `field`, which has several components, under `/tcasm`, and each component of its
    /// interior here.
    fn store_vector(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
        record: &str,
    ) -> Result<Vec<Dataset>, Fault> {
        let group = self.meshes.create_group(record)?;
        attributes::text(&group, "unit", &field.unit)?;
        describe_record(&group, field)?;
        let shape = shape(field);
        let mut stored = vec![to.own(field, bytes)?];
        for component in 0..field.components {
            let name = component_name(component, field.components);
            let target = to.target(&group, &name, &shape);
            let dataset = data::write_component(&target, field, bytes, component)?;
            describe_component(&dataset, field)?;
            stored.push(dataset);
        }
        Ok(stored)
    }

    /// Stores `field`, which has one component, under `/tcasm`, and its interior here. If the field
    /// has no ghost layers, the values are stored once under both names.
    fn store_scalar(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
        record: &str,
    ) -> Result<Vec<Dataset>, Fault> {
        let shape = shape(field);
        let target = to.target(&self.meshes, record, &shape);
        let stored = match has_empty_attribute(field) {
            true => to.twice(&target, field, bytes)?,
            false => to.both(&target, field, bytes)?,
        };
        let shown = &stored[stored.len() - 1];
        describe_record(shown, field)?;
        describe_component(shown, field)?;
        if stored.len() > 1 {
            attributes::text(shown, "unit", &field.unit)?;
        }
        Ok(stored)
    }
}

impl FileLayout for Iteration {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        match self.records.get(&field.name) {
            Some(record) if field.components == 1 => self.store_scalar(to, field, bytes, record),
            Some(record) => self.store_vector(to, field, bytes, record),
            None => Ok(vec![to.own(field, bytes)?]),
        }
    }
}

/// Writes the attributes of the root group.
fn describe_series(file: &File, path: &Path, stamp: Stamp) -> Result<(), Fault> {
    let (encoding, format) = encoding(path, stamp.step);
    attributes::text(file, "openPMD", "1.1.0")?;
    attributes::number(file, "openPMDextension", 0_u32)?;
    attributes::text(file, "basePath", "/data/%T/")?;
    attributes::text(file, "meshesPath", "meshes/")?;
    attributes::text(file, "iterationEncoding", encoding)?;
    attributes::text(file, "iterationFormat", &format)?;
    attributes::text(file, "software", "tcasm")?;
    attributes::text(file, "softwareVersion", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}

/// Returns the `iterationEncoding` and the `iterationFormat`. A file with the name of a checkpoint
/// is one of a series of files. Any other file is a series by itself.
fn encoding(path: &Path, step: u64) -> (&'static str, String) {
    let form = Form::Full(Layout::OpenPmd);
    match Found::at(path).filter(|found| (found.form, found.step) == (form, step)) {
        Some(found) => ("fileBased", format!("{}_%08T.h5", found.name)),
        None => ("groupBased", "/data/%T/".to_owned()),
    }
}

/// Returns the names of the records of all fields that are meshes. They consist of letters, digits
/// and underscores, and no two are the same.
fn records(table: &FieldTable) -> BTreeMap<String, String> {
    let meshes = table.fields.iter().filter(|f| is_mesh(f)).map(|f| &f.name);
    let (odd, plain): (Vec<_>, Vec<_>) = meshes.partition(|name| name.contains('-'));
    let mut taken: BTreeSet<String> = plain.iter().map(|name| (*name).clone()).collect();
    let mut records: BTreeMap<_, _> = plain.into_iter().map(|n| (n.clone(), n.clone())).collect();
    for name in odd {
        let mut record = name.replace('-', "_");
        while !taken.insert(record.clone()) {
            record.push('_');
        }
        records.insert(name.clone(), record);
    }
    records
}

fn is_mesh(field: &FieldDesc) -> bool {
    field.kind == Kind::Array && !field.dtype.is_complex()
}

/// Returns true if the dataset under `/tcasm` has an attribute without values. openPMD-api cannot
/// read such a record, so the interior then needs a dataset of its own.
fn has_empty_attribute(field: &FieldDesc) -> bool {
    let is_empty = |attr: &Attr| matches!(attr, Attr::Floats(values) if values.is_empty());
    field.shape.is_empty() || field.attrs.values().any(is_empty)
}

/// Returns the dimensions of a record, from slowest to fastest. A single number is an array of one
/// value.
fn shape(field: &FieldDesc) -> Vec<usize> {
    match field.shape.is_empty() {
        true => vec![1],
        false => slowest_first(field, &field.interior_shape()),
    }
}

fn component_name(component: usize, components: usize) -> String {
    match components {
        2 | 3 => ["x", "y", "z"][component].to_owned(),
        _ => component.to_string(),
    }
}

/// Writes the attributes of a record.
fn describe_record(at: &Location, field: &FieldDesc) -> Result<(), Fault> {
    let dims = shape(field).len();
    let mesh = field.usable_mesh().unwrap_or_default();
    let labels: Vec<String> = (0..dims).rev().map(axis_label).collect();
    attributes::text(at, "geometry", "cartesian")?;
    attributes::text(at, "dataOrder", "C")?;
    attributes::texts(at, "axisLabels", &labels)?;
    attributes::numbers(at, "gridSpacing", &per_axis(mesh.spacing, 1.0, dims))?;
    attributes::numbers(at, "gridGlobalOffset", &per_axis(mesh.origin, 0.0, dims))?;
    attributes::number(at, "gridUnitSI", 1.0_f64)?;
    attributes::numbers(at, "unitDimension", &[0.0_f64; 7])?;
    attributes::number(at, "timeOffset", 0.0_f64)?;
    Ok(())
}

/// Writes the attributes of a component of a record.
fn describe_component(at: &Location, field: &FieldDesc) -> Result<(), Fault> {
    let position: f64 = match field.centering {
        Centering::Point => 0.0,
        Centering::Cell => 0.5,
    };
    attributes::number(at, "unitSI", 1.0_f64)?;
    attributes::numbers(at, "position", &vec![position; shape(field).len()])?;
    Ok(())
}

/// Returns the name of an axis. Axes are counted from the fastest.
fn axis_label(axis: usize) -> String {
    match axis {
        0..3 => ["x", "y", "z"][axis].to_owned(),
        _ => format!("axis{axis}"),
    }
}

/// Returns the values `xyz` for `dims` dimensions, from slowest to fastest. Dimensions after z have
/// the value `else_`.
fn per_axis(xyz: [f64; 3], else_: f64, dims: usize) -> Vec<f64> {
    let value = |axis: usize| xyz.get(axis).copied().unwrap_or(else_);
    (0..dims).rev().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    #[test]
    fn record_names_are_valid_in_openpmd_and_unique() {
        let names = ["a-b", "a_b", "a_b_", "c-d", "e"];
        let table = FieldTable {
            fields: names
                .map(|name| FieldDesc::new(name, DType::F32, &[2]))
                .to_vec(),
            ..FieldTable::default()
        };
        let records = records(&table);
        let called = names.map(|name| records[name].as_str());
        assert_eq!(called, ["a_b__", "a_b", "a_b_", "c_d", "e"]);
    }

    #[test]
    fn files_with_the_name_of_a_checkpoint_form_a_series() {
        let format = |file: &str| encoding(Path::new(file), 7);
        let file_based = ("fileBased", "a_b_%08T.h5".to_owned());
        let group_based = ("groupBased", "/data/%T/".to_owned());
        assert_eq!(format("dir/a_b_00000007.h5"), file_based);
        for other in ["a_b_00000008.h5", "a_00000007.vtkhdf", "export.h5"] {
            assert_eq!(format(other), group_based, "{other}");
        }
    }

    #[test]
    fn axes_go_from_slowest_to_fastest_with_x_last() {
        assert_eq!(per_axis([1.0, 2.0, 3.0], 9.0, 2), [2.0, 1.0]);
        assert_eq!(per_axis([1.0, 2.0, 3.0], 9.0, 4), [9.0, 3.0, 2.0, 1.0]);
        assert_eq!((0..4).map(axis_label).collect::<String>(), "xyzaxis3");
    }
}
